//! The definitions of the suite's tools.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_mcp::server::model::Tool;

const NO_ARGUMENTS: [&str; 29] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "failing_job",
    "protocol_error_job",
    "multi_input",
    "test_tool_with_task",
    "test_trigger_resource_change",
];

pub(crate) fn tools() -> Vec<Tool> {
    let mut tools: Vec<Tool> = NO_ARGUMENTS.iter().map(|name| tool(name, &json!({}), &[])).collect();
    let text = json!({ "type": "string" });
    tools.push(tool("test_sampling", &json!({ "prompt": text }), &["prompt"]));
    tools.push(tool("test_elicitation", &json!({ "message": text }), &["message"]));
    tools.push(tool("greet", &json!({ "name": text }), &["name"]));
    tools.push(tool("slow_compute", &json!({ "seconds": { "type": "number" }, "label": text }), &[]));
    tools.push(tool("confirm_delete", &json!({ "filename": text }), &[]));
    let header = json!({ "value": { "type": "string", "x-mcp-header": "Value" } });
    tools.push(tool("test_custom_header", &header, &["value"]));
    tools.push(made("json_schema_2020_12_tool", dialect()));
    tools
}

fn tool(name: &str, properties: &Value, required: &[&str]) -> Tool {
    made(name, json!({ "type": "object", "properties": properties, "required": required }))
}

fn made(name: &str, schema: Value) -> Tool {
    let schema = if let Value::Object(schema) = schema { schema } else { serde_json::Map::new() };
    Tool::new(name.to_owned(), format!("The fixture {name}"), Arc::new(schema))
}

fn dialect() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "address", "type": "object", "properties": {
            "street": { "type": "string" }, "city": { "type": "string" }
        } } },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["address"] },
        "then": { "properties": { "address": { "required": ["street"] } } },
        "else": { "required": ["name"] },
        "additionalProperties": false
    })
}
