//! The few system calls that need `unsafe`, because neither std nor rustix has a safe wrapper for them.
#![expect(unsafe_code, reason = "system calls without a safe wrapper; each says why it is sound")]

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Pid;

/// Which of the two processes we are after a fork.
pub(super) enum ForkSide {
    Parent(Pid),
    Child,
}

/// The namespaces that a child gets.
pub(super) const USER_MOUNT_PID_IPC_UTS_CGROUP: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;
pub(super) const NETWORK: u64 = libc::CLONE_NEWNET as u64;

/// Forks into the given namespaces (0 for none). Only for processes with a single thread.
pub(super) fn fork_into(namespaces: u64) -> io::Result<ForkSide> {
    // SAFETY: the launcher is re-executed for this and never starts a thread, so no lock can be held by another thread
    // at the moment of the copy. Without CLONE_VM and with a null stack this behaves as fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, namespaces | libc::SIGCHLD as u64, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(ForkSide::Child),
        Ok(pid) if pid > 0 => Pid::from_raw(pid).map(ForkSide::Parent).ok_or_else(io::Error::last_os_error),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves this process into a new user namespace and a new network of its own.
pub(super) fn enter_new_network() -> io::Result<()> {
    // SAFETY: unshare changes only what this single-threaded process sees, and touches no memory.
    let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks like [`fork_into`], into a network that exists already instead of a new one.
///
/// Only a process that has entered the user namespace of that network may enter it, and there is no way back. So a process
/// between us and the child enters both and passes its own parent, us, on to the child: to us the child is like any other.
pub(super) fn fork_beside(network: BorrowedFd<'_>, namespaces: u64) -> io::Result<ForkSide> {
    let (mut news, mut writer) = io::pipe()?;
    let between = match fork_into(0)? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => {
            let forked = enter(network).and_then(|()| fork_into(namespaces | libc::CLONE_PARENT as u64));
            let told = match forked {
                Ok(ForkSide::Child) => return Ok(ForkSide::Child),
                Ok(ForkSide::Parent(pid)) => pid.as_raw_pid(),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            // If nobody reads it, nobody waits for it.
            let _ = writer.write_all(&told.to_le_bytes());
            std::process::exit(0)
        }
    };
    drop(writer);
    let mut told = [0; 4];
    let heard = news.read_exact(&mut told);
    super::supervise::wait_out(between);
    heard?;
    match i32::from_le_bytes(told) {
        pid if pid > 0 => {
            Pid::from_raw(pid).map(ForkSide::Parent).ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))
        }
        errno => Err(io::Error::from_raw_os_error(-errno)),
    }
}

/// Enters a network and the user namespace it belongs to.
fn enter(network: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the request takes no argument and gives a new descriptor that nobody else owns.
    let owner = unsafe {
        let fd = libc::ioctl(network.as_raw_fd(), NS_GET_USERNS);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    for (namespace, kind) in [(owner.as_fd(), libc::CLONE_NEWUSER), (network, libc::CLONE_NEWNET)] {
        // SAFETY: setns changes only what this single-threaded process sees, and touches no memory.
        if unsafe { libc::setns(namespace.as_raw_fd(), kind) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Gives the user namespace that a namespace belongs to.
const NS_GET_USERNS: libc::Ioctl = 0xb701;

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// The restrictions of a mount.
#[derive(Clone, Copy)]
pub(super) enum MountRestriction {
    /// Nothing may be written; no set-uid, no devices.
    ReadOnly,
    /// No set-uid, no devices.
    NoDevices,
    /// A device node itself: usable for reading and writing, which a read-only mount does not prevent, but its mode,
    /// owner and times cannot be changed. No set-uid, no programs.
    Device,
}

/// Adds restrictions to a mount and, if `below` is set, to all mounts below it. Flags are only added, so the locked
/// flags of a user namespace stay.
pub(super) fn restrict_mount(mount: BorrowedFd<'_>, strict: MountRestriction, below: bool) -> io::Result<()> {
    let attr_set = match strict {
        MountRestriction::ReadOnly => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        MountRestriction::NoDevices => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        MountRestriction::Device => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
    };
    let attr = MountAttr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a NUL-terminated literal, and `attr` lives through the call with the size given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Marks every descriptor from `first` on to be closed when a program is executed.
pub(super) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: only flags of descriptors change, and no memory is touched.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor from `first` on. Only allowed before any of them is owned.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: called at the very start of the launcher, when nothing beyond the standard streams is ours.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes over the launcher's descriptor 0, the connection to our process.
pub(super) fn take_standard_input() -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC gives a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Resets every signal to its default action, as a new program expects.
pub(super) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL installs no code of ours. Signals that cannot be changed answer with an error, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ignores signals that ask to terminate: the launcher ends when its connection closes, after everything it started.
pub(super) fn ignore_signals() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: SIG_IGN installs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Brings the loopback interface of the current network namespace up.
pub(super) fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the request outlives the call and holds the name and flags that SIOCSIFFLAGS reads.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version of the kernel's Landlock interface, 0 if there is none.
pub(super) fn landlock_abi() -> u32 {
    // SAFETY: with no attributes and this flag the call only answers with a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    u32::try_from(version).unwrap_or(0)
}

/// Requests to be scheduled before ordinary processes. Refused for ordinary users.
pub(super) fn come_first() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter outlives the call. A refusal changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
}
