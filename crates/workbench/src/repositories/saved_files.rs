//! What a run has changed, as a commit on its own branch, and the push of that branch.
//!
//! Doing it again changes nothing: files that are the same make no new commit, and a commit that is there is not pushed again.
//! A branch is never forced: if somebody else has moved it, that is told.

use updraft_run::RunId;

use super::branch_of;
use super::clone_index::{CloneIndex, LeftFolder, left_folders};
use super::git_program::{GitCall, GitFault};
use super::mirror::RepositoryMirror;
use super::run_clone::{base, committed, pushed};
use crate::fault::{Fault, blocking};

/// Most folders that are named.
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
        let files = self.clone_folder(run);
        if !files.is_dir() {
            return Err(Fault::failed(format!("{what}: its clone `{}` is gone", files.display())));
        }
        let looked = files.clone();
        let folders = blocking(move || left_folders(&looked)).await?;
        let last = self.here(["rev-parse", "--verify", &committed(run)], what).await?;
        let list = CloneIndex { repository: self.repository(), files, index: self.index(run) };
        let unread = list.refresh(&last, &folders).await.map_err(|fault| fault.because(what))?;
        let mut left_out: Vec<String> = folders.iter().take(MOST_NAMED).map(LeftFolder::in_words).collect();
        left_out.extend(unread);
        let tree = list.call(["write-tree"]).run().await.map_err(|fault| fault.because(what))?;
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
        let commit = call.reads(message).run().await.map_err(|fault| fault.because(what))?;
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
