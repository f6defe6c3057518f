//! Repairs lists of tools and results that do not have the required form, so that one faulty part does not affect the
//! others.

use rmcp::model::{CallToolResult, ContentBlock, ServerResult, Tool};
use serde_json::{Value, json};

use crate::error::cut;

/// An entry of a list of tools, or what is wrong with it.
pub(super) type ToolEntry = Result<Tool, String>;

/// One page of a malformed list, and its cursor; `None` if it is not a list at all. Tools without a schema take any
/// arguments, and those that cannot be read are reported.
pub(super) fn page(mut result: Value) -> Option<(Vec<ToolEntry>, Option<String>)> {
    let next = result["nextCursor"].as_str().map(str::to_owned);
    let tools = result.get_mut("tools")?.as_array_mut().map(std::mem::take)?;
    let entry = |written: Value| {
        let name = match written["name"].as_str() {
            Some(name) => format!("`{}`", cut(name, 100)),
            None => "a tool without a name".to_owned(),
        };
        let is_schema = written["inputSchema"].is_object() || written["inputSchema"].is_null();
        let why = if is_schema { "it cannot be read" } else { "its `inputSchema` is not a schema" };
        tool(written).ok_or_else(|| format!("{name}: {why}"))
    };
    Some((tools.into_iter().map(entry).collect(), next))
}

/// A malformed result of a call. `None` if it is not a result at all.
pub(super) fn result(given: &ServerResult) -> Option<CallToolResult> {
    let mut written = serde_json::to_value(given).ok()?;
    let fields = written.as_object_mut()?;
    fields.retain(|_, value| !value.is_null());
    let known = ["content", "structuredContent", "isError", "_meta", "resultType"];
    if !fields.is_empty() && !known.iter().any(|name| fields.contains_key(*name)) {
        return None;
    }
    let blocks = match fields.remove("content") {
        None => Vec::new(),
        Some(Value::Array(blocks)) => blocks,
        Some(one) => vec![one],
    };
    let has_failed = fields.get("isError").is_some_and(|word| *word == json!(true) || *word == json!("true"));
    let mut result = CallToolResult::default();
    result.content = blocks.into_iter().map(block).collect();
    result.structured_content = fields.remove("structuredContent");
    result.is_error = Some(has_failed);
    Some(result)
}

fn block(written: Value) -> ContentBlock {
    match written {
        Value::String(text) => ContentBlock::text(text),
        other => serde_json::from_value(other).unwrap_or_else(|_| ContentBlock::text(UNKNOWN)),
    }
}

/// Replaces a part of a result whose kind is unknown.
pub(super) const UNKNOWN: &str = "[something of an unknown form]";

fn tool(mut written: Value) -> Option<Tool> {
    let fields = written.as_object_mut()?;
    if fields.get("inputSchema").is_none_or(Value::is_null) {
        fields.insert("inputSchema".to_owned(), json!({"type": "object"}));
    }
    // Optional fields of a tool do not have to be valid.
    if let Ok(tool) = serde_json::from_value(written.clone()) {
        return Some(tool);
    }
    let fields = written.as_object_mut()?;
    fields.retain(|name, _| ["name", "description", "inputSchema", "outputSchema"].contains(&name.as_str()));
    fields.retain(|name, value| name == "name" || name == "inputSchema" || !value.is_null());
    serde_json::from_value(written).ok()
}

/// Why a tool cannot be offered, judged by the schema of its arguments; `None` if it can. A schema without a type is an
/// object.
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
        Some(_) => Some("its arguments are not an object"),
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
        let names: Vec<&str> = tools.iter().flatten().map(|tool| tool.name.as_ref()).collect();
        assert_eq!((names, next.as_deref()), (vec!["plain", "nothing", "adorned"], Some("2")));
        let wrong: Vec<String> = tools.into_iter().filter_map(Result::err).collect();
        let nameless = "a tool without a name: it cannot be read";
        assert_eq!(wrong, [nameless, nameless, "`strange`: its `inputSchema` is not a schema"]);
        assert!(page(json!({"hello": 1})).is_none());
    }

    #[test]
    fn arguments_are_an_object() {
        let judge = |mut schema: Value| (fault(&mut schema), schema["type"].clone());
        assert_eq!(judge(json!({})), (None, json!("object")));
        assert_eq!(judge(json!({"type": ["object", "null"]})), (None, json!("object")));
        assert_eq!(judge(json!({"type": "string"})).0, Some("its arguments are not an object"));
    }
}
