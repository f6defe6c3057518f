//! The launcher: our own binary, executed again, which sets the sandbox up, starts the program and stays until the end.
//!
//! It is a process with one thread and an empty environment. Descriptor 0 is a line to the process that started it; when
//! that line closes, for whatever reason, everything it started ends. At the full level there is a second process, the
//! first of the new namespaces: see `first`.

mod attend;
mod confine;
mod desk;
mod disk;
mod first;
mod held;
mod kernel;
mod memory;
mod overlay;
mod processes;
mod program;
mod queued;
mod root;
mod scratch;
mod second;
mod sockets;
mod steps;
mod turn;

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal};

use crate::channel::Channel;
use crate::error::SETUP_FAILED;
use crate::guard::FolderGuard;
use crate::order::{
    KillReason, LaunchFault, LaunchOrder, LauncherEvent, LauncherResult, ProgramExit, SetupStep, WorkspaceSharing,
};
use crate::policy::{ChildLifetime, SandboxLevel};
use crate::staged::{OverlayStage, apply};
use desk::{ProgramDecision, RequestHandler};
use kernel::ForkSide;
use scratch::ScratchFolder;
use sockets::ServiceSockets;
use turn::WorkspaceLock;

/// The argument by which a program knows that it is wanted as the launcher.
pub const ARGUMENT: &str = "__sandbox";

/// What a program calls first thing when its first argument is [`ARGUMENT`]: before any thread is started, before the
/// environment or any file is read.
pub fn main() -> ! {
    let code = match kernel::close_from(3).and_then(|()| kernel::take_standard_input()) {
        Ok(line) => supervise(&Channel::of(line)),
        Err(_) => SETUP_FAILED,
    };
    std::process::exit(code)
}

fn supervise(line: &Channel) -> i32 {
    kernel::ignore_signals();
    steps::begin();
    // Nobody who starts us by hand sends an order.
    let Ok(Some((order, stdin))) = line.receive::<LaunchOrder>() else { return SETUP_FAILED };
    match run(&order, stdin, line) {
        Ok(verdict) => {
            // Whoever asked may be gone. What had to be done is done.
            let _ = line.send(&LauncherEvent::Ended(verdict), None);
            0
        }
        Err(fault) => {
            let _ = line.send(&LauncherEvent::Fault(fault), None);
            SETUP_FAILED
        }
    }
}

fn run(order: &LaunchOrder, stdin: Option<OwnedFd>, line: &Channel) -> Result<LauncherResult, LaunchFault> {
    let quiet = |error: rustix::io::Errno| LaunchFault::set_up("leaving the terminal")(error.into());
    // Away from the group of our process, so that a signal to that group does not end us before we have ended all.
    rustix::process::setsid().map_err(quiet)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(quiet)?;
    let asked = Instant::now();
    let turns = order.turns.as_ref();
    let mut turn = turns.filter(|turns| turns.alone).map(|turns| WorkspaceLock::wait(turns, line)).transpose()?;
    let (mut stage, mut unstaged) = stage(order);
    if let Some(turns) = turns.filter(|_| turn.is_none() && unstaged.is_some()) {
        turn = Some(WorkspaceLock::wait(turns, line)?);
    }
    let started = Instant::now();
    let mut waited = started - asked;
    let deadline = match order.policy.lifetime {
        ChildLifetime::Call => order.policy.limits.time.map(|limit| started + limit),
        ChildLifetime::Session => None,
    };
    steps::mark("reading the order");
    // Before the walk, so that one bound meanwhile is either found by it or new.
    let sockets = ServiceSockets::before(order);
    let guards = guards(order)?;
    steps::mark("finding guarded files");
    let desk = RequestHandler::new(line, &guards, order.policy.aside.as_deref(), sockets.as_ref());
    let (exit, killed_for) = match order.level {
        SandboxLevel::Full => {
            let holds: Vec<_> = guards.iter().flat_map(FolderGuard::holds).collect();
            let in_folders = || guards.iter().flat_map(FolderGuard::sockets);
            let to_cover: Option<Vec<_>> =
                sockets.as_ref().map(|sockets| sockets.named().into_iter().chain(in_folders()).collect());
            let inside = first::WorkspaceMounts { holds: &holds, stage: stage.as_ref(), sockets: to_cover.as_deref() };
            let (ending, direct) = with_namespaces(order, stdin, &desk, deadline, &inside)?;
            if let Some(direct) = direct {
                (stage, unstaged, waited) = (None, Some(direct.why), waited + direct.waited);
                turn = turn.or(direct.turn);
            }
            ending
        }
        SandboxLevel::Landlock | SandboxLevel::None => without_namespaces(order, stdin, &desk, deadline)?,
    };
    let mut verdict = LauncherResult { exit, killed_for, unstaged, waited, ..LauncherResult::default() };
    let mut made = None;
    if let Some(stage) = stage {
        let applied = put_in_place(&stage, turns, &mut turn, exit, line);
        match applied.unwrap_or_else(|error| Some(apply::ApplyResult::failed(&error))) {
            None => stage.discard(),
            Some(applied) if !applied.conflicts.is_empty() => {
                return Ok(LauncherResult { conflicts: applied.conflicts, ..verdict });
            }
            Some(applied) => {
                // The command ran, whatever becomes of its changes; and what is in the workspace by now is looked after.
                verdict.is_staged = true;
                (verdict.troubles, verdict.unlisted) = (applied.troubles, applied.unlisted);
                (verdict.lost, made) = (applied.lost, Some(applied.made));
            }
        }
    }
    let outcome = desk.last_look(made.as_ref().map(|made| (order.policy.workspace.as_path(), made)));
    verdict.moved_aside.extend(outcome.moved);
    verdict.troubles.extend(outcome.troubles);
    Ok(verdict)
}

/// Puts what a command changed into the workspace, when it is its turn. Nothing, if nobody is there any more who asked for it.
fn put_in_place(
    stage: &OverlayStage,
    turns: Option<&WorkspaceSharing>,
    turn: &mut Option<WorkspaceLock>,
    exit: Option<ProgramExit>,
    line: &Channel,
) -> std::io::Result<Option<apply::ApplyResult>> {
    let yields = turns.is_some_and(|turns| turns.yields);
    let may_be_misled = yields && matches!(exit, Some(ProgramExit::Code(code)) if code != 0);
    // What it failed for may be that it saw a part of another command's changes.
    if may_be_misled && apply::has_moved_on(stage)? {
        return Ok(Some(apply::ApplyResult { conflicts: vec![".".to_owned()], ..apply::ApplyResult::default() }));
    }
    let is_idle = apply::is_empty(stage)?;
    if let Some(turns) = turns.filter(|_| turn.is_none() && !is_idle) {
        *turn = WorkspaceLock::take(&turns.lock, line.as_fd())?;
    }
    if attend::is_gone(line.as_fd()) {
        return Ok(None);
    }
    if is_idle {
        return Ok(Some(apply::ApplyResult::default()));
    }
    let contested = if yields { apply::ConflictPolicy::Yield } else { apply::ConflictPolicy::Overwrite };
    apply::apply(stage, contested).map(Some)
}

/// The layers for a staged command; or why there are none, though they were asked for.
fn stage(order: &LaunchOrder) -> (Option<OverlayStage>, Option<String>) {
    let Some(folder) = &order.policy.staged else { return (None, None) };
    if order.level != SandboxLevel::Full {
        return (
            None,
            Some(format!("changes are gathered only at the sandbox's full level, not at `{}`", order.level)),
        );
    }
    match OverlayStage::prepare(folder, &order.policy.workspace) {
        Ok(stage) => (Some(stage), None),
        Err(error) => (None, Some(format!("changes cannot be gathered in `{}`: {error}", folder.display()))),
    }
}

/// One for each writable folder of the user. Without a sandbox nothing is guarded either.
fn guards(order: &LaunchOrder) -> Result<Vec<FolderGuard>, LaunchFault> {
    if order.level == SandboxLevel::None {
        return Ok(Vec::new());
    }
    let is_guarded = |folder: &&PathBuf| !order.policy.unguarded.contains(folder);
    let folders = [&order.policy.workspace].into_iter().chain(order.policy.write.iter().filter(is_guarded));
    let guard = |folder: &PathBuf| {
        FolderGuard::before(folder, order.level, &order.policy.guarded)
            .map_err(LaunchFault::set_up(format!("opening {}", folder.display())))
    };
    folders.map(guard).collect()
}

type ProgramEnd = (Option<ProgramExit>, Option<KillReason>);

/// A command writes to the workspace itself, though its changes should be gathered.
struct DirectAccess {
    why: String,
    /// Then it is alone.
    turn: Option<WorkspaceLock>,
    waited: Duration,
}

fn with_namespaces(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    desk: &RequestHandler<'_>,
    deadline: Option<Instant>,
    inside: &first::WorkspaceMounts<'_>,
) -> Result<(ProgramEnd, Option<DirectAccess>), LaunchFault> {
    let ids = first::OuterIds::ours();
    let (inner, theirs) = Channel::pair().map_err(LaunchFault::set_up("making a socket"))?;
    let pid = match kernel::fork_into(first::namespaces(order)).map_err(LaunchFault::set_up("making namespaces"))? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => {
            drop(inner);
            first::main(order, stdin.as_ref(), &theirs, inside, ids)
        }
    };
    steps::mark("making namespaces");
    drop((theirs, stdin));
    let ended = follow(pid, &inner, desk, deadline, order.turns.as_ref().filter(|turns| !turns.alone));
    // Its end is that of every process in its namespace: the kernel lets us collect it only then.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    attend::wait_out(pid);
    ended
}

/// Passes news outward until the first process of the namespaces ends or must end.
fn follow(
    pid: Pid,
    inner: &Channel,
    desk: &RequestHandler<'_>,
    mut deadline: Option<Instant>,
    turns: Option<&WorkspaceSharing>,
) -> Result<(ProgramEnd, Option<DirectAccess>), LaunchFault> {
    let line = desk.line;
    let mut direct = None;
    program::let_go_of_streams().map_err(LaunchFault::set_up("opening /dev/null"))?;
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| LaunchFault::set_up("watching a process")(error.into()))?;
    loop {
        let ready = attend::wait_for_any(&[inner.as_fd(), line.as_fd(), process.as_fd()], deadline);
        if ready[0] {
            match inner.receive::<LauncherEvent>() {
                Ok(Some((LauncherEvent::Ended(verdict), _))) => {
                    return Ok(((verdict.exit, verdict.killed_for), direct));
                }
                Ok(Some((LauncherEvent::Unstaged(why), _))) => {
                    let asked = Instant::now();
                    let turn = turns.map(|turns| WorkspaceLock::wait(turns, line)).transpose()?;
                    let waited = asked.elapsed();
                    deadline = deadline.map(|at| at + waited);
                    direct = Some(DirectAccess { why, turn, waited });
                    // If it is gone, so are its news.
                    let _ = inner.send(&(), None);
                }
                Ok(Some((LauncherEvent::Fault(fault), _))) => return Err(fault),
                Ok(Some((LauncherEvent::Steps(theirs), _))) => {
                    drop(line.send(&LauncherEvent::Steps(joined(theirs)), None));
                }
                Ok(Some((news, beside))) => drop(line.send(&news, beside.as_ref().map(AsFd::as_fd))),
                Ok(None) | Err(_) => return Ok(((None, None), direct)),
            }
        } else if ready[2] || (ready[1] && desk.answer() == ProgramDecision::End) {
            return Ok(((None, None), direct));
        }
        if deadline.is_some_and(|at| Instant::now() >= at) {
            return Ok(((None, Some(KillReason::Time)), direct));
        }
    }
}

/// Our own steps, then those of the first process.
fn joined(theirs: Vec<SetupStep>) -> Vec<SetupStep> {
    steps::adopt(theirs);
    steps::all()
}

/// Two processes, each of which ends all descendants if the other one is killed: see `second`.
fn without_namespaces(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    desk: &RequestHandler<'_>,
    deadline: Option<Instant>,
) -> Result<ProgramEnd, LaunchFault> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| LaunchFault::set_up("adopting orphans")(error.into()))?;
    let private = ScratchFolder::begin(&order.policy.scratch, &order.policy.git)
        .map_err(LaunchFault::set_up("making a temporary folder"))?;
    let (inner, theirs) = Channel::pair().map_err(LaunchFault::set_up("making a socket"))?;
    let pid = match kernel::fork_into(0).map_err(LaunchFault::set_up("starting a process"))? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => {
            drop(inner);
            second::main(order, stdin, &desk.beside(&theirs), private)
        }
    };
    drop((theirs, stdin));
    steps::mark("starting a second process");
    kernel::come_first();
    let ended = follow(pid, &inner, desk, deadline, None);
    // It is among them, and what it did not end itself is ours by now.
    processes::end_descendants();
    ended.map(|(ending, _)| ending)
}

/// The version of the kernel's Landlock interface, 0 if there is none. Asking changes nothing.
pub(crate) fn landlock_abi() -> u32 {
    kernel::landlock_abi()
}
