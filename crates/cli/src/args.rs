//! Arguments, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use updraft_run::Timestamp;

use crate::moment;

mod confine;
mod files;
mod json;
mod mcp;
mod models;
mod permissions;
mod sandbox;
mod serve;
mod shared;
mod tools;
mod undo;

pub(crate) use confine::{Bounds, Confine};
pub(crate) use files::{EdgeNames, Export, Format, Import};
pub(crate) use json::{Json, JsonCommand};
pub(crate) use mcp::{
    Add as McpAdd, Check as McpCheck, Mcp, McpCommand, Prompt as McpPrompt, Read as McpRead, Server as McpServer,
    Trust as McpTrust,
};
pub(crate) use models::Models;
use models::thinking;
pub(crate) use permissions::{Approve, Permission, Permissions, PermissionsCommand};
pub(crate) use sandbox::{Aside, AsideCommand, Exec, Probe, Sandbox, SandboxCommand};
pub(crate) use serve::{Bridge, McpServe, Names, Serve, Served};
use shared::variable;
pub(crate) use shared::{Named, Newest, Output, Place, Spending};
pub(crate) use tools::{ToolCall, Tools, ToolsCommand};
pub(crate) use undo::{Audit, Undo};

/// Carries out goals with agents, and does not lose its place.
#[derive(Debug, Parser)]
#[command(
    name = "updraft",
    version,
    arg_required_else_help = true,
    after_help = "RUN is a run's id, any unique beginning of it, or `last`; where it may be left out, the newest run of \
        this folder.\n\n\
        Examples:\n  \
        updraft run \"What does this project do?\"\n  \
        updraft runs\n  \
        updraft resume last\n\n\
        Exit codes: 0 done, 1 failed, 2 usage, 3 needs a person, 4 budget reached, 5 configuration, 130/143 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan and carry out a goal
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<Run>),
    /// List runs, newest first
    #[command(after_help = "Examples:\n  updraft runs --since 2d --status waiting\n  updraft runs --json | jq -r .run")]
    Runs(Runs),
    /// Show a run: its graph, summary, and costs per step and agent
    #[command(after_help = "Examples:\n  updraft show last\n  updraft show 7k2m --prompts --out prompts/")]
    Show(Show),
    /// Show a run's journal, readable
    #[command(after_help = "Examples:\n  updraft events last --follow\n  updraft events 7k2m --json")]
    Events(Events),
    /// Go on with a run after a crash, a pause, an answer or a used-up budget
    #[command(
        after_help = "Examples:\n  updraft resume last\n  updraft resume 7k2m --budget 2.00\n  updraft resume --all"
    )]
    Resume(Resume),
    /// Start nothing new in a run; what is under way may end
    Pause(Named),
    /// Stop a run for good
    Cancel(Cancel),
    /// Say something to a run at work; its agents hear it before their next turn
    #[command(after_help = "Example:\n  updraft tell 7k2m \"leave the tests as they are\"")]
    Tell(Tell),
    /// Answer a run's question
    #[command(after_help = "Example:\n  updraft answer 7k2m \"the second one\" && updraft resume 7k2m")]
    Answer(Answer),
    /// Allow a call that waits for approval
    #[command(after_help = "Example:\n  updraft approve 7k2m --always workspace && updraft resume 7k2m")]
    Approve(Approve),
    /// Refuse a call that waits for approval
    Deny(Deny),
    /// Decide everything again from the recorded inputs, offline, and compare every event and prompt
    Replay(Replay),
    /// Begin a new run with the first events of another
    #[command(
        after_help = "Examples:\n  updraft fork last --at 12\n  updraft fork 7k2m --at 30 --set figures='[1,2]' --model openai/gpt-5.4"
    )]
    Fork(Box<Fork>),
    /// Say where two runs part, step by step
    Diff(Diff),
    /// Take back what a run changed in its workspace
    #[command(after_help = "Examples:\n  updraft undo --list\n  updraft undo last\n  updraft undo --redo")]
    Undo(Undo),
    /// Show what each call of a run touched: files, commands, hosts, approvals
    Audit(Audit),
    /// Write runs to files
    #[command(
        after_help = "Examples:\n  updraft export last --format markdown\n  updraft export --all --format node-link --out sessions/"
    )]
    Export(Export),
    /// Read a run from a file that `export` wrote, or from NetworkX node-link data
    #[command(after_help = "Examples:\n  updraft import run.jsonl\n  updraft import session_7k2m.json --id copy")]
    Import(Import),
    /// Remove a run from the journal
    Rm(Rm),
    /// Remove runs that ended long ago
    #[command(after_help = "Example:\n  updraft prune --older-than 30d")]
    Prune(Prune),
    /// List tools with their schemas, or call one
    #[command(after_help = "Example:\n  updraft tools call read_file '{\"path\": \"README.md\"}'")]
    Tools(Tools),
    /// List agents and where they come from
    Agents(Place),
    /// List providers, keys, models, prices and limits; or check one model
    Models(Models),
    /// List, check, add, remove and import MCP servers; or be one
    #[command(
        after_help = "Examples:\n  updraft mcp add time --network host -- uvx mcp-server-time\n  updraft mcp check"
    )]
    Mcp(Mcp),
    /// Run a command in the sandbox, or say what the sandbox can do here
    Sandbox(Sandbox),
    /// Let other programs use Updraft over HTTP, and editors over the bridge
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<Serve>),
    /// Speak MCP on standard input and output, and forward it to an editor's WebSocket
    Bridge(Bridge),
    /// Make a sample configuration and the folders .context and artifacts
    Init(Init),
    /// Let a workspace's agents, prompts, .env, MCP servers and settings count; shows them first
    Trust(Trust),
    /// List the rules about what agents may do, and where each comes from; or forget one
    #[command(after_help = "Example:\n  updraft permissions forget \"run_command(git push)\"")]
    Permissions(Permissions),
    /// Files that would run later, moved out of the way: list, restore, drop
    Aside(Aside),
    /// Show the settings
    Config(Config),
    /// Say what works here, what doesn't, and what to do about it
    Doctor(Place),
    /// Print a completion script
    #[command(after_help = "Example:\n  updraft completions bash > ~/.local/share/bash-completion/completions/updraft")]
    Completions(Completions),
    /// Print the manual page
    #[command(after_help = "Example:\n  updraft man | man -l -")]
    Man,
    /// Work with JSON
    Json(Json),
    /// Measure
    #[command(hide = true)]
    Bench,
}

impl Command {
    /// Whether standard output carries JSON events, so that an error must be one too.
    pub(crate) fn wants_json_events(&self) -> bool {
        match self {
            Command::Run(args) => args.output.json,
            Command::Resume(args) => args.output.json,
            Command::Fork(args) => args.output.json,
            _ => false,
        }
    }
}

const RUN_EXAMPLES: &str = "Examples:
  updraft run \"What does this project do, and how does it survive a crash?\"
  updraft run --model openai/gpt-5.4-mini --budget 0.50 \"Find the slowest test\"
  updraft run --agent coder --yes \"Rename the function parse to read\"
  updraft run --plan plan.json \"Carry out the plan\"
  git diff | updraft run --agent reviewer \"Review this\"
  updraft run --continue \"And which test is the second slowest?\"
  git log -20 | updraft run - --agent summarizer";

const SERVE_EXAMPLES: &str = "Examples:
  updraft serve
  updraft serve --listen 127.0.0.1:9000 --bridge";

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What you want done; `-` reads it from standard input
    pub(crate) goal: String,
    /// The folder it may work in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// A file handed over with the goal (repeatable); `-` is standard input, which is taken anyway where it is a pipe
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// The model: PROVIDER/NAME, a profile, `fast`, `strong`, `cheap`, `vision` or `auto`; `updraft models` lists them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model thinks: auto (by need), off, low, medium, high, or a number of tokens
    #[arg(long, value_name = "HOW", value_parser = thinking)]
    pub(crate) think: Option<String>,
    /// Do not look for model servers on this machine
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Answer requests that were made before from a cache
    #[arg(long)]
    pub(crate) cache: bool,
    /// One agent, no planning
    #[arg(long, value_name = "NAME", conflicts_with_all = ["swarm", "plan", "plan_only"])]
    pub(crate) agent: Option<String>,
    /// Router and workers
    #[arg(long, conflicts_with_all = ["plan"])]
    pub(crate) swarm: bool,
    /// Run this graph instead of planning (our JSON or NetworkX node-link data)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Option<PathBuf>,
    /// Print the checked plan as a table and stop; with --json as a file for --plan
    #[arg(long)]
    pub(crate) plan_only: bool,
    /// Follow up on the newest run of this folder, with what was asked and answered so far
    #[arg(long = "continue", conflicts_with = "plan")]
    pub(crate) continues: bool,
    /// A shared variable to start with (repeatable)
    #[arg(long = "var", value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, serde_json::Value)>,
    #[command(flatten)]
    pub(crate) permission: Permission,
    #[command(flatten)]
    pub(crate) spending: Spending,
    #[command(flatten)]
    pub(crate) confine: Confine,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Return the run's id at once; the run goes on in a process of its own
    #[arg(long, conflicts_with = "plan_only")]
    pub(crate) detach: bool,
    /// The id of a run in a process of its own
    #[arg(long, hide = true)]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Made at this moment or later: 2h (ago), yesterday, 2026-07-01
    #[arg(long, value_name = "WHEN", value_parser = moment::ago)]
    pub(crate) since: Option<Timestamp>,
    /// Made before this moment
    #[arg(long, value_name = "WHEN", value_parser = moment::ago)]
    pub(crate) until: Option<Timestamp>,
    /// Standing like this
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<StatusWord>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    Running,
    Waiting,
    Paused,
    Exhausted,
    Cancelled,
    Failed,
    Done,
    /// Should be running, and nobody runs it
    Interrupted,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) run: Newest,
    /// Show every prompt instead
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Write the prompts into this folder
    #[arg(long, value_name = "DIR", requires = "prompts", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    pub(crate) run: Newest,
    /// Begin with this event
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
    /// Wait for what is to come
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Resume {
    /// The run's id, any unique beginning of it, or `last` (default: the newest run of this folder)
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Every run that was cut off; leaves out what is paused or waits for a person
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// A run that was imported: the folder it may work in from now on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "all")]
    pub(crate) workspace: Option<PathBuf>,
    /// A run whose journal is damaged: give up what cannot be trusted of it, and go on before that
    #[arg(long, conflicts_with = "all")]
    pub(crate) from_damaged: bool,
    #[command(flatten)]
    pub(crate) permission: Permission,
    #[command(flatten)]
    pub(crate) spending: Spending,
    #[command(flatten)]
    pub(crate) confine: Confine,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) run: Named,
    /// Only this step
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Tell {
    #[command(flatten)]
    pub(crate) run: Named,
    /// What the agents shall know or do
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    pub(crate) run: Named,
    /// The answer; for a form a JSON object, or the value alone where it has one field
    #[arg(required_unless_present_any = ["decline", "dismiss"], default_value = "")]
    pub(crate) text: String,
    /// Which question, where several are open
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Say no instead
    #[arg(long, conflicts_with_all = ["text", "dismiss"])]
    pub(crate) decline: bool,
    /// Put it away without a word: a server that asks is told that nobody chose
    #[arg(long, conflicts_with = "text")]
    pub(crate) dismiss: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) run: Named,
    /// Which call; all that wait, if left out
    pub(crate) id: Option<String>,
    /// What the agent is told
    #[arg(long, value_name = "WHY", default_value = "")]
    pub(crate) because: String,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) run: Newest,
    /// Differences are an error, also in a journal of another version
    #[arg(long)]
    pub(crate) strict: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    #[command(flatten)]
    pub(crate) run: Named,
    /// How many events to begin with; `updraft events` numbers them
    #[arg(long, value_name = "N")]
    pub(crate) at: u64,
    /// Another model from here on
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Another goal from here on
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// A variable with another value (repeatable)
    #[arg(long = "set", value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, serde_json::Value)>,
    /// Make the run and stop; `updraft resume` goes on with it
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten)]
    pub(crate) permission: Permission,
    #[command(flatten)]
    pub(crate) spending: Spending,
    #[command(flatten)]
    pub(crate) confine: Confine,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// One run
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) one: String,
    /// The other
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) other: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The runs
    #[arg(value_name = "RUN", required = true, add = crate::complete::runs())]
    pub(crate) runs: Vec<String>,
    /// Also runs that a process is at work on; that process stops
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Runs that ended longer ago than this
    #[arg(long, value_name = "DURATION", value_parser = moment::duration)]
    pub(crate) older_than: Duration,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The workspace (default: the current folder)
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The workspace (default: the current folder)
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Take the trust back
    #[arg(long, conflicts_with = "yes")]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting
    Show(ConfigShow),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// Also where each value came from
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
