//! What is handed in and out of an office: goals and runs, files, conversations.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use updraft_run::Status;

/// A goal, and how it is to be pursued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRequest {
    /// The goal.
    pub goal: String,
    /// One agent instead of a plan.
    pub agent: Option<String>,
}

/// A run, as someone outside sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// Its id. Nobody can guess it.
    pub run: String,
    /// How it stands: `Running`, `Waiting` for a person (see `waits`), `Paused` until it is resumed, whether by a person,
    /// for want of budget or because its process is gone, or how it ended.
    pub status: Status,
    /// The same in a few words: what it is doing, or why it stopped.
    pub message: String,
    /// What it is for.
    pub goal: String,
    /// What it came to, or has so far.
    pub answer: String,
    /// What it waits for.
    pub waits: Vec<PendingQuestion>,
    /// How many of its steps have ended.
    pub done: usize,
    /// How many steps it has.
    pub steps: usize,
    /// Turns, calls, tokens, cost, time.
    pub statistics: Value,
    /// When it began, as in RFC 3339.
    pub created: String,
    /// When something last happened, as in RFC 3339.
    pub updated: String,
}

impl RunView {
    /// The word for how it stands that programs outside know it by.
    pub fn word(&self) -> &'static str {
        if self.status == Status::Running { "working" } else { self.status.as_str() }
    }
}

/// A question or an approval that a run waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingQuestion {
    /// Its place in the run; never used again for another.
    pub id: String,
    /// Whether a call is to be allowed; otherwise a question is to be answered.
    pub is_approval: bool,
    /// What is asked.
    pub text: String,
    /// Answers to choose from, where there are some.
    pub options: Vec<String>,
    /// The call that is to be allowed.
    pub call: Value,
    /// The form that is to be filled in, where whoever the run calls wants one.
    pub form: Option<Value>,
    /// Somebody whom the run calls asks: they are told of a refusal, too.
    pub is_inquiry: bool,
}

/// How far something has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Steps that have ended.
    pub done: usize,
    /// Steps there are.
    pub steps: usize,
    /// Which step did what.
    pub message: String,
}

/// Something found by a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// What [`WorkspaceFiles::fetch`](super::WorkspaceFiles::fetch) knows it by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// A few words around what was found.
    pub text: String,
}

/// A whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What it was fetched by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// Bytes of the whole, where `text` is only its beginning.
    pub cut_from: Option<u64>,
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    /// Paths of files, and of folders with a slash at the end.
    pub paths: Vec<String>,
    /// There are more than these.
    pub is_cut: bool,
}

/// A file of the workspace that was written or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFileChange {
    /// Its path.
    pub path: String,
    /// How large it is now; nothing if it is gone.
    pub bytes: Option<u64>,
}

/// What a tool of the workspace gave.
#[derive(Clone, Debug, PartialEq)]
pub struct FileToolOutput {
    /// As text.
    pub text: String,
    /// As data, where it has some.
    pub value: Option<Value>,
}

/// A question that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What is asked.
    pub work: RunRequest,
    /// The conversation it goes on with.
    pub session: Option<String>,
    /// Whether the messages of the run are wanted too.
    pub history: bool,
}

/// What a question came to.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryAnswer {
    /// The run.
    pub view: RunView,
    /// The conversation, to go on with.
    pub session: String,
    /// The messages of the run, where they were asked for.
    pub messages: Option<Vec<Value>>,
}

/// Whoever waits for a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunListener {
    /// Told how far it has come; may have gone.
    pub progress: mpsc::UnboundedSender<RunProgress>,
    /// Cancelled when the result is no longer wanted at all.
    pub unwanted: CancellationToken,
}

impl RunListener {
    /// Someone who hears nothing and wants the result.
    pub fn deaf() -> Self {
        Self { progress: mpsc::unbounded_channel().0, unwanted: CancellationToken::new() }
    }
}
