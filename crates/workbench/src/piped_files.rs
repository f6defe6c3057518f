//! Files that standard input was stored in for runs, so that they can be removed with those runs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use updraft_journal::{Error, Journal, RunFilter, RunSummary};
use updraft_run::Input;

/// Where they are, in the workspace: agents cannot read files outside it, and a run may be resumed in a month.
pub const FOLDER: &str = ".updraft/stdin";
/// The prefix of their names.
pub const PREFIX: &str = "standard-input-";

/// The files of standard input that a run was given.
pub(crate) fn given_to(journal: &Journal, run: &RunSummary) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let read = journal.read(&run.id, 0, &mut |_, record| {
        if let Input::Start(start) = record.input {
            files.extend(start.goal.files.into_iter().map(PathBuf::from));
        }
        ControlFlow::Break(())
    });
    let is_ours = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        file.parent() == Some(Path::new(FOLDER)) && name.starts_with(PREFIX)
    };
    files.retain(|file| read.is_ok() && is_ours(file));
    files.into_iter().map(|file| Path::new(&run.workspace).join(file)).collect()
}

/// Removes files that were stored for removed runs, unless another run was given the same file.
pub(crate) fn remove(journal: &Journal, files: &BTreeSet<PathBuf>) -> Result<(), Error> {
    if files.is_empty() {
        return Ok(());
    }
    let left = journal.list(&RunFilter::default())?;
    let needed: BTreeSet<PathBuf> = left.iter().flat_map(|run| given_to(journal, run)).collect();
    for file in files.difference(&needed) {
        let folder = file.parent().unwrap_or(file);
        // A link created since then must not lead elsewhere. Leftovers do no harm.
        if folder.canonicalize().is_ok_and(|real| real == folder) {
            let _ = std::fs::remove_file(file);
        }
    }
    Ok(())
}
