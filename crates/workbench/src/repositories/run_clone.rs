//! The clone of a run: made from this machine's copy of the repository, made again on another machine, and removed.
//!
//! Per run the copy holds three names: `refs/heads/updraft/RUN`, what was committed last; `refs/updraft/base/RUN`, where the run
//! began; `refs/updraft/pushed/RUN`, what the repository is known to have. They are written before the clone appears.

use std::fs;
use std::path::PathBuf;

use updraft_run::RunId;

use super::git_program::GitCall;
use super::mirror::{RepositoryMirror, fetched};
use super::run_branch::short;
use super::{branch_of, end_trust};
use crate::fault::{Fault, blocking};

/// A clone that was made again, since the first one is gone with its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredClone {
    commit: String,
    branch: String,
    /// Whether the run had pushed something.
    had_pushed: bool,
}

impl RestoredClone {
    /// The branch that it holds.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// A key by which it is recognised.
    pub fn key(&self) -> String {
        format!("restored-{}", self.commit)
    }

    /// What the run is told.
    pub fn message(&self) -> String {
        let Self { commit, branch, had_pushed } = self;
        let (commit, what) = (
            short(commit),
            if *had_pushed {
                "what was changed after the last push is missing"
            } else {
                "nothing of what was changed before is in it"
            },
        );
        format!(
            "This run goes on at another machine, because the first one is gone. The workspace is a new clone of the branch \
             `{branch}` at commit {commit}: {what}. Look at the files before you rely on them, and do again what is missing."
        )
    }
}

impl RepositoryMirror {
    /// Makes the clone of a new run, unless it is there.
    pub async fn clone_for(&self, run: &RunId) -> Result<PathBuf, Fault> {
        let _turn = self.turn.lock().await;
        let folder = self.clone_folder(run);
        if !folder.is_dir() {
            let commit = match self.fetch(self.branch()).await {
                Ok(commit) => commit,
                // Trying again does not help if it was removed.
                Err(_) if matches!(self.has(self.branch()).await, Ok(None)) => return Err(self.has_no(self.branch())),
                Err(fault) => return Err(fault),
            };
            self.clone_at(run, &commit, &commit).await?;
        }
        Ok(folder)
    }

    /// Says what a clone will hold that is made again on this machine.
    pub async fn find_restored(&self, run: &RunId) -> Result<RestoredClone, Fault> {
        let _turn = self.turn.lock().await;
        let own = branch_of(run);
        let had_pushed = self.has(&own).await?.is_some();
        let branch = if had_pushed { own } else { self.branch().to_owned() };
        let commit = self.fetch(&branch).await?;
        Ok(RestoredClone { commit, branch, had_pushed })
    }

    /// Makes the clone of a run again.
    pub async fn restore(&self, run: &RunId, restored: &RestoredClone) -> Result<PathBuf, Fault> {
        let _turn = self.turn.lock().await;
        let main = self.fetch(self.branch()).await?;
        let common = GitCall::here(&self.repository(), ["merge-base", &main, &restored.commit]).run().await;
        self.clone_at(run, &restored.commit, common.as_deref().unwrap_or(&main)).await?;
        Ok(self.clone_folder(run))
    }

    /// Removes the clone of a run, and what is known of it here.
    pub async fn remove(&self, run: &RunId) -> Result<(), Fault> {
        let (folder, folders) = (self.clones().join(run.as_str()), self.folders.clone());
        blocking(move || {
            end_trust(&folders, &folder);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Fault::file("remove", &folder, &error))
                }
                Ok(()) | Err(_) => Ok(()),
            }
        })
        .await?;
        self.forget(run).await
    }

    /// Removes what is known of a run.
    async fn forget(&self, run: &RunId) -> Result<(), Fault> {
        for name in [committed(run), pushed(run), fetched(&branch_of(run)), base(run)] {
            self.here(["update-ref", "-d", &name], "the repository here cannot be changed").await?;
        }
        Ok(())
    }

    /// Removes what is known of runs whose clones were removed with them.
    pub(super) async fn sweep(&self) -> Result<(), Fault> {
        let what = "the repository here cannot be read";
        let known = self.here(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/updraft/base"], what).await?;
        let there = self.runs();
        for run in known.lines().filter_map(|name| RunId::parse(name).ok()).filter(|run| !there.contains(run)) {
            self.forget(&run).await?;
        }
        Ok(())
    }

    /// Makes the clone of a run, at a commit that is here. It appears at once, or not at all.
    async fn clone_at(&self, run: &RunId, commit: &str, began: &str) -> Result<(), Fault> {
        let what = "the repository could not be cloned";
        for (name, commit) in [(committed(run), commit), (base(run), began), (pushed(run), commit)] {
            self.here(["update-ref", &name, commit], what).await?;
        }
        let target = self.clone_folder(run);
        let parent = self.clones().join(run.as_str());
        let part = parent.join(".part");
        let cleared =
            fs::create_dir_all(&parent).and_then(|()| if part.exists() { fs::remove_dir_all(&part) } else { Ok(()) });
        cleared.map_err(|error| Fault::file("use", &parent, &error))?;
        let (from, to, branch) = (self.repository(), part.display().to_string(), branch_of(run));
        let from = from.display().to_string();
        // With objects of its own: agents could change those that are shared.
        let arguments =
            ["clone", "--quiet", "--no-local", "--single-branch", "--no-tags", "--template=", "--branch", &branch];
        let cloning = GitCall::making(arguments.into_iter().chain([from.as_str(), to.as_str()]));
        cloning.run().await.map_err(|fault| fault.because(what))?;
        let naming = GitCall::here(&part.join(".git"), ["remote", "set-url", "origin", self.address().url()]);
        naming.run().await.map_err(|fault| fault.because(what))?;
        fs::rename(&part, &target).map_err(|error| Fault::file("make", &target, &error))?;
        let _ = fs::remove_file(self.index(run));
        Ok(())
    }
}

/// The name of what was committed last for a run.
pub(super) fn committed(run: &RunId) -> String {
    format!("refs/heads/{}", branch_of(run))
}

/// The name of the commit that it began with.
pub(super) fn base(run: &RunId) -> String {
    format!("refs/updraft/base/{run}")
}

/// The name of the commit that the repository is known to have.
pub(super) fn pushed(run: &RunId) -> String {
    format!("refs/updraft/pushed/{run}")
}
