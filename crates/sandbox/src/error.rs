//! Errors before a command runs, or while it is being watched.

use std::path::PathBuf;

/// Why a child did not start, or why its result is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The policy requests something that is never allowed.
    #[error("{what} `{}` {why}", path.display())]
    Policy {
        /// Which part of the policy.
        what: &'static str,
        /// The path it names.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },

    /// The sandbox could not be set up, so nothing was run. The exit code for this is [`SETUP_FAILED`].
    #[error("the sandbox could not be set up: {cause}; {remedy}")]
    SetUp {
        /// What the kernel refused.
        cause: String,
        /// What to do about it.
        remedy: String,
    },

    /// This machine supports only a lower level than requested.
    #[error("level `{wanted}` is not available on this machine: {missing}; {remedy}")]
    Level {
        /// The requested level.
        wanted: crate::SandboxLevel,
        /// What the machine lacks.
        missing: String,
        /// How to get it.
        remedy: String,
    },

    /// The folder for files that would run later cannot be written, so nothing was run.
    #[error(
        "`{}` cannot be written ({source}), and git hooks and other files that would run later are moved there; make \
         it writable, or set UPDRAFT_HOME to a folder that is",
        folder.display()
    )]
    Aside {
        /// The folder they are moved to.
        folder: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },

    /// The sandbox was set up, but the program in it could not be started.
    #[error("`{program}` cannot be run in the sandbox: {source}")]
    Program {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },

    /// Other commands used the workspace for too long, so nothing was run.
    #[error(
        "other commands were changing the workspace for {} minutes, and this command must not run at the same time",
        limit.as_secs() / 60
    )]
    Waited {
        /// How long it waited.
        limit: std::time::Duration,
    },

    /// The launcher ended without a report. Its descendants ended with it.
    #[error("the launcher ended before it reported")]
    Lost,

    /// One of our pipes, sockets or files failed.
    #[error("{doing}")]
    Io {
        /// What we were doing.
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The exit code of a program whose sandbox could not be set up.
pub const SETUP_FAILED: i32 = 125;

impl Error {
    /// The exit code that a shell would expect: 127 for not found, 126 for not executable, otherwise 125.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Program { source, .. } if source.kind() == std::io::ErrorKind::NotFound => 127,
            Error::Program { .. } => 126,
            Error::Policy { .. }
            | Error::SetUp { .. }
            | Error::Level { .. }
            | Error::Aside { .. }
            | Error::Waited { .. }
            | Error::Lost
            | Error::Io { .. } => SETUP_FAILED,
        }
    }
}

/// Adds to an error of the system what we were doing.
pub(crate) trait ErrorContext<T> {
    fn doing(self, doing: &'static str) -> Result<T, Error>;
}

impl<T, E: Into<std::io::Error>> ErrorContext<T> for Result<T, E> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Io { doing, source: source.into() })
    }
}
