//! Why a command did not do what was asked, with what to do about it, and the exit code scripts see.

use std::process::ExitCode;

/// How a command ended. The numbers are a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// Done.
    Done = 0,
    /// The run failed, or the command did.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// It needs an answer or approval that nobody can give here.
    NeedsPerson = 3,
    /// A budget or limit was reached.
    Exhausted = 4,
    /// Configuration or credentials.
    Config = 5,
    /// A command could not be confined, so it was not run.
    NoSandbox = 125,
    /// A command cannot be executed.
    NotExecutable = 126,
    /// A command is not there.
    NotFound = 127,
    /// Interrupted, or paused by someone; resumable.
    Interrupted = 130,
    /// Terminated; resumable.
    Terminated = 143,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        ExitCode::from(code as u8)
    }
}

/// What every command gives.
pub(crate) type Outcome = Result<Code, Fault>;

/// An error for a person: what is wrong, and what to do.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl Fault {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Code::Failed, message)
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Code::Config, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// An error with its causes in one line.
    fn of(code: Code, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        Self { code, message: chain(error), hints: hint.into_iter().collect() }
    }

    /// The whole of it for someone who reads one text: a model, or another program.
    pub(crate) fn in_one_line(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!(" (hint: {hint})"));
        format!("{}{}", self.message, hints.collect::<String>())
    }

    /// A file that could not be read or written.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not {what} `{}`: {error}", path.display()))
    }
}

/// An error and its causes, each said once.
fn chain(error: &dyn std::error::Error) -> String {
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

impl From<updraft_journal::Error> for Fault {
    fn from(error: updraft_journal::Error) -> Self {
        use updraft_journal::Error as E;
        let code = match &error {
            E::UnknownRun { .. } | E::Ambiguous { .. } | E::NoSuchEvent { .. } | E::BadExport { .. } => Code::Usage,
            E::NotAJournal { .. } | E::Newer { .. } | E::ReadOnly { .. } | E::Network { .. } => Code::Config,
            _ => Code::Failed,
        };
        let hint = match &error {
            E::Owned { run, .. } => Some(format!("follow it with `updraft events {run} --follow`")),
            E::Full { .. } => Some("make room, for instance with `updraft prune --older-than 30d`".into()),
            E::Malformed { run, .. } => Some(format!(
                "a newer version may be able to read it; `updraft rm {run}` removes it, other runs are not affected"
            )),
            E::Deleted(_) => Some("`updraft rm` removed it; what it had done so far is gone from the journal".into()),
            other => other.hint(),
        };
        Self::of(code, &error, hint)
    }
}

impl From<updraft_models::Error> for Fault {
    fn from(error: updraft_models::Error) -> Self {
        use updraft_models::Error as E;
        let code = match &error {
            E::Unknown { .. } | E::Config { .. } | E::Refused { status: 401 | 403, .. } => Code::Config,
            _ => Code::Failed,
        };
        Self::of(code, &error, error.hint())
    }
}

impl From<updraft_tools::Error> for Fault {
    fn from(error: updraft_tools::Error) -> Self {
        Self::of(Code::Config, &error, None)
    }
}

impl From<updraft_tools::WorkspaceError> for Fault {
    fn from(error: updraft_tools::WorkspaceError) -> Self {
        Self::of(Code::Config, &error, None)
    }
}

impl From<updraft_engine::Error> for Fault {
    fn from(error: updraft_engine::Error) -> Self {
        use updraft_engine::Error as E;
        match error {
            E::Journal(error) => error.into(),
            E::Model(error) => error.into(),
            E::Tool(error) => error.into(),
            E::Workspace(error) => error.into(),
            E::Goal(_) | E::UnknownAgent { .. } | E::NobodyInRole { .. } | E::Plan(_) => {
                Self::of(Code::Usage, &error, error.hint())
            }
            E::AgentFile { .. } | E::LeftOut { .. } | E::File { .. } | E::UnknownPrice { .. } | E::Blind { .. } => {
                Self::of(Code::Config, &error, error.hint())
            }
            _ => Self::of(Code::Failed, &error, error.hint()),
        }
    }
}
