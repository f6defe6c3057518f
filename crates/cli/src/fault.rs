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

    /// A file that could not be read or written.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not {what} `{}`: {error}", path.display()))
    }
}

impl From<updraft_workbench::Fault> for Fault {
    fn from(fault: updraft_workbench::Fault) -> Self {
        use updraft_workbench::Kind;
        let code = match fault.kind {
            Kind::Usage => Code::Usage,
            Kind::Config => Code::Config,
            Kind::NoSandbox => Code::NoSandbox,
            _ => Code::Failed,
        };
        Self { code, message: fault.message, hints: fault.hints }
    }
}

impl From<updraft_journal::Error> for Fault {
    fn from(error: updraft_journal::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_models::Error> for Fault {
    fn from(error: updraft_models::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_tools::Error> for Fault {
    fn from(error: updraft_tools::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_tools::WorkspaceError> for Fault {
    fn from(error: updraft_tools::WorkspaceError) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}

impl From<updraft_engine::Error> for Fault {
    fn from(error: updraft_engine::Error) -> Self {
        updraft_workbench::Fault::from(error).into()
    }
}
