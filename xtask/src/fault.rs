//! Something that breaks a house rule, and what to do about it.

use std::fmt;

/// One finding. Printed as the finding and, on the next line, the hint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What was found and what was expected, with the path first.
    pub(crate) what: String,
    /// What to do next.
    pub(crate) hint: String,
}

impl Fault {
    /// Says what is wrong and what to do about it.
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  hint: {}", self.what, self.hint)
    }
}
