//! What Updraft can be asked for from outside, in our own terms. Knows neither the protocol nor the journal.

use std::pin::Pin;

use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

/// Something on its way, or why it is refused.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// Why something is not done, in words that a model or a person can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

/// A goal, and how it is to be pursued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The goal.
    pub goal: String,
    /// One agent instead of a plan.
    pub agent: Option<String>,
}

/// A question that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What is asked.
    pub work: Work,
    /// The conversation it goes on with.
    pub session: Option<String>,
    /// Whether the messages of the run are wanted too.
    pub history: bool,
}

/// How a run stands, for someone who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It is at work.
    Working,
    /// It waits for a person: see [`View::waits`].
    Waiting,
    /// A person paused it, a budget is used up, or it was interrupted: it goes on when it is resumed.
    Paused,
    /// It ended well.
    Done,
    /// It ended without what was asked for.
    Failed,
    /// A person cancelled it.
    Cancelled,
}

impl Stand {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Stand::Working => "working",
            Stand::Waiting => "waiting",
            Stand::Paused => "paused",
            Stand::Done => "done",
            Stand::Failed => "failed",
            Stand::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more is to be expected.
    pub fn is_final(self) -> bool {
        matches!(self, Stand::Done | Stand::Failed | Stand::Cancelled)
    }
}

/// A run, as someone outside sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its id. Nobody can guess it.
    pub run: String,
    /// How it stands.
    pub stand: Stand,
    /// The same in a few words: what it is doing, or why it stopped.
    pub message: String,
    /// What it is for.
    pub goal: String,
    /// What it came to, or has so far.
    pub answer: String,
    /// What it waits for.
    pub waits: Vec<Wait>,
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

/// A question or an approval that a run waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
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

/// What a question came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The run.
    pub view: View,
    /// The conversation, to go on with.
    pub session: String,
    /// The messages of the run, where they were asked for.
    pub messages: Option<Vec<Value>>,
}

/// Something found by a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What [`Face::fetch`] knows it by.
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
pub struct Listed {
    /// Paths of files, and of folders with a slash at the end.
    pub paths: Vec<String>,
    /// There are more than these.
    pub is_cut: bool,
}

/// A file of the workspace that was written or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its path.
    pub path: String,
    /// How large it is now; nothing if it is gone.
    pub bytes: Option<u64>,
}

/// What a tool of the workspace gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// As text.
    pub text: String,
    /// As data, where it has some.
    pub value: Option<Value>,
}

/// How far something has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps that have ended.
    pub done: usize,
    /// Steps there are.
    pub steps: usize,
    /// Which step did what.
    pub message: String,
}

/// Whoever waits for a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Told how far it has come; may have gone.
    pub progress: mpsc::UnboundedSender<Progress>,
    /// Cancelled when the result is no longer wanted at all.
    pub unwanted: CancellationToken,
}

impl Listener {
    /// Someone who hears nothing and wants the result.
    pub fn deaf() -> Self {
        Self { progress: mpsc::unbounded_channel().0, unwanted: CancellationToken::new() }
    }
}

/// What Updraft can be asked for. A future may be dropped: then nobody waits any more, and what was begun goes on,
/// unless [`Listener::unwanted`] says otherwise.
pub trait Face: Send + Sync + 'static {
    /// Pursues a goal and waits until it is reached, or a person must be asked.
    fn query(&self, query: Query, listener: Listener) -> Doing<'_, Answered>;

    /// Waits again for a run that was begun by [`query`](Face::query).
    fn follow(&self, run: String, query: Query, listener: Listener) -> Doing<'_, Answered>;

    /// Begins to pursue a goal. When this is done, the goal is safe on disk.
    fn dispatch(&self, work: Work) -> Doing<'_, View>;

    /// How a run stands.
    fn view(&self, run: String) -> Doing<'_, View>;

    /// Lets a run begin nothing new.
    fn pause(&self, run: String) -> Doing<'_, View>;

    /// Goes on with a run that was paused, cut off or short of budget.
    fn resume(&self, run: String) -> Doing<'_, View>;

    /// Stops a run for good.
    fn cancel(&self, run: String) -> Doing<'_, View>;

    /// Allows or refuses a call; without an id, the only one that waits.
    fn approve(&self, run: String, id: Option<String>, allow: bool, because: String) -> Doing<'_, View>;

    /// Answers a question; without an id, the only one that is open.
    fn answer(&self, run: String, id: Option<String>, text: String) -> Doing<'_, View>;

    /// Says that a question will not be answered.
    fn decline(&self, run: String, id: String) -> Doing<'_, View>;

    /// Looks for words in the workspace's files.
    fn search(&self, query: String) -> Doing<'_, Vec<Hit>>;

    /// Gives a document that a search found.
    fn fetch(&self, id: String) -> Doing<'_, Document>;

    /// Calls `read_file`, `write_file` or `list_files` in the workspace.
    fn files(&self, tool: &'static str, arguments: Value) -> Doing<'_, Output>;

    /// The text of a file, exactly as it stands there, whole or not at all.
    fn read(&self, path: String) -> Doing<'_, String>;

    /// Whether there is anything at a path: a file of whatever kind, or a folder.
    fn exists(&self, path: String) -> Doing<'_, bool>;

    /// The files of a folder, and of those within.
    fn list(&self, folder: String, recursive: bool) -> Doing<'_, Listed>;

    /// Tells of files that clients and runs of this process change. Whoever is slow misses some.
    fn changes(&self) -> broadcast::Receiver<Changed>;

    /// The newest runs.
    fn runs(&self) -> Doing<'_, Vec<View>>;

    /// A run with its steps, variables and figures.
    fn report(&self, run: String) -> Doing<'_, Value>;

    /// A run's graph as node-link data.
    fn graph(&self, run: String) -> Doing<'_, Value>;
}
