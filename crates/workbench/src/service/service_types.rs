//! The types of requests to the service and of its results: goals and runs, files, conversations.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use updraft_run::Status;

/// A goal, and how to work on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRequest {
    /// The goal.
    pub goal: String,
    /// One agent instead of a plan.
    pub agent: Option<String>,
}

/// A run, as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// Its id, which cannot be guessed.
    pub run: String,
    /// Its status: `Running`; `Waiting` for a person (see `waits`); `Paused` until it is resumed, because a person
    /// paused it, its budget is used up or its process is gone; or how it ended.
    pub status: Status,
    /// The status in a few words: what the run is doing, or why it stopped.
    pub message: String,
    /// Its goal.
    pub goal: String,
    /// Its answer, or what there is of it so far.
    pub answer: String,
    /// The questions and approvals it waits for.
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
    /// The status in the word that protocols use.
    pub fn word(&self) -> &'static str {
        if self.status == Status::Running { "working" } else { self.status.as_str() }
    }
}

/// A question or an approval that a run waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingQuestion {
    /// Its address in the run, which is never used for another question.
    pub id: String,
    /// Whether this is an approval of a call; otherwise it is a question.
    pub is_approval: bool,
    /// The text of the question.
    pub text: String,
    /// Answers to choose from, if any.
    pub options: Vec<String>,
    /// The call to be approved.
    pub call: Value,
    /// The form to be filled in, if the MCP server that asks wants one.
    pub form: Option<Value>,
    /// Whether an MCP server that the run calls asks: it is also informed when the answer is declined.
    pub is_inquiry: bool,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Steps that have ended.
    pub done: usize,
    /// All steps.
    pub steps: usize,
    /// Which step did what.
    pub message: String,
}

/// A document found by a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The id to pass to [`WorkspaceFiles::fetch`](super::WorkspaceFiles::fetch).
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// A few lines around the words that were found.
    pub text: String,
}

/// A whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedDocument {
    /// The id it was fetched by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// The size of the whole in bytes, if `text` is only its beginning.
    pub cut_from: Option<u64>,
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    /// Paths of files, and of folders with a slash at the end.
    pub paths: Vec<String>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A file of the workspace that was written or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFileChange {
    /// Its path.
    pub path: String,
    /// Its size now; `None` if it is gone.
    pub bytes: Option<u64>,
}

/// The output of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct FileToolOutput {
    /// As text.
    pub text: String,
    /// As data, if it has any.
    pub value: Option<Value>,
}

/// A question whose answer the client waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The question.
    pub work: RunRequest,
    /// The conversation it continues.
    pub session: Option<String>,
    /// Whether the messages of the run are wanted too.
    pub history: bool,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryAnswer {
    /// The run.
    pub view: RunView,
    /// The conversation, for the next question.
    pub session: String,
    /// The messages of the run, if they were requested.
    pub messages: Option<Vec<Value>>,
}

/// A client that waits for a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunListener {
    /// Receives the progress; the other end may be closed.
    pub progress: mpsc::UnboundedSender<RunProgress>,
    /// Cancelled when the result is no longer wanted at all.
    pub unwanted: CancellationToken,
}
