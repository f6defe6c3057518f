//! The trait for a provider's API dialect: where to post, how to write messages, how to parse answers.
//!
//! A dialect is thin. The body of a request is written in three pieces: what comes before the messages, each message,
//! and what comes after. The first two make up the [`RequestDraft`](crate::RequestDraft), which only grows; so a
//! dialect must write the same bytes for the same content, and put everything that may change between two requests into
//! the last piece.

use std::fmt;

use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use updraft_run::{Message, ThinkingEffort};

use crate::answer_builder::AnswerBuilder;
use crate::discover::DiscoveredModel;
use crate::retry::AttemptError;
use crate::{DeltaCallback, Prompt};

/// The API dialect of a provider.
pub(crate) trait Dialect: Send + Sync + fmt::Debug {
    /// The path after the base address, including the query.
    fn path(&self) -> String;

    /// Its own headers, besides the one with the key.
    fn headers(&self, _headers: &mut HeaderMap) {}

    /// How the parts of an answer are separated.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Receives what the server said about the model, once it was asked.
    fn learn(&self, _found: &DiscoveredModel) {}

    /// Writes everything before the first message, up to the opening of the list of messages.
    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()>;

    /// Writes one message into the open list.
    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()>;

    /// Writes everything after the messages, beginning with the end of their list.
    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()>;

    /// A decoder for one answer.
    fn decoder(&self) -> Box<dyn AnswerDecoder>;

    /// Tokens that are added to the limit on output, so that thinking does not use up the answer.
    fn room_to_think(&self, think: ThinkingEffort) -> u64;

    /// Whether the thinking effort of this prompt can be set for this model.
    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool;

    /// The requested limit on output, including thinking. A budget reserves this much.
    fn cap(&self, prompt: &Prompt<'_>) -> u64 {
        prompt.max_output.saturating_add(self.room_to_think(prompt.think))
    }

    /// Whether a request may have both tools and a schema for the answer.
    fn takes_schema_beside_tools(&self) -> bool {
        false
    }
}

/// How the parts of an answer are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON object per line.
    Lines,
}

/// Parses the parts of one answer in order.
pub(crate) trait AnswerDecoder: Send {
    /// Parses the data of one event, or one line.
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError>;
}

/// Adds an element to the open list.
pub(crate) fn push(bytes: &mut Vec<u8>, member: &impl Serialize) -> serde_json::Result<()> {
    separate(bytes);
    serde_json::to_writer(bytes, member)
}

/// Writes a comma if something comes before.
pub(crate) fn separate(bytes: &mut Vec<u8>) {
    if !matches!(bytes.last(), Some(b'[' | b'{')) {
        bytes.push(b',');
    }
}

/// Adds a field to the open object.
pub(crate) fn field(bytes: &mut Vec<u8>, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
    separate(bytes);
    serde_json::to_writer(&mut *bytes, name)?;
    bytes.push(b':');
    serde_json::to_writer(bytes, value)
}

/// Parses a part of an answer in place. UTF-8 is checked once, which is faster than for each string; invalid UTF-8 may
/// still contain everything that is needed.
pub(crate) fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, AttemptError> {
    let read = match std::str::from_utf8(data) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(data),
    };
    read.map_err(|why| garbled(&why, data))
}

/// The error for a part of an answer that cannot be parsed.
pub(crate) fn garbled(why: &serde_json::Error, data: &[u8]) -> AttemptError {
    let text = String::from_utf8_lossy(&data[..data.len().min(2_000)]);
    AttemptError::Garbled(format!("{why} in `{}`", crate::refusal::shorten(&text)))
}
