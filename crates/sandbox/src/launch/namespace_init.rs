//! The first process in the new namespaces: builds their root, starts the program, reaps orphans, watches usage.
//!
//! When it ends, for whatever reason, the kernel ends every other process in them; and it ends when its parent does.

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::{DumpableBehavior, Signal};

use super::kernel::{self, NETWORK, USER_MOUNT_PID_IPC_UTS_CGROUP};
use super::processes::ProcessFamily;
use super::supervise::{ProgramSupervisor, attend};
use super::{program, root, timing};
use crate::channel::Channel;
use crate::guard::SelfMount;
use crate::policy::Network;
use crate::protocol::{LaunchFault, LaunchOrder, LaunchTask, LauncherEvent, LauncherResult};
use crate::staged::OverlayStage;

/// The special mounts of the workspace.
pub(super) struct WorkspaceMounts<'a> {
    pub(super) holds: &'a [SelfMount],
    pub(super) stage: Option<&'a OverlayStage>,
    /// Where sockets of the host may be, if they must be covered.
    pub(super) sockets: Option<&'a [PathBuf]>,
}

/// The namespaces that an order requires.
pub(super) fn namespaces(order: &LaunchOrder) -> u64 {
    match order.policy.network {
        Network::None | Network::Allow(_) if order.shares_network => USER_MOUNT_PID_IPC_UTS_CGROUP,
        Network::None | Network::Allow(_) => USER_MOUNT_PID_IPC_UTS_CGROUP | NETWORK,
        Network::Host => USER_MOUNT_PID_IPC_UTS_CGROUP,
    }
}

pub(super) fn main(
    order: &LaunchOrder,
    stdin: Option<&OwnedFd>,
    line: &Channel,
    inside: &WorkspaceMounts<'_>,
    ids: OuterIds,
) -> ! {
    let news = match live(order, stdin, line, inside, ids) {
        Ok(verdict) => LauncherEvent::Ended(verdict),
        Err(fault) => LauncherEvent::Fault(fault),
    };
    // If the launcher is gone, nobody can be told, and this process ends in any case.
    let _ = line.send(&news, None);
    std::process::exit(0)
}

fn live(
    order: &LaunchOrder,
    stdin: Option<&OwnedFd>,
    line: &Channel,
    inside: &WorkspaceMounts<'_>,
    ids: OuterIds,
) -> Result<LauncherResult, LaunchFault> {
    timing::begin();
    ids.map().map_err(LaunchFault::set_up("mapping user ids"))?;
    die_with_parent(line)?;
    timing::mark("mapping ids");
    if let Some(why) = root::enter(&order.policy, inside)? {
        let _ = line.send(&LauncherEvent::Unstaged(why), None);
        // The launcher answers when this command may write to the workspace directly.
        let _ = line.receive::<()>();
    }
    timing::mark("building the root folder");
    let mut extra = program::places(order, None);
    match &order.policy.network {
        Network::Host => {}
        Network::None => loopback_up(order)?,
        Network::Allow(_) => {
            loopback_up(order)?;
            extra.extend(offer_proxy(line).map_err(LaunchFault::set_up("listening for the proxy"))?);
        }
    }
    timing::mark("bringing the network up");
    // From here on no process in the sandbox can inspect this one.
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hidden.map_err(|error| LaunchFault::set_up("hiding a process")(error.into()))?;
    let program = program::start(order, None, &extra, stdin)?;
    if matches!(order.task, LaunchTask::Probe) {
        let _ = line.send(&LauncherEvent::Steps(timing::all()), None);
    }
    program::let_go_of_streams().map_err(LaunchFault::set_up("opening /dev/null"))?;
    let _ = line.send(&LauncherEvent::Started, None);
    let folders: Vec<_> = order.policy.write.iter().chain([&order.policy.workspace]).cloned().collect();
    let (exit, killed_for) = attend(&ProgramSupervisor {
        program,
        family: ProcessFamily::Namespace,
        limits: &order.policy.limits,
        lifetime: order.policy.lifetime,
        folders: &folders,
        deadline: None,
        handler: None,
    });
    Ok(LauncherResult { exit, killed_for, ..LauncherResult::default() })
}

/// In a network that others are in, it is up already, and belongs to none of them.
fn loopback_up(order: &LaunchOrder) -> Result<(), LaunchFault> {
    if order.shares_network {
        return Ok(());
    }
    kernel::loopback_up().map_err(LaunchFault::set_up("bringing loopback up"))
}

/// Our user and group outside the sandbox.
#[derive(Clone, Copy)]
pub(super) struct OuterIds {
    uid: u32,
    gid: u32,
}

impl OuterIds {
    pub(super) fn ours() -> OuterIds {
        OuterIds { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }

    /// Maps only our own ids, to the same numbers inside as outside.
    pub(super) fn map(self) -> std::io::Result<()> {
        let OuterIds { uid, gid } = self;
        // Our own files in /proc belong to us only while this process is dumpable.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
    }
}

fn die_with_parent(line: &Channel) -> Result<(), LaunchFault> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| LaunchFault::set_up("binding a process to its parent")(error.into()))?;
    // The parent may have died before that took effect; then the connection is already closed.
    let is_closed = super::supervise::wait_for_any(&[line.as_fd()], Some(std::time::Instant::now()))[0];
    if is_closed { Err(LaunchFault::SetUp { doing: "the launcher is gone".to_owned(), errno: 0 }) } else { Ok(()) }
}

/// Passes a socket that listens on the sandbox's own loopback to our process, which serves it. No process in the
/// sandbox relays, and there is no other way out.
fn offer_proxy(line: &Channel) -> std::io::Result<program::ExtraEnv> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://{}", listener.local_addr()?);
    line.send(&LauncherEvent::Listening, Some(listener.as_fd()))?;
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut extra: program::ExtraEnv = names.iter().map(|&name| (name.to_owned(), address.clone())).collect();
    for name in ["NO_PROXY", "no_proxy"] {
        extra.push((name.to_owned(), "localhost,127.0.0.1,::1".to_owned()));
    }
    Ok(extra)
}
