//! Lists of tools as careless servers write them: what is wrong with one tool costs no other.

use rmcp::model::Tool;
use serde_json::{Value, json};

/// One page of a list that does not have the form it should have, and where it goes on; none if it is no list at all.
/// Tools without a schema take any arguments, those that cannot be read are left out.
pub(super) fn page(mut result: Value) -> Option<(Vec<Tool>, Option<String>)> {
    let next = result["nextCursor"].as_str().map(str::to_owned);
    let tools = result.get_mut("tools")?.as_array_mut().map(std::mem::take)?;
    Some((tools.into_iter().filter_map(tool).collect(), next))
}

fn tool(mut written: Value) -> Option<Tool> {
    let fields = written.as_object_mut()?;
    if fields.get("inputSchema").is_none_or(Value::is_null) {
        fields.insert("inputSchema".to_owned(), json!({"type": "object"}));
    }
    // What only adorns a tool does not have to be right.
    if let Ok(tool) = serde_json::from_value(written.clone()) {
        return Some(tool);
    }
    let fields = written.as_object_mut()?;
    fields.retain(|name, _| ["name", "description", "inputSchema", "outputSchema"].contains(&name.as_str()));
    fields.retain(|name, value| name == "name" || name == "inputSchema" || !value.is_null());
    serde_json::from_value(written).ok()
}

/// Why a tool cannot be offered, by the schema of its arguments; none if it can. One that does not say is an object.
pub(super) fn fault(schema: &mut Value) -> Option<&'static str> {
    let fields = schema.as_object_mut()?;
    let is_object = |kind: &Value| kind == "object";
    match fields.get("type") {
        None => {
            fields.insert("type".to_owned(), json!("object"));
            None
        }
        Some(kind) if is_object(kind) => None,
        Some(Value::Array(kinds)) if kinds.iter().any(is_object) => {
            fields.insert("type".to_owned(), json!("object"));
            None
        }
        Some(_) => Some("its arguments are no object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_one_tool_costs_no_other() {
        let result = json!({"nextCursor": "2", "tools": [
            {"name": "plain"}, {"name": "nothing", "inputSchema": null}, {"nameless": 1}, 5,
            {"name": "adorned", "inputSchema": {"type": "object"}, "annotations": "none", "title": null},
            {"name": "strange", "inputSchema": "any"}]});
        let (tools, next) = page(result).unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!((names, next.as_deref()), (vec!["plain", "nothing", "adorned"], Some("2")));
        assert!(page(json!({"hello": 1})).is_none());
    }

    #[test]
    fn arguments_are_an_object() {
        let judge = |mut schema: Value| (fault(&mut schema), schema["type"].clone());
        assert_eq!(judge(json!({})), (None, json!("object")));
        assert_eq!(judge(json!({"type": ["object", "null"]})), (None, json!("object")));
        assert_eq!(judge(json!({"type": "string"})).0, Some("its arguments are no object"));
    }
}
