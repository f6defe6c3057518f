//! How every child process of a run is confined: commands, Python, drop-in tools and MCP servers alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;
use updraft_run::{Failure, FailureKind};
use updraft_sandbox::{Level, Network, Policy, Sandbox};

/// How children are run: the same for all of a process, whatever the workspace. Cheap to clone, and clones share the
/// sandbox once it is set up.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// The program that confines them: our own, executed again.
    pub launcher: PathBuf,
    /// What the user allows at least and at most; `None` takes the best there is, and no less than Landlock.
    pub level: Option<Level>,
    /// What they may do beyond the workspace; take it with [`policy_for`](Self::policy_for).
    pub policy: Policy,
    /// The variables there are; the policy says which pass.
    pub environment: Vec<(String, String)>,
    /// Found out with the first child.
    sandbox: Arc<OnceCell<Sandbox>>,
}

impl Confinement {
    /// At the best level there is, with no variables. Set the fields to change that, before the first child.
    pub fn new(launcher: impl Into<PathBuf>, policy: Policy) -> Self {
        Self { launcher: launcher.into(), level: None, policy, environment: Vec::new(), sandbox: Arc::default() }
    }

    /// What a child may do that works in this folder.
    pub fn policy_for(&self, workspace: &Path) -> Policy {
        Policy { workspace: workspace.to_owned(), ..self.policy.clone() }
    }

    /// The sandbox at the level that is to be had; never lower than was said, and none only where that was said.
    pub async fn sandbox(&self) -> Result<Sandbox, Failure> {
        self.sandbox.get_or_try_init(|| self.set_up()).await.cloned()
    }

    /// Whether children reach beyond workspace and sandbox, whatever they are told.
    pub fn is_open(&self) -> bool {
        self.policy.network == Network::Host || self.level == Some(Level::None)
    }

    /// The hosts that children may reach, where they are named.
    pub fn hosts(&self) -> Vec<String> {
        match &self.policy.network {
            Network::None | Network::Host => Vec::new(),
            Network::Allow(hosts) => hosts.iter().map(ToString::to_string).collect(),
        }
    }

    /// What a model is told of the network that children have.
    pub fn network_in_words(&self) -> String {
        match &self.policy.network {
            Network::None => "It has no network beyond its own loopback.".to_owned(),
            Network::Allow(_) => format!("Of the network it reaches {} only.", self.hosts().join(", ")),
            Network::Host => "It can reach the network.".to_owned(),
        }
    }

    async fn set_up(&self) -> Result<Sandbox, Failure> {
        if self.level == Some(Level::None) {
            return Sandbox::new(&self.launcher, Level::None).map_err(|error| not_started(&error));
        }
        let probe = Sandbox::probe(&self.launcher).await.map_err(|error| not_started(&error))?;
        let level = self.level.unwrap_or(probe.level);
        if level > probe.level || level == Level::None {
            let causes: Vec<String> =
                probe.missing.iter().map(|missing| format!("{}: {}", missing.cause, missing.remedy)).collect();
            return Err(Failure::new(
                FailureKind::Security,
                format!("nothing can be run: the sandbox is not to be had here ({})", causes.join("; ")),
            ));
        }
        Sandbox::new(&self.launcher, level).map_err(|error| not_started(&error))
    }
}

/// A child that did not start, in words for the agent.
pub fn not_started(error: &updraft_sandbox::Error) -> Failure {
    Failure::new(FailureKind::Security, format!("the command was not run: {error}"))
}
