//! What a run has changed, as a commit on its own branch, and the push of that branch.
//!
//! Doing it again changes nothing: files that are the same make no new commit, and a commit that is there is not pushed again.
//! A branch is never forced: if somebody else has moved it, that is told.

use std::fs;
use std::path::{Path, PathBuf};

use updraft_run::RunId;

use super::branch_of;
use super::git_program::{GitCall, GitFault};
use super::mirror::RepositoryMirror;
use super::run_clone::{base, committed, pushed};
use crate::fault::{Fault, blocking};

/// Most nested repositories that are named.
const MOST_NAMED: usize = 20;

/// What is committed of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedFiles {
    /// The last commit; absent if nothing was changed since the run began.
    pub commit: Option<String>,
    /// What could not be committed.
    pub left_out: Vec<String>,
}

/// Why a branch was not pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushFault {
    /// The repository does not take it.
    Refused(String),
    /// It could not be reached; it may work later.
    Later(String),
}

impl RepositoryMirror {
    /// Commits what a run has changed, with this message.
    pub async fn save(&self, run: &RunId, message: &str) -> Result<SavedFiles, Fault> {
        let what = "what the run changed could not be committed";
        let (files, index) = (self.clone_folder(run), self.index(run));
        let looked = files.clone();
        let (nested, lock) = (blocking(move || Ok(nested_repositories(&looked))).await?, index.with_extension("lock"));
        // Of a process that was killed: this is the only one that writes it.
        let _ = fs::remove_file(lock);
        let last = self.here(["rev-parse", "--verify", &committed(run)], what).await?;
        let call = |arguments: Vec<String>| GitCall::here(&self.repository(), arguments).with_files(&files, &index);
        let because = |fault: GitFault| fault.because(what);
        if !index.exists() {
            call(vec!["read-tree".into(), last.clone()]).run().await.map_err(because)?;
        }
        let mut adding: Vec<String> = ["add", "--all", "--ignore-errors", "--", "."].map(String::from).into();
        // A repository in it has settings of its own, which would decide what git does there.
        adding.extend(nested.iter().map(|path| format!(":(exclude,literal){path}")));
        let mut left_out: Vec<String> =
            nested.iter().take(MOST_NAMED).map(|path| format!("{path} (a repository of its own)")).collect();
        match call(adding).run().await {
            Ok(_) => {}
            Err(fault @ GitFault::Failed { .. }) => left_out.push(fault.said()),
            Err(fault) => return Err(because(fault)),
        }
        let tree = call(vec!["write-tree".into()]).run().await.map_err(because)?;
        let before = self.here(["rev-parse", "--verify", &format!("{last}^{{tree}}")], what).await?;
        let commit = if tree == before { last } else { self.commit(run, &tree, &last, message).await? };
        let began = self.here(["rev-parse", "--verify", &base(run)], what).await?;
        Ok(SavedFiles { commit: (commit != began).then_some(commit), left_out })
    }

    async fn commit(&self, run: &RunId, tree: &str, last: &str, message: &str) -> Result<String, Fault> {
        let what = "what the run changed could not be committed";
        let (name, email) = &self.author;
        let mut call = GitCall::here(&self.repository(), ["commit-tree", tree, "-p", last, "-F", "-"]);
        for who in ["AUTHOR", "COMMITTER"] {
            call = call.with(&format!("GIT_{who}_NAME"), name).with(&format!("GIT_{who}_EMAIL"), email);
        }
        let commit = call.reads(message.to_owned()).run().await.map_err(|fault| fault.because(what))?;
        self.here(["update-ref", &committed(run), &commit, last], what).await?;
        Ok(commit)
    }

    /// Pushes the branch of a run, unless the repository has it so.
    pub async fn push(&self, run: &RunId, commit: &str) -> Result<(), PushFault> {
        let later = |fault: Fault| PushFault::Later(fault.message);
        let name = pushed(run);
        let known = self.here(["rev-parse", "--verify", &name], "").await.map_err(later)?;
        if known == commit {
            return Ok(());
        }
        let to = format!("{commit}:refs/heads/{}", branch_of(run));
        let pushing = self.there([
            "push",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--porcelain",
            self.address().url(),
            &to,
        ]);
        pushing.run().await.map_err(|fault| push_fault(&fault))?;
        self.here(["update-ref", &name, commit], "").await.map(drop).map_err(later)
    }
}

/// Tells a refusal, which stays, from a server that cannot be reached.
fn push_fault(fault: &GitFault) -> PushFault {
    let GitFault::Failed { output, .. } = fault else { return PushFault::Later(fault.said()) };
    // `!`, the names, and why, with tabs between them.
    let refused = output.lines().find_map(|line| line.strip_prefix("!\t")?.split('\t').nth(1));
    match refused {
        Some(why) if why.contains("non-fast-forward") || why.contains("fetch first") => {
            PushFault::Refused("somebody else has changed the branch, and it is not overwritten".to_owned())
        }
        Some(why) => PushFault::Refused(why.trim_matches(['[', ']']).to_owned()),
        None => PushFault::Later(fault.said()),
    }
}

/// The folders in a clone, relative to it, that are repositories themselves.
fn nested_repositories(clone: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(within) = open.pop() {
        let entries = fs::read_dir(clone.join(&within)).into_iter().flatten().flatten();
        let mut folders = Vec::new();
        let mut is_repository = false;
        for entry in entries {
            if entry.file_name().to_string_lossy().eq_ignore_ascii_case(".git") {
                is_repository = !within.as_os_str().is_empty();
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(within.join(entry.file_name()));
            }
        }
        if is_repository {
            found.push(within.to_string_lossy().replace('\\', "/"));
        } else {
            open.extend(folders);
        }
    }
    found.sort();
    found
}
