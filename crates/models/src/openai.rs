//! The dialect of OpenAI's Chat Completions API, for OpenAI and all compatible servers.
//!
//! It does not handle `<think>` tags or tool calls written as text: the reader of the answer does.

mod body;
mod parts;
mod wire;

use std::sync::OnceLock;

use updraft_run::{Message, ThinkingEffort};

use crate::Prompt;
use crate::dialect::{AnswerDecoder, Dialect, field, push};
use crate::discover::DiscoveredModel;

pub(crate) use self::body::{ServerQuirks, as_text, data_url, is_closed, tools};

/// Tokens reserved for a model that thinks by default: otherwise thinking would use up the answer.
pub(crate) const ROOM_TO_THINK: u64 = 8_192;

/// The Chat Completions API.
#[derive(Debug)]
pub(crate) struct ChatDialect {
    pub(crate) model: String,
    /// The kind of server.
    pub(crate) house: ChatVendor,
    pub(crate) temperature: Option<f64>,
    /// Nothing is known of the server but its address, so it is sent no limit on answers that nobody chose.
    pub(crate) is_unknown: bool,
    /// The special requirements of the server.
    pub(crate) taste: ServerQuirks,
    /// Whether the model's template supports thinking, once the server has said so: then thinking settings are sent.
    pub(crate) thinks: OnceLock<bool>,
}

/// The kind of server: supported settings differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatVendor {
    /// OpenAI's own models.
    OpenAi,
    /// A server on a local machine.
    Local,
    /// OpenRouter, which has its own settings for thinking.
    Router,
    /// Any other.
    Other,
}

impl ChatDialect {
    /// Whether this is an OpenAI model that thinks.
    fn reasons(&self) -> bool {
        self.house == ChatVendor::OpenAi && reasons(&self.model)
    }
}

impl ChatDialect {
    /// The reasoning effort to send, if one may be sent.
    fn effort(&self, prompt: &Prompt<'_>) -> Option<&'static str> {
        match self.house {
            // Together with tools, newer models refuse it here, and the newest require that it is explicitly switched
            // off.
            ChatVendor::OpenAi if !prompt.tools.is_empty() && self.reasons() => match version(&self.model) {
                Some(newest) if newest >= 5.6 => Some("none"),
                Some(newer) if newer >= 5.2 => None,
                _ => effort(&self.model, prompt.think),
            },
            ChatVendor::OpenAi if self.reasons() => effort(&self.model, prompt.think),
            ChatVendor::Router => effort_word(prompt.think),
            ChatVendor::OpenAi | ChatVendor::Local | ChatVendor::Other => None,
        }
    }
}

/// The number in `gpt-5.4-mini`.
fn version(model: &str) -> Option<f64> {
    let rest = model.strip_prefix("gpt-")?;
    rest.split('-').next()?.parse().ok()
}

/// Whether an OpenAI model thinks, judged by its name.
pub(crate) fn reasons(model: &str) -> bool {
    let begins_with_digit = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_digit());
    let is_o = model.strip_prefix('o').is_some_and(begins_with_digit);
    let is_gpt =
        model.strip_prefix("gpt-").is_some_and(|rest| begins_with_digit(rest) && !rest.starts_with(['3', '4']));
    (is_o || is_gpt) && !model.contains("chat")
}

/// Whether an OpenAI model accepts pictures, judged by its name.
pub(crate) fn sees(model: &str) -> bool {
    !["gpt-3.5", "o1-mini", "o3-mini", "gpt-4-0", "text-", "davinci", "babbage"]
        .iter()
        .any(|old| model.starts_with(old))
}

/// OpenAI's value for the reasoning effort.
pub(crate) fn effort(model: &str, think: ThinkingEffort) -> Option<&'static str> {
    let is = |beginning: &str| model.starts_with(beginning);
    match think {
        // For some models thinking cannot be switched off completely.
        ThinkingEffort::Off if model.contains("codex") || model.contains("-pro") => Some("low"),
        ThinkingEffort::Off if is("gpt-5.") || is("gpt-6-sol") || is("gpt-6-luna") => Some("none"),
        ThinkingEffort::Off if is("gpt-5") => Some("minimal"),
        think => effort_word(think),
    }
}

/// The value for the reasoning effort that most models understand.
pub(crate) fn effort_word(think: ThinkingEffort) -> Option<&'static str> {
    Some(match think {
        ThinkingEffort::Auto => return None,
        ThinkingEffort::Off | ThinkingEffort::Low => "low",
        ThinkingEffort::Medium => "medium",
        ThinkingEffort::High => "high",
        ThinkingEffort::Tokens(tokens) if tokens <= 2_048 => "low",
        ThinkingEffort::Tokens(tokens) if tokens <= 12_000 => "medium",
        ThinkingEffort::Tokens(_) => "high",
    })
}

impl Dialect for ChatDialect {
    fn path(&self) -> String {
        "/chat/completions".to_owned()
    }

    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.extend_from_slice(br#"{"model":"#);
        serde_json::to_writer(&mut *bytes, &self.model)?;
        bytes.extend_from_slice(br#","stream":true,"stream_options":{"include_usage":true}"#);
        body::tools(bytes, prompt.tools)?;
        bytes.extend_from_slice(br#","messages":["#);
        if prompt.system.is_empty() { Ok(()) } else { push(bytes, &body::ChatMessage::system(prompt.system)) }
    }

    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()> {
        body::message(bytes, message, &self.taste)
    }

    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b']');
        if let Some(schema) = prompt.schema.filter(|_| prompt.tools.is_empty() || self.takes_schema_beside_tools()) {
            field(bytes, "response_format", &body::ChatResponseFormat::of(schema))?;
        }
        if prompt.is_limited || !self.is_unknown {
            field(bytes, if self.reasons() { "max_completion_tokens" } else { "max_tokens" }, &self.cap(prompt))?;
        }
        if let Some(temperature) = self.temperature.filter(|_| !self.reasons()) {
            field(bytes, "temperature", &temperature)?;
        }
        if let Some(effort) = self.effort(prompt) {
            match self.house {
                ChatVendor::Router => field(bytes, "reasoning", &serde_json::json!({ "effort": effort }))?,
                ChatVendor::OpenAi | ChatVendor::Local | ChatVendor::Other => {
                    field(bytes, "reasoning_effort", &effort)?;
                }
            }
        }
        if self.thinks.get() == Some(&true) && prompt.think != ThinkingEffort::Auto {
            let kwargs = serde_json::json!({ "enable_thinking": prompt.think != ThinkingEffort::Off });
            field(bytes, "chat_template_kwargs", &kwargs)?;
        }
        bytes.push(b'}');
        Ok(())
    }

    fn learn(&self, found: &DiscoveredModel) {
        // If the server does not say, thinking is not requested.
        let _ = self.thinks.set(self.house == ChatVendor::Local && found.thinks == Some(true));
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(parts::ChatDecoder { thoughts_of: self.taste.thoughts_of.clone() })
    }

    fn room_to_think(&self, think: ThinkingEffort) -> u64 {
        let is_told = match self.house {
            ChatVendor::OpenAi => self.reasons(),
            ChatVendor::Router => true,
            ChatVendor::Local => self.thinks.get() != Some(&false),
            ChatVendor::Other => false,
        };
        match think {
            ThinkingEffort::Auto if self.reasons() => ROOM_TO_THINK,
            // If no thinking setting is sent, nothing changes.
            _ if !is_told => 0,
            think => think.tokens().unwrap_or(0),
        }
    }

    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool {
        self.thinks.get() == Some(&true) || self.effort(prompt).is_some_and(|effort| effort != "none")
    }

    fn takes_schema_beside_tools(&self) -> bool {
        // llama.cpp refuses it, because both would constrain the output.
        self.house == ChatVendor::OpenAi
    }
}
