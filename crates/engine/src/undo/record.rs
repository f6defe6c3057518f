//! Records undos on disk: what each is about to do, and the contents it replaces.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use updraft_journal::hash_of;
use updraft_run::{ContentHash, RunId, Timestamp};
use updraft_tools::{Workspace, replace_private};

use super::LARGEST;
use super::path_snapshot::is_same;
use super::plan::{SkippedPath, TOO_LARGE, UndoMove, UndoPlan, UndoSkipReason};
use crate::Error;

/// One undo.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoRecord {
    pub(super) number: u64,
    pub(super) run: RunId,
    pub(super) at: Timestamp,
    pub(super) moves: Vec<UndoMove>,
    /// The undo that this one reverts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) takes_back: Option<u64>,
    /// Everything in it has been tried.
    pub(super) is_done: bool,
    /// A later undo has reverted it.
    #[serde(default)]
    pub(super) is_taken_back: bool,
}

impl UndoRecord {
    /// Both paths of each file that an undo by an earlier version moved.
    pub(super) fn moved(&self) -> BTreeSet<&str> {
        self.moves.iter().filter_map(|one| Some([one.path.as_str(), one.taken_from.as_deref()?])).flatten().collect()
    }
}

/// The undos of one run.
pub(super) struct UndoRecords {
    folder: PathBuf,
    run: RunId,
}

impl UndoRecords {
    pub(super) fn at(folder: &Path, run: &RunId) -> Self {
        Self { folder: folder.join(run.as_str()), run: run.clone() }
    }

    pub(super) fn unfinished(&self) -> Result<Option<UndoRecord>, Error> {
        Ok(self.all()?.into_iter().find(|record| !record.is_done))
    }

    /// The last undo that was not reverted and did not revert another.
    pub(super) fn last_undo(&self) -> Result<Option<UndoRecord>, Error> {
        let all = self.all()?;
        Ok(all.into_iter().rev().find(|record| record.is_done && !record.is_taken_back && record.takes_back.is_none()))
    }

    /// Stores what will be replaced, then the plan. Only after that may anything be touched. What cannot be stored is
    /// not touched, and is returned.
    pub(super) fn begin(
        &self,
        workspace: &Workspace,
        plan: &UndoPlan,
        at: Timestamp,
    ) -> Result<(UndoRecord, Vec<SkippedPath>), Error> {
        let number = self.all()?.last().map_or(1, |last| last.number + 1);
        let (mut moves, mut left) = (Vec::new(), Vec::new());
        for one in &plan.moves {
            match self.keep_from(workspace, one)? {
                None => moves.push(one.clone()),
                Some(why) => left.push(SkippedPath { path: one.path.clone(), why }),
            }
        }
        let (run, takes_back) = (self.run.clone(), plan.takes_back);
        let record = UndoRecord { number, run, at, moves, takes_back, is_done: false, is_taken_back: false };
        self.write(&record)?;
        Ok((record, left))
    }

    /// Stores what a move replaces, or says why it cannot be stored.
    fn keep_from(&self, workspace: &Workspace, one: &UndoMove) -> Result<Option<UndoSkipReason>, Error> {
        let Some(hash) = one.from.and_then(|side| side.hash) else { return Ok(None) };
        let standing = match workspace.locate(&one.path).and_then(|path| workspace.standing(&path, LARGEST)) {
            Ok(Some(standing)) => standing,
            // It is gone; this is noticed again when the plan is carried out.
            Ok(None) => return Ok(None),
            Err(failure) => return Ok(Some(UndoSkipReason::Failed(failure.message))),
        };
        if standing.hash != Some(hash) {
            return Ok(Some(UndoSkipReason::Conflict));
        }
        match standing.bytes {
            Some(bytes) => self.keep(&bytes).map(|()| None),
            None if is_same(one.from.as_ref(), one.to.as_ref()) => Ok(None),
            None => Ok(Some(UndoSkipReason::Failed(TOO_LARGE.to_owned()))),
        }
    }

    pub(super) fn close(&self, mut record: UndoRecord) -> Result<(), Error> {
        record.is_done = true;
        self.write(&record)?;
        let taken = record.takes_back.and_then(|number| read(&self.file(number)).ok());
        match taken {
            Some(taken) => self.write(&UndoRecord { is_taken_back: true, ..taken }),
            None => Ok(()),
        }
    }

    /// A content that an undo replaced.
    pub(super) fn content(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        let bytes = fs::read(self.file_of(hash)).ok()?;
        (hash_of(&bytes) == *hash).then_some(bytes)
    }

    /// Whether a content was stored before it was replaced.
    pub(super) fn has(&self, hash: &ContentHash) -> bool {
        self.file_of(hash).exists()
    }

    fn keep(&self, bytes: &[u8]) -> Result<(), Error> {
        let file = self.file_of(&hash_of(bytes));
        if file.metadata().is_ok_and(|about| about.len() == bytes.len() as u64) {
            return Ok(());
        }
        replace(&file, bytes)
    }

    fn all(&self) -> Result<Vec<UndoRecord>, Error> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(Vec::new()) };
        let files = entries.flatten().map(|entry| entry.path());
        let mut all: Vec<UndoRecord> = files
            .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
            .map(|file| read(&file))
            .collect::<Result<_, _>>()?;
        all.sort_by_key(|record| record.number);
        Ok(all)
    }

    fn write(&self, record: &UndoRecord) -> Result<(), Error> {
        let file = self.file(record.number);
        let text =
            serde_json::to_vec(record).map_err(|error| Error::File { file: file.clone(), source: error.into() })?;
        replace(&file, &text)
    }

    fn file_of(&self, hash: &ContentHash) -> PathBuf {
        self.folder.join("contents").join(hash.to_string())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }
}

fn read(file: &Path) -> Result<UndoRecord, Error> {
    let failed = |source| Error::File { file: file.to_owned(), source };
    let bytes = fs::read(file).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))
}

/// Options that create folders and files which only their owner can read.
pub(crate) fn private() -> (fs::DirBuilder, fs::OpenOptions) {
    let (mut builder, mut options) = (fs::DirBuilder::new(), fs::OpenOptions::new());
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    (builder, options)
}

fn replace(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace_private(file, bytes).map_err(|source| Error::Unwritten { file: file.to_owned(), source })
}
