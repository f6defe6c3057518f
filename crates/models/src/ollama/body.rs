//! Serialises messages for Ollama.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use updraft_run::{Message, ModelAnswer, Picture, ToolCall, ToolResult};

use crate::dialect::push;

/// The system message, if there is one.
pub(super) fn system(bytes: &mut Vec<u8>, text: &str) -> serde_json::Result<()> {
    if text.is_empty() { Ok(()) } else { push(bytes, &OllamaMessage { role: "system", content: text }) }
}

/// One message. Each result and each picture is a message of its own, so that a picture keeps its name.
pub(super) fn message(bytes: &mut Vec<u8>, name: &str, message: &Message) -> serde_json::Result<()> {
    match message {
        Message::User(text) => push(bytes, &OllamaMessage { role: "user", content: text }),
        Message::Assistant(answer) => push(bytes, &OllamaAssistant::of(answer, name)),
        Message::Results(results) => results.iter().try_for_each(|result| push(bytes, &OllamaToolResult::of(result))),
        Message::Pictures(pictures) => {
            pictures.iter().try_for_each(|picture| push(bytes, &OllamaImageMessage::of(picture)))
        }
    }
}

#[derive(Serialize)]
struct OllamaMessage<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct OllamaAssistant<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "<[ToolCall]>::is_empty", serialize_with = "calls")]
    tool_calls: &'a [ToolCall],
}

impl<'a> OllamaAssistant<'a> {
    /// Thoughts are sent back only to the model that wrote them.
    fn of(answer: &'a ModelAnswer, name: &str) -> Self {
        let is_ours = answer.opaque.iter().any(|part| part["of"] == name);
        let thinking = if is_ours { answer.reasoning.as_str() } else { "" };
        Self { role: "assistant", content: &answer.text, thinking, tool_calls: &answer.calls }
    }
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        calls.iter().map(|call| OllamaCall {
            id: &call.id,
            function: OllamaFunction { name: &call.name, arguments: &call.args },
        }),
    )
}

#[derive(Serialize)]
struct OllamaCall<'a> {
    id: &'a str,
    function: OllamaFunction<'a>,
}

#[derive(Serialize)]
struct OllamaFunction<'a> {
    name: &'a str,
    #[serde(serialize_with = "object")]
    arguments: &'a Value,
}

/// Arguments as an object; with anything else the whole conversation would be refused.
fn object<S: Serializer>(arguments: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if arguments.is_object() { arguments.serialize(serializer) } else { Map::new().serialize(serializer) }
}

/// Older servers match results by the tool's name and their order, newer ones by the call's id.
#[derive(Serialize)]
struct OllamaToolResult<'a> {
    role: &'static str,
    tool_name: &'a str,
    tool_call_id: &'a str,
    content: &'a str,
}

impl<'a> OllamaToolResult<'a> {
    fn of(result: &'a ToolResult) -> Self {
        Self { role: "tool", tool_name: &result.name, tool_call_id: &result.call, content: &result.text }
    }
}

#[derive(Serialize)]
struct OllamaImageMessage<'a> {
    role: &'static str,
    content: &'a str,
    images: [String; 1],
}

impl<'a> OllamaImageMessage<'a> {
    fn of(picture: &'a Picture) -> Self {
        Self { role: "user", content: &picture.name, images: [STANDARD.encode(&picture.bytes)] }
    }
}
