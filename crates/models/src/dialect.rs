//! What sets one provider's language apart from another's: where to post, how messages are written, how parts are read.
//!
//! A dialect is thin. The request's body is written in three pieces: what comes before the messages, each message, and
//! what comes after. The first two make up the [`RequestDraft`](crate::RequestDraft), which only grows; so a dialect must write the
//! same bytes for the same content, and put whatever may change between two asks into the last piece.

use std::fmt;

use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use updraft_run::{Message, ThinkingEffort};

use crate::discover::DiscoveredModel;
use crate::fold::AnswerBuilder;
use crate::retry::AttemptError;
use crate::{DeltaCallback, Prompt};

/// A provider's language.
pub(crate) trait Dialect: Send + Sync + fmt::Debug {
    /// What follows the base address, query included.
    fn path(&self) -> String;

    /// Headers of its own, beside the key's.
    fn headers(&self, _headers: &mut HeaderMap) {}

    /// How the parts of an answer are set apart.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Hears what the server said about the model, once it was asked.
    fn learn(&self, _found: &DiscoveredModel) {}

    /// Everything before the first message, ending with the list of messages open.
    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()>;

    /// One message, added to the list that is open.
    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()>;

    /// Everything after the messages, beginning with the end of their list.
    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()>;

    /// Reads one answer.
    fn decoder(&self) -> Box<dyn AnswerDecoder>;

    /// Tokens the answer's cap is widened by, so that thinking does not eat the answer.
    fn room_to_think(&self, think: ThinkingEffort) -> u64;

    /// Whether this model can be told to think as this prompt wishes.
    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool;

    /// The cap on the answer that is asked for, thinking included. A budget reserves this much.
    fn cap(&self, prompt: &Prompt<'_>) -> u64 {
        prompt.max_output.saturating_add(self.room_to_think(prompt.think))
    }

    /// Whether a schema for the answer may stand beside tools.
    fn takes_schema_beside_tools(&self) -> bool {
        false
    }
}

/// How the parts of an answer are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON object a line.
    Lines,
}

/// Reads the parts of one answer in order.
pub(crate) trait AnswerDecoder: Send {
    /// Takes the data of one event, or one line.
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError>;
}

/// Adds a member to the list that is open.
pub(crate) fn push(bytes: &mut Vec<u8>, member: &impl Serialize) -> serde_json::Result<()> {
    separate(bytes);
    serde_json::to_writer(bytes, member)
}

/// Puts a comma where something stands before.
pub(crate) fn separate(bytes: &mut Vec<u8>) {
    if !matches!(bytes.last(), Some(b'[' | b'{')) {
        bytes.push(b',');
    }
}

/// Adds a field to the object that is open.
pub(crate) fn field(bytes: &mut Vec<u8>, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
    separate(bytes);
    serde_json::to_writer(&mut *bytes, name)?;
    bytes.push(b':');
    serde_json::to_writer(bytes, value)
}

/// Reads a part of an answer where it lies. That it is text is looked at once, which is quicker than string by string;
/// what is not may still hold all that is asked for.
pub(crate) fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, AttemptError> {
    let read = match std::str::from_utf8(data) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(data),
    };
    read.map_err(|why| garbled(&why, data))
}

/// A part of an answer that cannot be read.
pub(crate) fn garbled(why: &serde_json::Error, data: &[u8]) -> AttemptError {
    let text = String::from_utf8_lossy(&data[..data.len().min(2_000)]);
    AttemptError::Garbled(format!("{why} in `{}`", crate::refusal::shorten(&text)))
}
