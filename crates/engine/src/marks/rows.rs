//! Stores marks as rows of a file. Each change appends the rows that differ, and the last row of a mark counts.
//!
//! So a change of one file costs one row, however many files are marked. Once most rows are outdated, the file is
//! rewritten.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use updraft_run::RunId;
use updraft_tools::replace_private;

use super::{FileMark, MarkTable, RoamingRun};
use crate::Error;
use crate::undo::private;

/// How many outdated rows are allowed, in addition to as many as there are current rows, before the file is rewritten.
const OUTDATED: usize = 1_000;

/// One row of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MarkRow {
    /// The first row: the workspace that the marks belong to.
    Workspace(String),
    /// A run's mark on a path; absent if it was removed.
    Mark(String, RunId, #[serde(default)] Option<FileMark>),
    /// A run that may be changing any file; absent if it no longer does.
    Roaming(RunId, #[serde(default)] Option<RoamingRun>),
}

/// The content of a marks file, and what is needed to append to it.
#[derive(Debug, Default)]
pub(super) struct MarkFileContents {
    pub(super) page: MarkTable,
    rows: usize,
    /// Whether the last row is complete. An incomplete row was never relied on.
    is_whole: bool,
}

/// Reads a marks file. Returns `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<MarkFileContents>, Error> {
    let failed = |source| Error::File { file: file.to_owned(), source };
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut contents = MarkFileContents { is_whole: end == bytes.len(), ..MarkFileContents::default() };
    for line in bytes[..end].split_inclusive(|byte| *byte == b'\n') {
        contents.rows += 1;
        contents.page.take(serde_json::from_slice(line).map_err(|error| failed(error.into()))?);
    }
    // The file is created with its first row in one step.
    if contents.rows == 0 { Err(failed(std::io::Error::other("its first row is missing"))) } else { Ok(Some(contents)) }
}

/// Writes what has changed: appends some rows, or rewrites the file.
pub(super) fn write(file: &Path, before: Option<&MarkFileContents>, after: &MarkTable) -> Result<(), Error> {
    let unwritten = |source| Error::Unwritten { file: file.to_owned(), source };
    let empty = MarkTable::default();
    let rows = after.rows_beyond(before.map_or(&empty, |before| &before.page));
    let kept = before.filter(|before| before.is_whole && before.rows + rows.len() <= 2 * after.len() + OUTDATED);
    let Some(_) = kept else {
        let all = after.rows_beyond(&empty);
        let head = MarkRow::Workspace(after.workspace.clone());
        let whole = lines(std::iter::once(&head).chain(&all)).map_err(unwritten)?;
        return replace_private(file, &whole).map_err(unwritten);
    };
    if rows.is_empty() {
        return Ok(());
    }
    let bytes = lines(rows.iter()).map_err(unwritten)?;
    let append = || {
        let mut opened = private().1.append(true).open(file)?;
        opened.write_all(&bytes)?;
        opened.sync_data()
    };
    append().map_err(unwritten)
}

fn lines<'a>(rows: impl Iterator<Item = &'a MarkRow>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut bytes, row)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

impl MarkTable {
    fn take(&mut self, row: MarkRow) {
        match row {
            MarkRow::Workspace(workspace) => self.workspace = workspace,
            MarkRow::Mark(path, run, Some(mark)) => {
                self.files.entry(path).or_default().insert(run, mark);
            }
            MarkRow::Mark(path, run, None) => {
                if let Some(runs) = self.files.get_mut(&path) {
                    runs.remove(&run);
                    if runs.is_empty() {
                        self.files.remove(&path);
                    }
                }
            }
            MarkRow::Roaming(run, Some(roaming)) => {
                self.roaming.insert(run, roaming);
            }
            MarkRow::Roaming(run, None) => {
                self.roaming.remove(&run);
            }
        }
    }

    /// The rows that turn `before` into this table.
    fn rows_beyond(&self, before: &MarkTable) -> Vec<MarkRow> {
        let none = BTreeMap::new();
        let mut rows = Vec::new();
        for (path, runs) in &self.files {
            let old = before.files.get(path).unwrap_or(&none);
            let news = runs.iter().filter(|(run, mark)| old.get(run) != Some(mark));
            rows.extend(news.map(|(run, mark)| MarkRow::Mark(path.clone(), run.clone(), Some(mark.clone()))));
        }
        for (path, old) in &before.files {
            let runs = self.files.get(path).unwrap_or(&none);
            let gone = old.keys().filter(|run| !runs.contains_key(run));
            rows.extend(gone.map(|run| MarkRow::Mark(path.clone(), run.clone(), None)));
        }
        let news = self.roaming.iter().filter(|(run, roaming)| before.roaming.get(run) != Some(roaming));
        rows.extend(news.map(|(run, roaming)| MarkRow::Roaming(run.clone(), Some(roaming.clone()))));
        let gone = before.roaming.keys().filter(|run| !self.roaming.contains_key(run));
        rows.extend(gone.map(|run| MarkRow::Roaming(run.clone(), None)));
        rows
    }

    /// How many rows are current.
    fn len(&self) -> usize {
        self.files.values().map(BTreeMap::len).sum::<usize>() + self.roaming.len()
    }
}
