//! The list of files that git knows of a run's clone, brought up to date.
//!
//! Repositories within the clone are left out: they have settings of their own, which would decide what git does there. Git looks
//! into one that its list names, so those are left out as well, and none is added.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::git_program::{GitCall, GitFault};
use crate::fault::Fault;

/// What `git add` ends with if it could not add some of the files.
const SOME_LEFT_OUT: i32 = 1;
/// How entries begin that stand for another repository.
const LINK: &[u8] = b"160000 ";

/// The list of files of one clone.
pub(super) struct CloneIndex {
    /// The repository that commits are made in.
    pub(super) repository: PathBuf,
    /// The clone.
    pub(super) files: PathBuf,
    /// The file with the list.
    pub(super) index: PathBuf,
}

impl CloneIndex {
    /// A call that reads and writes the list.
    pub(super) fn call<const N: usize>(&self, arguments: [&str; N]) -> GitCall {
        GitCall::here(&self.repository, arguments).with_files(&self.files, &self.index)
    }

    /// Lists the files as they are, but none in these folders. Returns which could not be read, in git's words.
    pub(super) async fn refresh(&self, last: &str, without: &[LeftFolder]) -> Result<Option<String>, GitFault> {
        // Of a process that was killed: this is the only one that writes it.
        let _ = fs::remove_file(self.index.with_extension("lock"));
        match self.try_refresh(last, without).await {
            // The list may be torn, if the machine was switched off.
            Err(GitFault::Failed { .. }) if self.index.is_file() => {
                let _ = fs::remove_file(&self.index);
                self.try_refresh(last, without).await
            }
            done => done,
        }
    }

    async fn try_refresh(&self, last: &str, without: &[LeftFolder]) -> Result<Option<String>, GitFault> {
        if !self.index.exists() {
            self.call(["read-tree", last]).run().await?;
        }
        let mut chosen = b".\0".to_vec();
        for path in without.iter().map(LeftFolder::for_git).chain(self.links().await?) {
            chosen.extend_from_slice(b":(exclude,literal)");
            chosen.extend_from_slice(&path);
            chosen.push(0);
        }
        let adding = ["add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let said = match self.call(adding).reads(chosen).run().await {
            Ok(_) => None,
            Err(fault @ GitFault::Failed { code: Some(SOME_LEFT_OUT), .. }) => Some(fault.said()),
            Err(fault) => return Err(fault),
        };
        self.drop_new_links(last).await?;
        Ok(said)
    }

    /// Takes repositories from the list that appeared after the folders were looked at.
    async fn drop_new_links(&self, last: &str) -> Result<(), GitFault> {
        let found = self.links().await?;
        if found.is_empty() {
            return Ok(());
        }
        let known = links_in(&self.call(["ls-tree", "-r", "-z", "--full-tree", last]).output().await?);
        let mut dropped = Vec::new();
        for path in found.difference(&known) {
            dropped.extend_from_slice(format!("0 {}\t", "0".repeat(last.len())).as_bytes());
            dropped.extend_from_slice(path);
            dropped.push(0);
        }
        if dropped.is_empty() {
            return Ok(());
        }
        self.call(["update-index", "-z", "--index-info"]).reads(dropped).run().await.map(drop)
    }

    /// The paths in the list that stand for another repository.
    async fn links(&self) -> Result<BTreeSet<Vec<u8>>, GitFault> {
        Ok(links_in(&self.call(["ls-files", "--stage", "-z"]).output().await?))
    }
}

/// The paths of other repositories in a listing.
fn links_in(listing: &[u8]) -> BTreeSet<Vec<u8>> {
    let path = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        entry.get(tab + 1..).map(<[u8]>::to_vec)
    };
    listing.split(|byte| *byte == 0).filter(|entry| entry.starts_with(LINK)).filter_map(path).collect()
}

/// A folder whose files are not committed.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeftFolder {
    /// Relative to the clone.
    path: PathBuf,
    why: &'static str,
}

impl LeftFolder {
    /// The folder, and why, for people.
    pub(super) fn in_words(&self) -> String {
        format!("{} ({})", self.path.display(), self.why)
    }

    /// The path as git writes it, whatever is in the names.
    fn for_git(&self) -> Vec<u8> {
        let names: Vec<&[u8]> = self.path.iter().map(std::ffi::OsStr::as_encoded_bytes).collect();
        names.join(&b'/')
    }
}

/// The folders in a clone that are repositories themselves, or in which one could be hidden.
pub(super) fn left_folders(clone: &Path) -> Result<Vec<LeftFolder>, Fault> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(within) = open.pop() {
        let is_clone = within.as_os_str().is_empty();
        match folders_in(clone, &within) {
            Ok(Some(folders)) => open.extend(folders),
            Ok(None) => found.push(LeftFolder { path: within, why: "a repository of its own" }),
            Err(error) if is_clone => return Err(Fault::file("read", clone, &error)),
            // It was removed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => found.push(LeftFolder { path: within, why: "it cannot be read" }),
        }
    }
    found.sort();
    Ok(found)
}

/// The folders in a folder; none if it is a repository within the clone.
fn folders_in(clone: &Path, within: &Path) -> std::io::Result<Option<Vec<PathBuf>>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(clone.join(within))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().eq_ignore_ascii_case(".git") {
            if !within.as_os_str().is_empty() {
                return Ok(None);
            }
        } else if entry.file_type()?.is_dir() {
            folders.push(within.join(entry.file_name()));
        }
    }
    Ok(Some(folders))
}
