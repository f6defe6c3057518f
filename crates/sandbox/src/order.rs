//! What our process and its launcher say to each other.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::{Policy, SandboxLevel};

/// What the launcher is to do. Its stdin, if it has one, comes beside it.
#[derive(Serialize, Deserialize)]
pub(crate) struct LaunchOrder {
    pub(crate) level: SandboxLevel,
    pub(crate) policy: Policy,
    pub(crate) task: LaunchTask,
    /// How it shares the workspace with other commands; not at all if it does not say.
    #[serde(default)]
    pub(crate) turns: Option<WorkspaceSharing>,
    /// Compiled once by our process: building them costs more than loading them.
    pub(crate) filters: Vec<Vec<u64>>,
}

/// How a command shares the workspace with other commands.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct WorkspaceSharing {
    /// Whoever has locked this file may change the workspace.
    pub(crate) lock: PathBuf,
    /// It is locked from the beginning, not only while changes are put into the workspace.
    pub(crate) alone: bool,
    /// It can be run again: where somebody else changed the same files meanwhile, all it did is thrown away.
    pub(crate) yields: bool,
    /// It does not wait longer for others before it begins.
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
    /// Go through the whole set-up and end where a program would begin.
    Probe,
}

/// What the launcher is asked while the program runs. Closing the line asks for its end.
#[derive(Serialize, Deserialize)]
pub(crate) enum LauncherRequest {
    /// Are the guarded files still those it was started with?
    IsCurrent,
    /// Look after guarded files now, as at the end; nothing happens until the next request.
    LookAfter,
    /// Look after guarded files now, while the program may go on at any moment.
    LookMeanwhile,
}

/// What the launcher tells us.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherEvent {
    /// The proxy's listening socket inside the sandbox is beside this message.
    Listening,
    /// Only for a probe.
    Steps(Vec<SetupStep>),
    Started,
    /// It has not begun yet: another command has the workspace.
    Waiting,
    /// The workspace is not staged, and why.
    Unstaged(String),
    Fault(LaunchFault),
    /// Only if asked.
    Current(bool),
    /// Only if asked: what was moved, and what could not be looked after.
    LookedAfter(LauncherResult),
    Ended(LauncherResult),
}

/// A part of setting a sandbox up, and how long it took.
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
    /// Other commands had the workspace all this time.
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

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LauncherResult {
    pub(crate) exit: Option<ProgramExit>,
    pub(crate) killed_for: Option<KillReason>,
    pub(crate) moved_aside: Vec<MovedFile>,
    /// Guarded files that could not be looked after, and why.
    pub(crate) troubles: Vec<String>,
    /// What it changed is in the workspace now, and listed in its folder.
    #[serde(default)]
    pub(crate) is_staged: bool,
    /// Why that is not so, though it was asked for.
    #[serde(default)]
    pub(crate) unstaged: Option<String>,
    /// What it changed and is not listed.
    #[serde(default)]
    pub(crate) unlisted: crate::UnlistedChanges,
    /// Paths that are not as it left them, told among the troubles.
    #[serde(default)]
    pub(crate) lost: u64,
    /// Files that somebody else changed while it ran, for which all it did was thrown away.
    #[serde(default)]
    pub(crate) conflicts: Vec<String>,
    /// How long it waited for other commands before it began.
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

/// Which limit ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KillReason {
    /// All its processes together took too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It filled the disk.
    Disk,
    /// It said more than anyone will read.
    Output,
    /// It took too long.
    Time,
}

/// A file that would run later, made or changed by a command, and taken out of the way for someone to look at.
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

/// The file beside those that were moved aside, which says where they came from: a list of [`MovedFileRecord`].
pub const MOVED: &str = "moved.json";

/// A file that was moved aside, as it is written down beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFileRecord {
    /// Its name beside this record.
    pub kept: String,
    /// Where it was found.
    pub path: PathBuf,
    /// What would have run it.
    pub why: String,
    /// The run whose command made it; `unknown` until someone says.
    pub run: String,
    /// An older version was put back in its place.
    #[serde(default)]
    pub restored: bool,
}

impl MovedFileRecord {
    /// What is written down of one. Nothing, if its name here is no text.
    pub fn of(moved: &MovedFile, run: &str) -> Option<MovedFileRecord> {
        let kept = moved.kept_at.file_name()?.to_str()?.to_owned();
        let MovedFile { path, why, restored, .. } = moved;
        Some(MovedFileRecord { kept, path: path.clone(), why: why.clone(), run: run.to_owned(), restored: *restored })
    }
}
