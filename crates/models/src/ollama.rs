//! Ollama's own language: one JSON object a line, arguments as objects, and a window of context that must be asked for.

mod body;
mod host;
mod parts;
mod window;

use std::sync::OnceLock;

use serde_json::{Value, json};
use updraft_run::{Message, Think};

use self::window::Window;
use crate::dialect::{Decode, Dialect, Framing, field};
use crate::discover::Found;
use crate::openai::{self, ROOM_TO_THINK};
use crate::{Endpoint, Prompt};

pub(crate) use self::host::address;

/// Ollama's chat.
#[derive(Debug)]
pub(crate) struct Ollama {
    /// By which our own thoughts are known again.
    name: String,
    model: String,
    temperature: Option<f64>,
    /// What the server said about the model; empty until it was asked.
    found: OnceLock<Found>,
    window: Window,
}

impl Ollama {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            name: format!("{}/{}", endpoint.provider, endpoint.model),
            model: endpoint.model.clone(),
            temperature: endpoint.tuning.temperature,
            found: OnceLock::new(),
            window: Window::default(),
        }
    }

    /// Whether the model thinks in levels; the others can only be told to or not to.
    fn has_levels(&self) -> bool {
        self.model.contains("gpt-oss")
    }

    /// What is sent as `think`. A model that cannot think refuses to be told to.
    fn think(&self, think: Think) -> Option<Value> {
        let thinks = self.found.get().and_then(|found| found.thinks);
        match (thinks, think) {
            (_, Think::Auto) | (Some(false), _) => None,
            (Some(true), think) if self.has_levels() => Some(json!(level(think))),
            (Some(true) | None, Think::Off) => Some(json!(false)),
            (Some(true), Think::Low | Think::Medium | Think::High | Think::Tokens(_)) => Some(json!(true)),
            (None, Think::Low | Think::Medium | Think::High | Think::Tokens(_)) => None,
        }
    }
}

/// Whether a model runs at Ollama's own house: by its name, or by where it is asked for.
pub(crate) fn is_cloud(model: &str, base: &str) -> bool {
    model.ends_with(":cloud") || model.ends_with("-cloud") || base.starts_with("https://ollama.com")
}

fn level(think: Think) -> &'static str {
    match think {
        Think::Off | Think::Low => "low",
        Think::Auto | Think::Medium => "medium",
        Think::High => "high",
        Think::Tokens(tokens) if tokens <= 2_048 => "low",
        Think::Tokens(tokens) if tokens <= 12_000 => "medium",
        Think::Tokens(_) => "high",
    }
}

impl Dialect for Ollama {
    fn path(&self) -> String {
        "/api/chat".to_owned()
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn learn(&self, found: &Found) {
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
            field(bytes, "format", schema)?;
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

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(parts::Parts { name: self.name.clone() })
    }

    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool {
        self.think(prompt.think).is_some()
    }

    fn room_to_think(&self, think: Think) -> u64 {
        // Until the server was asked it may be one that thinks: a budget must hold for either.
        let thinks = self.found.get().map_or(Some(true), |found| found.thinks);
        match (thinks, think) {
            (Some(false), _) | (None, Think::Auto) => 0,
            (Some(true), Think::Auto) => ROOM_TO_THINK,
            // It cannot be kept from thinking a little.
            (_, Think::Off) if self.has_levels() => Think::Low.tokens().unwrap_or(0),
            (_, think) => think.tokens().unwrap_or(0),
        }
    }
}
