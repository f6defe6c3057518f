//! What a server said about itself the last time, stored so that its tools are known before it is started again.

use std::path::Path;

use rmcp::model::{ServerPeerInfo, Tool as TheirTool};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use updraft_run::ContentHash;
use updraft_tools::{Schema, replace_private};

use super::connect::ProtocolStyle;
use super::repair;
use crate::error::cut;

/// Maximum bytes of a tool's description: descriptions are sent with every request to a model.
const DESCRIPTION: usize = 8 << 10;
/// Maximum bytes of a server's instructions.
const INSTRUCTIONS: usize = 8 << 10;

/// What a server said about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Fingerprint of the configuration that was used.
    pub(super) fingerprint: String,
    pub(super) manner: ProtocolStyle,
    /// The negotiated revision of the protocol.
    pub revision: String,
    /// The server's name for itself.
    #[serde(default)]
    pub title: String,
    /// Its instructions for use. They are untrusted text.
    #[serde(default)]
    pub instructions: String,
    /// Whether it has resources.
    #[serde(default)]
    pub has_resources: bool,
    /// Whether it has prompts.
    #[serde(default)]
    pub has_prompts: bool,
    /// Its tools, sorted by name.
    pub tools: Vec<ToolDescription>,
    /// Tools that it lists but that cannot be offered, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A tool as a server describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDescription {
    /// The server's own name for it.
    pub name: String,
    /// What it does, in the server's words.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input: Value,
    /// JSON Schema of the data it gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What the server says about its effects.
    #[serde(default)]
    pub hints: ToolHints,
}

/// What a server says about the effects of a tool. Believed only where that makes a call stricter, unless the user
/// trusts the server's hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolHints {
    /// It changes nothing.
    #[serde(default)]
    pub reads_only: bool,
    /// Calling it twice has the same effect as calling it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Its effect cannot be undone.
    #[serde(default)]
    pub destroys: bool,
    /// It reaches nothing outside of the server.
    #[serde(default)]
    pub stays_inside: bool,
    /// It only adds something: nothing is deleted or overwritten. By the protocol, a tool that changes something and
    /// does not say this is destructive.
    #[serde(default, skip_serializing_if = "is_false")]
    pub adds: bool,
    /// It reaches something outside of the server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reaches_out: bool,
}

impl Manifest {
    pub(super) fn new(
        fingerprint: &str,
        manner: ProtocolStyle,
        about: Option<&ServerPeerInfo>,
        tools: Vec<TheirTool>,
    ) -> Self {
        let title = about.and_then(|about| about.server_info.as_ref());
        let title = title.map(|info| cut(&format!("{} {}", info.name, info.version), 100));
        let (mut usable, mut left_out) = (Vec::new(), Vec::new());
        for mut tool in tools.into_iter().map(ToolDescription::from) {
            match repair::fault(&mut tool.input) {
                None => usable.push(tool),
                Some(why) => left_out.push(format!("`{}`: {why}", cut(&tool.name, 100))),
            }
        }
        let instructions = about.and_then(|about| about.instructions.as_deref()).unwrap_or_default();
        Self {
            fingerprint: fingerprint.to_owned(),
            manner,
            revision: about.map(|about| about.protocol_version.to_string()).unwrap_or_default(),
            title: title.unwrap_or_default(),
            instructions: whole(instructions, INSTRUCTIONS),
            has_resources: about.is_some_and(|about| about.capabilities.resources.is_some()),
            has_prompts: about.is_some_and(|about| about.capabilities.prompts.is_some()),
            tools: usable,
            left_out,
        }
    }

    /// All tools that it lists but that runs cannot use, each with the reason: tools that cannot be offered, and tools
    /// whose schemas are invalid.
    pub fn faults(&self) -> Vec<String> {
        let wrong = |schema: &Value| Schema::new(schema).and_then(|schema| schema.check()).err();
        let unusable = self.tools.iter().filter_map(|tool| {
            let why = wrong(&tool.input).or_else(|| tool.output.as_ref().and_then(wrong))?;
            Some(format!("`{}`: its schema cannot be used: {}", cut(&tool.name, 100), cut(&why, 300)))
        });
        self.left_out.iter().cloned().chain(unusable).collect()
    }

    /// A hash of everything that it says about its tools. A user vouches for exactly this text by its hash.
    pub fn seal(&self, server: &str) -> String {
        let bytes = serde_json::to_vec(&(server, &self.tools)).unwrap_or_default();
        ContentHash(Sha256::digest(&bytes).into()).to_string()
    }

    /// The stored manifest, if it was learned with the same configuration.
    pub(super) fn load(path: &Path, fingerprint: &str) -> Option<Self> {
        let kept: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (kept.fingerprint == fingerprint).then_some(kept)
    }

    /// Stores it atomically. If it is lost, that costs only time.
    pub(super) fn save(&self, path: &Path) -> std::io::Result<()> {
        replace_private(path, &serde_json::to_vec(self)?)
    }
}

impl From<TheirTool> for ToolDescription {
    fn from(tool: TheirTool) -> Self {
        let hints = tool.annotations.unwrap_or_default();
        let title = tool.title.or(hints.title).filter(|title| *title != tool.name);
        let description = tool.description.unwrap_or_default();
        let description = match title {
            Some(title) if description.is_empty() => title,
            _ => description.into_owned(),
        };
        let reads_only = hints.read_only_hint == Some(true);
        Self {
            name: tool.name.into_owned(),
            description: whole(&description, DESCRIPTION),
            input: Value::Object(tool.input_schema.as_ref().clone()),
            output: tool.output_schema.map(|schema| Value::Object(schema.as_ref().clone())),
            hints: ToolHints {
                reads_only,
                idempotent: hints.idempotent_hint == Some(true),
                destroys: !reads_only && hints.destructive_hint == Some(true),
                stays_inside: hints.open_world_hint == Some(false),
                adds: !reads_only && hints.destructive_hint == Some(false),
                reaches_out: hints.open_world_hint == Some(true),
            },
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// At most `limit` bytes of a text, with its line breaks.
fn whole(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.len() <= limit { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(limit)]) }
}
