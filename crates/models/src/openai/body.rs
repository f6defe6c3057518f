//! Serialises messages and tools for Chat Completions.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::Value;
use updraft_run::{Message, ModelAnswer, Picture, ToolCall, ToolSpec};

use crate::dialect::push;
use crate::ids::{hashed, plain_id, plain_name};
use crate::member_order::SchemaInOrder;

/// The tools, if there are any.
pub(crate) fn tools(bytes: &mut Vec<u8>, tools: &[ToolSpec]) -> serde_json::Result<()> {
    if tools.is_empty() {
        return Ok(());
    }
    bytes.extend_from_slice(br#","tools":["#);
    for tool in tools {
        push(bytes, &ChatTool { kind: "function", function: tool })?;
    }
    bytes.push(b']');
    Ok(())
}

/// One message. The results of several calls are one message each.
pub(super) fn message(bytes: &mut Vec<u8>, message: &Message, taste: &ServerQuirks) -> serde_json::Result<()> {
    match message {
        Message::User(text) => push(bytes, &ChatMessage { role: "user", content: text }),
        Message::Assistant(answer) => push(bytes, &ChatAssistant::of(answer, taste)),
        Message::Results(results) => {
            let mut each = results.iter();
            each.try_for_each(|result| {
                push(
                    bytes,
                    &ChatToolResult { role: "tool", tool_call_id: taste.id(&result.call), content: &result.text },
                )
            })
        }
        Message::Pictures(pictures) => {
            let parts: Vec<ChatContentPart<'_>> = pictures.iter().flat_map(parts_of).collect();
            push(bytes, &ChatImageMessage { role: "user", content: parts })
        }
    }
}

/// A picture after a text with its name.
fn parts_of(picture: &Picture) -> [ChatContentPart<'_>; 2] {
    let url = data_url(picture);
    [ChatContentPart::Text { text: &picture.name }, ChatContentPart::ImageUrl { image_url: ImageUrl { url } }]
}

/// A picture as a data URL.
pub(crate) fn data_url(picture: &Picture) -> String {
    format!("data:{};base64,{}", picture.mime, STANDARD.encode(&picture.bytes))
}

#[derive(Serialize)]
struct ChatImageMessage<'a> {
    role: &'static str,
    content: Vec<ChatContentPart<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
pub(super) struct ChatMessage<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> ChatMessage<'a> {
    pub(super) fn system(content: &'a str) -> Self {
        Self { role: "system", content }
    }
}

#[derive(Serialize)]
struct ChatToolResult<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: &'a str,
}

#[derive(Serialize)]
struct ChatAssistant<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatCall<'a>>,
}

impl<'a> ChatAssistant<'a> {
    fn of(answer: &'a ModelAnswer, taste: &ServerQuirks) -> Self {
        // Without calls an empty text is sent too: servers refuse a message that has neither content nor calls.
        let is_silent = answer.text.is_empty() && !answer.calls.is_empty();
        Self {
            role: "assistant",
            content: (!is_silent).then_some(&answer.text),
            reasoning_content: taste.gives_back(answer).then_some(&answer.reasoning),
            tool_calls: answer.calls.iter().map(|call| ChatCall::of(call, taste)).collect(),
        }
    }
}

/// Special requirements of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerQuirks {
    /// It requires ids of exactly nine letters and digits.
    pub(crate) nine_letters: bool,
    /// It requires its own thoughts back; they are marked with this name.
    pub(crate) thoughts_of: Option<String>,
}

/// Maximum length of ids at OpenAI.
const LONGEST_ID: usize = 40;

impl ServerQuirks {
    fn id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        let is_nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.nine_letters && !is_nine {
            return Cow::Owned(hashed(id, 9));
        }
        if id.len() <= LONGEST_ID { Cow::Borrowed(id) } else { plain_id(id, LONGEST_ID) }
    }

    fn gives_back(&self, answer: &ModelAnswer) -> bool {
        let Some(name) = &self.thoughts_of else { return false };
        !answer.reasoning.is_empty() && answer.opaque.iter().any(|part| part["of"] == name.as_str())
    }
}

#[derive(Serialize)]
struct ChatCall<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunction<'a>,
}

impl<'a> ChatCall<'a> {
    fn of(call: &'a ToolCall, taste: &ServerQuirks) -> Self {
        let function = ChatFunction { name: plain_name(&call.name, 64), arguments: &call.args };
        Self { id: taste.id(&call.id), kind: "function", function }
    }
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: &'a Value,
}

/// Arguments as JSON inside a string; missing arguments become an empty object.
pub(crate) fn as_text<S: Serializer>(arguments: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if arguments.is_null() { serializer.serialize_str("{}") } else { serializer.collect_str(arguments) }
}

#[derive(Serialize)]
struct ChatTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: &'a ToolSpec,
}

/// The format of the answer.
#[derive(Serialize)]
pub(super) struct ChatResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    schema: SchemaInOrder<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

impl<'a> ChatResponseFormat<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        Self {
            kind: "json_schema",
            json_schema: NamedSchema { name: "answer", schema: SchemaInOrder(schema), strict: is_closed(schema) },
        }
    }
}

/// Whether a schema leaves nothing open, as OpenAI requires for strict mode: every object lists all its members and
/// requires each of them.
pub(crate) fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Array(all) => all.iter().all(is_closed),
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            let required = object.get("required").and_then(Value::as_array);
            let requires = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
            let is_object = object.get("type").is_some_and(|kind| kind == "object") || properties.is_some();
            let is_shut = object.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.is_some_and(|properties| properties.keys().all(requires));
            (!is_object || is_shut) && object.values().all(is_closed)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_schema_that_leaves_nothing_open_is_strict() {
        let shut = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        assert!(is_closed(&shut));
        assert!(is_closed(&json!({"type": "string"})));
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
        assert!(!is_closed(&open));
        assert!(!is_closed(&json!({"type": "array", "items": {"type": "object"}})));
    }
}
