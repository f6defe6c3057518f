//! What went wrong, and what to do about it.

use std::path::Path;

/// What kind of thing went wrong: faces answer with an exit code or a status by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// What was asked for cannot be done like this; another request can.
    Usage,
    /// Settings or credentials must be put right first.
    Config,
    /// Commands cannot be confined as they must be.
    NoSandbox,
    /// Anything else.
    Failed,
}

/// Why something was not done, in words for a person, with what they can do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What is wrong, with its causes, in one line.
    pub message: String,
    /// What to do, one line each.
    pub hints: Vec<String>,
}

impl Fault {
    /// One of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// Something that cannot be done like this.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Something in the settings or credentials.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Kind::Config, message)
    }

    /// Something else.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// A file that could not be read or written.
    pub fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not {what} `{}`: {error}", path.display()))
    }

    /// The same with one more thing to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The whole of it for someone who reads one text: a model, or another program.
    pub fn in_one_line(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!(" (hint: {hint})"));
        format!("{}{}", self.message, hints.collect::<String>())
    }

    /// An error with its causes in one line.
    fn of(kind: Kind, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        Self { kind, message: updraft_run::error_chain(error), hints: hint.into_iter().collect() }
    }
}

impl From<updraft_journal::Error> for Fault {
    fn from(error: updraft_journal::Error) -> Self {
        use updraft_journal::Error as E;
        let kind = match &error {
            E::UnknownRun { .. } | E::Ambiguous { .. } | E::NoSuchEvent { .. } | E::BadExport { .. } => Kind::Usage,
            E::NotAJournal { .. } | E::Newer { .. } | E::ReadOnly { .. } | E::Network { .. } => Kind::Config,
            _ => Kind::Failed,
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
        Self::of(kind, &error, hint)
    }
}

impl From<updraft_models::Error> for Fault {
    fn from(error: updraft_models::Error) -> Self {
        use updraft_models::Error as E;
        let kind = match &error {
            E::Unknown { .. } | E::Config { .. } | E::Refused { status: 401 | 403, .. } => Kind::Config,
            _ => Kind::Failed,
        };
        Self::of(kind, &error, error.hint())
    }
}

impl From<updraft_tools::Error> for Fault {
    fn from(error: updraft_tools::Error) -> Self {
        Self::of(Kind::Config, &error, None)
    }
}

impl From<updraft_tools::WorkspaceError> for Fault {
    fn from(error: updraft_tools::WorkspaceError) -> Self {
        Self::of(Kind::Config, &error, None)
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
                Self::of(Kind::Usage, &error, error.hint())
            }
            E::AgentFile { .. } | E::LeftOut { .. } | E::File { .. } | E::UnknownPrice { .. } | E::Blind { .. } => {
                Self::of(Kind::Config, &error, error.hint())
            }
            _ => Self::of(Kind::Failed, &error, error.hint()),
        }
    }
}
