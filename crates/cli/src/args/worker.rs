//! Arguments of `worker`, and those that it shares with `serve --engine restate`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{ConfineFlags, PermissionFlags, SpendingFlags};

// The Restate server, and what this process is for it.
#[derive(Clone, Debug, Args)]
pub(crate) struct RestateFlags {
    /// The ingress of the Restate server; of a cluster, those of several nodes with commas between them
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) restate: String,
    /// The admin address of the Restate server, or several
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9070")]
    pub(crate) restate_admin: String,
    /// A file with the token that is sent to both; needed beyond this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) restate_token: Option<PathBuf>,
    /// The address at which Restate calls this worker
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9080")]
    pub(crate) worker_listen: SocketAddr,
    /// The address at which Restate reaches this worker, if that is another
    #[arg(long, value_name = "URL")]
    pub(crate) worker_url: Option<String>,
    /// The name of this worker in Restate (default: made from the folder)
    #[arg(long, value_name = "NAME")]
    pub(crate) worker_name: Option<String>,
    /// Accept only requests that are signed with this public key of Restate: publickeyv1_… (repeatable); needed beyond this
    /// machine
    #[arg(long = "identity-key", value_name = "KEY")]
    pub(crate) identity_keys: Vec<String>,
    /// What this worker can do that others cannot, with commas between them: runs may ask for one
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Other machines have the same folder at the same path, and workers of their own
    #[arg(long, requires = "blobs")]
    pub(crate) shared: bool,
    /// Keep large values also in this folder or bucket (s3://BUCKET/PREFIX), so that other workers find them
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::DirPath)]
    pub(crate) blobs: Option<PathBuf>,
    /// Take the place of the worker with this name on another machine, which is gone
    #[arg(long)]
    pub(crate) take_over: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkerCommand>,
    /// The folders it works in, with commas between them (default: the current one); also git repositories, as
    /// https://HOST/PATH#BRANCH, USER@HOST:PATH or file:///PATH: cloned for each run, and pushed to a branch of its own
    #[arg(long, value_name = "DIR|URL,…", value_delimiter = ',', value_hint = ValueHint::DirPath)]
    pub(crate) workspaces: Vec<PathBuf>,
    /// Use the settings, agents and tools of git repositories as your own, as `updraft trust` does for a folder
    #[arg(long)]
    pub(crate) trust_repositories: bool,
    #[command(flatten)]
    pub(crate) restate: RestateFlags,
    /// The model for new runs, as with `run`
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) permission: PermissionFlags,
    /// What each run may spend
    #[command(flatten)]
    pub(crate) spending: SpendingFlags,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Start a run on a worker of this folder, and print its id
    #[command(
        after_help = "Examples:\n  updraft worker start \"Find the slowest test\"\n  updraft worker start --label gpu --agent coder \"Train it\""
    )]
    Start(WorkerStartArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WorkerStartArgs {
    /// What to do
    pub(crate) goal: String,
    /// The label that the worker must have
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Use this one agent, without planning
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Another model than that of the worker
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A file of the workspace for the agents to read (repeatable)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<String>,
    /// The id of the run; if there is one with this id already, none is started
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The folder or repository that the worker works in (default: the current folder)
    #[arg(long, value_name = "DIR|URL", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// The id of the workspace, as its worker says it at its start; for a machine that does not have the folder
    #[arg(long, value_name = "ID", conflicts_with = "workspace")]
    pub(crate) workspace_id: Option<String>,
    /// The ingress of the Restate server, or several with commas between them
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) restate: String,
    /// A file with the token that is sent there; needed beyond this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) restate_token: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
