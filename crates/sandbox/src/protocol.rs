//! The messages between our process and its launcher.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::{Policy, SandboxLevel};

/// What the launcher must do. The program's stdin, if it has one, is attached as a descriptor.
#[derive(Serialize, Deserialize)]
pub(crate) struct LaunchOrder {
    pub(crate) level: SandboxLevel,
    pub(crate) policy: Policy,
    pub(crate) task: LaunchTask,
    /// How the command shares the workspace with other commands; `None` if it does not take turns.
    #[serde(default)]
    pub(crate) turns: Option<WorkspaceSharing>,
    /// Whether the child joins a network that others are in; it is attached to the next message.
    #[serde(default)]
    pub(crate) shares_network: bool,
    /// Compiled once by our process: compiling them takes longer than loading them.
    pub(crate) filters: Vec<Vec<u64>>,
}

/// How a command shares the workspace with other commands.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct WorkspaceSharing {
    /// The process that has locked this file may change the workspace.
    pub(crate) lock: PathBuf,
    /// Whether it is locked from the start, not only while changes are applied to the workspace.
    pub(crate) alone: bool,
    /// Whether the command can be run again: if another program changed the same files meanwhile, all its changes are
    /// discarded.
    pub(crate) yields: bool,
    /// How long it waits for others before it starts.
    pub(crate) patience: Duration,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum LaunchTask {
    Run {
        program: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: PathBuf,
    },
    /// Go through the whole set-up and stop where a program would start.
    Probe,
    /// Make a private network and hold it, for children that share it.
    HoldNetwork,
}

/// Requests to the process that holds a network.
#[derive(Serialize, Deserialize)]
pub(crate) enum NetworkRequest {
    OpenPorts,
}

/// Requests to the launcher while the program runs. Closing the connection requests its end.
#[derive(Serialize, Deserialize)]
pub(crate) enum LauncherRequest {
    /// Are the guarded files still those it was started with?
    IsCurrent,
    /// Check guarded files now, as at the end; the program does nothing until the next request.
    LookAfter,
    /// Check guarded files now, while the program may continue at any moment.
    LookMeanwhile,
}

/// Events that the launcher reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherEvent {
    /// The proxy's listening socket inside the sandbox is attached to this message.
    Listening,
    /// Only for a probe.
    Steps(Vec<SetupStep>),
    Started,
    /// The command has not started yet: another command has the workspace.
    Waiting,
    /// Why the workspace is not staged.
    Unstaged(String),
    Fault(LaunchFault),
    /// Only on request.
    Current(bool),
    /// Only on request: the files that were moved, and the problems.
    LookedAfter(LauncherResult),
    Ended(LauncherResult),
    /// Only on request: the TCP ports on which programs in a shared network accept connections.
    OpenPorts(BTreeSet<u16>),
}

/// A step of setting up a sandbox, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStep {
    /// What was done.
    pub name: String,
    /// How long it took.
    pub time: Duration,
}

/// Why nothing was run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LaunchFault {
    SetUp {
        doing: String,
        errno: i32,
    },
    Program {
        errno: i32,
    },
    /// Other commands had the workspace for all this time.
    Waited(Duration),
}

impl LaunchFault {
    pub(crate) fn set_up(doing: impl Into<String>) -> impl FnOnce(io::Error) -> LaunchFault {
        let doing = doing.into();
        move |error| match error.raw_os_error() {
            Some(errno) => LaunchFault::SetUp { doing, errno },
            None => LaunchFault::SetUp { doing: format!("{doing}: {error}"), errno: 0 },
        }
    }
}

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LauncherResult {
    pub(crate) exit: Option<ProgramExit>,
    pub(crate) killed_for: Option<KillReason>,
    pub(crate) moved_aside: Vec<MovedFile>,
    /// Guarded files that could not be checked, and why.
    pub(crate) troubles: Vec<String>,
    /// Whether its changes are in the workspace now, and listed in its folder.
    #[serde(default)]
    pub(crate) is_staged: bool,
    /// Why its changes were not staged, although that was requested.
    #[serde(default)]
    pub(crate) unstaged: Option<String>,
    /// Changes that are not listed.
    #[serde(default)]
    pub(crate) unlisted: crate::UnlistedChanges,
    /// The number of paths that are not as it left them; they are listed in `troubles`.
    #[serde(default)]
    pub(crate) lost: u64,
    /// Files that another program changed while it ran, for which all its changes were discarded.
    #[serde(default)]
    pub(crate) conflicts: Vec<String>,
    /// How long it waited for other commands before it started.
    #[serde(default)]
    pub(crate) waited: Duration,
}

/// How a program ended by itself or by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramExit {
    /// It ended with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// The limit for which it was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KillReason {
    /// All its processes together used too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It filled the disk.
    Disk,
    /// It wrote more output than allowed.
    Output,
    /// It took too long.
    Time,
}

impl fmt::Display for KillReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KillReason::Memory => "memory limit reached",
            KillReason::Processes => "limit of processes reached",
            KillReason::Disk => "disk limit reached",
            KillReason::Output => "output limit reached",
            KillReason::Time => "time limit reached",
        })
    }
}

/// A file that would run later, created or changed by a command, and moved aside for the user to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFile {
    /// Where it was found.
    pub path: PathBuf,
    /// Where it is now.
    pub kept_at: PathBuf,
    /// What would have run it.
    pub why: String,
    /// Whether an older version was put back in its place.
    pub restored: bool,
}

/// The file next to moved files that records where they came from: a list of [`MovedFileRecord`].
pub const MOVED: &str = "moved.json";

/// The record of a file that was moved aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFileRecord {
    /// Its name beside this record.
    pub kept: String,
    /// Where it was found.
    pub path: PathBuf,
    /// What would have run it.
    pub why: String,
    /// The run whose command made it; `unknown` until that is recorded.
    pub run: String,
    /// Whether an older version was put back in its place.
    #[serde(default)]
    pub restored: bool,
}

impl MovedFileRecord {
    /// The record of a moved file. Returns `None` if its name is not UTF-8.
    pub fn of(moved: &MovedFile, run: &str) -> Option<MovedFileRecord> {
        let kept = moved.kept_at.file_name()?.to_str()?.to_owned();
        let MovedFile { path, why, restored, .. } = moved;
        Some(MovedFileRecord { kept, path: path.clone(), why: why.clone(), run: run.to_owned(), restored: *restored })
    }
}
