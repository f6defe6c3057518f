//! The log files of runs: a folder for each run below `logs` of the state folder, with rotation and a time after which
//! they are removed.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use updraft_journal::Journal;
use updraft_run::{Record, RunId};

use super::log_line::LogFormat;
use super::prompt_files::PromptFiles;
use super::run_log::log_lines;
use crate::folders::{AppFolders, private_file};
use crate::history::RunHistory;

/// How log files are written, and how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFileOptions {
    pub(crate) format: LogFormat,
    /// A file with more bytes is renamed, and a new one is begun.
    pub(crate) size: u64,
    /// How many renamed files are kept of each.
    pub(crate) keep: u32,
    /// How long the logs of a run are kept after their last line.
    pub(crate) age: Duration,
    /// Whether the logs are written at all, or only prompts.
    pub(crate) lines: bool,
    /// Whether every prompt and response gets a file.
    pub(crate) prompts: bool,
}

/// How often logs that are too old are looked for.
const PRUNE: Duration = Duration::from_hours(1);

/// Writes the log files of runs.
pub(crate) struct RunLogFiles {
    folder: PathBuf,
    options: LogFileOptions,
    journal: Journal,
    prompts: BTreeMap<RunId, PromptFiles>,
    /// When logs that are too old were last removed.
    pruned: SystemTime,
}

/// The folder with the logs of all runs.
fn logs_folder(folders: &AppFolders) -> PathBuf {
    folders.state.join("logs")
}

/// The folder with the logs of a run.
pub fn log_folder(folders: &AppFolders, id: &RunId) -> PathBuf {
    logs_folder(folders).join(id.as_str())
}

impl RunLogFiles {
    /// Also removes logs that are too old.
    pub(crate) fn new(folders: &AppFolders, options: LogFileOptions, journal: Journal, now: SystemTime) -> Self {
        let (folder, prompts) = (logs_folder(folders), BTreeMap::new());
        let files = Self { folder, options, journal, prompts, pruned: now };
        files.remove_old(now);
        files
    }

    /// Removes logs that are too old, now and then: a server may run for months.
    pub(crate) fn prune(&mut self, now: SystemTime) {
        // A clock that was set back counts too.
        if now.duration_since(self.pruned).map_or(true, |since| since >= PRUNE) {
            self.pruned = now;
            self.remove_old(now);
        }
    }

    fn remove_old(&self, now: SystemTime) {
        if let Some(before) = now.checked_sub(self.options.age) {
            prune_folder(&self.folder, before, false);
        }
    }

    /// Writes what a record adds. A disk that is full does not stop anything; the first failure is returned.
    pub(crate) fn take(&mut self, id: &RunId, history: &RunHistory, record: &Record) -> io::Result<()> {
        let folder = self.folder.join(id.as_str());
        let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
        if self.options.lines {
            for line in log_lines(history, record) {
                texts.entry(line.kind.file_name()).or_default().push_str(&line.written(self.options.format));
            }
        }
        for (name, text) in texts {
            append(&folder.join(name), &text, &self.options)?;
        }
        if self.options.prompts {
            let files = self.prompts.entry(id.clone()).or_insert_with(|| PromptFiles::in_folder(folder));
            files.take(&self.journal, id, record)?;
            if history.run().is_over() {
                self.prompts.remove(id);
            }
        }
        Ok(())
    }
}

/// Adds lines to a file; if it is too large, it is renamed first.
fn append(path: &Path, text: &str, options: &LogFileOptions) -> io::Result<()> {
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    if size > 0 && size + text.len() as u64 > options.size {
        rotate(path, options.keep)?;
    }
    private_file(path, OpenOptions::new().append(true))?.write_all(text.as_bytes())
}

/// Renames `a.log` to `a.log.1`, `a.log.1` to `a.log.2` and so on; the oldest is removed.
fn rotate(path: &Path, keep: u32) -> io::Result<()> {
    let numbered = |n: u32| PathBuf::from(format!("{}.{n}", path.display()));
    if keep == 0 {
        return std::fs::remove_file(path);
    }
    for n in (1..keep).rev() {
        match std::fs::rename(numbered(n), numbered(n + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(path, numbered(1))
}

/// Removes the logs of a run.
pub fn remove_logs(folders: &AppFolders, id: &RunId) {
    // Usually there are none.
    let _ = std::fs::remove_dir_all(log_folder(folders, id));
}

/// Removes the logs of runs that nothing was written to since a moment, and returns their folders; with `only_look`,
/// nothing is removed.
pub fn prune_logs(folders: &AppFolders, before: SystemTime, only_look: bool) -> Vec<PathBuf> {
    prune_folder(&logs_folder(folders), before, only_look)
}

fn prune_folder(logs: &Path, before: SystemTime, only_look: bool) -> Vec<PathBuf> {
    let Ok(runs) = std::fs::read_dir(logs) else { return Vec::new() };
    let mut removed = Vec::new();
    for run in runs.flatten() {
        let is_run = run.file_name().to_str().is_some_and(|name| RunId::parse(name).is_ok());
        if is_run && last_written(&run.path()).is_some_and(|last| last < before) {
            if !only_look && std::fs::remove_dir_all(run.path()).is_err() {
                continue;
            }
            removed.push(run.path());
        }
    }
    removed.sort();
    removed
}

/// When something in a folder was last written.
fn last_written(folder: &Path) -> Option<SystemTime> {
    let own = std::fs::symlink_metadata(folder).ok().filter(std::fs::Metadata::is_dir)?.modified().ok()?;
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let times = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    Some(times.fold(own, SystemTime::max))
}

#[cfg(test)]
mod tests {
    use updraft_journal::JournalOptions;

    use super::*;

    fn options(size: u64, keep: u32) -> LogFileOptions {
        let age = Duration::from_mins(1);
        LogFileOptions { format: LogFormat::Text, size, keep, age, lines: true, prompts: false }
    }

    #[test]
    fn a_file_that_is_too_large_is_renamed_and_the_oldest_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/general.log");
        for n in 1..=4 {
            append(&path, &format!("line {n}\n"), &options(10, 2)).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join("a").join(name)).ok();
        assert_eq!(read("general.log").unwrap(), "line 4\n");
        assert_eq!(read("general.log.1").unwrap(), "line 3\n");
        assert_eq!(read("general.log.2").unwrap(), "line 2\n");
        assert_eq!(read("general.log.3"), None);
    }

    #[test]
    fn a_process_that_goes_on_removes_old_logs_again_and_again() {
        let home = tempfile::tempdir().unwrap();
        let folders = AppFolders::under(home.path());
        let journal = Journal::open(&home.path().join("journal.db"), JournalOptions::default()).unwrap();
        let log = log_folder(&folders, &RunId::from_bits([1; 10]));
        append(&log.join("general.log"), "a line\n", &options(10, 1)).unwrap();
        let begun = last_written(&log).unwrap();
        let mut files = RunLogFiles::new(&folders, options(10, 1), journal, begun);
        files.prune(begun + Duration::from_mins(5));
        assert!(log.exists(), "it is not looked each time");
        files.prune(begun + Duration::from_hours(2));
        assert!(!log.exists());
    }

    #[test]
    fn old_logs_are_removed_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let folders = AppFolders::under(home.path());
        let (old, new) = (RunId::from_bits([1; 10]), RunId::from_bits([2; 10]));
        for id in [&old, &new] {
            append(&log_folder(&folders, id).join("general.log"), "a line\n", &options(10, 1)).unwrap();
        }
        std::fs::write(logs_folder(&folders).join("not a run"), "").unwrap();
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let file = std::fs::File::open(log_folder(&folders, &old).join("general.log")).unwrap();
        file.set_modified(past).unwrap();
        std::fs::File::open(log_folder(&folders, &old)).unwrap().set_modified(past).unwrap();
        let before = past + Duration::from_secs(1);
        assert_eq!(prune_logs(&folders, before, true), [log_folder(&folders, &old)]);
        assert_eq!(prune_logs(&folders, before, false), [log_folder(&folders, &old)]);
        assert!(!log_folder(&folders, &old).exists() && log_folder(&folders, &new).exists());
        assert!(logs_folder(&folders).join("not a run").exists());
    }
}
