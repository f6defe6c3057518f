//! Arguments of `updraft sandbox`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::moment;

#[derive(Debug, Args)]
pub(crate) struct Sandbox {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a command as agents' commands are run; its exit code is ours, 124 at a limit, 125 where it could not be run
    #[command(
        after_help = "Examples:\n  updraft sandbox exec -- cargo test\n  updraft sandbox exec --network allow:example.com -- curl https://example.com/"
    )]
    Exec(Box<Exec>),
    /// Say what the sandbox can do here, what it cannot, and how to get that
    Probe(Probe),
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The folder it may write in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// What of the network it reaches: none, allow:HOST,…, host
    #[arg(long, value_name = "NETWORK", default_value = "none")]
    pub(crate) network: updraft_sandbox::Network,
    /// Another path it may read (repeatable)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) read: Vec<PathBuf>,
    /// Another folder it may write (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) write: Vec<PathBuf>,
    /// A variable that passes (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// How long it may take
    #[arg(long, value_name = "DURATION", value_parser = moment::duration, default_value = "2m")]
    pub(crate) time: Duration,
    /// The level: full, landlock or none (default: the best there is, and not none)
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<updraft_sandbox::Level>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Aside {
    #[command(subcommand)]
    pub(crate) command: Option<AsideCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AsideCommand {
    /// List what was moved aside, and what would have run it
    List {
        /// JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// Approve a file: put it back where it was
    Restore {
        /// Its name, as `updraft aside` lists it, or a unique beginning
        name: String,
    },
    /// Throw a file away
    Drop {
        /// Its name, as `updraft aside` lists it, or a unique beginning
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn level(text: &str) -> Result<updraft_sandbox::Level, String> {
    match text {
        "full" => Ok(updraft_sandbox::Level::Full),
        "landlock" => Ok(updraft_sandbox::Level::Landlock),
        "none" => Ok(updraft_sandbox::Level::None),
        _ => Err("expected full, landlock or none".to_owned()),
    }
}
