//! Adapts the schema of a tool's arguments for providers with strict requirements.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The schema of a tool's arguments: always an object, without alternatives at the top level.
pub(crate) fn for_arguments(parameters: &Value) -> Cow<'_, Value> {
    const CHOICES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    let Some(object) = parameters.as_object() else { return Cow::Owned(json!({"type": "object"})) };
    let is_object = object.get("type").is_some_and(|kind| kind == "object");
    if is_object && !CHOICES.iter().any(|choice| object.contains_key(*choice)) {
        return Cow::Borrowed(parameters);
    }
    let kept = object.iter().filter(|(key, _)| !CHOICES.contains(&key.as_str()));
    let mut plain: Map<String, Value> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    plain.insert("type".to_owned(), "object".into());
    Cow::Owned(Value::Object(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        let plain = json!({"type": "object", "properties": {"anyOf": {"type": "string"}}});
        assert_eq!(*for_arguments(&plain), plain);
        assert_eq!(*for_arguments(&json!({})), json!({"type": "object"}));
        assert_eq!(*for_arguments(&Value::Null), json!({"type": "object"}));
        let choice = json!({"oneOf": [{}], "properties": {}});
        assert_eq!(*for_arguments(&choice), json!({"type": "object", "properties": {}}));
    }
}
