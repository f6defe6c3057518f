//! How much of the disks a command fills, whichever of its processes did it and whether that one is still there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::guard::a_little_before_now;

/// Between two looks through the folders, at least.
const REST: Duration = Duration::from_millis(200);
/// Looking through the folders takes at most one part in this many of the time.
const SHARE: u32 = 50;

/// The disks that a command may write to.
pub(super) struct Disks<'a> {
    folders: &'a [PathBuf],
    /// One folder of each, and the space that was free.
    free: Vec<(&'a Path, u64)>,
    began: (i64, u64),
    /// How much was filled when the folders were looked through last, and how much was free.
    looked_at: (u64, u64),
    /// When they may be looked through again.
    next_look: Instant,
}

impl<'a> Disks<'a> {
    pub(super) fn begin(folders: &'a [PathBuf]) -> Disks<'a> {
        let (mut devices, mut free) = (Vec::new(), Vec::new());
        for folder in folders {
            let Ok(metadata) = std::fs::metadata(folder) else { continue };
            if !devices.contains(&metadata.dev()) {
                devices.push(metadata.dev());
                free.push((folder.as_path(), free_space(folder)));
            }
        }
        Disks { folders, free, began: a_little_before_now(), looked_at: (0, 0), next_look: Instant::now() + REST }
    }

    /// Whether it has filled more than it may. `written` is what its living processes say they wrote.
    ///
    /// What others write is not its fault, and what it writes again and again fills nothing. A process that is gone says
    /// nothing any more, and what others remove meanwhile makes room: so from time to time what there is counts.
    pub(super) fn are_filled(&mut self, limit: u64, written: u64) -> bool {
        let now: Vec<u64> = self.free.iter().map(|(folder, _)| free_space(folder)).collect();
        let filled: u64 = self.free.iter().zip(&now).map(|((_, free), now)| free.saturating_sub(*now)).sum();
        if filled > limit && written > limit {
            return true;
        }
        let (began, free) = (Instant::now(), now.iter().sum());
        let (filled_then, free_then) = self.looked_at;
        let has_grown = filled > limit && (filled_then == 0 || filled >= filled_then + limit / 16);
        let is_due = began >= self.next_look && free != free_then;
        if !has_grown && !is_due {
            return false;
        }
        self.looked_at = (filled, free);
        let made = self.made();
        self.next_look = began + REST.max(began.elapsed() * SHARE);
        made > limit
    }

    /// Bytes of what was made or changed since the command began.
    fn made(&self) -> u64 {
        let mut made = 0;
        for folder in self.folders {
            let is_inside = self.folders.iter().any(|other| other != folder && folder.starts_with(other));
            made += if is_inside { 0 } else { self.made_in(folder) };
        }
        made
    }

    /// Bytes of the files in a folder that were made or changed since the command began.
    fn made_in(&self, folder: &Path) -> u64 {
        let (mut made, mut left) = (0, vec![folder.to_owned()]);
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    left.push(entry.path());
                } else if (metadata.ctime(), metadata.ctime_nsec().cast_unsigned()) >= self.began {
                    made += metadata.blocks() * 512 / metadata.nlink().max(1);
                }
            }
        }
        made
    }
}

fn free_space(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |disk| disk.f_bfree * disk.f_frsize)
}
