//! What is to be run, and how one talks with it.

use std::path::PathBuf;

use crate::capture::CaptureOptions;

/// A program to run in the sandbox.
///
/// ```
/// use updraft_sandbox::Command;
///
/// let command = Command { args: vec!["-c".into(), "make test".into()], ..Command::new("sh") };
/// assert_eq!(command.cwd, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A path as seen inside, or a name to be found on `PATH`.
    pub program: String,
    /// Its arguments, without the program's own name.
    pub args: Vec<String>,
    /// The variables there are. Only those that the policy names reach the program.
    pub env: Vec<(String, String)>,
    /// Where it starts; the workspace if not said.
    pub cwd: Option<PathBuf>,
    /// Where its input comes from.
    pub stdin: StdinMode,
    /// Where its output goes.
    pub output: OutputMode,
}

impl Command {
    /// The program alone: no arguments, a plain `PATH`, no input, output captured.
    pub fn new(program: impl Into<String>) -> Self {
        Command {
            program: program.into(),
            args: Vec::new(),
            env: vec![("PATH".to_owned(), PLAIN_PATH.to_owned())],
            cwd: None,
            stdin: StdinMode::Null,
            output: OutputMode::Capture(CaptureOptions::default()),
        }
    }
}

const PLAIN_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where a program's input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdinMode {
    /// There is none: nothing that a program asks is ever answered.
    Null,
    /// What is written to [`Child::stdin`](crate::Child::stdin).
    Pipe,
    /// Our own.
    Inherit,
}

/// Where a program's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Into memory, within bounds, and given back at the end.
    Capture(CaptureOptions),
    /// To [`Child::stdout`](crate::Child::stdout); stderr is captured.
    Pipe(CaptureOptions),
    /// To our own.
    Inherit,
}
