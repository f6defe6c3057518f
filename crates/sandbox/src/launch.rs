//! The launcher: our own binary, executed again. It sets up the sandbox, starts the program and stays until the end.
//!
//! It is a process with one thread and an empty environment. Descriptor 0 is a socket to the process that started it;
//! when that socket closes, for whatever reason, everything it started is ended. At the full level there is a second
//! process, the first one in the new namespaces: see `first`.

mod confine;
mod disk;
mod kernel;
mod memory;
mod namespace_init;
mod overlay;
mod processes;
mod program;
mod requests;
mod root;
mod scratch;
pub(crate) mod shared_network;
mod socket_memory;
mod sockets;
mod subreaper;
mod supervise;
mod timing;
mod unnamed;
mod workspace_lock;

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal};

use crate::channel::Channel;
use crate::error::SETUP_FAILED;
use crate::guard::FolderGuard;
use crate::policy::{ChildLifetime, SandboxLevel};
use crate::protocol::{
    KillReason, LaunchFault, LaunchOrder, LaunchTask, LauncherEvent, LauncherResult, ProgramExit, SetupStep,
    WorkspaceSharing,
};
use crate::staged::{OverlayStage, apply};
use kernel::ForkSide;
use requests::{ProgramDecision, RequestHandler};
use scratch::ScratchFolder;
use sockets::ServiceSockets;
use workspace_lock::WorkspaceLock;

/// The argument that tells a program to act as the launcher.
pub const ARGUMENT: &str = "__sandbox";

/// The entry point of the launcher. A program must call it first if its first argument is [`ARGUMENT`]: before any
/// thread is started, and before the environment or any file is read.
pub fn main() -> ! {
    let code = match kernel::close_from(3).and_then(|()| kernel::take_standard_input()) {
        Ok(line) => supervise(&Channel::of(line)),
        Err(_) => SETUP_FAILED,
    };
    std::process::exit(code)
}

fn supervise(line: &Channel) -> i32 {
    kernel::ignore_signals();
    timing::begin();
    // A person who starts the launcher by hand sends no order.
    let Ok(Some((order, stdin))) = line.receive::<LaunchOrder>() else { return SETUP_FAILED };
    if matches!(order.task, LaunchTask::HoldNetwork) {
        return match shared_network::hold(line) {
            Ok(()) => 0,
            Err(fault) => {
                let _ = line.send(&LauncherEvent::Fault(fault), None);
                SETUP_FAILED
            }
        };
    }
    let network = match order.shares_network.then(|| line.receive::<()>()) {
        None => None,
        Some(Ok(Some(((), Some(network))))) => Some(network),
        Some(_) => return SETUP_FAILED,
    };
    match run(&order, stdin, network.as_ref(), line) {
        Ok(verdict) => {
            // The requesting process may be gone, but everything necessary is done.
            let _ = line.send(&LauncherEvent::Ended(verdict), None);
            0
        }
        Err(fault) => {
            let _ = line.send(&LauncherEvent::Fault(fault), None);
            SETUP_FAILED
        }
    }
}

fn run(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    network: Option<&OwnedFd>,
    line: &Channel,
) -> Result<LauncherResult, LaunchFault> {
    let quiet = |error: rustix::io::Errno| LaunchFault::set_up("leaving the terminal")(error.into());
    // Leave the process group of our parent, so that a signal to that group does not end us before we have ended
    // everything.
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
    timing::mark("reading the order");
    // Before the walk, so that a socket that is bound meanwhile is either found by the walk or new.
    let sockets = ServiceSockets::before(order);
    let guards = guards(order)?;
    timing::mark("finding guarded files");
    let handler = RequestHandler::new(line, &guards, order.policy.aside.as_deref(), sockets.as_ref());
    let (exit, killed_for) = match order.level {
        SandboxLevel::Full => {
            let holds: Vec<_> = guards.iter().flat_map(FolderGuard::holds).collect();
            let in_folders = || guards.iter().flat_map(FolderGuard::sockets);
            let to_cover: Option<Vec<_>> =
                sockets.as_ref().map(|sockets| sockets.named().into_iter().chain(in_folders()).collect());
            let inside =
                namespace_init::WorkspaceMounts { holds: &holds, stage: stage.as_ref(), sockets: to_cover.as_deref() };
            let (ending, direct) = with_namespaces(order, stdin, network, &handler, deadline, &inside)?;
            if let Some(direct) = direct {
                (stage, unstaged, waited) = (None, Some(direct.why), waited + direct.waited);
                turn = turn.or(direct.turn);
            }
            ending
        }
        SandboxLevel::Landlock | SandboxLevel::None => without_namespaces(order, stdin, &handler, deadline)?,
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
                // The command ran, even if its changes cannot be applied; and the files now in the workspace are
                // checked.
                verdict.is_staged = true;
                (verdict.troubles, verdict.unlisted) = (applied.troubles, applied.unlisted);
                (verdict.lost, made) = (applied.lost, Some(applied.made));
            }
        }
    }
    let outcome = handler.last_look(made.as_ref().map(|made| (order.policy.workspace.as_path(), made)));
    verdict.moved_aside.extend(outcome.moved);
    verdict.troubles.extend(outcome.troubles);
    Ok(verdict)
}

/// Applies the changes of a command to the workspace, when it is its turn. Returns `None` if the requesting process
/// is gone.
fn put_in_place(
    stage: &OverlayStage,
    turns: Option<&WorkspaceSharing>,
    turn: &mut Option<WorkspaceLock>,
    exit: Option<ProgramExit>,
    line: &Channel,
) -> std::io::Result<Option<apply::ApplyResult>> {
    let yields = turns.is_some_and(|turns| turns.yields);
    let may_be_misled = yields && matches!(exit, Some(ProgramExit::Code(code)) if code != 0);
    // The command may have failed because it saw only a part of another command's changes.
    if may_be_misled && apply::has_moved_on(stage)? {
        return Ok(Some(apply::ApplyResult { conflicts: vec![".".to_owned()], ..apply::ApplyResult::default() }));
    }
    let is_idle = apply::is_empty(stage)?;
    if let Some(turns) = turns.filter(|_| turn.is_none() && !is_idle) {
        *turn = WorkspaceLock::take(&turns.lock, line.as_fd())?;
    }
    if supervise::is_gone(line.as_fd()) {
        return Ok(None);
    }
    if is_idle {
        return Ok(Some(apply::ApplyResult::default()));
    }
    let contested = if yields { apply::ConflictPolicy::Yield } else { apply::ConflictPolicy::Overwrite };
    apply::apply(stage, contested).map(Some)
}

/// The overlay layers for a staged command, or why there are none although they were requested.
fn stage(order: &LaunchOrder) -> (Option<OverlayStage>, Option<String>) {
    let Some(folder) = &order.policy.staged else { return (None, None) };
    if order.level != SandboxLevel::Full {
        return (
            None,
            Some(format!("changes are collected only at the sandbox's full level, not at `{}`", order.level)),
        );
    }
    match OverlayStage::prepare(folder, &order.policy.workspace) {
        Ok(stage) => (Some(stage), None),
        Err(error) => (None, Some(format!("changes cannot be collected in `{}`: {error}", folder.display()))),
    }
}

/// One guard for each writable folder of the user. Without a sandbox nothing is guarded.
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

/// A command that writes to the workspace directly, although its changes should be staged.
struct DirectAccess {
    why: String,
    /// The lock that keeps it alone in the workspace.
    turn: Option<WorkspaceLock>,
    waited: Duration,
}

fn with_namespaces(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    network: Option<&OwnedFd>,
    handler: &RequestHandler<'_>,
    deadline: Option<Instant>,
    inside: &namespace_init::WorkspaceMounts<'_>,
) -> Result<(ProgramEnd, Option<DirectAccess>), LaunchFault> {
    let ids = namespace_init::OuterIds::ours();
    let (inner, theirs) = Channel::pair().map_err(LaunchFault::set_up("making a socket"))?;
    let namespaces = namespace_init::namespaces(order);
    let forked = match network {
        Some(network) => kernel::fork_beside(network.as_fd(), namespaces),
        None => kernel::fork_into(namespaces),
    };
    let pid = match forked.map_err(LaunchFault::set_up("making namespaces"))? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => {
            drop(inner);
            namespace_init::main(order, stdin.as_ref(), &theirs, inside, ids)
        }
    };
    timing::mark("making namespaces");
    drop((theirs, stdin));
    let ended = follow(pid, &inner, handler, deadline, order.turns.as_ref().filter(|turns| !turns.alone));
    // When it ends, the kernel ends every process in its namespace, and lets us reap it only after that.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    supervise::wait_out(pid);
    ended
}

/// Forwards events until the first process of the namespaces ends or must end.
fn follow(
    pid: Pid,
    inner: &Channel,
    handler: &RequestHandler<'_>,
    mut deadline: Option<Instant>,
    turns: Option<&WorkspaceSharing>,
) -> Result<(ProgramEnd, Option<DirectAccess>), LaunchFault> {
    let line = handler.line;
    let mut direct = None;
    program::let_go_of_streams().map_err(LaunchFault::set_up("opening /dev/null"))?;
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| LaunchFault::set_up("watching a process")(error.into()))?;
    loop {
        let ready = supervise::wait_for_any(&[inner.as_fd(), line.as_fd(), process.as_fd()], deadline);
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
                    // If it is gone, so are its events.
                    let _ = inner.send(&(), None);
                }
                Ok(Some((LauncherEvent::Fault(fault), _))) => return Err(fault),
                Ok(Some((LauncherEvent::Steps(theirs), _))) => {
                    drop(line.send(&LauncherEvent::Steps(joined(theirs)), None));
                }
                Ok(Some((news, beside))) => drop(line.send(&news, beside.as_ref().map(AsFd::as_fd))),
                Ok(None) | Err(_) => return Ok(((None, None), direct)),
            }
        } else if ready[2] || (ready[1] && handler.answer() == ProgramDecision::End) {
            return Ok(((None, None), direct));
        }
        if deadline.is_some_and(|at| Instant::now() >= at) {
            return Ok(((None, Some(KillReason::Time)), direct));
        }
    }
}

/// Our own steps, then those of the first process.
fn joined(theirs: Vec<SetupStep>) -> Vec<SetupStep> {
    timing::adopt(theirs);
    timing::all()
}

/// Starts two processes, each of which ends all descendants if the other one is killed: see `second`.
fn without_namespaces(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    handler: &RequestHandler<'_>,
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
            subreaper::main(order, stdin, &handler.beside(&theirs), private)
        }
    };
    drop((theirs, stdin));
    timing::mark("starting a second process");
    kernel::come_first();
    let ended = follow(pid, &inner, handler, deadline, None);
    // The second process is among the descendants, and processes that it did not end are our children by now.
    processes::end_descendants();
    ended.map(|(ending, _)| ending)
}

/// The version of the kernel's Landlock interface, 0 if there is none. Asking changes nothing.
pub(crate) fn landlock_abi() -> u32 {
    kernel::landlock_abi()
}
