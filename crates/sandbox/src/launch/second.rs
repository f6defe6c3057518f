//! The second process of the levels without namespaces: starts the program, collects orphans, watches usage.
//!
//! It and the launcher, its parent, each adopt what the program leaves behind. If one of them is killed, the other one
//! ends every descendant.

use std::os::fd::{AsFd, OwnedFd};

use super::attend::{self, Watch, attend};
use super::desk::Desk;
use super::processes::{self, Family};
use super::scratch::Scratch;
use super::{kernel, program, steps};
use crate::order::{Fault, News, Order, Task, Verdict};

/// The desk is our own: its line leads to the launcher, which asks nothing, and closes when that is gone.
pub(super) fn main(order: &Order, stdin: Option<OwnedFd>, desk: &Desk<'_>, private: Scratch) -> ! {
    let news = match live(order, stdin, desk, &private) {
        Ok(verdict) => News::Ended(verdict),
        Err(fault) => News::Fault(fault),
    };
    if attend::is_gone(desk.line.as_fd()) {
        // What the launcher would have done.
        desk.last_look(None);
        drop(private);
    }
    let _ = desk.line.send(&news, None);
    std::process::exit(0)
}

fn live(order: &Order, stdin: Option<OwnedFd>, desk: &Desk<'_>, private: &Scratch) -> Result<Verdict, Fault> {
    steps::begin();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| Fault::set_up("adopting orphans")(error.into()))?;
    let extra = program::places(order, Some(private.path()));
    let program = program::start(order, Some(private.path()), &extra, stdin.as_ref())?;
    if matches!(order.task, Task::Probe) {
        let _ = desk.line.send(&News::Steps(steps::all()), None);
    }
    drop(stdin);
    program::let_go_of_streams().map_err(Fault::set_up("opening /dev/null"))?;
    // Among a thousand busy processes our turn must come first. Only root may ask for that; others are held by the limit
    // on processes, which does not bind root.
    kernel::come_first();
    let _ = desk.line.send(&News::Started, None);
    let own = [&order.policy.workspace].into_iter().chain(&order.policy.write).cloned();
    let folders: Vec<_> = own.chain([private.path().to_owned()]).collect();
    let (exit, killed_for) = attend(&Watch {
        program,
        family: Family::Descendants,
        limits: &order.policy.limits,
        lifetime: order.policy.lifetime,
        folders: &folders,
        deadline: None,
        desk: Some(desk),
    });
    processes::end_descendants();
    Ok(Verdict { exit, killed_for, ..Verdict::default() })
}
