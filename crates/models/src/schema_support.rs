//! Whether a server accepts a schema for the answer. Some refuse the request, so they are asked again without it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::{Error, Prompt};

/// Words with which servers refuse a schema.
const REFUSALS: [&str; 6] =
    ["response_format", "json_schema", "json schema", "responseschema", "structured output", "grammar"];

/// Whether the server has refused a schema.
#[derive(Debug, Default)]
pub(crate) struct SchemaSupport(AtomicBool);

impl SchemaSupport {
    /// The schema, if it may be sent.
    pub(crate) fn allowed<'a>(&self, schema: Option<&'a Value>) -> Option<&'a Value> {
        schema.filter(|_| !self.0.load(Ordering::Relaxed))
    }

    /// Whether a request failed because of its schema; then none is sent from here on. The answer is read leniently, so
    /// it is only less likely to fit.
    pub(crate) fn is_refused(&self, prompt: &Prompt<'_>, error: &Error) -> bool {
        let Error::Refused { status: 400 | 404 | 415 | 422 | 501, message, .. } = error else { return false };
        let said = message.to_lowercase();
        let is_refused = prompt.schema.is_some() && REFUSALS.iter().any(|words| said.contains(words));
        self.0.fetch_or(is_refused, Ordering::Relaxed);
        is_refused
    }
}
