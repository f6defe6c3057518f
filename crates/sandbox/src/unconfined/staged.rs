//! The type of staged changes on systems without a sandbox, where nothing is staged: it has no values.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::changed::StagedChange;

/// The staged changes of a command. There are none here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoStagedChanges {}

impl NoStagedChanges {
    /// Cannot be called.
    pub fn changes(&self) -> io::Result<Vec<StagedChange>> {
        match *self {}
    }

    /// Cannot be called.
    pub fn kept(&self, _number: u64) -> PathBuf {
        match *self {}
    }

    /// Cannot be called.
    pub fn open_kept(&self, _number: u64) -> io::Result<File> {
        match *self {}
    }
}
