//! The command to run in the sandbox, and how its input and output are connected.

use std::path::PathBuf;

use crate::SharedNetwork;
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
    /// A path as seen inside the sandbox, or a name looked up on `PATH`.
    pub program: String,
    /// Its arguments, without the program's own name.
    pub args: Vec<String>,
    /// The environment variables. The program gets only those that the policy allows.
    pub env: Vec<(String, String)>,
    /// The folder it starts in; the workspace if `None`.
    pub cwd: Option<PathBuf>,
    /// Where its input comes from.
    pub stdin: StdinMode,
    /// Where its output goes.
    pub output: OutputMode,
    /// The private network it joins instead of getting one of its own. Without effect where it gets the host's network, or
    /// the level has no private networks.
    pub network: Option<SharedNetwork>,
}

impl Command {
    /// A command without arguments, with a plain `PATH`, no input, and captured output.
    pub fn new(program: impl Into<String>) -> Self {
        Command {
            program: program.into(),
            args: Vec::new(),
            env: vec![("PATH".to_owned(), PLAIN_PATH.to_owned())],
            cwd: None,
            stdin: StdinMode::Null,
            output: OutputMode::Capture(CaptureOptions::default()),
            network: None,
        }
    }
}

const PLAIN_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where a program's input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdinMode {
    /// No input: a question that a program asks is never answered.
    Null,
    /// The data written to [`Child::stdin`](crate::Child::stdin).
    Pipe,
    /// Our own standard input.
    Inherit,
}

/// Where a program's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Into memory, up to a limit, and returned at the end.
    Capture(CaptureOptions),
    /// To [`Child::stdout`](crate::Child::stdout); stderr is captured.
    Pipe(CaptureOptions),
    /// To our own standard output.
    Inherit,
}
