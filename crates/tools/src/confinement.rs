//! How the child processes of a run are confined: commands, Python, drop-in tools and MCP servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;
use updraft_run::{Failure, FailureKind};
pub use updraft_sandbox::{MOVED, MovedFileRecord};
use updraft_sandbox::{MovedFile, Network, Policy, Sandbox, SandboxLevel, SandboxSupport};

use crate::tool::ToolTraits;

/// The text for a model if children have no network.
pub(crate) const NO_NETWORK: &str = "It has no network beyond its own loopback.";

/// How children are run. It is the same for the whole process, independent of the workspace. Cheap to clone; clones
/// share the sandbox once it is set up.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// The program that confines the children: our own executable, started again.
    pub launcher: PathBuf,
    /// The sandbox level that the user requires; `None` takes the best available level, but at least Landlock.
    pub level: Option<SandboxLevel>,
    /// What children may do outside the workspace; get it with [`policy_for`](Self::policy_for).
    pub policy: Policy,
    /// The environment variables; the policy says which of them children get.
    pub environment: Vec<(String, String)>,
    /// Whether commands may change nothing: they see the workspace read-only, and have no network.
    pub read_only: bool,
    /// The folder where the changes of a command are staged until it ends, so that they can be undone.
    pub staged: Option<PathBuf>,
    /// What this machine supports, detected when the first child starts. Share the cell to use a known result or to
    /// detect it only once.
    pub offered: Arc<OnceCell<SandboxSupport>>,
    /// Set up when the first child starts.
    sandbox: Arc<OnceCell<Sandbox>>,
}

impl Confinement {
    /// Creates a confinement at the best available level, with no environment variables. Set the fields to change
    /// that before the first child starts.
    pub fn new(launcher: impl Into<PathBuf>, policy: Policy) -> Self {
        Self {
            launcher: launcher.into(),
            level: None,
            policy,
            environment: Vec::new(),
            read_only: false,
            staged: None,
            offered: Arc::default(),
            sandbox: Arc::default(),
        }
    }

    /// The policy for a child that works in this folder.
    pub fn policy_for(&self, workspace: &Path) -> Policy {
        Policy { workspace: workspace.to_owned(), ..self.policy.clone() }
    }

    /// The policy for a child that only reads: it can write only to this empty folder and to private temporary ones.
    pub fn policy_for_reading(&self, empty: &Path) -> Policy {
        let mut policy = self.policy_for(empty);
        policy.read.append(&mut policy.write);
        policy
    }

    /// The policy for a command that reads a workspace and changes nothing; it has no network either.
    pub fn policy_for_looking(&self, workspace: &Path, empty: &Path) -> Policy {
        let mut policy = Policy { network: Network::None, ..self.policy_for_reading(empty) };
        policy.read.push(workspace.to_owned());
        policy
    }

    /// Whether the sandbox prevents commands from changing anything, so that it is not only an instruction to the
    /// model.
    pub fn only_reads(&self) -> bool {
        self.read_only && self.level != Some(SandboxLevel::None)
    }

    /// Whether the changes of a command should be staged, and so listed exactly. If that fails, the output of the
    /// command says so.
    pub fn gathers(&self) -> bool {
        let level = self.level.or_else(|| self.offered.get().map(|probe| probe.level));
        self.staged.is_some() && level.is_none_or(|level| level == SandboxLevel::Full)
    }

    /// Whether children have a network, and the sandbox limits it to what the user granted.
    pub fn is_granted(&self) -> bool {
        self.level != Some(SandboxLevel::None) && self.policy.network != Network::None
    }

    /// The sandbox at the best available level; never lower than the required level, and no sandbox only if the user
    /// required that.
    pub async fn sandbox(&self) -> Result<Sandbox, Failure> {
        self.sandbox.get_or_try_init(|| self.set_up()).await.cloned()
    }

    /// The traits of a tool that runs a child like this, independent of what the child is asked to do.
    pub fn traits(&self) -> ToolTraits {
        // Without a sandbox nothing prevents children from using the network, and nothing that they do can be undone.
        let is_free = self.level == Some(SandboxLevel::None);
        ToolTraits {
            outside: is_free || self.policy.network == Network::Host,
            sends: is_free || self.policy.network != Network::None,
            destroys: is_free,
            ..ToolTraits::default()
        }
    }

    /// The hosts that children may reach, if the policy lists hosts.
    pub fn hosts(&self) -> Vec<String> {
        match &self.policy.network {
            Network::None | Network::Host => Vec::new(),
            Network::Allow(hosts) => hosts.iter().map(ToString::to_string).collect(),
        }
    }

    /// What the sandbox refused, as read from the error output of the code in it, and how the user can allow it.
    pub fn refused(&self, complaint: &str, workspace: &Path) -> Vec<String> {
        if self.level == Some(SandboxLevel::None) {
            return Vec::new();
        }
        let refused = updraft_sandbox::refusals(complaint, &self.policy_for(workspace));
        refused.iter().map(ToString::to_string).collect()
    }

    /// The text for a model about the network that children have.
    pub fn network_in_words(&self) -> String {
        match &self.policy.network {
            Network::None => NO_NETWORK.to_owned(),
            Network::Allow(_) => format!("Of the network it reaches {} only.", self.hosts().join(", ")),
            Network::Host => "It can reach the network.".to_owned(),
        }
    }

    /// Records, next to files that were moved aside, which run's child made them.
    pub fn remember(&self, moved: &[MovedFile], run: &str) {
        remember(moved, run);
    }

    async fn set_up(&self) -> Result<Sandbox, Failure> {
        if self.level == Some(SandboxLevel::None) {
            return Sandbox::new(&self.launcher, SandboxLevel::None).map_err(|error| not_started(&error));
        }
        let probing = || Sandbox::probe(&self.launcher);
        let probe = self.offered.get_or_try_init(probing).await.map_err(|error| not_started(&error))?;
        let level = self.level.unwrap_or(probe.level);
        if level > probe.level || level == SandboxLevel::None {
            let causes: Vec<String> =
                probe.missing.iter().map(|missing| format!("{}: {}", missing.cause, missing.remedy)).collect();
            return Err(Failure::new(
                FailureKind::Security,
                format!("nothing can be run: the sandbox is not available on this machine ({})", causes.join("; ")),
            ));
        }
        Sandbox::new(&self.launcher, level).map_err(|error| not_started(&error))
    }
}

/// Records, next to files that were moved aside, which run's child made them. One child may have left files in
/// several folders.
pub fn remember(moved: &[MovedFile], run: &str) {
    let mut folders: BTreeMap<&Path, Vec<MovedFileRecord>> = BTreeMap::new();
    for one in moved {
        let (Some(folder), Some(record)) = (one.kept_at.parent(), MovedFileRecord::of(one, run)) else { continue };
        folders.entry(folder).or_default().push(record);
    }
    for (folder, all) in folders {
        let written = serde_json::to_vec(&all).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|bytes| crate::replace_private(&folder.join(MOVED), &bytes)) {
            tracing::warn!(%error, "could not record what was moved aside");
        }
    }
}

/// The failure for a child that did not start, in words for the agent.
pub fn not_started(error: &updraft_sandbox::Error) -> Failure {
    Failure::new(FailureKind::Security, format!("the command was not run: {error}"))
}

/// Lines to append to the result about files that were moved aside and other problems.
pub fn left_behind(moved: &[MovedFile], troubles: &[String]) -> String {
    let lines = moved.iter().map(crate::builtin::aside_in_words).chain(troubles.iter().cloned());
    lines.flat_map(|line| ["\n[".to_owned(), line, "]".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_one_call_left_in_two_folders_are_written_down_in_both() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let moved = folders.each_ref().map(|folder| MovedFile {
            path: "/srv/.envrc".into(),
            kept_at: folder.path().join("1-.envrc"),
            why: "direnv runs it".to_owned(),
            restored: false,
        });
        remember(&moved, "run-1");
        for folder in &folders {
            let text = std::fs::read_to_string(folder.path().join(MOVED)).unwrap();
            let all: Vec<MovedFileRecord> = serde_json::from_str(&text).unwrap();
            let told: Vec<_> = all.iter().map(|one| (one.kept.as_str(), one.run.as_str())).collect();
            assert_eq!(told, [("1-.envrc", "run-1")]);
        }
    }
}
