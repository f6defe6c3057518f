//! The dialect of Anthropic's Messages API.

mod body;
mod parts;
mod schema;
mod thinking;
mod thought;
mod wire;

use reqwest::header::{HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use updraft_run::{Message, ThinkingEffort};

use self::body::CacheControl;
use self::thinking::{AnthropicModel, AnthropicThinking};
use crate::Prompt;
use crate::dialect::{AnswerDecoder, Dialect, field};

/// The Messages API.
#[derive(Clone, Debug)]
pub(crate) struct AnthropicDialect {
    /// Provider and model: only thoughts of this model are sent back.
    own: String,
    model: String,
    mind: AnthropicModel,
    temperature: Option<f64>,
}

/// Whether an Anthropic model accepts pictures, judged by its name.
pub(crate) fn sees(model: &str) -> bool {
    !["claude-1", "claude-2", "claude-instant"].iter().any(|old| model.starts_with(old))
}

impl AnthropicDialect {
    pub(crate) fn new(provider: &str, model: &str, temperature: Option<f64>) -> Self {
        let (own, model) = (format!("{provider}/{model}"), model.to_owned());
        Self { own, mind: AnthropicModel::of(&model), model, temperature }
    }

    /// The thinking settings of a request. Some models refuse thinking if the answered calls come without thoughts, as
    /// calls of another model do.
    fn thinking(&self, prompt: &Prompt<'_>) -> Option<AnthropicThinking> {
        let last = prompt.messages.iter().rev().find_map(|message| match message {
            Message::Assistant(answer) => Some(answer),
            Message::User(_) | Message::Results(_) | Message::Pictures(_) => None,
        });
        let is_foreign = last.is_some_and(|last| !last.calls.is_empty() && !body::begins_with_thought(last, &self.own));
        if is_foreign && self.mind.wants_thoughts_before_calls() { None } else { self.mind.thinking(prompt.think) }
    }
}

/// The effort and the format of the answer.
#[derive(Serialize)]
struct AnthropicOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<AnthropicFormat>,
}

#[derive(Serialize)]
struct AnthropicFormat {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: Value,
}

impl Dialect for AnthropicDialect {
    fn path(&self) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self, headers: &mut HeaderMap) {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if self.mind.binds_thoughts() {
            headers.insert("anthropic-beta", HeaderValue::from_static("thinking-binding-controls-2026-08-01"));
        }
    }

    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.extend_from_slice(br#"{"model":"#);
        serde_json::to_writer(&mut *bytes, &self.model)?;
        bytes.extend_from_slice(br#","stream":true"#);
        body::head(bytes, prompt.system, prompt.tools)?;
        bytes.extend_from_slice(br#","messages":["#);
        Ok(())
    }

    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()> {
        body::message(bytes, message, &self.own)
    }

    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b']');
        let thinking = self.thinking(prompt);
        field(bytes, "max_tokens", &self.cap(prompt))?;
        if let Some(temperature) = self.temperature.filter(|_| thinking.is_none() && self.mind.takes_temperature()) {
            field(bytes, "temperature", &temperature.min(1.0))?;
        }
        if let Some(thinking) = thinking {
            field(bytes, "thinking", &thinking)?;
        }
        let schema = prompt.schema.filter(|_| self.mind.keeps_to_schemas()).and_then(schema::for_answer);
        let format = schema.map(|schema| AnthropicFormat { kind: "json_schema", schema });
        let output = AnthropicOutput { effort: self.mind.effort(prompt.think), format };
        if output.effort.is_some() || output.format.is_some() {
            field(bytes, "output_config", &output)?;
        }
        // The provider's prompt cache may end with the last message.
        field(bytes, "cache_control", &CacheControl::Ephemeral)?;
        bytes.push(b'}');
        Ok(())
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(parts::AnthropicDecoder::new(self.own.clone()))
    }

    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool {
        self.thinking(prompt).is_some()
    }

    fn room_to_think(&self, think: ThinkingEffort) -> u64 {
        self.mind.room(think)
    }

    fn cap(&self, prompt: &Prompt<'_>) -> u64 {
        let room = if self.thinking(prompt).is_some() { self.room_to_think(prompt.think) } else { 0 };
        prompt.max_output.saturating_add(room)
    }

    fn takes_schema_beside_tools(&self) -> bool {
        true
    }
}
