//! A request body that only grows: what was sent before is sent again byte for byte.
//!
//! So the provider's prompt cache matches it, and no message is serialised twice. It is derived from the neutral
//! messages: after a restart, a compaction or a change of model it is built again, with the same bytes for the same
//! model.

use crate::dialect::Dialect;
use crate::features::ModelFeatures;
use crate::{Error, Prompt};

/// A dialect's serialised request body, up to the newest message.
#[derive(Debug, Default)]
pub struct RequestDraft {
    bytes: Vec<u8>,
    /// The number of messages it contains.
    messages: usize,
    /// The model and features it was written for.
    whose: String,
}

impl RequestDraft {
    /// The bytes so far; only the dialect knows what they mean.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Updates it to the prompt: appends the missing messages, or starts again if the prompt has fewer messages or the
    /// body belongs to another model.
    pub(crate) fn extend(
        &mut self,
        whose: &str,
        dialect: &dyn Dialect,
        manner: ModelFeatures,
        prompt: &Prompt<'_>,
    ) -> Result<(), Error> {
        if self.whose != whose || self.messages > prompt.messages.len() || self.bytes.is_empty() {
            *self = Self { whose: whose.to_owned(), ..Self::default() };
        }
        let written = self.write(dialect, manner, prompt);
        if let Err(why) = written {
            *self = Self::default();
            return Err(unwritable(&why));
        }
        Ok(())
    }

    fn write(&mut self, dialect: &dyn Dialect, manner: ModelFeatures, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        if self.bytes.is_empty() {
            dialect.begin(&mut self.bytes, prompt)?;
        }
        for message in prompt.messages.iter().skip(self.messages) {
            dialect.message(&mut self.bytes, &manner.adapt(message))?;
        }
        self.messages = prompt.messages.len();
        Ok(())
    }

    /// The whole body: the draft, and what may change between two requests.
    pub(crate) fn finished(&self, dialect: &dyn Dialect, prompt: &Prompt<'_>) -> Result<Vec<u8>, Error> {
        let mut body = Vec::with_capacity(self.bytes.len() + 512);
        body.extend_from_slice(&self.bytes);
        dialect.finish(&mut body, prompt).map_err(|why| unwritable(&why))?;
        Ok(body)
    }
}

fn unwritable(why: &serde_json::Error) -> Error {
    Error::Config {
        what: format!("the prompt cannot be written as JSON: {why}"),
        hint: "this is a bug in Updraft; please report it".to_owned(),
    }
}
