//! The launcher's side of staging: the layers an overlay is made of, before a command begins.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};

use super::lock;

/// A command's folder, ready to be mounted over the workspace.
pub(crate) struct Stage {
    pub(crate) folder: PathBuf,
    pub(crate) workspace: PathBuf,
    /// When the command began: what changed in the workspace since is not its doing.
    pub(crate) since: (i64, u64),
    _lock: OwnedFd,
}

impl Stage {
    /// Makes the layers. The upper one stands in for the workspace itself, so it has its mode and times.
    pub(crate) fn prepare(folder: &Path, workspace: &Path) -> io::Result<Stage> {
        let held = lock(folder)?;
        let stat = rustix::fs::statat(CWD, workspace, AtFlags::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in ["upper", "work", super::BEFORE] {
            rustix::fs::mkdirat(&held, name, Mode::RWXU)?;
        }
        super::apply::list::reserve(&held)?;
        let upper = rustix::fs::openat(&held, "upper", flags, Mode::empty())?;
        // Without attributes the overlay could not tell a new folder from the one whose place it took.
        rustix::fs::fsetxattr(&upper, "user.updraft", b"y", XattrFlags::empty())?;
        rustix::fs::fremovexattr(&upper, "user.updraft")?;
        // Only root may give folders away; to others only their own are theirs to change.
        let _ = rustix::fs::fchown(&upper, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
        rustix::fs::fchmod(&upper, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
        rustix::fs::futimens(&upper, &times(&stat))?;
        let (folder, workspace) = (folder.to_owned(), workspace.to_owned());
        Ok(Stage { folder, workspace, since: now(), _lock: held })
    }

    /// Throws away what the command did: nobody is there any more who asked for it.
    pub(crate) fn discard(self) {
        super::clear::remove(&self.folder);
    }
}

pub(super) fn times(stat: &rustix::fs::Stat) -> Timestamps {
    let time = |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.cast_signed() };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
fn now() -> (i64, u64) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs().cast_signed(), u64::from(since.subsec_nanos()))
}
