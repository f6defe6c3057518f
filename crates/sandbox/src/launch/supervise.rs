//! Supervises a program until it ends: reaps orphans, watches its usage, and ends it in time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus};

use super::disk::DiskMeter;
use super::memory::MemoryMeter;
use super::processes::ProcessFamily;
use super::requests::{ProgramDecision, RequestHandler};
use crate::policy::{ChildLifetime, ResourceLimits};
use crate::protocol::{KillReason, ProgramExit};

/// How often the usage of a command is checked, unless checking takes long.
const TICK: Duration = Duration::from_millis(25);
/// The same for a server, which mostly waits, and runs for days.
const SLOW_TICK: Duration = Duration::from_millis(100);
/// Checking takes at most this fraction (one in this many) of the time.
const SHARE: u32 = 10;

/// The supervised program, and what ends it.
pub(super) struct ProgramSupervisor<'a> {
    pub(super) program: Pid,
    pub(super) family: ProcessFamily,
    pub(super) limits: &'a ResourceLimits,
    pub(super) lifetime: ChildLifetime,
    /// The folders it may write to, on disks that must not fill up.
    pub(super) folders: &'a [PathBuf],
    pub(super) deadline: Option<Instant>,
    /// Handles requests, including the request to end the program.
    pub(super) handler: Option<&'a RequestHandler<'a>>,
}

/// Returns when the program has ended or must end. Descendants may remain.
pub(super) fn attend(watch: &ProgramSupervisor<'_>) -> (Option<ProgramExit>, Option<KillReason>) {
    let Ok(program) = rustix::process::pidfd_open(watch.program, PidfdFlags::empty()) else {
        return (collect(watch.program), None);
    };
    let mut disks = DiskMeter::begin(watch.folders, watch.family);
    let mut memory = MemoryMeter::begin(watch.family);
    let shortest = match watch.lifetime {
        ChildLifetime::Call => TICK,
        ChildLifetime::Session => SLOW_TICK,
    };
    let mut tick = shortest;
    loop {
        let wait = watch.deadline.map_or(tick, |at| at.saturating_duration_since(Instant::now()).min(tick));
        let news = wait_for(&program, watch.handler.map(AsFd::as_fd), wait);
        if let Some(exit) = collect(watch.program) {
            return (Some(exit), None);
        }
        if watch.deadline.is_some_and(|at| Instant::now() >= at) {
            return (None, Some(KillReason::Time));
        }
        match news {
            WakeSource::Line if watch.handler.is_none_or(|handler| handler.answer() == ProgramDecision::End) => {
                return (None, None);
            }
            WakeSource::Line => {}
            WakeSource::Program => {}
            WakeSource::Nothing => {
                let before = time_spent();
                if let Some(killed) = exceeded(watch, &mut disks, &mut memory) {
                    return (None, Some(killed));
                }
                tick = shortest.max(time_spent().saturating_sub(before) * SHARE);
            }
        }
    }
}

/// The CPU time of this thread. On a busy machine a check that took long may have cost little CPU time.
pub(super) fn time_spent() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

enum WakeSource {
    Program,
    Line,
    Nothing,
}

fn wait_for(program: &OwnedFd, line: Option<BorrowedFd<'_>>, wait: Duration) -> WakeSource {
    let mut fds = vec![PollFd::new(program, PollFlags::IN)];
    fds.extend(line.as_ref().map(|line| PollFd::new(line, PollFlags::IN)));
    let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
    match rustix::event::poll(&mut fds, Some(&wait)) {
        Ok(0) | Err(_) => WakeSource::Nothing,
        Ok(_) if fds.get(1).is_some_and(|line| !line.revents().is_empty()) => WakeSource::Line,
        Ok(_) => WakeSource::Program,
    }
}

/// Reaps every child that has ended, and returns how the program ended if it is among them.
fn collect(program: Pid) -> Option<ProgramExit> {
    let mut exit = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => exit = Some(exit_of(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return exit,
        }
    }
}

fn exit_of(status: WaitStatus) -> ProgramExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProgramExit::Code(code),
        (None, signal) => ProgramExit::Signal(signal.unwrap_or(0)),
    }
}

fn exceeded(watch: &ProgramSupervisor<'_>, disks: &mut DiskMeter<'_>, memory: &mut MemoryMeter) -> Option<KillReason> {
    let usage = watch.family.usage(watch.limits.processes);
    if usage.tasks > watch.limits.processes {
        return Some(KillReason::Processes);
    }
    if memory.is_exceeded(watch.limits.memory, usage.memory) {
        return Some(KillReason::Memory);
    }
    disks.are_filled(watch.limits.disk, usage.written).then_some(KillReason::Disk)
}

/// Waits for one process to end and returns how it ended.
pub(super) fn wait_out(pid: Pid) -> Option<ProgramExit> {
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Some(exit_of(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Whether the other end of a connection is gone. A peer that has only stopped sending still listens.
pub(super) fn is_gone(line: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(line, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = rustix::event::poll(&mut fds, Some(&now));
    polled.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Waits until one of the connections is readable or the time is over; returns which ones are.
pub(super) fn wait_for_any(lines: &[BorrowedFd<'_>], deadline: Option<Instant>) -> Vec<bool> {
    let mut fds: Vec<PollFd<'_>> =
        lines.iter().map(|line| PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)).collect();
    let wait = deadline.map(|at| at.saturating_duration_since(Instant::now()));
    let wait = wait.map(|wait| Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() });
    match rustix::event::poll(&mut fds, wait.as_ref()) {
        Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => vec![false; lines.len()],
    }
}
