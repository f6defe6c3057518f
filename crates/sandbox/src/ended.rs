//! How a child ended, and what it left behind.

use std::time::Duration;

use crate::capture::CapturedStream;
use crate::error::SETUP_FAILED;
use crate::order::{KillReason, MovedFile, ProgramExit};
use crate::policy::SandboxLevel;
use crate::refusal::SandboxRefusal;

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildResult {
    /// The program's own end. None if it was ended from outside.
    pub exit: Option<ProgramExit>,
    /// The limit that ended it.
    pub killed_for: Option<KillReason>,
    /// What it was refused, as far as that can be told, and what would allow it.
    pub refused: Vec<SandboxRefusal>,
    /// Hosts that it reached through the proxy, which is the only way where they are named.
    pub reached: Vec<String>,
    /// Files that would run later, and where they are now.
    pub moved_aside: Vec<MovedFile>,
    /// What could not be looked after or put into the workspace, and why it was run again.
    pub troubles: Vec<String>,
    /// What it changed in the workspace and what was there before, if that was staged.
    pub staged: Option<crate::StagedChanges>,
    /// Why it was not, though [`Policy::staged`](crate::Policy::staged) asks for it.
    pub unstaged: Option<String>,
    /// What it changed and [`StagedChanges::changes`](crate::StagedChanges::changes) does not list.
    pub unlisted: crate::UnlistedChanges,
    /// How many paths are not as it left them: there was no room for them, say. Each is told among the troubles.
    pub lost: u64,
    /// Files for which it was [run](crate::Sandbox::run) again, because somebody else changed them while it ran: nothing of
    /// the earlier times remains. `.` stands for the workspace, which others changed while it ran and failed.
    pub run_again_for: Vec<String>,
    /// How long it waited for other commands before it began.
    pub waited: Duration,
    /// From the call of `spawn` to the end, without that.
    pub elapsed: Duration,
    /// What it said.
    pub stdout: CapturedStream,
    /// What it complained about.
    pub stderr: CapturedStream,
    /// The level it ran at.
    pub level: SandboxLevel,
}

impl ChildResult {
    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        self.killed_for == Some(KillReason::Time)
    }

    /// Whether it ended by itself, and well, and all that it wrote is there.
    pub fn succeeded(&self) -> bool {
        self.exit == Some(ProgramExit::Code(0)) && self.lost == 0
    }

    /// The exit code a shell would give: its own, 128 and the signal, or 124 for a limit; 125 in place of 0 where not all
    /// that it wrote is there.
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
