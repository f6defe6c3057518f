//! Turns a value into what a schema asks for, where that loses nothing.

use serde_json::Value;

use super::{Fault, Repair, Repaired, bare, repair};

/// Deeper schemas are followed no further: a schema may refer to itself.
const DEEPEST: usize = 200;

/// Converts what can be converted without loss, and reports each conversion.
pub(super) fn fit(repaired: &mut Repaired, schema: &Value) {
    let mut fitting = Fitting { root: schema, repairs: &mut repaired.repairs };
    fitting.fit(&mut repaired.value, schema, 0);
}

/// How well a value answers a schema at first sight: its type, and the required keys it has.
pub(super) fn matches(value: &Value, schema: &Value) -> usize {
    let schema = resolve(schema, schema);
    let types = types(schema);
    let of_type = usize::from(types.is_empty() || types.iter().any(|name| is_a(value, name)));
    let required = schema.get("required").and_then(Value::as_array);
    let keys =
        required.map_or(0, |keys| keys.iter().filter_map(Value::as_str).filter(|key| value.get(key).is_some()).count());
    of_type + keys
}

struct Fitting<'s, 'r> {
    root: &'s Value,
    repairs: &'r mut Vec<Repair>,
}

impl Fitting<'_, '_> {
    fn fit(&mut self, value: &mut Value, schema: &Value, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let schema = resolve(self.root, schema);
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|name| is_a(value, name)) {
            // With several types to choose from, the first that loses nothing.
            if let Some((converted, fault)) = types.iter().find_map(|name| convert(value, name)) {
                *value = converted;
                self.repairs.push(Repair { at: 0, what: fault });
            }
        }
        match value {
            Value::Object(map) => {
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

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
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

fn convert(value: &Value, name: &str) -> Option<(Value, Fault)> {
    if let (Value::String(text), "object" | "array") = (value, name)
        && text.trim_start().starts_with(if name == "object" { '{' } else { '[' })
        && let Some(inner) = repair(text)
        && is_a(&inner.value, name)
        && !inner.is_risky()
    {
        return Some((inner.value, Fault::DoubleEncoded));
    }
    let converted = match (value, name) {
        (Value::Null, _) => return None,
        (Value::Number(number), "string") => Value::String(number.to_string()),
        (Value::Bool(flag), "string") => Value::String(flag.to_string()),
        (Value::String(text), "number" | "integer") => {
            let (number, _) = bare::read_number(text.trim())?;
            is_a(&number, name).then_some(number)?
        }
        (Value::String(text), "boolean") => match text.trim() {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => return None,
        },
        (other, "array") => Value::Array(vec![other.clone()]),
        _ => return None,
    };
    Some((converted, Fault::WrongType))
}
