//! Settings given for one call, usually on the command line: they override files and the environment.

use std::path::PathBuf;
use std::time::Duration;

use updraft_run::{ApprovalMode, Budget, GrantFlags, Level};
use updraft_sandbox::Network;

use crate::fault::Fault;
use crate::model_access::model_spec;
use crate::settings::{WrittenNetwork, WrittenSandbox, WrittenSettings, said};

/// Settings for one call. A field that is absent or empty leaves the setting as it is.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The model.
    pub model: Option<String>,
    /// Who decides about calls that reach beyond workspace and sandbox.
    pub approvals: Option<ApprovalMode>,
    /// How much models think.
    pub think: Option<String>,
    /// Whether `auto` looks for model servers on this machine.
    pub probe: Option<bool>,
    /// Whether identical requests are answered from a cache.
    pub cache: Option<bool>,
    /// Whether agents state an assumption instead of asking.
    pub assume: Option<bool>,
    /// What a run may spend.
    pub budget: Budget,
    /// What agents' commands may do.
    pub confine: Confine,
    /// What one command may use up.
    pub bounds: Bounds,
    /// MCP servers for this call only.
    pub servers: Option<GivenServers>,
}

/// MCP servers that are given for one call, in the form of a file of servers. They may hold keys, so they are not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenServers(String);

impl GivenServers {
    /// Servers in the form of `mcp.json`.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for GivenServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GivenServers(..)")
    }
}

/// What agents' commands may do beyond the settings.
#[derive(Clone, Debug, Default)]
pub struct Confine {
    /// What network they can reach.
    pub network: Option<Network>,
    /// Additional paths that they may read.
    pub readable: Vec<PathBuf>,
    /// Additional folders that they may write.
    pub writable: Vec<PathBuf>,
    /// The sandbox level.
    pub level: Option<Level>,
}

/// What one command may use and see.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Environment variables that are passed on.
    pub env: Vec<String>,
    /// Toolchains of the home folder that may be read, in place of those in the settings.
    pub toolchains: Vec<String>,
    /// How long the command may take.
    pub time: Option<Duration>,
    /// The memory of all its processes together, as text with a unit.
    pub memory: Option<String>,
    /// How many processes and threads it may have at the same time.
    pub processes: Option<u64>,
    /// How much it may add to the disk, as text with a unit.
    pub disk: Option<String>,
}

impl Flags {
    /// The flags as a layer of settings.
    pub(crate) fn written(&self) -> Result<WrittenSettings, Fault> {
        Ok(WrittenSettings {
            model: said(self.model.as_deref().map(model_spec)),
            approvals: said(self.approvals),
            think: said(self.think.clone()),
            probe: said(self.probe),
            cache: said(self.cache),
            assume: said(self.assume),
            budget: self.budget.clone().into(),
            sandbox: self.confine.written(&self.bounds)?,
            ..WrittenSettings::default()
        })
    }
}

impl Confine {
    /// Flags that set only these rights.
    pub fn alone(self) -> Flags {
        Flags { confine: self, ..Flags::default() }
    }

    /// The flags in the form of the table `[sandbox]`, with canonical paths.
    fn written(&self, bounds: &Bounds) -> Result<WrittenSandbox, Fault> {
        let network = self.network.as_ref().map(|network| match network {
            Network::Allow(hosts) => WrittenNetwork::Hosts(hosts.iter().map(ToString::to_string).collect()),
            Network::None | Network::Host => WrittenNetwork::Word(network.to_string()),
        });
        let real = |path: &PathBuf| {
            let real = path.canonicalize();
            let real =
                real.map_err(|error| Fault::usage(format!("`{}` cannot be granted: {error}", path.display())))?;
            Ok(real.display().to_string())
        };
        let all = |paths: &[PathBuf]| paths.iter().map(real).collect::<Result<Vec<_>, Fault>>();
        Ok(WrittenSandbox {
            network: said(network),
            read: said(Some(all(&self.readable)?)),
            write: said(Some(all(&self.writable)?)),
            level: said(self.level.map(|level| level.to_string())),
            environment: said((!bounds.env.is_empty()).then(|| bounds.env.clone())),
            toolchains: said((!bounds.toolchains.is_empty()).then(|| bounds.toolchains.clone())),
            time: said(bounds.time.map(|time| format!("{}ms", time.as_millis()))),
            memory: said(bounds.memory.clone()),
            processes: said(bounds.processes),
            disk: said(bounds.disk.clone()),
        })
    }

    /// The flags in the form that is recorded with a run, so that later resumes keep them.
    pub fn recorded(&self) -> GrantFlags {
        let real = |paths: &[PathBuf]| {
            let real = paths.iter().filter_map(|path| path.canonicalize().ok());
            real.map(|path| path.display().to_string()).collect()
        };
        GrantFlags {
            network: self.network.as_ref().map(ToString::to_string),
            read: real(&self.readable),
            write: real(&self.writable),
            level: self.level,
        }
    }
}
