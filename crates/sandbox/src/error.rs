//! What can go wrong before a command runs, or in watching it.

use std::path::PathBuf;

/// Why a child did not start, or how we lost it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The policy asks for something that is never given.
    #[error("{what} `{}` {why}", path.display())]
    Policy {
        /// Which part of the policy.
        what: &'static str,
        /// The path it names.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },

    /// The sandbox could not be set up, so nothing was run. The program's exit code for it is [`SETUP_FAILED`].
    #[error("the sandbox could not be set up: {cause}; {remedy}")]
    SetUp {
        /// What the kernel refused.
        cause: String,
        /// What to do about it.
        remedy: String,
    },

    /// This machine offers less than was asked for.
    #[error("level `{wanted}` is not available on this machine: {missing}; {remedy}")]
    Level {
        /// What was asked for.
        wanted: crate::SandboxLevel,
        /// What the machine lacks.
        missing: String,
        /// How to get it.
        remedy: String,
    },

    /// There is no place to move files to that would run later, so nothing was run.
    #[error(
        "`{}` cannot be written ({source}), and git hooks and other files that would run later are moved there; make \
         it writable, or set UPDRAFT_HOME to a folder that is",
        folder.display()
    )]
    Aside {
        /// Where they are moved.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },

    /// The sandbox stands, but the program in it could not be started.
    #[error("`{program}` cannot be run in the sandbox: {source}")]
    Program {
        /// What was to be run.
        program: String,
        /// Why not.
        source: std::io::Error,
    },

    /// Other commands had the workspace for too long, so nothing was run.
    #[error("other commands were changing the workspace for {} minutes, and it must not run beside them", limit.as_secs() / 60)]
    Waited {
        /// How long it waited.
        limit: std::time::Duration,
    },

    /// The launcher ended without a word. Its descendants ended with it.
    #[error("the launcher ended before it reported")]
    Lost,

    /// A pipe, a socket or a file of ours failed.
    #[error("{doing}")]
    Io {
        /// What we were doing.
        doing: &'static str,
        /// What came back.
        source: std::io::Error,
    },
}

/// The exit code of a program whose sandbox could not be set up.
pub const SETUP_FAILED: i32 = 125;

impl Error {
    /// The exit code a shell would expect for this: 127 not found, 126 not executable, else 125.
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

/// Names what we were doing when the system said no.
pub(crate) trait ErrorContext<T> {
    fn doing(self, doing: &'static str) -> Result<T, Error>;
}

impl<T, E: Into<std::io::Error>> ErrorContext<T> for Result<T, E> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Io { doing, source: source.into() })
    }
}
