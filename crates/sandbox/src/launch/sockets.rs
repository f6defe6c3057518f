//! Finds sockets of the host's services among the files that a command sees: a network namespace does not separate
//! these.
//!
//! From version 9 on, Landlock refuses all sockets that were created outside, whenever they appear. With older
//! versions, sockets that a service listens on are found when a command starts, and covered.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::kernel;
use crate::policy::{Network, Policy, SandboxLevel};
use crate::protocol::LaunchOrder;

/// The first version of Landlock with a rule for sockets.
const LANDLOCK_WITH_SOCKETS: u32 = 9;

/// The sockets that were bound to a path on this machine when a command started.
pub(super) struct ServiceSockets {
    /// Each with its inode and its path.
    bound: BTreeSet<(String, PathBuf)>,
    /// All paths of the host that the command sees.
    shown: Vec<PathBuf>,
    /// The folders among them that are scanned for sockets.
    folders: Vec<PathBuf>,
}

impl ServiceSockets {
    /// Returns `None` if nothing needs to be covered: the command may reach the sockets, or cannot in any case.
    pub(super) fn before(order: &LaunchOrder) -> Option<ServiceSockets> {
        let policy = &order.policy;
        let is_open = order.level == SandboxLevel::Full
            && policy.network != Network::Host
            && kernel::landlock_abi() < LANDLOCK_WITH_SOCKETS;
        is_open.then(|| ServiceSockets {
            bound: bound(),
            shown: shown(policy),
            folders: folders(policy).cloned().collect(),
        })
    }

    /// The sockets with an absolute path, wherever that is. Others are found by scanning the folders.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        self.bound.iter().filter_map(|(_, name)| self.place_of(name)).collect()
    }

    /// Whether no new socket has appeared among the files that the command sees.
    pub(super) fn are_as_before(&self) -> bool {
        let now = bound();
        let mut new = now.difference(&self.bound);
        !new.any(|(_, name)| if name.is_absolute() { self.place_of(name).is_some() } else { self.is_shown(name) })
    }

    fn place_of(&self, name: &Path) -> Option<PathBuf> {
        let folder = name.is_absolute().then(|| std::fs::canonicalize(name.parent()?).ok())??;
        let path = folder.join(name.file_name()?);
        self.shown.iter().any(|shown| path.starts_with(shown)).then_some(path)
    }

    /// Whether a path is visible. A relative path such as `./run/x.sock` could be anywhere.
    fn is_shown(&self, name: &Path) -> bool {
        let Some(name) = name.file_name() else { return false };
        self.folders.iter().any(|folder| live_in(folder).iter().any(|path| path.file_name() == Some(name)))
    }
}

fn shown(policy: &Policy) -> Vec<PathBuf> {
    let system = crate::visible::SYSTEM.iter().map(PathBuf::from);
    folders(policy).chain(&policy.read).cloned().chain(system).collect()
}

/// The folders that users work in, where services are started with a socket beside their files. Toolchains and the
/// system are too large to be scanned each time, and sockets there have absolute paths.
fn folders(policy: &Policy) -> impl Iterator<Item = &PathBuf> {
    policy.write.iter().chain([&policy.workspace])
}

/// The sockets that the kernel lists in our own network namespace. Containers have others.
fn bound() -> BTreeSet<(String, PathBuf)> {
    let text = std::fs::read("/proc/net/unix").unwrap_or_default();
    let of_line = |line: &[u8]| {
        // Seven columns, then the path; a leading `@` means that it is not a file.
        let (mut columns, mut rest) = (Vec::new(), line);
        while columns.len() < 7 {
            let word = rest.trim_ascii_start();
            let end = word.iter().position(|&byte| byte == b' ')?;
            columns.push(&word[..end]);
            rest = &word[end..];
        }
        let name = rest.strip_prefix(b" ")?;
        let number = String::from_utf8_lossy(columns.last()?).into_owned();
        (!name.starts_with(b"@")).then(|| (number, PathBuf::from(OsStr::from_bytes(name))))
    };
    text.split(|&byte| byte == b'\n').skip(1).filter_map(of_line).collect()
}

/// Sockets in a folder, at any depth, that a process listens on.
fn live_in(folder: &Path) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
    let (mut found, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        let Ok(opened) = rustix::fs::openat(CWD, &folder, flags, Mode::empty()) else { continue };
        let mut entries = RawDir::new(&opened, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            match kind_of(&opened, name, entry.file_type()) {
                FileType::Directory => left.push(folder.join(name)),
                FileType::Socket => found.push(folder.join(name)),
                _ => {}
            }
        }
    }
    found.retain(|path| is_live(path));
    found
}

/// The kind of an entry, which not every file system reports along with the name.
fn kind_of(folder: &OwnedFd, name: &OsStr, said: FileType) -> FileType {
    if said != FileType::Unknown {
        return said;
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(said, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// Whether a process listens on the socket. A dead socket is left alone, so that a program can replace it.
///
/// The listener does not notice the test: a datagram socket gets an error from all other kinds of sockets that they
/// have the wrong type.
pub(super) fn is_live(path: &Path) -> bool {
    let ask = || -> rustix::io::Result<()> {
        // By descriptor: an address holds only 108 bytes of a path.
        let opened = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&socket, &address)
    };
    !matches!(ask(), Err(Errno::CONNREFUSED | Errno::NOENT | Errno::ACCESS))
}
