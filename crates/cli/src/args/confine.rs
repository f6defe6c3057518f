//! Flags for the sandbox: what agents' commands may do beyond the settings.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use updraft_run::Level;

use crate::time_format;

// What agents' commands may do beyond the settings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConfineFlags {
    /// What network agents' commands can reach: none, allow:HOST,…, or host (everything)
    #[arg(long, value_name = "NETWORK")]
    pub(crate) network: Option<updraft_sandbox::Network>,
    /// Another path that agents' commands may read (repeatable)
    #[arg(long = "read", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) readable: Vec<PathBuf>,
    /// Another folder that agents' commands may write (repeatable)
    #[arg(long = "write", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) writable: Vec<PathBuf>,
    /// The sandbox level: full, landlock or none (default: the highest that works here; never none)
    #[arg(long, value_name = "LEVEL", value_parser = ["full", "landlock", "none"], conflicts_with = "no_sandbox")]
    pub(crate) level: Option<String>,
    /// Run agents' commands without the sandbox: they can do whatever you can. The same as --level none
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

// Further limits for one command, which override the settings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BoundsFlags {
    /// An environment variable to pass on; `MY_*` for all with this prefix (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// A toolchain in the home folder that may be read: rust, node, python, go, java, or a folder (repeatable)
    #[arg(long = "toolchain", value_name = "NAME")]
    pub(crate) toolchains: Vec<String>,
    /// How long the command may take (default: 2m)
    #[arg(long, value_name = "DURATION", value_parser = time_format::duration)]
    pub(crate) time: Option<Duration>,
    /// Memory for all its processes together: 512 MiB, 4 GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// How many processes and threads it may have at once
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u64>,
    /// How much disk space it may use, and how large one file may be
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
}

impl ConfineFlags {
    /// Converts the flags for the workbench.
    pub(crate) fn flags(&self) -> updraft_workbench::Confine {
        updraft_workbench::Confine {
            network: self.network.clone(),
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            level: if self.no_sandbox { Some(Level::None) } else { self.level.as_deref().map(Level::from_word) },
        }
    }
}

impl BoundsFlags {
    /// Converts the flags for the workbench.
    pub(crate) fn flags(&self) -> updraft_workbench::Bounds {
        let BoundsFlags { env, toolchains, time, memory, processes, disk } = self.clone();
        updraft_workbench::Bounds { env, toolchains, time, memory, processes, disk }
    }
}
