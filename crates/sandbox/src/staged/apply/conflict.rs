//! Finds files that both a command and another program changed while the command ran: another command, a tool, the
//! user.
//!
//! The command's layer is compared with the current workspace. Everything that was created, written, renamed or given
//! another mode since the command started has a later change time. A removed file is noticed if the layer shows that
//! it existed. Files that the command only read are not known.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, Stat, StatxFlags};
use rustix::io::Errno;

use super::super::stage::DiskTime;
use super::{DEEPEST, FOLDER, hides_all, is_folder, is_later, is_whiteout, shown};
use crate::guard::names;

/// Most paths that are named.
const NAMED: usize = 3;

/// Returns the first conflicts. Paths that are too deep to be checked are never applied either.
pub(super) fn conflicts(since: DiskTime, upper: &OwnedFd, workspace: &OwnedFd) -> io::Result<Vec<String>> {
    let mut search = ConflictSearch { since, found: Vec::new(), depth: 0 };
    search.folder(Path::new(""), upper, workspace, false)?;
    Ok(search.found)
}

struct ConflictSearch {
    since: DiskTime,
    found: Vec<String>,
    depth: usize,
}

impl ConflictSearch {
    fn folder(&mut self, path: &Path, upper: &OwnedFd, ws: &OwnedFd, hides: bool) -> io::Result<()> {
        if self.depth >= DEEPEST {
            return Ok(());
        }
        self.depth += 1;
        let made: BTreeSet<_> = names(upper)?.into_iter().collect();
        let hidden = if hides { names(ws)? } else { Vec::new() };
        for name in hidden.iter().filter(|name| !made.contains(*name)) {
            let looked = self.untouched(&path.join(name), ws, name);
            self.weigh(&path.join(name), looked)?;
        }
        for name in &made {
            if self.found.len() >= NAMED {
                break;
            }
            let (depth, looked) = (self.depth, self.entry(&path.join(name), upper, ws, name, hides));
            self.depth = depth;
            self.weigh(&path.join(name), looked)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Handles an error while checking a path.
    fn weigh(&mut self, path: &Path, looked: io::Result<()>) -> io::Result<()> {
        match looked.as_ref().map_err(io::Error::kind) {
            // No permission, so nobody changed anything in there.
            Err(io::ErrorKind::PermissionDenied) => Ok(()),
            // Another program is removing it right now.
            Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.found.push(shown(path));
                Ok(())
            }
            Ok(()) | Err(_) => looked,
        }
    }

    fn entry(&mut self, path: &Path, upper: &OwnedFd, ws: &OwnedFd, name: &OsStr, hides: bool) -> io::Result<()> {
        let is = rustix::fs::statat(upper, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let Some(was) = stat(ws, name)? else {
            if is_whiteout(&is) || was_copied(upper, name, &is) {
                self.found.push(shown(path));
            }
            return Ok(());
        };
        if !is_folder(&is) || !is_folder(&was) {
            return self.untouched(path, ws, name);
        }
        let (inner, place) = (open(upper, name)?, open(ws, name)?);
        let hides = (hides || hides_all(&inner)) && !is_new(self.since, ws, name);
        if hides && is_later(self.since, &was) {
            self.found.push(shown(path));
            return Ok(());
        }
        self.folder(path, &inner, &place, hides)
    }

    /// Checks a path that the command replaced or removed, with everything in it.
    fn untouched(&mut self, path: &Path, ws: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let Some(was) = stat(ws, name)?.filter(|_| self.found.len() < NAMED) else { return Ok(()) };
        if is_later(self.since, &was) {
            self.found.push(shown(path));
        } else if is_folder(&was) && self.depth < DEEPEST {
            let place = open(ws, name)?;
            self.depth += 1;
            for name in names(&place)? {
                self.untouched(&path.join(&name), &place, &name)?;
            }
            self.depth -= 1;
        }
        Ok(())
    }
}

/// Opens a folder without changing its mode.
fn open(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(folder, name, FOLDER, Mode::empty())?)
}

fn stat(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the overlay copied it from the workspace, so that it existed there when the command began to write it.
fn was_copied(upper: &OwnedFd, name: &OsStr, is: &Stat) -> bool {
    use std::os::fd::AsRawFd;
    // Links have no user attributes.
    let kind = FileType::from_raw_mode(is.st_mode);
    let path = Path::new("/proc/self/fd").join(upper.as_raw_fd().to_string()).join(name);
    kind != FileType::Symlink && rustix::fs::lgetxattr(path, "user.overlay.origin", &mut [0_u8; 256][..]).is_ok()
}

/// Whether a folder of the workspace was created after the command started, which then saw nothing at its place. Not
/// every file system tells.
pub(super) fn is_new(since: DiskTime, ws: &OwnedFd, name: &OsStr) -> bool {
    let about = rustix::fs::statx(ws, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME);
    about.is_ok_and(|about| {
        let has_it = about.stx_mask & StatxFlags::BTIME.bits() != 0;
        let (seconds, nanoseconds) = (about.stx_btime.tv_sec, u64::from(about.stx_btime.tv_nsec));
        has_it && DiskTime { seconds, nanoseconds } >= since
    })
}
