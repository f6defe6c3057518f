//! Texts that may contain a key.

use std::fmt;

/// A text that is never printed, because it may contain a key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub(super) String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for code that must send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
