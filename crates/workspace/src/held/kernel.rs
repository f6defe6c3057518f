//! Paths that cannot lead out of a folder, by `openat2`: the kernel itself refuses `..`, absolute links and the magic
//! links of `/proc`, however quickly somebody swaps a folder for a link.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::LinkPolicy;

/// Opens a path that cannot lead out of `dir`.
pub(super) fn open(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    links: LinkPolicy,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = match links {
        LinkPolicy::Inside => resolve,
        LinkPolicy::Never => resolve | ResolveFlags::NO_SYMLINKS,
    };
    // The kernel says AGAIN when a rename elsewhere kept it from being sure that nothing escaped.
    for _ in 0..100 {
        match rustix::fs::openat2(dir, path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// What is at such a path.
pub(super) fn stat(dir: BorrowedFd<'_>, path: &Path, links: LinkPolicy) -> Result<Stat, Errno> {
    rustix::fs::fstat(open(dir, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), links)?)
}
