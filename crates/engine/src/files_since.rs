//! Compares the files of a workspace with what a run left: which are as it left them, and which others have changed since.
//!
//! What a command reads is not recorded. So its result counts as the same only while nothing in the workspace has changed
//! since it began, apart from what the run itself has written.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use updraft_journal::hash_of;
use updraft_run::{FileChange, FileKind, Timestamp};
use updraft_workspace::{GRAIN, Workspace};

use crate::undo::RecordedChange;

/// How many files and folders are looked at. In a larger workspace every command is repeated.
const MOST: usize = 300_000;
/// Folders that commands do not read for their result: git's own, unless the call mentions git, and ours. Agents and
/// prompts in ours are compared by themselves.
const APART: [&str; 2] = [".git", ".updraft"];

/// The files that a run changed, each with its last change, and the workspace as it is now.
#[derive(Debug)]
pub(crate) struct FilesSince {
    root: PathBuf,
    own: BTreeMap<String, RecordedChange>,
    /// When commands of the run were at work, from the decision to the reply.
    commands: Vec<RangeInclusive<Timestamp>>,
    others: OnceLock<Result<Vec<ChangeTime>, String>>,
}

/// When something in the workspace changed that the run did not change, or that is not as the run left it.
#[derive(Debug)]
struct ChangeTime {
    path: String,
    is_folder: bool,
    /// In nanoseconds since 1970.
    at: i64,
}

impl FilesSince {
    /// `made` are the changes of the run and of later runs that took over its results, in their order; `commands` the times
    /// of their commands.
    pub(crate) fn new(
        root: &Path,
        made: impl IntoIterator<Item = RecordedChange>,
        commands: Vec<RangeInclusive<Timestamp>>,
    ) -> Self {
        let own = made.into_iter().map(|made| (made.change.path.clone(), made)).collect();
        Self { root: root.to_owned(), own, commands, others: OnceLock::new() }
    }

    /// Whether the run changed a file.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        self.own.contains_key(path)
    }

    /// Whether a path is a folder now.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// Whether the run changed a file, and it is as the run left it.
    pub(crate) fn is_as_left(&self, path: &str) -> bool {
        self.own.get(path).is_some_and(|made| is_as_left(&self.root, &made.change))
    }

    /// What is different about a file since a moment, in words; `None` if it is as it was, or as the run left it.
    pub(crate) fn change_of(&self, path: &str, since: Timestamp) -> Option<String> {
        let is_same = if self.is_own(path) {
            self.is_as_left(path)
        } else {
            // The time of the last change also tells of an older file that was moved here.
            let about = std::fs::symlink_metadata(self.root.join(path)).ok();
            about.is_some_and(|about| is_before(about.ctime() * 1_000_000_000 + about.ctime_nsec(), since))
        };
        (!is_same).then(|| format!("`{path}` has changed"))
    }

    /// What has changed in the whole workspace since a moment, in words.
    pub(crate) fn change_of_any(&self, since: Timestamp, includes_git: bool) -> Option<String> {
        self.change_below(Path::new("."), since, includes_git)
    }

    /// The same for a folder and what is in it.
    pub(crate) fn change_below(&self, folder: &Path, since: Timestamp, includes_git: bool) -> Option<String> {
        let folder = folder.strip_prefix(".").unwrap_or(folder);
        let is_below = |path: &str| folder == Path::new("") || Path::new(path).starts_with(folder);
        let others = match self.others.get_or_init(|| self.look()) {
            Ok(others) => others,
            Err(why) => return Some(why.clone()),
        };
        let is_apart = |path: &str| {
            let top = path.split('/').next().unwrap_or(path);
            APART.contains(&top) && !(includes_git && top == ".git")
        };
        let changed = others.iter().filter(|other| !is_before(other.at, since) && !is_apart(&other.path));
        let changed = changed.filter(|other| is_below(&other.path));
        // A file says more than the folder it is in.
        let first = changed.min_by_key(|other| other.is_folder)?;
        Some(if first.is_folder {
            format!("something in `{}` was added, removed or renamed", first.path)
        } else {
            format!("`{}` has changed", first.path)
        })
    }

    /// The files that have changed since a moment and that the run did not change; `Err` says why nobody can know.
    pub(crate) fn others_changed(&self, since: Timestamp) -> Result<Vec<&str>, &str> {
        let others = self.others.get_or_init(|| self.look()).as_deref().map_err(String::as_str)?;
        let is_apart = |path: &str| path.split('/').next().is_some_and(|top| APART.contains(&top));
        let is_other = |other: &&ChangeTime| !other.is_folder && !self.is_own(&other.path) && !is_apart(&other.path);
        let is_meant = |other: &&ChangeTime| is_other(other) && !is_before(other.at, since);
        Ok(others.iter().filter(is_meant).map(|other| other.path.as_str()).collect())
    }

    /// Everything in the workspace but what is as the run left it.
    fn look(&self) -> Result<Vec<ChangeTime>, String> {
        let unreadable = |_| "the workspace cannot be opened".to_owned();
        let workspace = Workspace::open(&self.root).map_err(unreadable)?;
        let survey = workspace.survey(MOST);
        if survey.is_cut || survey.is_partial {
            return Err("the workspace is too large, or not readable, to see what has changed".to_owned());
        }
        let mut left = BTreeMap::new();
        for made in self.own.values() {
            let path = Path::new(&made.change.path);
            for folder in [Some(path), path.parent()].into_iter().flatten() {
                let last: &mut Timestamp = left.entry(folder.to_owned()).or_insert(made.at);
                *last = made.at.max(*last);
            }
        }
        // Removing an entry changes the times of its folder. What the run did there itself was over when its call ended.
        // While a command is at work, folders change by what it removes and by how its changes are put in place.
        let is_during_command = |at: i64| {
            let is_during =
                |time: &RangeInclusive<Timestamp>| !is_before(at, *time.start()) && at / 1_000_000 <= time.end().0;
            self.commands.iter().any(is_during)
        };
        let is_ours = |folder: &Path, at: i64| {
            left.get(folder).is_some_and(|last| at / 1_000_000 <= last.0) || is_during_command(at)
        };
        let mut others = Vec::new();
        let about = workspace.folder().itself().map_err(|_| "the workspace cannot be read".to_owned())?;
        if !is_ours(Path::new(""), about.changed) {
            others.push(ChangeTime { path: ".".to_owned(), is_folder: true, at: about.changed });
        }
        for (path, stamp) in &survey.stamps {
            let path = String::from_utf8_lossy(path).into_owned();
            let is_folder = stamp.is_folder();
            // `git status` writes to git's folder, which no list of changes contains.
            let is_of_git = path.starts_with(".git/") && is_during_command(stamp.changed);
            if is_folder && is_ours(Path::new(&path), stamp.changed) || !is_folder && self.is_own(&path) || is_of_git {
                continue;
            }
            others.push(ChangeTime { path, is_folder, at: stamp.changed });
        }
        let differs = self.own.keys().filter(|path| !self.is_as_left(path));
        others.extend(differs.map(|path| ChangeTime { path: path.clone(), is_folder: false, at: i64::MAX }));
        Ok(others)
    }
}

/// Whether a time of a file is certainly before a moment.
fn is_before(file: i64, moment: Timestamp) -> bool {
    let grain = i64::try_from(GRAIN.as_nanos()).unwrap_or_default();
    file.saturating_add(grain) < moment.0.saturating_mul(1_000_000)
}

/// Whether a file is as a change left it.
fn is_as_left(root: &Path, change: &FileChange) -> bool {
    let path = root.join(&change.path);
    let found = std::fs::symlink_metadata(&path).ok();
    match (change.after, change.now, found) {
        (Some(hash), _, Some(_)) => std::fs::read(path).is_ok_and(|bytes| hash_of(&bytes) == hash),
        (None, Some(form), Some(found)) if form.kind == FileKind::Folder => found.is_dir(),
        (None, Some(form), Some(found)) => {
            let modified = found.mtime() * 1_000_000_000 + found.mtime_nsec();
            found.len() == form.len && form.modified == Some(modified)
        }
        (None, None, None) => true,
        _ => false,
    }
}
