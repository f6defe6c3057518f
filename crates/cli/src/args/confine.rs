//! Flags that widen or drop the sandbox for one run.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// What agents' commands may do beyond the settings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Confine {
    /// What of the network agents' commands reach: none, allow:HOST,…, host
    #[arg(long, value_name = "NETWORK")]
    pub(crate) network: Option<updraft_sandbox::Network>,
    /// Another path that agents' commands may read (repeatable)
    #[arg(long = "read", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) readable: Vec<PathBuf>,
    /// Another folder that agents' commands may write (repeatable)
    #[arg(long = "write", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) writable: Vec<PathBuf>,
    /// The sandbox level: full or landlock (default: the best there is)
    #[arg(long, value_name = "LEVEL", value_parser = ["full", "landlock"], conflicts_with = "no_sandbox")]
    pub(crate) level: Option<String>,
    /// Run agents' commands without the sandbox: they can do whatever you can
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}
