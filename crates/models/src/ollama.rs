//! The dialect of Ollama's own API: one JSON object per line, arguments as objects, and a context window that must be
//! requested.

mod body;
mod host;
mod parts;
mod window;

use std::sync::OnceLock;

use serde_json::{Value, json};
use updraft_run::{Message, ThinkingEffort};

use self::window::ContextWindow;
use crate::dialect::{AnswerDecoder, Dialect, Framing, field};
use crate::discover::DiscoveredModel;
use crate::member_order::SchemaInOrder;
use crate::openai::{self, ROOM_TO_THINK};
use crate::{Endpoint, Prompt};

pub(crate) use self::host::address;

/// Ollama's chat API.
#[derive(Debug)]
pub(crate) struct OllamaDialect {
    /// Provider and model, by which own thoughts are recognised.
    name: String,
    model: String,
    temperature: Option<f64>,
    /// What the server said about the model; empty until it was asked.
    found: OnceLock<DiscoveredModel>,
    window: ContextWindow,
}

impl OllamaDialect {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            name: format!("{}/{}", endpoint.provider, endpoint.model),
            model: endpoint.model.clone(),
            temperature: endpoint.tuning.temperature,
            found: OnceLock::new(),
            window: ContextWindow::default(),
        }
    }

    /// Whether the model has thinking levels; for other models thinking can only be on or off.
    fn has_levels(&self) -> bool {
        self.model.contains("gpt-oss")
    }

    /// The value of `think`. A model that cannot think refuses it.
    fn think(&self, think: ThinkingEffort) -> Option<Value> {
        let thinks = self.found.get().and_then(|found| found.thinks);
        match (thinks, think) {
            (_, ThinkingEffort::Auto) | (Some(false), _) => None,
            (Some(true), think) if self.has_levels() => Some(json!(level(think))),
            (Some(true) | None, ThinkingEffort::Off) => Some(json!(false)),
            (
                Some(true),
                ThinkingEffort::Low | ThinkingEffort::Medium | ThinkingEffort::High | ThinkingEffort::Tokens(_),
            ) => Some(json!(true)),
            (None, ThinkingEffort::Low | ThinkingEffort::Medium | ThinkingEffort::High | ThinkingEffort::Tokens(_)) => {
                None
            }
        }
    }
}

/// Whether a model runs in Ollama's cloud, judged by its name or its address.
pub(crate) fn is_cloud(model: &str, base: &str) -> bool {
    model.ends_with(":cloud") || model.ends_with("-cloud") || base.starts_with("https://ollama.com")
}

fn level(think: ThinkingEffort) -> &'static str {
    match think {
        ThinkingEffort::Off | ThinkingEffort::Low => "low",
        ThinkingEffort::Auto | ThinkingEffort::Medium => "medium",
        ThinkingEffort::High => "high",
        ThinkingEffort::Tokens(tokens) if tokens <= 2_048 => "low",
        ThinkingEffort::Tokens(tokens) if tokens <= 12_000 => "medium",
        ThinkingEffort::Tokens(_) => "high",
    }
}

impl Dialect for OllamaDialect {
    fn path(&self) -> String {
        "/api/chat".to_owned()
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn learn(&self, found: &DiscoveredModel) {
        let _ = self.found.set(*found);
    }

    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.extend_from_slice(br#"{"model":"#);
        serde_json::to_writer(&mut *bytes, &self.model)?;
        bytes.extend_from_slice(br#","stream":true"#);
        openai::tools(bytes, prompt.tools)?;
        bytes.extend_from_slice(br#","messages":["#);
        body::system(bytes, prompt.system)
    }

    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()> {
        body::message(bytes, &self.name, message)
    }

    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b']');
        if let Some(schema) = prompt.schema.filter(|_| prompt.tools.is_empty()) {
            field(bytes, "format", &SchemaInOrder(schema))?;
        }
        if let Some(think) = self.think(prompt.think) {
            field(bytes, "think", &think)?;
        }
        let cap = self.cap(prompt);
        let most = self.found.get().and_then(|found| found.context);
        let mut options = json!({ "num_ctx": self.window.for_prompt(prompt, cap, most), "num_predict": cap });
        if let Some(temperature) = self.temperature {
            options["temperature"] = json!(temperature);
        }
        field(bytes, "options", &options)?;
        bytes.push(b'}');
        Ok(())
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(parts::OllamaDecoder { name: self.name.clone() })
    }

    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool {
        self.think(prompt.think).is_some()
    }

    fn room_to_think(&self, think: ThinkingEffort) -> u64 {
        // Until the server was asked, the model may be one that thinks: a budget must hold for both cases.
        let thinks = self.found.get().map_or(Some(true), |found| found.thinks);
        match (thinks, think) {
            (Some(false), _) | (None, ThinkingEffort::Auto) => 0,
            (Some(true), ThinkingEffort::Auto) => ROOM_TO_THINK,
            // Its thinking cannot be switched off completely.
            (_, ThinkingEffort::Off) if self.has_levels() => ThinkingEffort::Low.tokens().unwrap_or(0),
            (_, think) => think.tokens().unwrap_or(0),
        }
    }
}
