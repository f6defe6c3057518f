//! Whether code changed a file: the state of every file of the workspace before and after, by what the kernel stamps.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use crate::place::Workspace;

/// Files and folders that are looked at. Beyond this, looking takes longer than most code.
const MOST: usize = 50_000;
/// Folders below folders, each held open on the way.
const DEPTH: usize = 64;

/// The state of every file. The time of the last change of a file's state cannot be set by anyone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Traces(BTreeMap<Vec<u8>, Stamp>);

/// Device, inode, mode, size, and the times of the last change of content and of state.
type Stamp = (u64, u64, u32, i64, (i64, u64), (i64, u64));

impl Traces {
    /// Looks at everything. Nothing, if there is too much of it or it cannot be read.
    pub(super) async fn of(workspace: &Workspace) -> Option<Self> {
        let workspace = workspace.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let mut found = BTreeMap::new();
            let root = rustix::fs::fstat(workspace.dir()).ok()?;
            found.insert(Vec::new(), stamp(&root));
            look(workspace.dir(), c".", &mut Vec::new(), DEPTH, &mut found)?;
            Some(Self(found))
        });
        looking.await.ok().flatten()
    }

    /// The first path that is not as it was.
    pub(super) fn first_change(&self, after: &Self) -> Option<String> {
        let named = |path: &[u8]| match path {
            [] => ".".to_owned(),
            path => String::from_utf8_lossy(path).into_owned(),
        };
        // A folder changes with what is in it, so the deepest difference tells more.
        let differs = |(path, stamp): &(&Vec<u8>, &Stamp)| after.0.get(*path) != Some(*stamp);
        let changed = self.0.iter().filter(differs).map(|(path, _)| path);
        let new = after.0.keys().filter(|path| !self.0.contains_key(*path));
        changed.chain(new).max_by_key(|path| path.len()).map(|path| named(path))
    }
}

fn look(
    above: BorrowedFd<'_>,
    name: &CStr,
    path: &mut Vec<u8>,
    depth: usize,
    found: &mut BTreeMap<Vec<u8>, Stamp>,
) -> Option<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(above, name, flags, Mode::empty()).ok()?;
    let mut names: Vec<CString> = Vec::new();
    for entry in Dir::read_from(&folder).ok()? {
        let name = entry.ok()?.file_name().to_owned();
        if name.as_bytes() != b"." && name.as_bytes() != b".." {
            names.push(name);
        }
    }
    for name in names {
        if found.len() >= MOST || depth == 0 {
            return None;
        }
        let stat = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name.as_bytes());
        found.insert(path.clone(), stamp(&stat));
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            look(folder.as_fd(), &name, path, depth - 1, found)?;
        }
        path.truncate(length);
    }
    Some(())
}

fn stamp(stat: &Stat) -> Stamp {
    let modified = (stat.st_mtime, stat.st_mtime_nsec);
    let changed = (stat.st_ctime, stat.st_ctime_nsec);
    (stat.st_dev, stat.st_ino, stat.st_mode, stat.st_size, modified, changed)
}
