//! Records which files of a workspace contain text from outside. Kept with our own state, so that later runs know it
//! too.
//!
//! A mark is on disk before the text is. It stays, whatever happens to the file's content, because nobody can tell how
//! much of a changed file still comes from outside. It goes when a person clears it, when the run is undone, or when
//! the file was deleted and another one was created in its place.

mod rows;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use scan::FolderSnapshot;
use serde::{Deserialize, Serialize};
use updraft_journal::hash_of;
use updraft_run::{ContentHash, Origins, RunId, Timestamp};
pub(crate) use updraft_workspace::Stamp;
use updraft_workspace::stamp_of;

use crate::Error;
use crate::undo::private;

/// The path that stands for every file of the workspace.
const EVERYTHING: &str = ".";

/// The marks of all workspaces.
#[derive(Clone, Debug)]
pub struct MarkStore {
    folder: PathBuf,
}

impl MarkStore {
    /// A store in this folder, which must be outside of every workspace.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The marks of one workspace, by its canonical path.
    pub fn book(&self, workspace: &str) -> WorkspaceMarks {
        let name = hash_of(workspace.as_bytes()).to_string();
        WorkspaceMarks { file: self.folder.join(format!("{name}.rows")), workspace: workspace.to_owned() }
    }
}

/// The marks of one workspace. Several processes may read and change them at once.
#[derive(Clone, Debug)]
pub struct WorkspaceMarks {
    file: PathBuf,
    workspace: String,
}

/// A file, and the text from outside that a run wrote to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkedFile {
    /// Relative to the workspace; `.` is all of it.
    pub path: String,
    /// Where the text came from.
    pub origins: Origins,
    /// The run that wrote it.
    pub run: RunId,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct MarkTable {
    workspace: String,
    /// By path, and by the run that wrote it: after one run is undone, another run's mark may remain.
    #[serde(default)]
    files: BTreeMap<String, BTreeMap<RunId, FileMark>>,
    /// Runs that may be changing any file, or were cut off while they did.
    #[serde(default)]
    roaming: BTreeMap<RunId, RoamingRun>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    origins: Origins,
    /// The hash of the content that the run left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<ContentHash>,
    /// The file did not exist when it was last checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RoamingRun {
    origins: Origins,
    /// Nothing was changed before this time.
    since: Timestamp,
    /// The folders at that time. A folder that is not among them was created or renamed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folders: FolderSnapshot,
}

/// Whether a run may be changing any file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoamingState<'a> {
    /// It may. What it changed is found from the times of files, and from folders that are not in this snapshot, once
    /// it has come to rest.
    Open(&'a FolderSnapshot),
    /// Only running commands may, and each lists what it changed when it ends.
    Listed,
    /// It no longer does.
    Ended,
}

/// The state of the marks file before and after it was written.
pub(crate) type StampChange = (Option<Box<Stamp>>, Option<Box<Stamp>>);

/// What is left of a run's changes after an undo.
#[derive(Clone, Copy, Debug)]
pub enum UndoRemains<'a> {
    /// These paths.
    These(&'a [String]),
    /// These may not be all: something changed files without listing them.
    Unknown,
}

impl WorkspaceMarks {
    /// All marks, in path order.
    pub fn all(&self) -> Result<Vec<MarkedFile>, Error> {
        let page = self.read()?;
        let files = page.files.into_iter().flat_map(|(path, runs)| {
            runs.into_iter().map(move |(run, mark)| MarkedFile { path: path.clone(), origins: mark.origins, run })
        });
        let roaming = page.roaming.into_iter();
        let roaming =
            roaming.map(|(run, roaming)| MarkedFile { path: EVERYTHING.into(), origins: roaming.origins, run });
        Ok(roaming.chain(files).collect())
    }

    /// Clears the marks of a path and of everything in it, or all marks. Returns how many there were.
    pub fn clear(&self, path: Option<&str>) -> Result<usize, Error> {
        self.change(|page| {
            let before = page.count();
            match path.filter(|path| *path != EVERYTHING) {
                None => (page.files, page.roaming) = Default::default(),
                Some(path) => page.files.retain(|marked, _| !is_in(path, marked)),
            }
            before - page.count()
        })
    }

    /// Removes the marks of a run that was undone, except those of files that were not restored. If the run may have
    /// changed more than is known, only the marks of restored files and of deleted folders are removed.
    pub fn undone(&self, run: &RunId, back: &[String], left: UndoRemains<'_>) -> Result<(), Error> {
        if self.stamp().is_none() {
            return Ok(());
        }
        let is_left = |marked: &str| match left {
            UndoRemains::These(left) => left.iter().any(|path| is_in(marked, path) || is_in(path, marked)),
            UndoRemains::Unknown => {
                let is_gone = || Path::new(&self.workspace).join(marked).symlink_metadata().is_err();
                let is_back = |path: &String| path == marked || (is_in(marked, path) && is_gone());
                !back.iter().any(is_back)
            }
        };
        self.change(|page| {
            for (path, runs) in &mut page.files {
                if runs.contains_key(run) && !is_left(path) {
                    runs.remove(run);
                }
            }
            page.files.retain(|_, runs| !runs.is_empty());
            if !is_left(EVERYTHING) {
                page.roaming.remove(run);
            }
        })
    }

    /// Whether another run has marked a path.
    pub fn is_marked_by_others(&self, run: &RunId, path: &str) -> Result<bool, Error> {
        Ok(self.by_others(run)?.keys().any(|marked| is_in(marked, path)))
    }

    /// Marks files that a run is about to write text from outside to, or has written. Returns once the marks are on
    /// disk.
    pub fn add(&self, run: &RunId, files: &BTreeMap<String, Origins>, now: Timestamp) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        // Taken before the lock, because there may be many folders.
        let roams_anew = files.contains_key(EVERYTHING) && !self.read()?.roaming.contains_key(run);
        let folders = if roams_anew { self.folders() } else { None };
        self.update(run, files, Some(RoamingState::Open(&folders)), now).map(drop)
    }

    /// The folders that exist now.
    pub(crate) fn folders(&self) -> FolderSnapshot {
        scan::folders(Path::new(&self.workspace))
    }

    /// Like `add`, and also updates the run's mark on every file if `state` is given.
    pub(crate) fn update(
        &self,
        run: &RunId,
        files: &BTreeMap<String, Origins>,
        state: Option<RoamingState<'_>>,
        now: Timestamp,
    ) -> Result<StampChange, Error> {
        let _lock = self.lock()?;
        let before = self.stamp();
        self.change_locked(|page| {
            for (path, origins) in files {
                if path == EVERYTHING {
                    let anew = RoamingRun { origins: Origins::default(), since: now, folders: None };
                    let roaming = page.roaming.entry(run.clone()).or_insert(anew);
                    roaming.origins.merge(origins);
                    if let (None, Some(RoamingState::Open(folders))) = (&roaming.folders, state) {
                        roaming.folders.clone_from(folders);
                    }
                } else {
                    page.mark(run, path, origins).gone = false;
                }
            }
            if state == Some(RoamingState::Ended) {
                page.roaming.remove(run);
            }
        })?;
        Ok((before, self.stamp()))
    }

    /// The state of the marks file; `None` if nothing was ever marked. Boxed, because every driver holds several of
    /// them.
    pub(crate) fn stamp(&self) -> Option<Box<Stamp>> {
        let file = fs::File::open(&self.file).or_else(|_| fs::File::open(self.old())).ok()?;
        stamp_of(&file).ok().map(Box::new)
    }

    /// The marks of other runs, by path.
    pub(crate) fn by_others(&self, run: &RunId) -> Result<BTreeMap<String, Origins>, Error> {
        let mut files: BTreeMap<String, Origins> = BTreeMap::new();
        for marked in self.all()?.into_iter().filter(|marked| marked.run != *run) {
            files.entry(marked.path).or_default().merge(&marked.origins);
        }
        Ok(files)
    }

    /// A run has come to rest: the files it may have changed are now found by their times.
    pub(crate) fn settle(&self, run: &RunId) -> Result<(), Error> {
        let page = self.read()?;
        let root = Path::new(&self.workspace);
        let changed = page.roaming.get(run).map(|roaming| scan::since(root, roaming.since, &roaming.folders));
        let own = page.files.iter().filter(|(_, runs)| runs.contains_key(run)).map(|(path, _)| path.clone());
        let paths = own.chain(changed.iter().flatten().cloned());
        let hashes: BTreeMap<String, Option<ContentHash>> =
            paths.map(|path| (path.clone(), self.hash(&path))).collect();
        if hashes.is_empty() && changed.is_none() {
            return Ok(());
        }
        self.change(|page| {
            if let Some((changed, roaming)) = changed.and_then(|changed| Some((changed, page.roaming.remove(run)?))) {
                for path in changed {
                    page.mark(run, &path, &roaming.origins).gone = false;
                }
            }
            for (path, hash) in hashes {
                if let Some(mark) = page.files.get_mut(&path).and_then(|runs| runs.get_mut(run)) {
                    mark.hash = hash;
                }
            }
        })
    }

    /// Updates the marks while no run is at work: finds out what a run that was cut off changed, and removes marks
    /// whose file was deleted and replaced by another.
    pub(crate) fn look(&self, is_at_work: impl Fn(&RunId) -> bool) -> Result<(), Error> {
        let page = self.read()?;
        for run in page.roaming.keys().filter(|run| !is_at_work(run)) {
            self.settle(run)?;
        }
        let (mut gone, mut back, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for (path, runs) in &page.files {
            let is_there = Path::new(&self.workspace).join(path).symlink_metadata().is_ok();
            for (run, mark) in runs {
                match (is_there, mark.gone) {
                    (false, false) => gone.push((path, run)),
                    (true, true) if mark.hash.is_some() && self.hash(path) != mark.hash => other.push((path, run)),
                    (true, true) => back.push((path, run)),
                    (true, false) | (false, true) => {}
                }
            }
        }
        if gone.is_empty() && back.is_empty() && other.is_empty() {
            return Ok(());
        }
        self.change(|page| {
            for (list, is_gone) in [(gone, true), (back, false)] {
                for (path, run) in list {
                    if let Some(mark) = page.files.get_mut(path).and_then(|runs| runs.get_mut(run)) {
                        mark.gone = is_gone;
                    }
                }
            }
            for (path, run) in other {
                // The file may have been written again since we looked.
                if let Some(runs) = page.files.get_mut(path)
                    && runs.get(run).is_some_and(|mark| mark.gone)
                {
                    runs.remove(run);
                }
            }
            page.files.retain(|_, runs| !runs.is_empty());
        })
    }

    fn hash(&self, path: &str) -> Option<ContentHash> {
        scan::content(&Path::new(&self.workspace).join(path)).map(|bytes| hash_of(&bytes))
    }

    fn read(&self) -> Result<MarkTable, Error> {
        match rows::read(&self.file)? {
            Some(contents) => Ok(contents.page),
            None => self.read_old(),
        }
    }

    /// Reads the file of an older version that kept all marks in one JSON value.
    fn read_old(&self) -> Result<MarkTable, Error> {
        let file = self.old();
        let failed = |source| Error::File { file: file.clone(), source };
        match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(MarkTable::default()),
            Err(error) => Err(failed(error)),
        }
    }

    fn old(&self) -> PathBuf {
        self.file.with_extension("json")
    }

    /// Changes the marks under a lock. Readers see the state before or after, never a part.
    fn change<T>(&self, act: impl FnOnce(&mut MarkTable) -> T) -> Result<T, Error> {
        let _lock = self.lock()?;
        self.change_locked(act)
    }

    /// Takes the lock; no other process changes the marks while it is held.
    fn lock(&self) -> Result<fs::File, Error> {
        let lock = || {
            let folder = self.file.parent().unwrap_or(Path::new("."));
            let (mut builder, mut options) = private();
            builder.recursive(true).create(folder)?;
            let file = self.file.with_extension("lock");
            let lock = options.write(true).create(true).truncate(false).open(file)?;
            lock.lock()?;
            Ok(lock)
        };
        lock().map_err(|source| Error::Unwritten { file: self.file.clone(), source })
    }

    fn change_locked<T>(&self, act: impl FnOnce(&mut MarkTable) -> T) -> Result<T, Error> {
        let before = rows::read(&self.file)?;
        let mut page = match &before {
            Some(before) => before.page.clone(),
            None => self.read_old()?,
        };
        page.workspace.clone_from(&self.workspace);
        let done = act(&mut page);
        rows::write(&self.file, before.as_ref(), &page)?;
        if before.is_none() {
            // Its marks are in the new file, so the old file is no longer needed.
            let _ = fs::remove_file(self.old());
        }
        Ok(done)
    }
}

impl MarkTable {
    fn mark(&mut self, run: &RunId, path: &str, origins: &Origins) -> &mut FileMark {
        let mark = self.files.entry(path.to_owned()).or_default().entry(run.clone()).or_default();
        mark.origins.merge(origins);
        mark
    }

    fn count(&self) -> usize {
        self.files.len() + self.roaming.len()
    }
}

/// Whether a path equals `folder` or is inside it.
fn is_in(folder: &str, path: &str) -> bool {
    folder == EVERYTHING || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
