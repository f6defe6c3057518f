//! The error type of this crate: what went wrong, and what to do about it.

use std::path::Path;

/// The kind of an error. Front ends choose an exit code or a status by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request itself is invalid; a different request can work.
    Usage,
    /// Settings or credentials must be corrected first.
    Config,
    /// Commands cannot be confined as required.
    NoSandbox,
    /// Something with this name exists already.
    AlreadyExists,
    /// The program that has to do it does not answer; it may work later.
    Unavailable,
    /// Anything else.
    Failed,
}

/// An error in words for a person, with hints on what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong, with its causes, in one line.
    pub message: String,
    /// What to do, one line each.
    pub hints: Vec<String>,
}

impl Fault {
    /// An error of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// An invalid request.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// An error in the settings or credentials.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Kind::Config, message)
    }

    /// Any other error.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// A file that could not be read or written.
    pub fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not {what} `{}`: {error}", path.display()))
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The message and its hints in one line: for a model, or another program.
    pub fn in_one_line(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!(" (hint: {hint})"));
        format!("{}{}", self.message, hints.collect::<String>())
    }

    /// Makes a fault from an error and its causes.
    fn of(kind: Kind, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        Self { kind, message: updraft_run::error_chain(error), hints: hint.into_iter().collect() }
    }
}

impl From<updraft_journal::Error> for Fault {
    fn from(error: updraft_journal::Error) -> Self {
        use updraft_journal::Error as E;
        let kind = match &error {
            E::UnknownRun { .. } | E::Ambiguous { .. } | E::NoSuchEvent { .. } | E::BadExport { .. } => Kind::Usage,
            E::Exists(_) => Kind::AlreadyExists,
            E::NotAJournal { .. } | E::Newer { .. } | E::ReadOnly { .. } | E::Network { .. } => Kind::Config,
            _ => Kind::Failed,
        };
        let hint = match &error {
            E::Owned { run, .. } => Some(format!("follow it with `updraft events {run} --follow`")),
            E::Full { .. } => Some("free some space, for example with `updraft prune --older-than 30d`".into()),
            E::Malformed { run, .. } => Some(format!(
                "a newer version may be able to read it; `updraft rm {run}` removes it, other runs are not affected"
            )),
            E::Deleted(_) => Some("`updraft rm` removed it and its events from the journal".into()),
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
            E::Goal(_) | E::UnknownAgent { .. } | E::DistrustedAgent(_) | E::NobodyInRole { .. } | E::Plan(_) => {
                Self::of(Kind::Usage, &error, error.hint())
            }
            E::AgentFile { .. } | E::LeftOut { .. } | E::File { .. } | E::UnknownPrice { .. } | E::Blind { .. } => {
                Self::of(Kind::Config, &error, error.hint())
            }
            _ => Self::of(Kind::Failed, &error, error.hint()),
        }
    }
}

/// Does something that waits for the disk, without holding up other tasks.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::failed(error.to_string()))?
}
