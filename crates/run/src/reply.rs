//! What the world gave back for an effect, and why something failed.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ContentHash, Millis};
use crate::message::{ModelAnswer, TokenUsage, is_false};
use crate::origins::Origins;

/// What came back for an effect. Failure, timeout and doubt are replies too: the run goes on with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// A model answered.
    Answer(Arc<ModelAnswer>),
    /// A tool gave its output.
    Output(Arc<ToolOutput>),
    /// A person answered a question.
    Said(String),
    /// A person allowed or refused a call, or would not answer a question.
    Verdict(Verdict),
    /// It did not work.
    Failed(Failure),
    /// It was stopped at its time limit.
    TimedOut {
        /// The limit.
        limit: Millis,
    },
    /// It was stopped because the run or step was cancelled.
    Cancelled,
    /// It had begun when our process ended, and nobody knows whether it happened.
    InDoubt {
        /// What was attempted, and what traces there are.
        evidence: String,
    },
}

/// A person's word on a call that needs approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the call may be made.
    pub allow: bool,
    /// Who said so: a person's name, or the rule that stands in for one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// What the agent is told with a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// The same shall be allowed from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<ApprovalScope>,
    /// The origins that the question named: the word holds for no others. Filled in by the run.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
}

/// Where "always" holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// In this run.
    Run,
    /// In this run, and in later ones in the same workspace: whoever asks the person keeps it for those.
    Workspace,
}

/// What a tool call gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model is shown, cut to size.
    pub text: String,
    /// The result as data, where the tool gives data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The tool says that it failed; `text` says why.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// What changed in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Pictures it gave, to be shown to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// The whole output, where `text` is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<BlobRef>,
    /// It holds text from outside (a web page, a remote server).
    #[serde(default, skip_serializing_if = "is_false")]
    pub untrusted: bool,
    /// Where that text came from, in words for a person: a page's address, a server's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Hosts that were reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What it used, where the call asked a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TokenUsage>>,
    /// Every change as a JSON list, where `changes` names only the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_changes: Option<BlobRef>,
    /// What changed in text files, as a unified diff, where `value` does not hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<BlobRef>,
    /// Why it may have changed more than is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<String>,
    /// How much it is known to have changed that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<UnlistedCount>,
}

/// Changes that were made and are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedCount {
    /// How many.
    pub changes: u64,
    /// How many of them replaced or removed something, which nobody can bring back.
    #[serde(default)]
    pub taken: u64,
}

/// A stored value: its content hash and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// SHA-256 of the bytes.
    pub hash: ContentHash,
    /// How many bytes.
    pub len: u64,
}

/// A picture that is stored: what it is called, what it is, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureRef {
    /// The file it came from.
    pub name: String,
    /// What it is, such as `image/png`.
    pub mime: String,
    /// Its bytes.
    pub blob: BlobRef,
}

/// A file that a tool created, changed or deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// Hash of the content before (of a link: where it led); absent if the file was not there or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    /// Hash of the content after; absent if the file is gone or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
    /// What it was, besides its content; absent if it was not there. Older journals do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<FileMetadata>,
    /// What it is now; absent if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<FileMetadata>,
    /// The content before was not kept, so nobody can bring it back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
    /// Another call was under way that may have made it instead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsure: bool,
}

/// What something in the workspace is, besides its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMetadata {
    /// A file, a link or a folder.
    pub kind: FileKind,
    /// The permission bits.
    pub mode: u32,
    /// Bytes of content.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub len: u64,
    /// When its content changed last, in nanoseconds since 1970: it stands in for a hash where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
}

/// The kinds of things in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// A pipe, a socket or a device.
    Other,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Why something did not work, for people, models and scripts alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The sort of failure.
    pub kind: FailureKind,
    /// What happened, in one or two sentences.
    pub message: String,
    /// What was used all the same, where that is known: a step of an imported file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TokenUsage>>,
}

impl Failure {
    /// A failure of a kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), usage: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The sorts of failure. The names are a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// A permission or the sandbox refused it.
    Security,
    /// It needs a person's approval, and nobody could be asked.
    Unapproved,
    /// A tool failed.
    Tool,
    /// A time limit was reached.
    Timeout,
    /// Arguments or results did not fit their schema.
    Validation,
    /// The model did something it must not: repeats itself, leaves out what was asked.
    ModelBehavior,
    /// The model could not be reached or refused.
    Model,
    /// The model is not available: no connection, no key that counts, nothing left to spend.
    Outage,
    /// What should have been JSON was not.
    Json,
    /// A budget or limit is used up.
    Budget,
    /// Someone cancelled it.
    Cancelled,
    /// The outcome is unknown.
    InDoubt,
    /// Settings or credentials are missing or wrong.
    Config,
}

impl FailureKind {
    /// The name scripts see.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Security => "security",
            FailureKind::Unapproved => "unapproved",
            FailureKind::Tool => "tool",
            FailureKind::Timeout => "timeout",
            FailureKind::Validation => "validation",
            FailureKind::ModelBehavior => "model_behavior",
            FailureKind::Model => "model",
            FailureKind::Outage => "outage",
            FailureKind::Json => "json",
            FailureKind::Budget => "budget",
            FailureKind::Cancelled => "cancelled",
            FailureKind::InDoubt => "in_doubt",
            FailureKind::Config => "config",
        }
    }
}

/// An error and its causes in one line, each said once.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}
