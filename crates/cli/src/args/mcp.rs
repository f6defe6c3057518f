//! Arguments of `updraft mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::serve::McpServeArgs;
use super::shared::WorkspaceFlags;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers, where each is configured and what is known about it; starts none
    List(WorkspaceFlags),
    /// Start servers and check whether they work
    Check(McpCheckArgs),
    /// Add a server to your own configuration
    #[command(
        after_help = "Examples:\n  updraft mcp add time --network host -- uvx mcp-server-time\n  updraft mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'"
    )]
    Add(Box<McpAddArgs>),
    /// Remove a server from your own configuration
    Remove(McpServerArgs),
    /// Import servers from a configuration file of Claude, Cursor, VS Code, Gemini, Codex or opencode
    #[command(after_help = "Example:\n  updraft mcp import ~/.cursor/mcp.json")]
    Import(McpImportArgs),
    /// Sign in to a remote server, in a browser
    Login(McpServerArgs),
    /// Sign out of a remote server
    Logout(McpServerArgs),
    /// Trust a server's descriptions of its tools like your own words, after showing them
    Trust(McpTrustArgs),
    /// List the resources that servers offer, and templates for their addresses
    Resources(McpCheckArgs),
    /// Print a resource of a server
    #[command(after_help = "Example:\n  updraft mcp read docs file:///guide.md")]
    Read(McpReadArgs),
    /// List the prompts that servers offer
    Prompts(McpCheckArgs),
    /// Print a prompt of a server, with its arguments filled in
    #[command(after_help = "Example:\n  updraft mcp prompt review check_code language=rust")]
    Prompt(McpPromptArgs),
    /// Run as a server: speak MCP on standard input and output, or over HTTP
    #[command(
        after_help = "Examples:\n  updraft mcp serve --workspace ~/project\n  updraft mcp serve --http 127.0.0.1:7717"
    )]
    Serve(Box<McpServeArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct McpServerArgs {
    /// The server's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct McpTrustArgs {
    /// The server's name
    pub(crate) name: String,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Stop trusting them
    #[arg(long, conflicts_with = "yes")]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct McpCheckArgs {
    /// Only this server
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct McpReadArgs {
    /// The server's name
    pub(crate) server: String,
    /// The resource's address
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct McpPromptArgs {
    /// The server's name
    pub(crate) server: String,
    /// The prompt's name
    pub(crate) name: String,
    /// Its arguments
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct McpAddArgs {
    /// A name of your choice
    pub(crate) name: String,
    /// The address of a remote server
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Its transport: http or sse
    #[arg(long, requires = "url")]
    pub(crate) transport: Option<String>,
    /// A header to send to it; write keys as `${VARIABLE}`
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// An environment variable for its process; write keys as `${VARIABLE}`
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// The folder its process starts in, relative to the workspace; `.` is the workspace, even if it is not trusted
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// What network its process can reach: none, host, or allow:HOST,…
    #[arg(long)]
    pub(crate) network: Option<String>,
    /// A folder or file that its process may read
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) read: Vec<String>,
    /// A folder that its process may write
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) write: Vec<String>,
    /// Trust its hints about the effects of its tools
    #[arg(long)]
    pub(crate) trust_hints: bool,
    /// Its program and arguments, after `--`
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpImportArgs {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}
