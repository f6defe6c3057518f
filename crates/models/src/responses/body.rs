//! Serialises messages and tools as items of the Responses API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use updraft_run::{Message, ModelAnswer, Picture, ToolCall, ToolSpec};

use super::saved_items::{SavedItem, kept_in};
use crate::argument_schema::for_arguments;
use crate::dialect::push;
use crate::ids::{plain_id, plain_name};
use crate::openai::{as_text, data_url, is_closed};

/// Maximum length of names and ids.
const LONGEST: usize = 64;

/// The picture formats that are accepted.
const SHOWN: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The tools, if there are any.
pub(super) fn tools(bytes: &mut Vec<u8>, tools: &[ToolSpec]) -> serde_json::Result<()> {
    if tools.is_empty() {
        return Ok(());
    }
    bytes.extend_from_slice(br#","tools":["#);
    for tool in tools {
        push(
            bytes,
            &ResponsesTool {
                kind: "function",
                name: &tool.name,
                description: &tool.description,
                parameters: for_arguments(&tool.parameters),
                // The default is strict, which is refused for most schemas.
                strict: false,
            },
        )?;
    }
    bytes.push(b']');
    Ok(())
}

/// One message, as its items; `own` is the model whose thoughts are sent back.
pub(super) fn message(bytes: &mut Vec<u8>, message: &Message, own: &str) -> serde_json::Result<()> {
    let items: Vec<InputItem<'_>> = match message {
        Message::User(text) => vec![InputItem::Said { role: "user", content: text, phase: None }],
        Message::Assistant(answer) => items_of(answer, own),
        Message::Results(results) => {
            let each = results.iter();
            each.map(|result| InputItem::Gave { call_id: plain_id(&result.call, LONGEST), output: &result.text })
                .collect()
        }
        Message::Pictures(pictures) => {
            let content = pictures.iter().flat_map(shown).collect();
            vec![InputItem::Shown { role: "user", content }]
        }
    };
    items.iter().try_for_each(|item| push(bytes, item))
}

/// The items of an answer in their order: a saved item records how much text and how many calls came before it.
fn items_of<'a>(answer: &'a ModelAnswer, own: &str) -> Vec<InputItem<'a>> {
    let mut items = Vec::new();
    let (mut said, mut called, mut phase) = (0, 0, None);
    let end = usize::MAX;
    let parts = kept_in(answer, own).map(|(place, kept)| (place.text, place.calls, Some(kept)));
    for (text, calls, kept) in parts.chain([(end, end, None)]) {
        let text = answer.text.floor_char_boundary(text).max(said);
        let calls = calls.min(answer.calls.len()).max(called);
        if text > said {
            items.push(InputItem::Said { role: "assistant", content: &answer.text[said..text], phase });
        }
        items.extend(answer.calls[called..calls].iter().map(wants));
        match kept {
            Some(SavedItem::Item(item)) => items.push(InputItem::Thought(item)),
            Some(SavedItem::Phase(next)) => phase = Some(next),
            None => {}
        }
        (said, called) = (text, calls);
    }
    // Reasoning without a following item is refused.
    while matches!(items.last(), Some(InputItem::Thought(_))) {
        items.pop();
    }
    items
}

fn wants(call: &ToolCall) -> InputItem<'_> {
    let (call_id, name) = (plain_id(&call.id, LONGEST), plain_name(&call.name, LONGEST));
    InputItem::Wants { call_id, name, arguments: &call.args }
}

/// A picture after a text with its name.
fn shown(picture: &Picture) -> [InputPart<'_>; 2] {
    let Picture { name, mime, .. } = picture;
    let picture = if SHOWN.contains(&mime.as_str()) {
        InputPart::InputImage { detail: "auto", image_url: data_url(picture) }
    } else {
        InputPart::InputText { text: format!("[a picture ({mime}) that cannot be shown]").into() }
    };
    [InputPart::InputText { text: name.into() }, picture]
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum InputItem<'a> {
    #[serde(rename = "message")]
    Said {
        role: &'static str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    #[serde(rename = "message")]
    Shown { role: &'static str, content: Vec<InputPart<'a>> },
    #[serde(rename = "function_call")]
    Wants {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: &'a Value,
    },
    #[serde(rename = "function_call_output")]
    Gave { call_id: Cow<'a, str>, output: &'a str },
    #[serde(untagged)]
    Thought(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { detail: &'static str, image_url: String },
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    strict: bool,
}

/// The format of the answer.
#[derive(Serialize)]
pub(super) struct TextOptions<'a> {
    format: ResponsesFormat<'a>,
}

#[derive(Serialize)]
struct ResponsesFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

impl<'a> TextOptions<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        Self { format: ResponsesFormat { kind: "json_schema", name: "answer", schema, strict: is_closed(schema) } }
    }
}
