//! Faults in a configuration of servers.

use std::fmt;

/// A fault in a configuration, with its file, server and field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub file: String,
    /// The server, if the fault belongs to one.
    pub server: Option<String>,
    /// The field.
    pub field: Option<String>,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl ConfigFault {
    pub(super) fn of_file(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), server: None, field: None, what: what.into() }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.field, &self.server) {
            (Some(field), Some(server)) => write!(f, "`{field}` of server `{server}` in {}: ", self.file)?,
            (None, Some(server)) => write!(f, "server `{server}` in {}: ", self.file)?,
            (_, None) => write!(f, "{}: ", self.file)?,
        }
        f.write_str(&self.what)
    }
}
