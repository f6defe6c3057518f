//! Arguments of `mcp serve`, `serve`, `serve user`, `open` and `bridge`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{ConfineFlags, PermissionFlags, RestateFlags, SpendingFlags};

/// The default address for HTTP.
const USUAL: &str = "127.0.0.1:7717";

#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Serve over HTTP at this address instead, with a token
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) names: HttpAccessFlags,
    #[command(flatten)]
    pub(crate) served: ServedRunFlags,
}

// The host names and web origins that are accepted over HTTP.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HttpAccessFlags {
    /// A host name to accept besides those of this machine (repeatable)
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// A web origin to accept besides those of this machine: https://example.com:443 (repeatable)
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub(crate) origins: Vec<String>,
    /// Encrypt connections with this certificate and its chain, in PEM format; read again when it has changed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

// The workspace that is served, and settings for its runs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServedRunFlags {
    /// The folder it works in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
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

// Where runs are kept and decided about.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineFlags {
    /// Where runs are kept: in the journal here, or by a Restate server with this process as its worker
    #[arg(long, value_enum, default_value_t = EngineWord::Embedded)]
    pub(crate) engine: EngineWord,
    #[command(flatten)]
    pub(crate) restate: RestateFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    Embedded,
    Restate,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// The address to serve HTTP at
    #[arg(long, value_name = "ADDR", default_value = USUAL)]
    pub(crate) listen: SocketAddr,
    /// Also serve the bridge: a WebSocket for editors, on this machine only
    #[arg(long)]
    pub(crate) bridge: bool,
    /// The bridge's port
    #[arg(long, value_name = "PORT", default_value_t = 8888, requires = "bridge")]
    pub(crate) bridge_port: u16,
    #[command(flatten)]
    pub(crate) names: HttpAccessFlags,
    #[command(flatten)]
    pub(crate) served: ServedRunFlags,
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Add, list and remove people who may use the page with a token of their own
    #[command(
        subcommand,
        after_help = "Roles: `see` looks at everything but the settings; `steer` also starts runs, answers, approves, stops \
            and adds memories; `administer` also sees the settings, calls tools, changes memories and adds users.\n\n\
            Examples:\n  updraft serve user add ann --role steer\n  updraft serve user remove ann"
    )]
    User(PageUserCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PageUserCommand {
    /// Add a user, and print the token to sign in with; it is not shown again
    Add {
        /// The name, which is recorded with what the user decides
        name: String,
        /// What the user may do
        #[arg(long, value_enum)]
        role: RoleWord,
    },
    /// List users and their roles
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Remove a user, and sign them out everywhere
    Remove {
        /// The name
        name: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleWord {
    See,
    Steer,
    Administer,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// The address of the server (default: that of the server that was started last)
    #[arg(value_name = "ADDR")]
    pub(crate) address: Option<SocketAddr>,
    /// Only print the address
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// The address of the WebSocket
    #[arg(long, value_name = "URL", default_value = "ws://127.0.0.1:8888")]
    pub(crate) url: String,
    /// The file that holds the token (default: UPDRAFT_BRIDGE_TOKEN, or the file that `updraft serve` wrote)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}
