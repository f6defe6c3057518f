//! Opens paths that cannot leave a folder, with `openat2`: the kernel itself refuses `..`, absolute links and the
//! magic links of `/proc`, even if another process swaps a folder for a link meanwhile.

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
    // The kernel returns AGAIN if a concurrent rename prevented it from making sure that the path stays inside.
    for _ in 0..100 {
        match rustix::fs::openat2(dir, path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// The metadata of such a path.
pub(super) fn stat(dir: BorrowedFd<'_>, path: &Path, links: LinkPolicy) -> Result<Stat, Errno> {
    rustix::fs::fstat(open(dir, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), links)?)
}
