//! This machine's copy of a repository: brought up to date before a run begins, and the source of the run's own clone.

use std::fs;
use std::path::{Path, PathBuf};

use updraft_run::RunId;

use super::address::RepositoryAddress;
use super::git_program::{GitCall, GitFault, QUESTION};
use super::{CLONES, FOLDER};
use crate::fault::{Fault, Kind};
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
    pub(super) turn: tokio::sync::Mutex<()>,
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
            return Ok((branch.to_owned(), commit.ok_or_else(|| self.has_no(branch))?));
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

    /// The error about a branch that the repository does not have.
    pub(super) fn has_no(&self, branch: &str) -> Fault {
        Fault::usage(format!("the repository `{}` has no branch `{branch}`", self.address.url()))
    }

    /// The commit of a branch at the repository, if it has that branch.
    pub(super) async fn has(&self, branch: &str) -> Result<Option<String>, Fault> {
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
        remove_locks(&self.repository());
        folders::replace_private(&noted, self.address.url().as_bytes())
    }

    /// Brings a branch up to date, and returns its commit.
    pub(super) async fn fetch(&self, branch: &str) -> Result<String, Fault> {
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
}

/// The name of a branch as the repository had it last.
pub(super) fn fetched(branch: &str) -> String {
    format!("refs/updraft/fetched/{branch}")
}

/// Removes the locks that a killed git has left. Nobody else uses the copy: the worker's name is held.
fn remove_locks(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_locks(&path);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            // Git says so if it is still there.
            let _ = fs::remove_file(path);
        }
    }
}
