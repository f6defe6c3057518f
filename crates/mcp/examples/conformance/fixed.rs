//! Fixtures that always give the same: contents, errors, progress, lines of a log.

#![expect(deprecated, reason = "the suite's fixtures for earlier revisions use what leaves the protocol")]

use std::time::Duration;

use serde_json::{Value, json};
use updraft_mcp::server::model::{
    AudioContent, CallToolResult, ClientCapabilities, ContentBlock, GetPromptResult, ImageContent, LoggingLevel,
    PromptMessage, ResourceContents, Role,
};
use updraft_mcp::server::{ChangeNotice, ClientCaller, ErrorData, PromptRequest, ToolRequest};

use crate::unknown;

/// A red pixel as PNG.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// Silence as WAV.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// So that notifications are not sent in one piece with the answer.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text.into())])
}

fn resource(uri: &str, mime: &str, text: &str) -> ResourceContents {
    let (uri, mime_type, text) = (uri.to_owned(), Some(mime.to_owned()), text.to_owned());
    ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
}

pub(crate) async fn call(call: &ToolRequest, caller: &ClientCaller) -> Result<CallToolResult, ErrorData> {
    let picture = || ContentBlock::image(PICTURE, "image/png");
    let given = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(match call.name.as_str() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => CallToolResult::success(vec![picture()]),
        "test_audio_content" => {
            CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(SOUND, "audio/wav"))])
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            CallToolResult::success(vec![ContentBlock::resource(resource(
                "test://embedded-resource",
                "text/plain",
                text,
            ))])
        }
        "test_multiple_content_types" => {
            let json = resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#);
            let text = ContentBlock::text("Multiple content types test:");
            CallToolResult::success(vec![text, picture(), ContentBlock::resource(json)])
        }
        "test_tool_with_logging" => {
            for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                caller.log(LoggingLevel::Info, "conformance", json!(line)).await;
                tokio::time::sleep(PAUSE).await;
            }
            text("Logging test completed")
        }
        "test_logging_tool" => {
            if let Some(level) = caller.log_level() {
                caller.log(level, "conformance", json!("a line of the level that was asked for")).await;
            }
            text("Logging tool completed")
        }
        "test_error_handling" => {
            CallToolResult::error(vec![ContentBlock::text("This tool intentionally returns an error for testing")])
        }
        "test_tool_with_progress" => {
            for (done, message) in [(0.0, "Starting"), (50.0, "Halfway"), (100.0, "Complete")] {
                caller.progress(done, Some(100.0), message).await;
                tokio::time::sleep(PAUSE).await;
            }
            text("Progress test completed")
        }
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            text("Reconnection test completed")
        }
        "test_trigger_tool_change" => {
            caller.announce(&ChangeNotice::Tools).await;
            text("Tool list change triggered")
        }
        "test_trigger_prompt_change" => {
            caller.announce(&ChangeNotice::Prompts).await;
            text("Prompt list change triggered")
        }
        "test_trigger_resource_change" => {
            caller.announce(&ChangeNotice::Resource("test://watched-resource".to_owned())).await;
            text("Resource change triggered")
        }
        "test_missing_capability" => {
            if caller.capabilities().sampling.is_none() {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            text("Required capability declared")
        }
        "test_custom_header" => text(given("value")),
        "json_schema_2020_12_tool" => text(format!("Hello, {}!", given("name"))),
        "greet" => text(format!("Hello, {}!", given("name"))),
        name => return Err(unknown("tool", name)),
    })
}

pub(crate) fn read(uri: &str) -> Result<ResourceContents, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    Ok(match (uri, id) {
        ("test://static-text", _) => resource(uri, "text/plain", "This is the content of the static text resource."),
        ("test://watched-resource", _) => resource(uri, "text/plain", "Watched."),
        ("test://static-binary", _) => {
            let (mime_type, blob) = (Some("image/png".to_owned()), PICTURE.to_owned());
            ResourceContents::BlobResourceContents { uri: uri.to_owned(), mime_type, blob, meta: None }
        }
        (_, Some(id)) => {
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            resource(uri, "application/json", &data.to_string())
        }
        _ => return Err(ErrorData::resource_not_found(format!("no resource `{uri}`"), Some(json!({ "uri": uri })))),
    })
}

pub(crate) fn prompt(wanted: &PromptRequest) -> Result<GetPromptResult, ErrorData> {
    let given = |name: &str| wanted.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = |text: String| PromptMessage::new_text(Role::User, text);
    let messages = match wanted.name.as_str() {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            vec![said(format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2")))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = if given("resourceUri").is_empty() { "test://example-resource" } else { given("resourceUri") };
            let held = resource(uri, "text/plain", "Embedded resource content for testing.");
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(held)),
                said("Please process the embedded resource above.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::Image(ImageContent::new(PICTURE, "image/png"))),
            said("Please analyze the image above.".to_owned()),
        ],
        name => return Err(unknown("prompt", name)),
    };
    Ok(GetPromptResult::new(messages).with_description(wanted.name.clone()))
}
