//! `initialize`: what the two sides say about themselves.

use serde::Deserialize;
use serde_json::{Value, json};

/// The only version of the protocol that is spoken here. An editor that asks for another one gets this one as well and
/// decides whether it stays.
const VERSION: u16 = 1;

/// What the editor can do, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EditorAbilities {
    /// It shows forms.
    pub(crate) has_forms: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct InitializeParams {
    client_capabilities: Value,
}

impl InitializeParams {
    /// What the editor says about itself. Its files and terminals are not used: calls are made where their effects are
    /// journalled and confined.
    pub(crate) fn abilities(&self) -> EditorAbilities {
        EditorAbilities { has_forms: self.client_capabilities["elicitation"]["form"].is_object() }
    }
}

/// What we say about ourselves.
pub(crate) fn introduction(version: &str) -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": true, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
        },
        "agentInfo": { "name": "updraft", "title": "Updraft", "version": version },
        "authMethods": [],
    })
}
