//! This machine's copy of a repository: brought up to date before a run begins, and the source of the run's own clone.
//!
//! Per run it holds three names: `refs/heads/updraft/RUN`, what was committed last; `refs/updraft/base/RUN`, where the run began;
//! `refs/updraft/pushed/RUN`, what the repository is known to have. They are written before the clone appears.

use std::fs;
use std::path::PathBuf;

use updraft_run::RunId;

use super::address::RepositoryAddress;
use super::git_program::{GitCall, GitFault, QUESTION};
use super::run_branch::short;
use super::{CLONES, FOLDER, branch_of, end_trust};
use crate::fault::{Fault, Kind, blocking};
use crate::folders::{self, AppFolders};

/// Who commits if git's settings do not say it.
const USUAL_AUTHOR: (&str, &str) = ("Updraft", "updraft@localhost");
/// How many digits a hash has in a repository of the newer format.
const LONG_HASH: usize = 64;

/// A repository, copied to this machine.
pub struct RepositoryMirror {
    pub(super) folders: AppFolders,
    pub(super) address: RepositoryAddress,
    /// Holds the copy, the clones and the list of files of each.
    folder: PathBuf,
    /// The branch that runs begin with.
    branch: String,
    /// Name and address of who commits.
    pub(super) author: (String, String),
    /// How ssh is started, so that it does not wait for somebody to type.
    ssh: Option<&'static str>,
    /// Held while the copy is brought up to date and cloned.
    turn: tokio::sync::Mutex<()>,
}

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
    /// Copies a repository for a worker. Refused if there is no git, or if the repository, its branch or the right to push
    /// is missing.
    pub async fn open(folders: &AppFolders, worker: &str, address: RepositoryAddress) -> Result<Self, Fault> {
        let folder = folders.state.join(FOLDER).join(worker);
        let mut mirror = Self {
            folders: folders.clone(),
            address,
            folder,
            branch: String::new(),
            author: (USUAL_AUTHOR.0.to_owned(), USUAL_AUTHOR.1.to_owned()),
            ssh: None,
            turn: tokio::sync::Mutex::default(),
        };
        mirror.learn_user().await?;
        let (branch, commit) = mirror.find_branch().await?;
        mirror.branch = branch;
        mirror.make(worker, commit.len() == LONG_HASH).await?;
        mirror.sweep().await?;
        let commit = mirror.fetch(&mirror.branch).await?;
        mirror.check_push(worker, &commit).await?;
        Ok(mirror)
    }

    /// The branch that runs begin with.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The address of the repository.
    pub fn address(&self) -> &RepositoryAddress {
        &self.address
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("mirror.git")
    }

    /// The list of files that git knows of a run's clone.
    pub(super) fn index(&self, run: &RunId) -> PathBuf {
        self.folder.join(CLONES).join(run.as_str()).join(".index")
    }

    /// The folder that a run works in.
    pub fn clone_folder(&self, run: &RunId) -> PathBuf {
        self.folder.join(CLONES).join(run.as_str()).join(self.address.name())
    }

    /// The folder that holds all clones.
    pub fn clones(&self) -> PathBuf {
        self.folder.join(CLONES)
    }

    /// The runs that have a clone here.
    pub fn runs(&self) -> Vec<RunId> {
        let there = fs::read_dir(self.clones()).into_iter().flatten().flatten();
        there.filter_map(|entry| RunId::parse(&entry.file_name().to_string_lossy()).ok()).collect()
    }

    /// Makes the clone of a new run, unless it is there.
    pub async fn clone_for(&self, run: &RunId) -> Result<PathBuf, Fault> {
        let _turn = self.turn.lock().await;
        let folder = self.clone_folder(run);
        if !folder.is_dir() {
            let commit = self.fetch(&self.branch).await?;
            self.clone_at(run, &commit, &commit).await?;
        }
        Ok(folder)
    }

    /// Says what a clone will hold that is made again on this machine.
    pub async fn find_restored(&self, run: &RunId) -> Result<RestoredClone, Fault> {
        let _turn = self.turn.lock().await;
        let own = branch_of(run);
        let had_pushed = self.has(&own).await?.is_some();
        let branch = if had_pushed { own } else { self.branch.clone() };
        let commit = self.fetch(&branch).await?;
        Ok(RestoredClone { commit, branch, had_pushed })
    }

    /// Makes the clone of a run again.
    pub async fn restore(&self, run: &RunId, restored: &RestoredClone) -> Result<PathBuf, Fault> {
        let _turn = self.turn.lock().await;
        let main = self.fetch(&self.branch).await?;
        let common = GitCall::here(&self.repository(), ["merge-base", &main, &restored.commit]).run().await;
        self.clone_at(run, &restored.commit, common.as_deref().unwrap_or(&main)).await?;
        Ok(self.clone_folder(run))
    }

    /// Removes the clone of a run, and what is known of it here.
    pub async fn remove(&self, run: &RunId) -> Result<(), Fault> {
        let (folder, folders) = (self.folder.join(CLONES).join(run.as_str()), self.folders.clone());
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
    async fn sweep(&self) -> Result<(), Fault> {
        let what = "the repository here cannot be read";
        let known = self.here(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/updraft/base"], what).await?;
        let there = self.runs();
        for run in known.lines().filter_map(|name| RunId::parse(name).ok()).filter(|run| !there.contains(run)) {
            self.forget(&run).await?;
        }
        Ok(())
    }

    /// Runs git on the copy.
    pub(super) async fn here<const N: usize>(&self, arguments: [&str; N], what: &str) -> Result<String, Fault> {
        GitCall::here(&self.repository(), arguments).run().await.map_err(|fault| fault.because(what))
    }

    /// A call that speaks to the repository's server.
    pub(super) fn there<const N: usize>(&self, arguments: [&str; N]) -> GitCall {
        let call = GitCall::there(&self.repository(), arguments);
        match self.ssh {
            Some(ssh) => call.with("GIT_SSH_COMMAND", ssh),
            None => call,
        }
    }

    /// Learns from git's settings who commits, and whether ssh is started in a way of its own.
    async fn learn_user(&mut self) -> Result<(), Fault> {
        let mut found = Vec::new();
        for name in ["user.name", "user.email", "core.sshCommand"] {
            let said = self.there(["config", "--get", name]).within(QUESTION).run().await;
            found.push(match said {
                Err(GitFault::Missing) => return Err(GitFault::Missing.because("")),
                other => other.ok().filter(|value| !value.is_empty()),
            });
        }
        let has_own_way = ["GIT_SSH", "GIT_SSH_COMMAND"].iter().any(|name| folders::set(name).is_some());
        self.ssh = (!has_own_way && found.pop().flatten().is_none()).then_some("ssh -o BatchMode=yes");
        if let [Some(name), Some(email), ..] = &found[..] {
            self.author = (name.clone(), email.clone());
        }
        Ok(())
    }

    /// The branch that runs begin with, and its commit.
    async fn find_branch(&self) -> Result<(String, String), Fault> {
        let url = self.address.url();
        let unreadable = |fault: GitFault| {
            Fault { kind: Kind::Usage, ..fault.because(&format!("the repository `{url}` cannot be read")) }
                .hint(format!("`git ls-remote {url}` must work on this machine"))
        };
        if let Some(branch) = self.address.branch() {
            let commit = self.has(branch).await.map_err(|fault| Fault { kind: Kind::Usage, ..fault })?;
            let lack = || Fault::usage(format!("the repository `{url}` has no branch `{branch}`"));
            return Ok((branch.to_owned(), commit.ok_or_else(lack)?));
        }
        let said =
            self.there(["ls-remote", "--symref", url, "HEAD"]).within(QUESTION).run().await.map_err(unreadable)?;
        let named = said.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD"));
        let commit =
            said.lines().find_map(|line| line.strip_suffix("\tHEAD").filter(|hash| !hash.starts_with("ref: ")));
        match (named, commit) {
            (Some(branch), Some(commit)) => Ok((branch.to_owned(), commit.to_owned())),
            (_, None) => Err(Fault::usage(format!("the repository `{url}` has no commit on its main branch"))
                .hint("push a first commit, or name another branch behind it: #BRANCH")),
            (None, Some(_)) => {
                Err(Fault::usage(format!("the repository `{url}` does not say which its main branch is"))
                    .hint("name one behind it: #BRANCH"))
            }
        }
    }

    /// The commit of a branch at the repository, if it has that branch.
    async fn has(&self, branch: &str) -> Result<Option<String>, Fault> {
        let (url, name) = (self.address.url(), format!("refs/heads/{branch}"));
        let said = self.there(["ls-remote", url, &name]).within(QUESTION).run().await.map_err(|fault| {
            fault
                .because(&format!("the repository `{url}` cannot be read"))
                .hint(format!("`git ls-remote {url}` must work on this machine"))
        })?;
        let commit = |line: &str| Some(line.split_once('\t').filter(|(_, found)| *found == name)?.0.to_owned());
        Ok(said.lines().find_map(commit))
    }

    /// Makes the copy, if there is none. One of another repository is replaced, unless runs still need it.
    async fn make(&self, worker: &str, is_long: bool) -> Result<(), Fault> {
        let noted = self.folder.join("address");
        let known = fs::read_to_string(&noted).ok();
        if let Some(other) = known.filter(|known| known.trim() != self.address.url()) {
            if !self.runs().is_empty() {
                return Err(Fault::usage(format!("the worker `{worker}` still has runs of `{}`", other.trim()))
                    .hint("start it with that repository, or give this one another --worker-name"));
            }
            fs::remove_dir_all(&self.folder).map_err(|error| Fault::file("remove", &self.folder, &error))?;
        }
        fs::create_dir_all(self.clones()).map_err(|error| Fault::file("make", &self.folder, &error))?;
        let format = if is_long { "--object-format=sha256" } else { "--object-format=sha1" };
        if !self.repository().join("HEAD").exists() {
            self.here(["init", "--quiet", "--bare", "--template=", format], "no repository can be made here").await?;
        }
        folders::replace_private(&noted, self.address.url().as_bytes())
    }

    /// Brings a branch up to date, and returns its commit.
    async fn fetch(&self, branch: &str) -> Result<String, Fault> {
        let (url, name) = (self.address.url(), format!("refs/heads/{branch}"));
        let both = format!("+{name}:{}", fetched(branch));
        let fetching = self.there([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            url,
            &both,
        ]);
        let unread = format!("the branch `{branch}` of `{url}` cannot be read");
        fetching.run().await.map_err(|fault| fault.because(&unread))?;
        self.here(["rev-parse", "--verify", &format!("{}^{{commit}}", fetched(branch))], &unread).await
    }

    /// Asks the repository whether a branch may be pushed.
    async fn check_push(&self, worker: &str, commit: &str) -> Result<(), Fault> {
        let url = self.address.url();
        let to = format!("{commit}:refs/heads/updraft/check-{worker}");
        let trying = self.there(["push", "--dry-run", "--no-verify", "--no-signed", "--porcelain", url, &to]);
        trying.within(QUESTION).run().await.map(drop).map_err(|fault| {
            Fault { kind: Kind::Usage, ..fault.because(&format!("nothing can be pushed to `{url}`")) }
                .hint("runs push what they change, so give the git of this machine the right to do so")
        })
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
        let naming = GitCall::here(&part.join(".git"), ["remote", "set-url", "origin", self.address.url()]);
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

/// The name of a branch as the repository had it last.
fn fetched(branch: &str) -> String {
    format!("refs/updraft/fetched/{branch}")
}

/// The name of the commit that it began with.
pub(super) fn base(run: &RunId) -> String {
    format!("refs/updraft/base/{run}")
}

/// The name of the commit that the repository is known to have.
pub(super) fn pushed(run: &RunId) -> String {
    format!("refs/updraft/pushed/{run}")
}
