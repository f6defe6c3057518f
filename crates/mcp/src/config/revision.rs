//! The `revision` field of a server's entry: the only revision of the protocol to use.

use std::fmt;

use rmcp::model::ProtocolVersion;

use super::{FieldFault, wrong};

/// A known revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision(ProtocolVersion);

impl Revision {
    /// Parses the field: a revision such as `2025-06-18`, or nothing. The error says what was expected.
    pub(super) fn meant_by(written: Option<&str>) -> Result<Option<Self>, FieldFault> {
        let Some(text) = written else { return Ok(None) };
        let known = ProtocolVersion::KNOWN_VERSIONS;
        if let Some(version) = known.iter().find(|version| version.as_str() == text) {
            return Ok(Some(Self(version.clone())));
        }
        let names: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
        wrong("revision", format!("`{text}` is not a known revision; expected one of {}", names.join(", ")))
    }

    pub(crate) fn version(&self) -> &ProtocolVersion {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
