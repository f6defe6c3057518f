//! The result of a child: how it ended, and what it left behind.

use std::time::Duration;

use crate::capture::CapturedStream;
use crate::error::SETUP_FAILED;
use crate::policy::SandboxLevel;
use crate::protocol::{KillReason, MovedFile, ProgramExit};
use crate::refusal::SandboxRefusal;

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildResult {
    /// How the program itself ended; `None` if it was ended from outside.
    pub exit: Option<ProgramExit>,
    /// The limit for which it was killed.
    pub killed_for: Option<KillReason>,
    /// What the sandbox refused, as far as known, and what would allow it.
    pub refused: Vec<SandboxRefusal>,
    /// Hosts that it connected to through the proxy, which is its only way out if the policy lists hosts.
    pub reached: Vec<String>,
    /// Files that would run later, and where they were moved.
    pub moved_aside: Vec<MovedFile>,
    /// Problems: files that could not be checked or applied to the workspace, and why the command was run again.
    pub troubles: Vec<String>,
    /// What it changed in the workspace and what was there before, if that was staged.
    pub staged: Option<crate::StagedChanges>,
    /// Why its changes were not staged although [`Policy::staged`](crate::Policy::staged) requests it.
    pub unstaged: Option<String>,
    /// Changes that [`StagedChanges::changes`](crate::StagedChanges::changes) does not list.
    pub unlisted: crate::UnlistedChanges,
    /// How many paths are not as it left them, for example because the disk was full. Each is listed in `troubles`.
    pub lost: u64,
    /// Files for which it was [run](crate::Sandbox::run) again, because another program changed them while it ran:
    /// nothing of the earlier runs remains. `.` stands for the workspace, which others changed while it ran and
    /// failed.
    pub run_again_for: Vec<String>,
    /// How long it waited for other commands before it started.
    pub waited: Duration,
    /// The time from the call of `spawn` to the end, without that wait.
    pub elapsed: Duration,
    /// Its captured standard output.
    pub stdout: CapturedStream,
    /// Its captured standard error.
    pub stderr: CapturedStream,
    /// The level it ran at.
    pub level: SandboxLevel,
}

impl ChildResult {
    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        self.killed_for == Some(KillReason::Time)
    }

    /// Whether it ended by itself with success, and everything it wrote is there.
    pub fn succeeded(&self) -> bool {
        self.exit == Some(ProgramExit::Code(0)) && self.lost == 0
    }

    /// The exit code that a shell would give: its own, 128 plus the signal, or 124 for a limit; 125 instead of 0 if
    /// not everything it wrote is there.
    pub fn exit_code(&self) -> i32 {
        match (self.exit, self.killed_for) {
            (Some(ProgramExit::Code(0)), None) if self.lost > 0 => SETUP_FAILED,
            (
                _,
                Some(
                    KillReason::Time
                    | KillReason::Memory
                    | KillReason::Processes
                    | KillReason::Disk
                    | KillReason::Output,
                ),
            ) => 124,
            (Some(ProgramExit::Code(code)), None) => code,
            (Some(ProgramExit::Signal(signal)), None) => 128 + signal,
            (None, None) => 128 + 9,
        }
    }
}
