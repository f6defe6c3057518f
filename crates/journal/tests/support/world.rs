//! A journal in a folder of its own, and short ways to say what goes in.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::path::PathBuf;

use tempfile::TempDir;
use updraft_journal::{Batch, Journal, JournalOptions, Lease, RunHeader};
use updraft_run::{Event, Input, Record, RunId, Timestamp};

/// A folder that goes away with it, and journals in it.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// In memory, where a sync costs nothing: for tests that open hundreds of files.
    pub(crate) fn quick() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { folder: folder.unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    /// Another handle on the same file, as another process would have.
    pub(crate) fn journal(&self) -> Journal {
        Journal::open(&self.path(), JournalOptions::default()).unwrap()
    }

    /// What lies in the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

pub(crate) fn head(name: &str) -> RunHeader {
    RunHeader::new(run(name), format!("the goal of {name}"), Timestamp(1_000))
}

/// A record whose input and events all say the same.
pub(crate) fn says(at: i64, words: &str, events: usize) -> Record {
    Record {
        at: Timestamp(at),
        input: Input::Tell { message: words.into() },
        events: (0..events).map(|n| Event::Told { message: format!("{words} {n}") }).collect(),
    }
}

/// A batch of one record with one event.
pub(crate) fn one(at: i64, words: &str) -> Batch {
    Batch::of(vec![says(at, words, 1)])
}

/// A run with nothing in it.
pub(crate) async fn create(journal: &Journal, name: &str) -> Lease {
    journal.create(head(name), Batch::default()).await.unwrap()
}
