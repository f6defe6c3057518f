//! Limits what validating against a schema may cost. An untrusted schema could otherwise fetch documents, never end,
//! or take years for a small argument.
//!
//! Only references inside the document are accepted. The schema is treated as a graph. An edge either stays at the
//! same place of the arguments (`allOf`, `$ref`) or goes one level deeper (`properties`, `items`). A loop of edges
//! that stay would never end, and is refused. Without loops the work for one value is the graph's expanded size. With
//! loops that go deeper, the work is multiplied at every level, so the allowed depth of the arguments depends on how
//! often the schema refers back to itself.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Most bytes of a schema as JSON. The largest real ones are around 20 KB.
const BYTES: usize = 128 << 10;
/// Most levels of a schema, or of arguments.
const DEPTH: usize = 64;
/// Most parts of a schema with every reference expanded.
const PARTS: u64 = 20_000;
/// Most values times parts: beyond this, validation would take longer than most tools.
const WORK: u64 = 20_000_000;
/// Most references and parts followed in a row: each takes a stack frame, in our code and in the validator's.
const CHAIN: usize = 200;
/// How often a schema that refers to itself may be re-entered for one value.
const RETURNS: u64 = 100_000;

const SAME: [&str; 5] = ["not", "if", "then", "else", "$ref"];
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const DEEPER: [&str; 8] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "contentSchema",
];
const DEEPER_LISTS: [&str; 2] = ["items", "prefixItems"];
const DEEPER_MAPS: [&str; 2] = ["properties", "patternProperties"];

/// The cost of validating against a schema.
#[derive(Debug)]
pub(super) struct SchemaBounds {
    parts: u64,
    depth: usize,
}

impl SchemaBounds {
    /// Measures a schema, or says why it is refused.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("expected a JSON object".into());
        }
        let size = ValueSize::of(schema, DEPTH).ok_or_else(|| format!("it is nested deeper than {DEPTH} levels"))?;
        if size.bytes > BYTES {
            return Err(format!("it has {} bytes or more; expected at most {BYTES}", size.bytes));
        }
        let mut survey = SchemaSurvey { root: schema, marks: HashMap::new() };
        survey.refuse_loops(schema)?;
        survey.marks.clear();
        let cost = survey.cost(schema, CHAIN)?;
        if cost.parts > PARTS {
            return Err(format!("with its references written out it has more than {PARTS} parts"));
        }
        Ok(Self { parts: cost.parts, depth: depth_for(cost.returns) })
    }

    /// Checks that arguments are small enough to be validated. The error says why they are not.
    pub(super) fn admit(&self, args: &Value) -> Result<(), String> {
        let size = ValueSize::of(args, self.depth)
            .ok_or_else(|| format!("the arguments are nested deeper than {} levels", self.depth))?;
        if (size.values as u64).saturating_mul(self.parts) > WORK {
            return Err(format!("{} values are too many for this tool's schema", size.values));
        }
        Ok(())
    }
}

/// The depth up to which a schema that refers to itself `returns` times at each level is still cheap.
fn depth_for(returns: u64) -> usize {
    let affordable = |depth: &usize| returns.saturating_pow(*depth as u32) <= RETURNS;
    (1..=DEPTH).rev().find(affordable).unwrap_or(1)
}

struct ValueSize {
    values: usize,
    bytes: usize,
}

impl ValueSize {
    /// Measures a value; `None` if it is deeper than `depth`.
    fn of(value: &Value, depth: usize) -> Option<Self> {
        let mut size = Self { values: 0, bytes: 0 };
        size.add(value, depth).then_some(size)
    }

    fn add(&mut self, value: &Value, depth: usize) -> bool {
        self.values += 1;
        self.bytes += 2;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => {
                self.bytes += text.len();
                true
            }
            Value::Array(items) => depth > 0 && items.iter().all(|item| self.add(item, depth - 1)),
            Value::Object(members) => {
                depth > 0
                    && members.iter().all(|(name, member)| {
                        self.bytes += name.len();
                        self.add(member, depth - 1)
                    })
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct SchemaCost {
    parts: u64,
    returns: u64,
}

enum VisitMark {
    Open,
    Done(SchemaCost),
}

struct SchemaSurvey<'a> {
    root: &'a Value,
    /// Keyed by the address of a part, which does not move while `root` is borrowed.
    marks: HashMap<*const Value, VisitMark>,
}

impl<'a> SchemaSurvey<'a> {
    /// Visits every part and refuses one that leads back to itself without going deeper into the arguments.
    fn refuse_loops(&mut self, part: &'a Value) -> Result<(), String> {
        let mut stack = vec![part];
        let mut seen = HashSet::new();
        while let Some(part) = stack.pop() {
            if !seen.insert(std::ptr::from_ref(part)) {
                continue;
            }
            self.refuse_loop_at(part, CHAIN)?;
            stack.extend(self.same(part)?);
            stack.extend(deeper(part));
        }
        Ok(())
    }

    fn refuse_loop_at(&mut self, part: &'a Value, chain: usize) -> Result<(), String> {
        let chain = shorter(chain)?;
        match self.marks.get(&std::ptr::from_ref(part)) {
            Some(VisitMark::Done(_)) => return Ok(()),
            Some(VisitMark::Open) => return Err("it refers to itself without end".into()),
            None => {}
        }
        self.marks.insert(part, VisitMark::Open);
        for next in self.same(part)? {
            self.refuse_loop_at(next, chain)?;
        }
        self.marks.insert(part, VisitMark::Done(SchemaCost::default()));
        Ok(())
    }

    fn cost(&mut self, part: &'a Value, chain: usize) -> Result<SchemaCost, String> {
        let chain = shorter(chain)?;
        match self.marks.get(&std::ptr::from_ref(part)) {
            Some(VisitMark::Done(cost)) => return Ok(*cost),
            Some(VisitMark::Open) => return Ok(SchemaCost { parts: 1, returns: 1 }),
            None => {}
        }
        self.marks.insert(part, VisitMark::Open);
        let mut sum = SchemaCost { parts: 1, returns: 0 };
        for next in self.same(part)?.into_iter().chain(deeper(part)) {
            let cost = self.cost(next, chain)?;
            sum.parts = sum.parts.saturating_add(cost.parts);
            sum.returns = sum.returns.saturating_add(cost.returns);
        }
        self.marks.insert(part, VisitMark::Done(sum));
        Ok(sum)
    }

    /// The parts that apply to the same place of the arguments.
    fn same(&self, part: &'a Value) -> Result<Vec<&'a Value>, String> {
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if part.get(keyword).is_some() {
                return Err(format!("`{keyword}` is not supported"));
            }
        }
        // An `$id` below the root changes what `#` means from there on.
        if !std::ptr::eq(part, self.root) && part.get("$id").is_some_and(Value::is_string) {
            return Err("`$id` is supported only at the root".into());
        }
        let mut parts = gather(part, &SAME, &SAME_LISTS, &SAME_MAPS);
        if let Some(reference) = part.get("$ref") {
            let text = reference.as_str().ok_or("a `$ref` is not a string")?;
            parts.retain(|found| !std::ptr::eq(*found, reference));
            parts.push(self.target(text)?);
        }
        Ok(parts)
    }

    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let shown = crate::truncate::line(reference, 100);
        let pointer = reference
            .strip_prefix('#')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .ok_or_else(|| format!("`$ref` may only point inside the schema, such as `#/$defs/x`; found `{shown}`"))?;
        if pointer.contains('%') {
            return Err(format!("`$ref` with escapes is not supported; found `{shown}`"));
        }
        self.root.pointer(pointer).ok_or_else(|| format!("`$ref` points to nothing: `{shown}`"))
    }
}

fn shorter(chain: usize) -> Result<usize, String> {
    chain.checked_sub(1).ok_or_else(|| format!("more than {CHAIN} of its parts refer to one another"))
}

/// The parts that apply one level deeper in the arguments.
fn deeper(part: &Value) -> Vec<&Value> {
    gather(part, &DEEPER, &DEEPER_LISTS, &DEEPER_MAPS)
}

fn gather<'a>(part: &'a Value, single: &[&str], lists: &[&str], maps: &[&str]) -> Vec<&'a Value> {
    let Value::Object(members) = part else { return Vec::new() };
    let mut parts: Vec<&Value> = single.iter().filter_map(|name| members.get(*name)).collect();
    for name in lists {
        parts.extend(members.get(*name).and_then(Value::as_array).into_iter().flatten());
    }
    for name in maps {
        parts.extend(members.get(*name).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values));
    }
    parts
}
