//! The second process at levels without namespaces: starts the program, reaps orphans, watches usage.
//!
//! It and the launcher, its parent, both adopt processes that the program leaves behind. If one of the two is killed,
//! the other one ends every descendant.

use std::os::fd::{AsFd, OwnedFd};

use super::processes::{self, ProcessFamily};
use super::requests::RequestHandler;
use super::scratch::ScratchFolder;
use super::supervise::{self, ProgramSupervisor, attend};
use super::{kernel, program, timing};
use crate::protocol::{LaunchFault, LaunchOrder, LaunchTask, LauncherEvent, LauncherResult};

/// The request handler is separate: it is connected to the launcher, which sends no requests, and the connection
/// closes when the launcher is gone.
pub(super) fn main(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    handler: &RequestHandler<'_>,
    private: ScratchFolder,
) -> ! {
    let news = match live(order, stdin, handler, &private) {
        Ok(verdict) => LauncherEvent::Ended(verdict),
        Err(fault) => LauncherEvent::Fault(fault),
    };
    if supervise::is_gone(handler.line.as_fd()) {
        // The launcher would have done this.
        handler.last_look(None);
        drop(private);
    }
    let _ = handler.line.send(&news, None);
    std::process::exit(0)
}

fn live(
    order: &LaunchOrder,
    stdin: Option<OwnedFd>,
    handler: &RequestHandler<'_>,
    private: &ScratchFolder,
) -> Result<LauncherResult, LaunchFault> {
    timing::begin();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| LaunchFault::set_up("adopting orphans")(error.into()))?;
    let extra = program::places(order, Some(private.path()));
    let program = program::start(order, Some(private.path()), &extra, stdin.as_ref())?;
    if matches!(order.task, LaunchTask::Probe) {
        let _ = handler.line.send(&LauncherEvent::Steps(timing::all()), None);
    }
    drop(stdin);
    program::let_go_of_streams().map_err(LaunchFault::set_up("opening /dev/null"))?;
    // This process must be scheduled before a thousand busy processes. Only root may request that; other users have a
    // limit on processes, which does not apply to root.
    kernel::come_first();
    let _ = handler.line.send(&LauncherEvent::Started, None);
    let own = [&order.policy.workspace].into_iter().chain(&order.policy.write).cloned();
    let folders: Vec<_> = own.chain([private.path().to_owned()]).collect();
    let (exit, killed_for) = attend(&ProgramSupervisor {
        program,
        family: ProcessFamily::Descendants,
        limits: &order.policy.limits,
        lifetime: order.policy.lifetime,
        folders: &folders,
        deadline: None,
        handler: Some(handler),
    });
    processes::end_descendants();
    Ok(LauncherResult { exit, killed_for, ..LauncherResult::default() })
}
