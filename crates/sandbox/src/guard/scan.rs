//! Walks a folder to find every guarded file, and remembers enough to make the next walk cheap.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use updraft_workspace::{Stamp, guarded_names};

use super::folder_kind::{FolderKind, is_repository, why_guarded, why_repository};
use super::watch::WatchedPath;

/// A guarded file, folder or link. Its key is the path below the root of the walk.
#[derive(Clone, Debug)]
pub(crate) struct GuardedItem {
    /// What would run it.
    pub(crate) why: &'static str,
    /// The guarded folder it is in, or its own path.
    pub(crate) top: PathBuf,
    pub(crate) stamp: Stamp,
}

impl GuardedItem {
    /// Whether commands may write it, so that it is judged by its content.
    pub(super) fn stays_writable(&self) -> bool {
        self.why == guarded_names::TODO
    }
}

/// Everything that one walk found.
#[derive(Default)]
pub(crate) struct ScanResult {
    pub(crate) items: BTreeMap<PathBuf, GuardedItem>,
    /// Repositories, which are mounted over themselves so that they cannot be renamed.
    pub(crate) repositories: Vec<PathBuf>,
    /// Folders that are guarded as a whole.
    pub(crate) folders: Vec<PathBuf>,
    /// Paths that are guarded regardless of their names.
    pub(super) watched: BTreeMap<PathBuf, WatchedPath>,
    /// Folders of installed packages that links from elsewhere lead to.
    pub(super) behind: BTreeSet<PathBuf>,
    /// Sockets; the caller covers those that a service listens on.
    pub(crate) sockets: Vec<PathBuf>,
    /// Guarded folders with more entries than were recorded.
    cut: BTreeSet<PathBuf>,
    /// Messages about folders that could not be read.
    pub(crate) troubles: Vec<String>,
    seen: BTreeMap<PathBuf, SeenFolder>,
    /// Folders that their owner has no permission to read.
    closed: BTreeMap<PathBuf, Stamp>,
}

/// A folder at the time of the walk, so that a later walk can tell that its entries are the same.
struct SeenFolder {
    stamp: Stamp,
    /// Subfolders that were walked.
    below: Vec<PathBuf>,
    /// Whether nothing in it is guarded and it is not part of a repository.
    is_plain: bool,
}

/// Why a path is guarded that the policy names.
const NAMED: &str = "it contains Updraft's own settings";
/// Most entries recorded of a guarded folder. In a larger one, changes are noticed but cannot be reverted.
const MOST_ITEMS: usize = 20_000;

pub(crate) struct GuardWalk<'a> {
    pub(super) root: &'a OwnedFd,
    /// The path of the root.
    pub(super) folder: &'a Path,
    /// Paths that are guarded regardless of their names.
    named: &'a BTreeSet<PathBuf>,
    pub(super) before: Option<&'a ScanResult>,
    pub(super) found: ScanResult,
    /// Links still to be followed that are not guarded and not in installed packages.
    pub(super) links: Vec<PathBuf>,
    /// Whether folders are read as if for the first time.
    pub(super) is_fresh: bool,
    /// Folders that changed after this time may have changed again within the clock's resolution.
    pub(super) settled: i64,
    /// The number of entries in each guarded folder.
    counts: BTreeMap<PathBuf, usize>,
    /// A buffer for directory entries from the kernel.
    buffer: Vec<MaybeUninit<u8>>,
}

impl<'a> GuardWalk<'a> {
    /// Walks everything below `root`; folders that are in `before` and have not changed are not read again.
    pub(crate) fn all(
        root: &'a OwnedFd,
        folder: &'a Path,
        named: &'a BTreeSet<PathBuf>,
        before: Option<(&'a ScanResult, i64)>,
    ) -> ScanResult {
        let settled = before.map_or(0, |(_, time)| time);
        let buffer = vec![MaybeUninit::uninit(); 32 << 10];
        let before = before.map(|(found, _)| found);
        let found = ScanResult::default();
        let counts = BTreeMap::new();
        let mut walk = GuardWalk {
            root,
            folder,
            named,
            before,
            found,
            links: Vec::new(),
            is_fresh: false,
            settled,
            counts,
            buffer,
        };
        walk.walk(Path::new(""), FolderKind::Ordinary);
        walk.look_behind_links();
        walk.follow();
        walk.found
    }

    /// Walks one folder and its subfolders.
    pub(super) fn walk(&mut self, path: &Path, place: FolderKind) {
        let mut left = vec![(path.to_owned(), place)];
        while let Some((path, place)) = left.pop() {
            left.extend(self.folder(&path, place));
        }
    }

    /// Reads one folder and returns its subfolders to walk.
    fn folder(&mut self, path: &Path, place: FolderKind) -> Vec<(PathBuf, FolderKind)> {
        if let Some(known) = self.unchanged(path, &place) {
            return known;
        }
        let opened = match open(self.root, path) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::LOOP) => return Vec::new(),
            Err(Errno::ACCESS) => match self.open_up(path) {
                Ok(Some(opened)) => opened,
                Ok(None) => return Vec::new(),
                Err(error) => return self.trouble(path, error),
            },
            Err(error) => return self.trouble(path, error),
        };
        let Ok(stat) = rustix::fs::fstat(&opened) else { return Vec::new() };
        let stamp = Stamp::of(&stat);
        let names = match names_in(&opened, &mut self.buffer) {
            Ok(names) => names,
            Err(error) => return self.trouble(path, error),
        };
        let place = if place.may_hold_repositories() && is_repository(&self.name_of(path), &names) {
            self.found.repositories.push(path.to_owned());
            FolderKind::Repository { inside: PathBuf::new(), is_package: place.is_package() }
        } else {
            place
        };
        let items_before = self.found.items.len();
        let mut below = Vec::new();
        for (name, kind) in &names {
            if *kind == FileType::Socket {
                self.found.sockets.push(path.join(name));
            }
            below.extend(self.entry(&opened, path, &place, name, *kind));
        }
        // The target of a link can change without changing this folder.
        let has_links = !place.is_package() && names.iter().any(|(_, kind)| *kind == FileType::Symlink);
        let is_plain = place.may_hold_repositories() && !has_links && self.found.items.len() == items_before;
        // Only the first walk is repeated later, so only it is remembered.
        if self.before.is_some() {
            return below;
        }
        let seen = SeenFolder { stamp, below: below.iter().map(|(path, _)| path.clone()).collect(), is_plain };
        self.found.seen.insert(path.to_owned(), seen);
        below
    }

    /// Opens a folder that its owner has no permission to read. If a command removed the permission, it is restored;
    /// if it was missing before, the user wanted that, and the folder is skipped.
    fn open_up(&mut self, path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let folder = rustix::fs::openat2(self.root, path, flags, Mode::empty(), resolve)?;
        let stamp = Stamp::of(&rustix::fs::fstat(&folder)?);
        self.found.closed.insert(path.to_owned(), stamp);
        let Some(before) = self.before else { return Ok(None) };
        if before.closed.get(path) == Some(&stamp) {
            return Ok(None);
        }
        allow_owner(&folder)?;
        open(self.root, path).map(Some)
    }

    /// The subfolders of a folder whose entries are the same as before. Folders with guarded names are always read.
    fn unchanged(&mut self, path: &Path, place: &FolderKind) -> Option<Vec<(PathBuf, FolderKind)>> {
        let seen = self.before?.seen.get(path).filter(|seen| seen.is_plain && place.may_hold_repositories())?;
        if self.is_fresh {
            return None;
        }
        // The folders above are unchanged too, or were just read: no link can have been put on the path.
        let stamp = Stamp::of(&rustix::fs::statat(self.root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?);
        if seen.stamp != stamp || stamp.changed >= self.settled {
            return None;
        }
        Some(
            seen.below
                .iter()
                .map(|below| (below.clone(), place.within(below.file_name().unwrap_or_default())))
                .collect(),
        )
    }

    /// Looks at one entry, and returns the folder to walk, if it is one.
    fn entry(
        &mut self,
        opened: &OwnedFd,
        path: &Path,
        place: &FolderKind,
        name: &OsStr,
        kind: FileType,
    ) -> Option<(PathBuf, FolderKind)> {
        let text = name.to_string_lossy();
        let is_folder = kind == FileType::Directory;
        match place {
            FolderKind::Guarded { why, top } => {
                let whole = path.join(name);
                self.in_guarded(opened, name, &whole, why, top).then_some(())?;
                is_folder.then(|| (whole, place.clone()))
            }
            FolderKind::Ordinary | FolderKind::Packages | FolderKind::Repository { .. } => {
                let whole = path.join(name);
                let elsewhere = || {
                    if place.is_package() {
                        why_repository(&text, is_folder)
                    } else {
                        why_guarded(&self.place_of(path), &text, is_folder)
                    }
                };
                let named = || self.named.contains(&whole).then_some(NAMED);
                let why = in_repository(place, &text, is_folder).or_else(elsewhere).or_else(named);
                let Some(why) = why else {
                    if kind == FileType::Symlink && !place.is_package() {
                        self.links.push(whole.clone());
                    }
                    return is_folder.then(|| (whole, place.within(name)));
                };
                self.item(opened, name, &whole, why, whole.clone());
                if !is_folder {
                    return None;
                }
                self.found.folders.push(whole.clone());
                let is_new = self.before.is_some_and(|before| !before.items.contains_key(&whole));
                (!is_new).then(|| (whole.clone(), FolderKind::Guarded { why, top: whole }))
            }
        }
    }

    /// Records an entry of a guarded folder, and returns whether it should be walked.
    fn in_guarded(&mut self, opened: &OwnedFd, name: &OsStr, whole: &Path, why: &'static str, top: &Path) -> bool {
        let Some(before) = self.before else {
            let count = self.counts.entry(top.to_owned()).or_default();
            *count += 1;
            if *count > MOST_ITEMS {
                // It is walked nevertheless, to find the sockets in it.
                self.found.cut.insert(top.to_owned());
                return true;
            }
            self.item(opened, name, whole, why, top.to_owned());
            return true;
        };
        let is_known = before.items.contains_key(whole);
        let is_cut = before.cut.contains(top);
        self.item(opened, name, whole, why, top.to_owned());
        if is_known || !is_cut {
            // A new folder is moved as a whole, however much is in it.
            return is_known;
        }
        // It may have existed without being recorded. Its change time tells, which no program can set.
        if self.found.items.get(whole).is_some_and(|item| item.stamp.changed < self.settled) {
            self.found.items.remove(whole);
        }
        true
    }

    /// The name of a folder. The root has one too, and some files are guarded because of it.
    fn name_of(&self, path: &Path) -> String {
        let name = path.file_name().or_else(|| self.folder.file_name());
        name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The last two components of a folder's path.
    fn place_of(&self, path: &Path) -> String {
        let above = path.parent().map(|above| self.name_of(above)).unwrap_or_default();
        format!("{above}/{}", self.name_of(path))
    }

    pub(super) fn item(&mut self, opened: &OwnedFd, name: &OsStr, whole: &Path, why: &'static str, top: PathBuf) {
        let Ok(stat) = rustix::fs::statat(opened, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        self.found.items.insert(whole.to_owned(), GuardedItem { why, top, stamp: Stamp::of(&stat) });
    }

    fn trouble(&mut self, path: &Path, error: Errno) -> Vec<(PathBuf, FolderKind)> {
        self.found.troubles.push(format!("could not look into `{}`: {error}", path.display()));
        Vec::new()
    }
}

/// What makes git run a file with this name, if the folder belongs to a repository.
fn in_repository(place: &FolderKind, name: &str, is_folder: bool) -> Option<&'static str> {
    // Git reads files and follows links; a folder with such a name has no meaning to it.
    let FolderKind::Repository { inside, .. } = place else { return None };
    if is_folder {
        return None;
    }
    let folder = inside.to_string_lossy();
    let link = || folder.is_empty().then(|| guarded_names::why_link_guarded(".git", name)).flatten();
    guarded_names::why_guarded_in_repository(&folder, name).or_else(link)
}

/// Opens a folder below the root without following links. The path may be longer than the kernel accepts at once.
pub(crate) fn open(root: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mut part = PathBuf::new();
    let mut above: Option<OwnedFd> = None;
    for name in path {
        if part.as_os_str().len() + name.len() > LONGEST_AT_ONCE {
            let from = above.as_ref().unwrap_or(root);
            above = Some(rustix::fs::openat2(from, &part, flags | OFlags::PATH, Mode::empty(), resolve)?);
            part.clear();
        }
        part.push(name);
    }
    let part = if part.as_os_str().is_empty() { Path::new(".") } else { &part };
    rustix::fs::openat2(above.as_ref().unwrap_or(root), part, flags | OFlags::NONBLOCK, Mode::empty(), resolve)
}

/// Most characters of a path that are passed to the kernel in one call.
const LONGEST_AT_ONCE: usize = 3_000;

/// Gives the owner all permissions for the file of an `O_PATH` descriptor.
pub(crate) fn allow_owner(opened: &OwnedFd) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(opened)?.st_mode) | Mode::RWXU;
    rustix::fs::chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), mode)
}

fn names_in(opened: &OwnedFd, buffer: &mut [MaybeUninit<u8>]) -> rustix::io::Result<Vec<(OsString, FileType)>> {
    let mut names = Vec::new();
    let mut entries = RawDir::new(opened, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(opened, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}
