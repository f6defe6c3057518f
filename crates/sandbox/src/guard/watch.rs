//! Finds paths that are guarded not because of their names, but because something leads to them: a guarded link, a
//! repository's settings, or an ordinary link into installed packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use updraft_workspace::{PathKind, Stamp};

use super::folder_kind::{FolderKind, is_packages};
use super::from_settings::named;
use super::harmless::is_harmless;
use super::links::LinkTrail;
use super::scan::{GuardWalk, ScanResult, open};

/// Why a path is guarded regardless of its name, whether it exists or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedPath {
    pub(super) why: &'static str,
    /// Whether only a file matters; a folder at this path has no meaning.
    pub(super) is_file: bool,
}

const LED: WatchedPath = WatchedPath { why: "a link to something that is run goes through it", is_file: false };
const PACKAGE: &str = "it links to files of an installed package that would run";

impl GuardWalk<'_> {
    /// Guards everything that guarded links and settings lead to, and every link on the way. Settings and links that
    /// a command made must not decide which of the user's files are moved aside: a second walk uses those of the
    /// first.
    pub(super) fn follow(&mut self) {
        let mut left: Vec<(PathBuf, WatchedPath)> = match self.before {
            Some(before) => before.watched.iter().map(|(path, watched)| (path.clone(), *watched)).collect(),
            None => named(self.root, self.folder, &self.found.repositories),
        };
        loop {
            if self.before.is_none() {
                left.extend(self.new_links());
            }
            if left.is_empty() {
                return;
            }
            self.found.watched.extend(left.iter().cloned());
            for (path, watched) in std::mem::take(&mut left) {
                self.follow_one(&path, watched);
            }
        }
    }

    /// Guarded links that have not been followed yet. A path that leads through another link is followed with that
    /// link.
    fn new_links(&self) -> Vec<(PathBuf, WatchedPath)> {
        let links = self.found.items.iter().filter(|(_, item)| item.stamp.kind == PathKind::Link);
        let new = links.filter(|(path, _)| !self.found.watched.contains_key(*path));
        new.map(|(path, _)| (path.clone(), LED)).collect()
    }

    fn follow_one(&mut self, path: &Path, watched: WatchedPath) {
        let trail = LinkTrail::of(self.root, self.folder, path);
        for link in trail.links {
            self.guard(&link, LED);
            self.found.watched.entry(link).or_insert(LED);
        }
        let Some(end) = trail.end else { return };
        let is_around = path != end && path.starts_with(&end);
        let is_known = self.before.is_none_or(|before| before.watched.contains_key(&end));
        if is_around || !is_known {
            return;
        }
        self.guard(&end, watched);
        self.found.watched.entry(end).or_insert(watched);
    }

    /// Guards one path, if it exists; a folder as a whole.
    fn guard(&mut self, top: &Path, watched: WatchedPath) {
        let Ok(opened) = open(self.root, top.parent().unwrap_or(Path::new(""))) else { return };
        let Some(name) = top.file_name() else { return };
        let Ok(stat) = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let is_repository = self.found.repositories.iter().any(|repository| repository == top);
        if self.found.items.contains_key(top) || is_repository || (is_folder && watched.is_file) {
            return;
        }
        self.item(&opened, name, top, watched.why, top.to_owned());
        if is_folder {
            self.found.folders.push(top.to_owned());
            if self.before.is_some_and(|before| !before.items.contains_key(top)) {
                return;
            }
            self.walk(top, FolderKind::Guarded { why: watched.why, top: top.to_owned() });
        }
    }

    /// Files in installed packages are not guarded, although elsewhere they would be, since nobody opens these
    /// folders. A link from elsewhere makes them reachable: files behind a link that existed before are guarded as if
    /// they were in the link's place, and a new link to such files is guarded itself.
    pub(super) fn look_behind_links(&mut self) {
        self.is_fresh = true;
        let (mut looked, mut risky) = (BTreeSet::new(), BTreeMap::new());
        while let Some(link) = self.links.pop() {
            let trail = LinkTrail::of(self.root, self.folder, &link);
            let Some(end) = trail.end.filter(|end| end.iter().any(is_packages)) else { continue };
            if link.file_name().is_some_and(is_packages) || !looked.insert(link.clone()) {
                continue;
            }
            if self.before.is_none_or(|before| before.behind.contains(&end)) {
                if self.found.behind.insert(end.clone()) && self.is_folder(&end) {
                    self.walk(&end, FolderKind::Ordinary);
                }
                continue;
            }
            let is_risky = *risky.entry(end.clone()).or_insert_with(|| self.is_folder(&end) && self.is_risky(&end));
            if is_risky {
                self.guard_way(&link, &trail.links);
            }
        }
        self.is_fresh = false;
    }

    /// Guards the new links on a path. If none is new, a folder above was moved, and the first link is guarded.
    fn guard_way(&mut self, first: &Path, links: &[PathBuf]) {
        let is_new = |link: &PathBuf| {
            let opened = open(self.root, link.parent().unwrap_or(Path::new(""))).ok()?;
            let stat = rustix::fs::statat(&opened, link.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(Stamp::of(&stat).changed >= self.settled)
        };
        let mut new: Vec<PathBuf> = links.iter().filter(|link| is_new(link) == Some(true)).cloned().collect();
        if new.is_empty() {
            new.push(first.to_owned());
        }
        for link in new {
            self.guard(&link, WatchedPath { why: PACKAGE, is_file: true });
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        open(self.root, path).is_ok()
    }

    /// Whether anything in a folder would be guarded if it were elsewhere.
    fn is_risky(&mut self, path: &Path) -> bool {
        let kept = std::mem::take(&mut self.found);
        self.walk(path, FolderKind::Ordinary);
        let ScanResult { items, .. } = std::mem::replace(&mut self.found, kept);
        let is_known = |path: &PathBuf| self.before.is_some_and(|before| before.items.contains_key(path));
        let mut new = items.iter().filter(|(path, _)| !is_known(path));
        new.any(|(path, item)| !is_harmless(self.root, self.folder, path, item.why))
    }
}
