//! Measures how much of the disks a command fills, counting all its processes, including those that have ended.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use updraft_workspace::{GRAIN, ago};

use super::processes::ProcessFamily;
use super::unnamed::{self, ByteEstimate, DoubtTimer};

/// The shortest time between two scans of the folders.
const REST: Duration = Duration::from_millis(200);
/// Scanning takes at most this fraction (one in this many) of the time.
const SHARE: u32 = 50;

/// The disks that a command may write to.
pub(super) struct DiskMeter<'a> {
    folders: &'a [PathBuf],
    /// The processes whose deleted but open files count too.
    family: ProcessFamily,
    /// The device of private folders in memory.
    memory: Option<u64>,
    /// One folder of each disk, and its free space at the start.
    free: Vec<(&'a Path, u64)>,
    began: i64,
    /// How much was filled at the last scan of the folders, and how much was free.
    looked_at: (u64, u64),
    /// The earliest time of the next scan.
    next_look: Instant,
    doubt: DoubtTimer,
}

impl<'a> DiskMeter<'a> {
    pub(super) fn begin(folders: &'a [PathBuf], family: ProcessFamily) -> DiskMeter<'a> {
        let (mut devices, mut free) = (Vec::new(), Vec::new());
        for folder in folders {
            let Ok(metadata) = std::fs::metadata(folder) else { continue };
            if !devices.contains(&metadata.dev()) {
                devices.push(metadata.dev());
                free.push((folder.as_path(), free_space(folder)));
            }
        }
        let memory = match family {
            ProcessFamily::Namespace => std::fs::metadata("/tmp").ok().map(|about| about.dev()),
            ProcessFamily::Descendants => None,
        };
        let next_look = Instant::now() + REST;
        DiskMeter {
            folders,
            family,
            memory,
            free,
            began: ago(GRAIN),
            looked_at: (0, 0),
            next_look,
            doubt: DoubtTimer::default(),
        }
    }

    /// Whether the command has filled more than its limit. `written` is what its running processes report as written.
    ///
    /// Data written by others must not count, and rewriting the same file fills nothing. A process that has ended
    /// reports nothing, and space freed by others hides what was filled. So from time to time the files themselves
    /// are counted.
    pub(super) fn are_filled(&mut self, limit: u64, written: u64) -> bool {
        let now: Vec<u64> = self.free.iter().map(|(folder, _)| free_space(folder)).collect();
        let filled = unnamed::sum(self.free.iter().zip(&now).map(|((_, free), now)| free.saturating_sub(*now)));
        if filled > limit && written > limit {
            return true;
        }
        let (began, free) = (Instant::now(), unnamed::sum(now));
        let (filled_then, free_then) = self.looked_at;
        let has_grown = filled > limit && (filled_then == 0 || filled >= filled_then.saturating_add(limit / 16));
        let is_due = began >= self.next_look && (free != free_then || self.doubt.is_there());
        if !has_grown && !is_due {
            return false;
        }
        self.looked_at = (filled, free);
        let mut made = self.made();
        let nameless = unnamed::deleted_files(&self.family.members(u64::MAX), self.memory);
        made.bytes = made.bytes.saturating_add(nameless.bytes);
        made.perhaps = made.perhaps.saturating_add(nameless.perhaps);
        self.next_look = began + REST.max(began.elapsed() * SHARE);
        self.doubt.weigh(made, filled, |made| made > limit)
    }

    /// Bytes of files created or changed since the command started.
    fn made(&self) -> ByteEstimate {
        let mut made = ByteEstimate::default();
        for folder in self.folders {
            let is_inside = self.folders.iter().any(|other| other != folder && folder.starts_with(other));
            if !is_inside {
                self.add_made_in(folder, &mut made);
            }
        }
        made
    }

    /// Adds the bytes of the files in a folder that were created or changed since the command started.
    fn add_made_in(&self, folder: &Path, made: &mut ByteEstimate) {
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    made.perhaps = self.unseen(&folder, &error).max(made.perhaps);
                    continue;
                }
            };
            for entry in entries.flatten() {
                let metadata = match entry.metadata() {
                    Ok(metadata) => metadata,
                    Err(error) => {
                        made.perhaps = self.unseen(&folder, &error).max(made.perhaps);
                        continue;
                    }
                };
                if metadata.is_dir() {
                    left.push(entry.path());
                } else if self.is_since(&metadata) {
                    let part = unnamed::bytes_of(metadata.blocks(), 512) / metadata.nlink().max(1);
                    made.bytes = made.bytes.saturating_add(part);
                }
            }
        }
    }

    /// How much may be in a folder that cannot be read: any amount, if it was created or closed since the start, or
    /// its path is too long.
    fn unseen(&self, folder: &Path, error: &io::Error) -> u64 {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        let is_new = std::fs::symlink_metadata(folder).map_or(true, |about| self.is_since(&about));
        if !is_gone && is_new { u64::MAX } else { 0 }
    }

    fn is_since(&self, about: &Metadata) -> bool {
        about.ctime().saturating_mul(1_000_000_000).saturating_add(about.ctime_nsec()) >= self.began
    }
}

fn free_space(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |disk| unnamed::bytes_of(disk.f_bfree, disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_folder_hides_may_be_anything_if_it_is_new() {
        let place = tempfile::tempdir().unwrap();
        let folders = [place.path().to_owned()];
        std::thread::sleep(Duration::from_millis(50));
        let disks = DiskMeter::begin(&folders, ProcessFamily::Descendants);
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(disks.unseen(place.path(), &refused), 0, "it was so before");
        let new = place.path().join("new");
        std::fs::create_dir(&new).unwrap();
        assert_eq!(disks.unseen(&new, &refused), u64::MAX);
        assert_eq!(disks.unseen(&new, &io::ErrorKind::NotFound.into()), 0);
        let deep = place.path().join("x/".repeat(3000));
        assert_eq!(disks.unseen(&deep, &refused), u64::MAX);
    }
}
