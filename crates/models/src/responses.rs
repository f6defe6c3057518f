//! The dialect of OpenAI's Responses API. Nothing is stored at the server, so encrypted reasoning is sent back with
//! each request.

mod body;
mod parts;
mod saved_items;
mod wire;

use serde::Serialize;
use updraft_run::{Message, ThinkingEffort};

use crate::Prompt;
use crate::dialect::{AnswerDecoder, Dialect, field};
use crate::openai::{ROOM_TO_THINK, effort, reasons};

/// The smallest accepted limit on output.
const LEAST_CAP: u64 = 16;

/// Tokens reserved for a model whose thinking can be low, but not switched off.
const LITTLE_ROOM: u64 = 1_024;

/// The Responses API.
#[derive(Clone, Debug)]
pub(crate) struct ResponsesDialect {
    /// Provider and model: only thoughts of this model are sent back.
    own: String,
    model: String,
    temperature: Option<f64>,
}

impl ResponsesDialect {
    pub(crate) fn new(provider: &str, model: &str, temperature: Option<f64>) -> Self {
        Self { own: format!("{provider}/{model}"), model: model.to_owned(), temperature }
    }
}

/// The reasoning settings.
#[derive(Serialize)]
struct ReasoningOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl Dialect for ResponsesDialect {
    fn path(&self) -> String {
        "/responses".to_owned()
    }

    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.extend_from_slice(br#"{"model":"#);
        serde_json::to_writer(&mut *bytes, &self.model)?;
        bytes.extend_from_slice(br#","stream":true,"store":false"#);
        if reasons(&self.model) {
            bytes.extend_from_slice(br#","include":["reasoning.encrypted_content"]"#);
        }
        if !prompt.system.is_empty() {
            field(bytes, "instructions", &prompt.system)?;
        }
        body::tools(bytes, prompt.tools)?;
        bytes.extend_from_slice(br#","input":["#);
        Ok(())
    }

    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()> {
        body::message(bytes, message, &self.own)
    }

    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b']');
        field(bytes, "max_output_tokens", &self.cap(prompt))?;
        if reasons(&self.model) {
            let effort = effort(&self.model, prompt.think);
            let summary = Some("auto").filter(|_| effort != Some("none"));
            field(bytes, "reasoning", &ReasoningOptions { effort, summary })?;
        } else if let Some(temperature) = self.temperature {
            field(bytes, "temperature", &temperature)?;
        }
        if let Some(schema) = prompt.schema {
            field(bytes, "text", &body::TextOptions::of(schema))?;
        }
        bytes.push(b'}');
        Ok(())
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(parts::ResponsesDecoder::new(self.own.clone()))
    }

    fn room_to_think(&self, think: ThinkingEffort) -> u64 {
        match think {
            _ if !reasons(&self.model) => 0,
            ThinkingEffort::Auto => ROOM_TO_THINK,
            ThinkingEffort::Off if effort(&self.model, think) == Some("none") => 0,
            ThinkingEffort::Off
            | ThinkingEffort::Low
            | ThinkingEffort::Medium
            | ThinkingEffort::High
            | ThinkingEffort::Tokens(_) => think.tokens().unwrap_or_default().max(LITTLE_ROOM),
        }
    }

    fn cap(&self, prompt: &Prompt<'_>) -> u64 {
        prompt.max_output.saturating_add(self.room_to_think(prompt.think)).max(LEAST_CAP)
    }

    fn can_be_told_to_think(&self, _: &Prompt<'_>) -> bool {
        reasons(&self.model)
    }

    fn takes_schema_beside_tools(&self) -> bool {
        true
    }
}
