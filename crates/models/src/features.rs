//! The features of a model beyond its dialect: how it calls tools, and whether it accepts pictures.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer, Picture, SMALL_WINDOW};

use crate::member_order::InOrderOf;
use crate::text_tools::result_in_words;

/// How a model is told about tools and calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolCallStyle {
    /// With the provider's own function calls.
    #[default]
    Native,
    /// As text in the prompt; a call is JSON that is constrained by a schema.
    Text,
}

impl ToolCallStyle {
    /// Its word in a model's settings.
    pub fn word(self) -> &'static str {
        match self {
            ToolCallStyle::Native => "native",
            ToolCallStyle::Text => "text",
        }
    }

    /// The style with this word.
    pub fn parse(word: &str) -> Option<Self> {
        [ToolCallStyle::Native, ToolCallStyle::Text].into_iter().find(|style| style.word() == word)
    }
}

/// What is known about a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelFeatures {
    pub(crate) tools: ToolCallStyle,
    /// Whether it accepts pictures.
    pub(crate) sees: bool,
    /// Whether it runs on a local machine: it is small, so its strings are limited.
    pub(crate) local: bool,
    /// Size of its context window in tokens, if it is known.
    pub(crate) window: Option<u64>,
    /// Whether the server closes the connection after each stream, although it promises to keep it open.
    pub(crate) closes: bool,
}

impl ModelFeatures {
    /// Whether it is small: it is told of tools briefly, and makes one call at a time.
    pub(crate) fn is_small(self) -> bool {
        self.window.is_some_and(|window| window <= SMALL_WINDOW)
    }

    /// The message in a form that this model accepts.
    pub(crate) fn adapt(self, message: &Message) -> Cow<'_, Message> {
        match message {
            Message::Pictures(pictures) if !self.sees => Cow::Owned(Message::User(unseen(pictures).into())),
            Message::Assistant(answer) if self.tools == ToolCallStyle::Text && !answer.calls.is_empty() => {
                Cow::Owned(Message::Assistant(Arc::new(as_text(answer))))
            }
            Message::Results(results) if self.tools == ToolCallStyle::Text => {
                let lines = results.iter().map(|result| {
                    if self.is_small() {
                        return result_in_words(&result.name, &result.text);
                    }
                    json!({ "iteration_context": { "tool": result.name, "tool_result": result.text } }).to_string()
                });
                Cow::Owned(Message::User(lines.collect::<Vec<_>>().join("\n").into()))
            }
            Message::User(_) | Message::Assistant(_) | Message::Results(_) | Message::Pictures(_) => {
                Cow::Borrowed(message)
            }
        }
    }
}

impl ModelFeatures {
    /// The newest pictures that are not sent to this model, as messages for the user.
    pub(crate) fn unshown(self, model: &str, messages: &[Message]) -> Vec<String> {
        let newest = messages.iter().rev().take_while(|message| !matches!(message, Message::Assistant(_)));
        let unshown = newest.filter(|_| !self.sees).filter_map(|message| match message {
            Message::Pictures(pictures) => Some(pictures),
            Message::User(_) | Message::Assistant(_) | Message::Results(_) => None,
        });
        let words =
            |picture: &Picture| format!("{model} does not accept pictures, so `{}` was not sent to it", picture.name);
        unshown.flat_map(|pictures| pictures.iter().map(words)).collect()
    }
}

/// The message for the user of a model whose thinking cannot be configured.
pub(crate) fn unthinking(model: &str) -> String {
    format!("{model} cannot be told how much to think, so `think` was ignored")
}

/// The text that replaces pictures.
fn unseen(pictures: &[Picture]) -> String {
    let line = |picture: &Picture| {
        let Picture { name, mime, bytes } = picture;
        format!("[{name}: a picture ({mime}, {} bytes) that this model does not accept]", bytes.len())
    };
    pictures.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// An answer with its calls written out, one JSON object per line.
fn as_text(answer: &ModelAnswer) -> ModelAnswer {
    let calls = answer.calls.iter().map(|call| written(&call.name, &call.args));
    let said = Some(answer.text.clone()).filter(|text| !text.is_empty());
    ModelAnswer { text: said.into_iter().chain(calls).collect::<Vec<_>>().join("\n"), ..ModelAnswer::default() }
}

/// A call in the form of the text protocol.
pub(crate) fn written(name: &str, args: &Value) -> String {
    json!({ "action": name, "args": args }).to_string()
}

/// The same, with the arguments in the order of the tool's schema.
pub(crate) fn written_in_order(name: &str, args: &Value, schema: &Value) -> String {
    let args = serde_json::to_string(&InOrderOf(args, schema)).unwrap_or_else(|_| args.to_string());
    format!(r#"{{"action":{},"args":{args}}}"#, Value::from(name))
}
