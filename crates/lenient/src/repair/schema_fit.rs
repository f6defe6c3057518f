//! Converts a value to the type that a schema asks for, if that loses nothing.

use serde_json::{Map, Value};

use super::literal::read_number;
use super::{JsonFault, Repair, RepairedJson, repair};

/// Schemas are not followed deeper than this, because a schema may refer to itself.
const DEEPEST: usize = 200;

/// What a schema asks for at its top.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaShape {
    Object,
    Array,
    Anything,
}

impl SchemaShape {
    pub(super) fn of(schema: Option<&Value>) -> Self {
        let Some(schema) = schema else { return Self::Anything };
        match types(resolve(schema, schema)).as_slice() {
            ["object"] => Self::Object,
            ["array"] => Self::Array,
            _ => Self::Anything,
        }
    }
}

/// Converts what can be converted without loss, and reports each conversion.
pub(super) fn fit(repaired: &mut RepairedJson, schema: &Value) {
    let mut fitting = SchemaFitter { root: schema, repairs: &mut repaired.repairs };
    fitting.fit(&mut repaired.value, schema, 0);
}

/// How well a value fits a schema at first sight: its type, and its keys.
pub(super) fn matches(value: &Value, schema: &Value) -> usize {
    let top = resolve(schema, schema);
    let types = types(top);
    let of_type = types.is_empty() || types.iter().any(|name| is_a(value, name));
    let keys = |name: &str| match (top.get(name), value) {
        (Some(Value::Array(keys)), Value::Object(map)) => {
            keys.iter().filter_map(Value::as_str).filter(|key| like(map, key).is_some()).count()
        }
        (Some(Value::Object(keys)), Value::Object(map)) => keys.keys().filter(|key| like(map, key).is_some()).count(),
        _ => 0,
    };
    let items = match (top.get("items"), value) {
        (Some(items), Value::Array(values)) => {
            let names = self::types(resolve(schema, items));
            values.first().is_some_and(|first| names.iter().any(|name| is_a(first, name)))
        }
        _ => false,
    };
    usize::from(of_type) + keys("required") + keys("properties") + usize::from(items)
}

/// The names of all properties in a schema, at any depth.
pub(super) fn keys(schema: &Value) -> Vec<&str> {
    let mut keys = Vec::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        match part {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    keys.extend(properties.keys().map(String::as_str));
                }
                open.extend(map.values());
            }
            Value::Array(parts) => open.extend(parts),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    keys
}

struct SchemaFitter<'s, 'r> {
    root: &'s Value,
    repairs: &'r mut Vec<Repair>,
}

impl SchemaFitter<'_, '_> {
    fn fit(&mut self, value: &mut Value, schema: &Value, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let schema = chosen(self.root, resolve(self.root, schema), value);
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|name| is_a(value, name)) {
            // If there are several types to choose from, the first that loses nothing.
            if let Some((converted, fault)) = types.iter().find_map(|name| convert(value, name)) {
                *value = converted;
                self.repairs.push(Repair { at: 0, what: fault });
            }
        }
        match value {
            Value::Object(map) => {
                self.rename(map, schema);
                for (key, member) in map {
                    let schema =
                        schema.get("properties").and_then(|p| p.get(key)).or(schema.get("additionalProperties"));
                    if let Some(schema) = schema {
                        self.fit(member, schema, depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for item in items {
                    self.fit(item, schema, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Renames keys that differ from the schema's only in case, `_`, `-` and blanks.
    fn rename(&mut self, map: &mut Map<String, Value>, schema: &Value) {
        let Some(Value::Object(properties)) = schema.get("properties") else { return };
        for name in properties.keys() {
            if map.contains_key(name) {
                continue;
            }
            let Some(written) = like(map, name).filter(|written| !properties.contains_key(*written)) else { continue };
            let written = written.to_owned();
            if let Some(value) = map.remove(&written) {
                map.insert(name.clone(), value);
                self.repairs.push(Repair { at: 0, what: JsonFault::RenamedKey });
            }
        }
    }
}

/// The key of `map` that is `name`, or otherwise the only one that differs just in case, `_`, `-` and blanks.
fn like<'m>(map: &'m Map<String, Value>, name: &str) -> Option<&'m str> {
    if let Some((key, _)) = map.get_key_value(name) {
        return Some(key);
    }
    let wanted = bare_name(name);
    let mut alike = map.keys().filter(|key| bare_name(key).eq(wanted.clone()));
    let found = alike.next()?;
    if alike.next().is_some() { None } else { Some(found) }
}

fn bare_name(name: &str) -> impl Iterator<Item = char> + Clone {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase)
}

/// Follows `$ref` within the document, a few times at most.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..8 {
        let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#')) else { break };
        let Some(target) = root.pointer(pointer) else { break };
        schema = target;
    }
    schema
}

/// Among the alternatives of a schema, the one whose type the value has, or otherwise the first it can be converted to.
fn chosen<'s>(root: &'s Value, schema: &'s Value, value: &Value) -> &'s Value {
    let Some(Value::Array(ways)) = schema.get("anyOf").or(schema.get("oneOf")) else { return schema };
    let ways = || ways.iter().map(|way| resolve(root, way));
    let fits = |way: &&Value| types(way).iter().any(|name| is_a(value, name));
    let best = ways().filter(fits).max_by_key(|way| matches(value, way));
    best.or_else(|| ways().find(|way| types(way).iter().any(|name| convert(value, name).is_some()))).unwrap_or(schema)
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            if schema.get("properties").is_some() { vec!["object"] } else { Vec::new() }
        }
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => {
            name == "number" || (name == "integer" && (!n.is_f64() || n.as_f64().is_some_and(|f| f.fract() == 0.0)))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

fn convert(value: &Value, name: &str) -> Option<(Value, JsonFault)> {
    if let (Value::String(text), "object" | "array") = (value, name)
        && text.trim_start().starts_with(if name == "object" { '{' } else { '[' })
        && let Some(inner) = repair(text)
        && is_a(&inner.value, name)
        && !inner.is_risky()
    {
        return Some((inner.value, JsonFault::DoubleEncoded));
    }
    let converted = match (value, name) {
        (Value::Null, _) => return None,
        (Value::Number(number), "string") => Value::String(number.to_string()),
        (Value::Bool(flag), "string") => Value::String(flag.to_string()),
        (Value::String(text), "number" | "integer") => {
            let (number, _) = read_number(text.trim())?;
            is_a(&number, name).then_some(number)?
        }
        (Value::String(text), "boolean") => match text.trim() {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => return None,
        },
        (Value::Array(items), "object") => match items.as_slice() {
            [only @ Value::Object(_)] => only.clone(),
            _ => return None,
        },
        (other, "array") => Value::Array(vec![other.clone()]),
        _ => return None,
    };
    Some((converted, JsonFault::WrongType))
}
