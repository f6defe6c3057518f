//! The error type of the commands: a message, hints, and the exit code that scripts see.

use std::process::ExitCode;

/// How a command ended. The numbers are a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CliExitCode {
    /// Done.
    Done = 0,
    /// The run failed, or the command did.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// The run needs an answer or approval that nobody can give here.
    NeedsPerson = 3,
    /// A budget or limit was reached.
    Exhausted = 4,
    /// Invalid configuration or credentials.
    Config = 5,
    /// A command could not be confined, so it was not run.
    NoSandbox = 125,
    /// A command cannot be executed.
    NotExecutable = 126,
    /// A command does not exist.
    NotFound = 127,
    /// Interrupted, or paused by someone; can be resumed.
    Interrupted = 130,
    /// Terminated; can be resumed.
    Terminated = 143,
}

impl From<CliExitCode> for ExitCode {
    fn from(code: CliExitCode) -> Self {
        ExitCode::from(code as u8)
    }
}

/// The result of every command.
pub(crate) type CliResult = Result<CliExitCode, CliError>;

/// An error for a person: what is wrong, and what to do.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: CliExitCode,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl CliError {
    pub(crate) fn new(code: CliExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(CliExitCode::Usage, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(CliExitCode::Failed, message)
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(CliExitCode::Config, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A file that could not be read or written.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not {what} `{}`: {error}", path.display()))
    }
}

impl From<updraft_workbench::Fault> for CliError {
    fn from(fault: updraft_workbench::Fault) -> Self {
        use updraft_workbench::Kind;
        let code = match fault.kind {
            Kind::Usage => CliExitCode::Usage,
            Kind::Config => CliExitCode::Config,
            Kind::NoSandbox => CliExitCode::NoSandbox,
            _ => CliExitCode::Failed,
        };
        Self { code, message: fault.message, hints: fault.hints }
    }
}

/// What the service is told of a fault of a command that it depends on.
impl From<CliError> for updraft_workbench::Fault {
    fn from(error: CliError) -> Self {
        use updraft_workbench::Kind;
        let kind = match error.code {
            CliExitCode::Usage => Kind::Usage,
            CliExitCode::Config => Kind::Config,
            CliExitCode::NoSandbox => Kind::NoSandbox,
            _ => Kind::Failed,
        };
        Self { kind, message: error.message, hints: error.hints }
    }
}

impl From<updraft_journal::Error> for CliError {
    fn from(error: updraft_journal::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_models::Error> for CliError {
    fn from(error: updraft_models::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_tools::Error> for CliError {
    fn from(error: updraft_tools::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_tools::WorkspaceError> for CliError {
    fn from(error: updraft_tools::WorkspaceError) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_engine::Error> for CliError {
    fn from(error: updraft_engine::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}
