//! Serialises messages and tools for Anthropic.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use updraft_run::{Message, ModelAnswer, Picture, ToolCall, ToolResult, ToolSpec};

use super::thought::{ThoughtBlock, thoughts_of};
use crate::argument_schema::for_arguments;
use crate::dialect::push;
use crate::ids::{plain_id, plain_name};

/// Maximum length of names and ids.
const LONGEST: usize = 128;

/// The picture formats that are accepted.
const SHOWN: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Replaces an empty text, which would be refused.
const NOTHING: &str = "(nothing)";

/// Marks a place where the provider's prompt cache may end.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum CacheControl {
    Ephemeral,
}

/// The tools and the system prompt, if there are any. Their end is marked for the cache, because other conversations of
/// the same agent begin in the same way.
pub(super) fn head(bytes: &mut Vec<u8>, system: &str, tools: &[ToolSpec]) -> serde_json::Result<()> {
    let has_system = !system.trim().is_empty();
    if !tools.is_empty() {
        bytes.extend_from_slice(br#","tools":["#);
        for (at, tool) in tools.iter().enumerate() {
            let is_end = !has_system && at + 1 == tools.len();
            push(
                bytes,
                &AnthropicTool {
                    name: &tool.name,
                    description: &tool.description,
                    input_schema: for_arguments(&tool.parameters),
                    cache_control: is_end.then_some(CacheControl::Ephemeral),
                },
            )?;
        }
        bytes.push(b']');
    }
    if has_system {
        bytes.extend_from_slice(br#","system":["#);
        push(bytes, &SystemBlock { kind: "text", text: system, cache_control: CacheControl::Ephemeral })?;
        bytes.push(b']');
    }
    Ok(())
}

/// One message; `own` is the model whose thoughts are sent back. The provider joins consecutive messages of the same
/// role.
pub(super) fn message(bytes: &mut Vec<u8>, message: &Message, own: &str) -> serde_json::Result<()> {
    let (role, content) = match message {
        Message::User(text) => {
            ("user", vec![AnthropicInputBlock::Text { text: if is_blank(text) { NOTHING } else { text } }])
        }
        Message::Assistant(answer) => ("assistant", blocks_of(answer, own)),
        Message::Results(results) => ("user", results.iter().map(gave).collect()),
        Message::Pictures(pictures) => ("user", pictures.iter().flat_map(shown).collect()),
    };
    if content.is_empty() { Ok(()) } else { push(bytes, &AnthropicMessage { role, content }) }
}

/// Whether an answer, as it is sent back, begins with a thought.
pub(super) fn begins_with_thought(answer: &ModelAnswer, own: &str) -> bool {
    matches!(blocks_of(answer, own).first(), Some(AnthropicInputBlock::Thought(_)))
}

/// The blocks of an answer in their order: a thought records how much text and how many calls came before it.
fn blocks_of<'a>(answer: &'a ModelAnswer, own: &str) -> Vec<AnthropicInputBlock<'a>> {
    let mut blocks = Vec::new();
    let (mut said, mut called) = (0, 0);
    let end = usize::MAX;
    let parts = thoughts_of(answer, own).map(|(place, thought)| (place.text, place.calls, Some(thought)));
    for (text, calls, thought) in parts.chain([(end, end, None)]) {
        let text = answer.text.floor_char_boundary(text).max(said);
        let calls = calls.min(answer.calls.len()).max(called);
        let words = &answer.text[said..text];
        if !is_blank(words) {
            blocks.push(AnthropicInputBlock::Text { text: words });
        }
        blocks.extend(answer.calls[called..calls].iter().map(wants));
        blocks.extend(thought.map(AnthropicInputBlock::Thought));
        (said, called) = (text, calls);
    }
    // An answer that ends with a thought is refused.
    while matches!(blocks.last(), Some(AnthropicInputBlock::Thought(_))) {
        blocks.pop();
    }
    blocks
}

fn wants(call: &ToolCall) -> AnthropicInputBlock<'_> {
    AnthropicInputBlock::ToolUse {
        id: plain_id(&call.id, LONGEST),
        name: plain_name(&call.name, LONGEST),
        input: &call.args,
    }
}

fn gave(result: &ToolResult) -> AnthropicInputBlock<'_> {
    let content = Some(result.text.as_str()).filter(|text| !is_blank(text));
    AnthropicInputBlock::ToolResult { tool_use_id: plain_id(&result.call, LONGEST), content, is_error: result.is_error }
}

/// A picture after a text with its name.
fn shown(picture: &Picture) -> Vec<AnthropicInputBlock<'_>> {
    let Picture { name, mime, bytes } = picture;
    if !SHOWN.contains(&mime.as_str()) {
        return vec![AnthropicInputBlock::Note { text: format!("[{name}: a picture ({mime}) that cannot be shown]") }];
    }
    let source = ImageSource { kind: "base64", media_type: mime, data: STANDARD.encode(bytes) };
    let name = Some(AnthropicInputBlock::Text { text: name }).filter(|_| !is_blank(name));
    name.into_iter().chain([AnthropicInputBlock::Image { source }]).collect()
}

/// Texts that contain only white space are refused.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicInputBlock<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicInputBlock<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename = "text")]
    Note {
        text: String,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_object")]
        input: &'a Value,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    #[serde(untagged)]
    Thought(ThoughtBlock<'a>),
}

fn as_object<S: Serializer>(input: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match input {
        Value::Object(object) => object.serialize(serializer),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new().serialize(serializer)
        }
    }
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: String,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}
