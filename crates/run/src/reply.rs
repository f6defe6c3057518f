//! Replies to effects, and failures.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ContentHash, Millis};
use crate::message::{ModelAnswer, TokenUsage, is_false};
use crate::origins::Origins;

/// The reply to an effect. Failure, timeout and doubt are replies too: the run continues with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// A model answered.
    Answer(Arc<ModelAnswer>),
    /// A tool returned its output.
    Output(Arc<ToolOutput>),
    /// A person answered a question.
    Said(String),
    /// A person allowed or refused a call, or declined to answer a question.
    Verdict(Verdict),
    /// It failed.
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
        /// What was attempted, and what traces it left.
        evidence: String,
    },
}

/// A person's decision about a call that needs approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the call may be made.
    pub allow: bool,
    /// Who decided: a person's name, or the rule that decides instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// What the agent is told with a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// The same is to be allowed from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<ApprovalScope>,
    /// The origins that the question named: the decision holds for no others. Filled in by the run.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
}

/// Where an "always" applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// In this run.
    Run,
    /// In this run and in later runs in the same workspace. The program that asked the person stores it for those.
    Workspace,
}

/// What a tool call returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The text for the model, cut to size.
    pub text: String,
    /// The result as data, if the tool returns data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The tool reports that it failed; `text` says why.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// What changed in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Pictures it returned, to be shown to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// The whole output, if `text` is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<BlobRef>,
    /// It holds text from outside (a web page, a remote server).
    #[serde(default, skip_serializing_if = "is_false")]
    pub untrusted: bool,
    /// Where that text came from, for a person: a page's address, a server's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Hosts that were reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What it used, if the call asked a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TokenUsage>>,
    /// Every change as a JSON list, if `changes` names only the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_changes: Option<BlobRef>,
    /// Changes to text files as a unified diff, if `value` does not hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<BlobRef>,
    /// Why it may have changed more than is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<String>,
    /// How many further changes are known but not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<UnlistedCount>,
    /// The user's instructions for the folders that the call touched, if the step had not been shown them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<AttachedDocument>,
    /// The background commands of the step that run when the call ends, if the call was about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Vec<String>>,
}

/// A document of the workspace that is shown with the result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedDocument {
    /// Relative to the workspace.
    pub path: String,
    /// What it says, cut to size.
    pub text: String,
}

/// Changes that were made and are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedCount {
    /// How many.
    pub changes: u64,
    /// How many of them replaced or removed something that cannot be restored.
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

/// A stored picture: its name, its type and its blob.
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
    /// Hash of the content before (for a link: its target); absent if the file did not exist or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    /// Hash of the content after; absent if the file is gone or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
    /// Its metadata before; absent if it did not exist, and in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<FileMetadata>,
    /// Its metadata now; absent if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<FileMetadata>,
    /// The content before was not kept, so it cannot be restored.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
    /// Another call was running at the same time and may have made this change instead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsure: bool,
}

/// Metadata of a file, link or folder in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMetadata {
    /// A file, a link or a folder.
    pub kind: FileKind,
    /// The permission bits.
    pub mode: u32,
    /// Bytes of content.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub len: u64,
    /// When its content last changed, in nanoseconds since 1970. Used for comparison if there is no hash.
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

/// Why something failed, for people, models and scripts alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What happened, in one or two sentences.
    pub message: String,
    /// What was used despite the failure, if known: for a step of an imported file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TokenUsage>>,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), usage: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The kinds of failure. Scripts depend on the names.
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
    /// The model misbehaved: it repeated itself, or left out what was asked for.
    ModelBehavior,
    /// The model could not be reached or refused.
    Model,
    /// The conversation is longer than the model's context window.
    TooLong,
    /// The model is not available: no connection, no valid key, or no credit left.
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
    /// The work is finished, and a requirement is not met.
    NotDone,
    /// A guardrail stopped it.
    Guardrail,
    /// Nobody was asked, and the agent goes on with an assumption.
    Assumed,
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
            FailureKind::TooLong => "too_long",
            FailureKind::Outage => "outage",
            FailureKind::Json => "json",
            FailureKind::Budget => "budget",
            FailureKind::Cancelled => "cancelled",
            FailureKind::InDoubt => "in_doubt",
            FailureKind::Config => "config",
            FailureKind::NotDone => "not_done",
            FailureKind::Guardrail => "guardrail",
            FailureKind::Assumed => "assumed",
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
