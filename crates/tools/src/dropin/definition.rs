//! What a drop-in file says about its tools, as cached and shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One tool of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The line of its definition; 1 for a program.
    pub(super) line: u32,
    pub(super) description: String,
    /// JSON Schema of its arguments.
    pub(super) parameters: Value,
    /// JSON Schema of its result, if it has one.
    #[serde(default)]
    pub(super) output: Option<Value>,
    #[serde(default)]
    pub(super) annotations: Annotations,
    /// Whether it has a parameter for the context of the run.
    #[serde(default)]
    pub(super) context: bool,
}

/// What a tool says about itself, with the names from MCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Annotations {
    pub(super) read_only_hint: bool,
    pub(super) idempotent_hint: bool,
    pub(super) destructive_hint: bool,
    pub(super) open_world_hint: bool,
}

/// Everything that a file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FileDescription {
    pub(super) tools: Vec<Definition>,
    pub(super) problems: Vec<Problem>,
}

impl FileDescription {
    /// The description of a file that cannot be used at all.
    pub(super) fn faulty(text: impl Into<String>) -> Self {
        Self { tools: Vec::new(), problems: vec![Problem::new(Severity::Error, 1, text)] }
    }
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How much it matters.
    #[serde(rename = "level")]
    pub severity: Severity,
    /// The line in the file.
    pub line: u32,
    /// The tool it is about; `None` for the whole file.
    #[serde(default)]
    pub tool: Option<String>,
    /// What is wrong, and what follows from it.
    pub text: String,
}

impl Problem {
    pub(super) fn new(severity: Severity, line: u32, text: impl Into<String>) -> Self {
        Self { severity, line, tool: None, text: text.into() }
    }
}

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not a tool, and perhaps not meant to be one.
    Note,
    /// The tool works, but not as well as it could.
    Warning,
    /// The file or the tool cannot be used.
    Error,
}
