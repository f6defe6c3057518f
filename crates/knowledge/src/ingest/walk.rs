//! Finds the files below some paths.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::{DirEntry, WalkBuilder};

use super::{IngestOptions, IngestReport};
use crate::cancel::Cancel;
use crate::entry::DocumentEntry;
use crate::error::Error;

/// Folders that hold what programs made, even where no `.gitignore` says so.
const SKIPPED: [&str; 5] = ["node_modules", "__pycache__", "site-packages", ".git", ".updraft"];

/// A file may change again within the resolution of its clock; for so long its time is not relied on.
const UNSETTLED: Duration = Duration::from_secs(2);

/// A file that may be read.
#[derive(Clone, Debug)]
pub(super) struct FileEntry {
    pub path: PathBuf,
    /// Its path in the index.
    pub name: String,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub changed: i64,
    /// The same, or 0 while it is too recent to be relied on.
    pub modified: i64,
}

impl FileEntry {
    /// Whether size and time are those in the index.
    pub(super) fn is_same(&self, known: Option<&DocumentEntry>) -> bool {
        known.is_some_and(|known| known.modified != 0 && known.modified == self.changed && known.bytes == self.bytes)
    }
}

/// All files, in the order of their paths. Folders that cannot be opened are reported.
pub(super) fn files(
    paths: &[PathBuf],
    options: &IngestOptions<'_>,
    cancel: &Cancel,
) -> Result<(Vec<FileEntry>, IngestReport), Error> {
    let mut files = Vec::new();
    let mut report = IngestReport::default();
    for path in paths {
        let walk = WalkBuilder::new(path)
            .require_git(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(|entry| !is_skipped(entry))
            .build();
        for entry in walk {
            cancel.check()?;
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => match file_of(&entry, options) {
                    Ok(file) if (options.admit)(&file.name) => files.push(file),
                    Ok(_) => {}
                    Err(why) => report.failed.push((entry.path().to_string_lossy().into_owned(), why)),
                },
                Ok(_) => {}
                // A path that is not there is no fault: what the index has of it is removed.
                Err(error) if error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) => {}
                Err(error) => report.failed.push((path.to_string_lossy().into_owned(), error.to_string())),
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup_by(|a, b| a.name == b.name);
    Ok((files, report))
}

/// Whether a document of the index lies below one of the paths.
pub(super) fn is_below(name: &str, paths: &[PathBuf], options: &IngestOptions<'_>) -> bool {
    let path = options.root.join(name);
    paths.iter().any(|folder| path.starts_with(options.root.join(folder)))
}

fn is_skipped(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_folder && entry.depth() > 0 && entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name))
}

fn file_of(entry: &DirEntry, options: &IngestOptions<'_>) -> Result<FileEntry, String> {
    let about = entry.metadata().map_err(|error| error.to_string())?;
    let name = name_of(entry.path(), options.root).ok_or("its path is not UTF-8")?;
    let time = about.modified().map_err(|error| error.to_string())?;
    let changed = nanoseconds(time);
    let is_settled = options.now.duration_since(time).is_ok_and(|age| age > UNSETTLED);
    let modified = if is_settled { changed } else { 0 };
    Ok(FileEntry { path: entry.path().to_owned(), name, bytes: about.len(), changed, modified })
}

fn name_of(path: &Path, root: &Path) -> Option<String> {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let name = inside.to_str()?;
    Some(if std::path::MAIN_SEPARATOR == '/' { name.to_owned() } else { name.replace(std::path::MAIN_SEPARATOR, "/") })
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}
