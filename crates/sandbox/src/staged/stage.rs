//! The launcher's side of staging: prepares the layers of the overlay before a command starts.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};

use super::lock;

/// How far the times of files can be behind the clock.
const LAG: Duration = Duration::from_millis(10);
/// Milliseconds to wait for the file system's clock to advance.
const TICKS: usize = 20;

/// A time as the file system gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DiskTime {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u64,
}

impl DiskTime {
    /// When a file last changed in any way.
    pub(super) fn of_change(stat: &rustix::fs::Stat) -> Self {
        Self { seconds: stat.st_ctime, nanoseconds: stat.st_ctime_nsec }
    }
}

/// A command's folder, ready to be mounted over the workspace.
pub(crate) struct OverlayStage {
    pub(crate) folder: PathBuf,
    pub(crate) workspace: PathBuf,
    /// When the command started: later changes in the workspace were not made by it.
    pub(crate) since: DiskTime,
    /// The workspace folder's own mode and time at that moment.
    pub(super) as_it_was: (u32, i64, u64),
    _lock: OwnedFd,
}

impl OverlayStage {
    /// Creates the layers. The upper one represents the workspace folder itself, so it gets its mode and times.
    pub(crate) fn prepare(folder: &Path, workspace: &Path) -> io::Result<OverlayStage> {
        let held = lock(folder)?;
        let stat = rustix::fs::statat(CWD, workspace, AtFlags::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in ["upper", "work", super::BEFORE] {
            rustix::fs::mkdirat(&held, name, Mode::RWXU)?;
        }
        super::apply::list::reserve(&held)?;
        let upper = rustix::fs::openat(&held, "upper", flags, Mode::empty())?;
        // Without attributes the overlay could not distinguish a new folder from the one it replaced.
        rustix::fs::fsetxattr(&upper, "user.updraft", b"y", XattrFlags::empty())?;
        rustix::fs::fremovexattr(&upper, "user.updraft")?;
        // Only root may change owners; other users can only change their own folders anyway.
        let _ = rustix::fs::fchown(&upper, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
        rustix::fs::fchmod(&upper, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
        let since = beginning(&upper, &stat)?;
        let (folder, workspace) = (folder.to_owned(), workspace.to_owned());
        Ok(OverlayStage {
            folder,
            workspace,
            since,
            as_it_was: (stat.st_mode, stat.st_mtime, stat.st_mtime_nsec),
            _lock: held,
        })
    }

    /// Discards the changes of the command, because the process that requested it is gone.
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

/// Gives the upper layer the workspace's times, and returns the start time of the command by the clock of the file
/// system, which may be coarse. It is later than every earlier change.
fn beginning(upper: &OwnedFd, workspace: &rustix::fs::Stat) -> io::Result<DiskTime> {
    let before = rustix::fs::fstat(upper)?;
    for _ in 0..TICKS {
        rustix::fs::futimens(upper, &times(workspace))?;
        let is = rustix::fs::fstat(upper)?;
        if is.st_dev != workspace.st_dev {
            let since = now();
            // Changes from here on must not have an earlier time.
            std::thread::sleep(LAG);
            return Ok(since);
        }
        if DiskTime::of_change(&is) > DiskTime::of_change(&before) {
            return Ok(DiskTime::of_change(&is));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(DiskTime::of_change(&before))
}

#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
fn now() -> DiskTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    DiskTime { seconds: since.as_secs().cast_signed(), nanoseconds: u64::from(since.subsec_nanos()) }
}
