//! The command line arguments, as clap parses them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueHint};

use crate::time_format;

mod acp;
mod confine;
mod doctor;
mod files;
mod json;
mod knowledge;
mod mcp;
mod memory;
mod models;
mod permissions;
mod recipes;
#[cfg(test)]
mod reference;
mod runs;
mod sandbox;
mod schedules;
mod serve;
mod setup;
mod shared;
#[cfg(test)]
mod tests;
mod tools;
mod undo;
mod worker;

pub(crate) use acp::AcpArgs;
pub(crate) use confine::{BoundsFlags, ConfineFlags};
pub(crate) use doctor::DoctorArgs;
pub(crate) use files::{EdgeNames, ExportArgs, ExportFormat, ImportArgs, ImportKindWord, ImportScopeWord};
pub(crate) use json::{JsonArgs, JsonCommand};
pub(crate) use knowledge::{IngestArgs, SearchArgs};
pub(crate) use mcp::{
    McpAddArgs as McpAdd, McpArgs, McpCheckArgs as McpCheck, McpCommand, McpPromptArgs as McpPrompt,
    McpReadArgs as McpRead, McpServerArgs as McpServer, McpTrustArgs as McpTrust,
};
pub(crate) use memory::{ChatArgs, MemoryArgs, MemoryCommand, MemoryScopeWord, SkillsArgs};
use models::thinking;
pub(crate) use models::{ModelsArgs, ModelsCommand, PullArgs};
pub(crate) use permissions::{ApproveArgs, PermissionFlags, PermissionsArgs, PermissionsCommand};
pub(crate) use recipes::{RecipesArgs, RecipesCommand};
pub(crate) use runs::{
    AnswerArgs, AttachArgs, CancelArgs, DenyArgs, EventsArgs, LogsArgs, ReplayArgs, RerunArgs, ResumeArgs, RunsArgs,
    ShowArgs, StatsArgs, StatusWord, TellArgs,
};
pub(crate) use sandbox::{AsideArgs, AsideCommand, ExecArgs, ProbeArgs, SandboxArgs, SandboxCommand};
pub(crate) use schedules::{MissedWord, OverlapWord, ScheduleArgs, ScheduleName, SchedulesArgs, SchedulesCommand};
pub(crate) use serve::{
    BridgeArgs, EngineFlags, EngineWord, HttpAccessFlags, McpServeArgs, OpenArgs, PageUserCommand, RoleWord, ServeArgs,
    ServeCommand, ServedRunFlags,
};
pub(crate) use setup::{CompletionsArgs, ConfigArgs, ConfigCommand, InitArgs, ManArgs, TrustArgs};
pub(crate) use shared::{OutputFlags, RunName, RunOrNewest, SpendingFlags, WorkspaceFlags};
use shared::{parameter, variable};
pub(crate) use tools::{ToolCallArgs, ToolsArgs, ToolsCommand};
pub(crate) use undo::{AuditArgs, UndoArgs};
pub(crate) use worker::{RestateFlags, WorkerArgs, WorkerCommand, WorkerStartArgs};

/// Carries out goals with AI agents, and resumes where it stopped after a crash
#[derive(Debug, Parser)]
#[command(
    name = "updraft",
    version,
    arg_required_else_help = true,
    after_help = "RUN is a run's id, any unique prefix of it, or `last`. Where it is optional, the default is the newest run of \
        this folder.\n\n\
        Without a command, on a terminal: `updraft chat`.\n\n\
        Examples:\n  \
        updraft run \"What does this project do?\"\n  \
        updraft runs\n  \
        updraft resume last\n\n\
        Exit codes: 0 done, 1 failed, 2 usage, 3 needs a person, 4 budget reached, 5 configuration, 130/143 interrupted."
)]
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

// The arguments of a command are described only where that command is used: at every start, all of them would be in memory.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum CliCommand {
    /// Plan and carry out a goal
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Talk with agents in the console; every message continues the conversation
    #[command(
        after_help = "Examples:\n  updraft\n  updraft chat --continue\n  updraft chat --plan-first\n  printf 'What is here?\\nAnd the largest file?\\n' | updraft chat"
    )]
    Chat(Box<ChatArgs>),
    /// List runs, newest first
    #[command(after_help = "Examples:\n  updraft runs --since 2d --status waiting\n  updraft runs --json | jq -r .run")]
    Runs(RunsArgs),
    /// Show a run: its graph, summary, and costs per step and agent
    #[command(after_help = "Examples:\n  updraft show last\n  updraft show 7k2m --prompts --out prompts/")]
    Show(ShowArgs),
    /// Show the events of a run in readable form
    #[command(after_help = "Examples:\n  updraft events last --follow\n  updraft events 7k2m --json")]
    Events(EventsArgs),
    /// Show what a run did, as a log: every step, call and error; or its reasoning
    #[command(
        after_help = "Examples:\n  updraft logs last\n  updraft logs 7k2m --reasoning\n  updraft logs 7k2m --prompts prompts/"
    )]
    Logs(LogsArgs),
    /// Resume a run after a crash, a pause, an answer or an exhausted budget
    #[command(
        after_help = "Examples:\n  updraft resume last\n  updraft resume 7k2m --budget 2.00\n  updraft resume --all"
    )]
    Resume(ResumeArgs),
    /// Watch a run that another process drives; answer, approve, tell or cancel it
    #[command(after_help = "Examples:\n  updraft attach last\n  updraft attach 7k2m --json")]
    Attach(AttachArgs),
    /// Pause a run: nothing new starts, and steps in progress may finish
    Pause(RunName),
    /// Stop a run for good
    Cancel(CancelArgs),
    /// Send a message to a running run; its agents read it before their next turn
    #[command(after_help = "Example:\n  updraft tell 7k2m \"leave the tests as they are\"")]
    Tell(TellArgs),
    /// Answer a run's question
    #[command(after_help = "Example:\n  updraft answer 7k2m \"the second one\" && updraft resume 7k2m")]
    Answer(AnswerArgs),
    /// Allow a call that waits for approval
    #[command(after_help = "Example:\n  updraft approve 7k2m --always workspace && updraft resume 7k2m")]
    Approve(ApproveArgs),
    /// Refuse a call that waits for approval
    Deny(DenyArgs),
    /// Repeat all decisions offline from the recorded inputs, and compare every event and prompt
    Replay(ReplayArgs),
    /// Start a new run from the first events of another
    #[command(
        after_help = "Examples:\n  updraft fork last --at 12\n  updraft fork 7k2m --at 30 --set figures='[1,2]' --model openai/gpt-5.4"
    )]
    Fork(Box<ForkArgs>),
    /// Run a run's plan again, and keep the results of steps that nothing has changed for
    #[command(
        after_help = "Examples:\n  updraft rerun last --dry-run\n  updraft rerun 7k2m --goal \"The same for 2027\"\n  updraft rerun 7k2m --plan plan.json"
    )]
    Rerun(Box<RerunArgs>),
    /// Show where two runs differ, step by step
    Diff(DiffArgs),
    /// Undo what a run changed in its workspace
    #[command(after_help = "Examples:\n  updraft undo --list\n  updraft undo last\n  updraft undo --redo")]
    Undo(UndoArgs),
    /// Show what each call of a run touched: files, commands, hosts, approvals
    Audit(AuditArgs),
    /// Write runs to files
    #[command(
        after_help = "Examples:\n  updraft export last --format markdown\n  updraft export last --html run.html\n  updraft export --all --format node-link --out sessions/"
    )]
    Export(ExportArgs),
    /// Take over what other coding agents have here, after showing it; or read a run from a file that `export` wrote or from
    /// NetworkX node-link data, or a project with `agent_config.yaml`
    #[command(
        after_help = "Examples:\n  updraft import --dry-run\n  updraft import --only servers,skills\n  updraft import run.jsonl\n  updraft import session_7k2m.json --id copy\n  updraft import ~/S16_NetworkX"
    )]
    Import(ImportArgs),
    /// Show how agents and models did in the newest runs: steps, failures, retries, costs
    Stats(StatsArgs),
    /// Remove a run from the journal
    Rm(RmArgs),
    /// Remove runs that ended long ago
    #[command(after_help = "Example:\n  updraft prune --older-than 30d")]
    Prune(PruneArgs),
    /// Bring files into the workspace's index, which `search` and agents find passages in
    #[command(
        after_help = "Examples:\n  updraft ingest\n  updraft ingest ~/papers --watch\n  updraft ingest --remove ~/papers"
    )]
    Ingest(IngestArgs),
    /// Find passages in the workspace's files and in ingested documents
    #[command(
        after_help = "Examples:\n  updraft search how are crashes survived\n  updraft search --path 'docs/*.md' --limit 3 sandbox\n  updraft search --eval collections/*"
    )]
    Search(SearchArgs),
    /// List, find, change and forget what is remembered between runs
    #[command(
        after_help = "Examples:\n  updraft memory\n  updraft memory add --scope user \"Answer in German\" --pinned\n  updraft memory forget 12"
    )]
    Memory(MemoryArgs),
    /// List tools with their schemas, or call one
    #[command(after_help = "Example:\n  updraft tools call read_file '{\"path\": \"README.md\"}'")]
    Tools(ToolsArgs),
    /// List skills, folders with instructions for a kind of task; or check some
    Skills(SkillsArgs),
    /// Let a goal or a recipe begin by itself at certain times, under `updraft serve`
    #[command(after_help = SCHEDULE_EXAMPLES)]
    Schedule(Box<ScheduleArgs>),
    /// List schedules and their next times; pause, resume or remove one, or run it now
    #[command(
        after_help = "Examples:\n  updraft schedules\n  updraft schedules pause morning\n  updraft schedules run-now morning"
    )]
    Schedules(SchedulesArgs),
    /// List recipes, goals and plans with parameters in one file; or check some
    #[command(
        after_help = "Examples:\n  updraft recipes\n  updraft recipes check weekly.md\n  updraft run --recipe weekly --param part=docs"
    )]
    Recipes(RecipesArgs),
    /// List agents and where they come from
    Agents(WorkspaceFlags),
    /// List providers, keys, models, prices and limits; or check one model
    Models(ModelsArgs),
    /// List, check, add, remove and import MCP servers; or run as one
    #[command(
        after_help = "Examples:\n  updraft mcp add time --network host -- uvx mcp-server-time\n  updraft mcp check"
    )]
    Mcp(McpArgs),
    /// Run a command in the sandbox, or show what the sandbox supports here
    Sandbox(SandboxArgs),
    /// Show runs on a web page, and let other programs use Updraft over HTTP and editors over a WebSocket (the bridge)
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Carry out runs that a Restate server keeps, without a page; or start one on such a worker
    #[command(after_help = WORKER_EXAMPLES)]
    Worker(Box<WorkerArgs>),
    /// Open the page of a running `updraft serve` in a browser, or print its address
    Open(OpenArgs),
    /// Speak MCP on standard input and output, and forward it to an editor's WebSocket
    Bridge(BridgeArgs),
    /// Be the agent of an editor that speaks ACP (Zed, JetBrains and others), on standard input and output
    #[command(
        after_help = "In the settings of Zed:\n  {\"agent_servers\": {\"Updraft\": {\"command\": \"updraft\", \"args\": [\"acp\"]}}}"
    )]
    Acp(Box<AcpArgs>),
    /// Create a sample configuration and the folders .context and artifacts
    Init(InitArgs),
    /// Trust a workspace's agents, prompts, .env, MCP servers and settings, after showing them
    Trust(TrustArgs),
    /// List the rules for what agents may do, and where each comes from; or add or remove one
    #[command(
        after_help = "Examples:\n  updraft permissions allow \"run_command(git push)\"\n  updraft permissions forget \"run_command(git push)\""
    )]
    Permissions(PermissionsArgs),
    /// List, restore or delete files that were moved out of the workspace because other programs would run them
    Aside(AsideArgs),
    /// Show the settings
    Config(ConfigArgs),
    /// Check what works here and what does not, with advice
    #[command(after_help = "Example:\n  updraft doctor --restate http://10.0.0.1:8080,http://10.0.0.2:8080")]
    Doctor(DoctorArgs),
    /// Print a completion script
    #[command(after_help = "Example:\n  updraft completions bash > ~/.local/share/bash-completion/completions/updraft")]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    #[command(after_help = "Examples:\n  updraft man | man -l -\n  updraft man --out ~/.local/share/man/man1")]
    Man(ManArgs),
    /// Repair JSON
    Json(JsonArgs),
    /// Run a benchmark
    #[command(hide = true)]
    Bench,
}

impl CliCommand {
    /// Whether standard output carries JSON events, so that errors must be JSON too.
    pub(crate) fn wants_json_events(&self) -> bool {
        match self {
            CliCommand::Run(args) => args.output.json,
            CliCommand::Chat(args) => args.output.json,
            CliCommand::Resume(args) => args.output.json,
            CliCommand::Attach(args) => args.output.json,
            CliCommand::Fork(args) => args.output.json,
            CliCommand::Rerun(args) => args.output.json && !args.dry_run,
            _ => false,
        }
    }
}

const RUN_EXAMPLES: &str = "Examples:
  updraft run \"What does this project do, and how does it survive a crash?\"
  updraft run --model openai/gpt-5.4-mini --budget 0.50 \"Find the slowest test\"
  updraft run --agent coder --yes \"Rename the function parse to read\"
  updraft run --require \"cargo test passes\" \"Fix the failing test\"
  updraft run --plan-first \"Split main.rs into modules\"
  updraft run --plan plan.json \"Carry out the plan\"
  updraft run --recipe weekly --param part=docs
  git diff | updraft run --agent reviewer \"Review this\"
  updraft run --continue \"And which test is the second slowest?\"
  git log -20 | updraft run - --agent summarizer";

const SCHEDULE_EXAMPLES: &str = "Examples:
  updraft schedule \"0 7 * * *\" \"What changed since yesterday?\" --name morning
  updraft schedule --every 2h --agent researcher \"Is the site up?\"
  updraft schedule \"0 9 * * mon\" --timezone Europe/Berlin --recipe weekly --param days=7";

const WORKER_EXAMPLES: &str = "Examples:
  updraft worker
  updraft worker --workspaces ~/shop,~/docs --labels gpu
  updraft worker --shared --blobs /srv/blobs --worker-name w2 --worker-listen 127.0.0.1:9081
  updraft worker start --label gpu \"Train it\"";

const SERVE_EXAMPLES: &str = "Examples:
  updraft serve
  updraft serve --listen 127.0.0.1:9000 --bridge
  updraft serve user add ann --role steer
  updraft serve --listen 0.0.0.0:7717 --tls-cert cert.pem --tls-key key.pem";

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// The generalist answers if no agent is named and a language model is connected.
    #[arg(skip)]
    pub(crate) by_generalist: bool,
    /// Pictures from outside the workspace that the user has shown.
    #[arg(skip)]
    pub(crate) pictures: Vec<PathBuf>,
    /// The plan of a recipe.
    #[arg(skip)]
    pub(crate) given_plan: Option<serde_json::Value>,
    /// What to do; `-` reads it from standard input
    #[arg(required_unless_present = "recipe", default_value = "", hide_default_value = true)]
    pub(crate) goal: String,
    /// Run this recipe, a goal or plan with parameters: its name or its file (`updraft recipes` lists them)
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["goal", "agent", "swarm", "plan"])]
    pub(crate) recipe: Option<String>,
    /// A parameter of the recipe (repeatable)
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter, requires = "recipe")]
    pub(crate) parameters: Vec<(String, String)>,
    /// The folder that agents work in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// A file for the agents to read (repeatable); `-` is standard input, which is read anyway if it is a pipe
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// The model: PROVIDER/NAME, a profile, `fast`, `strong`, `cheap`, `vision` or `auto`; `updraft models` lists them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model thinks: auto (as needed), off, low, medium, high, or a number of tokens
    #[arg(long, value_name = "HOW", value_parser = thinking)]
    pub(crate) think: Option<String>,
    /// Do not look for model servers on this machine
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Answer repeated requests from a cache
    #[arg(long)]
    pub(crate) cache: bool,
    /// Use this one agent, without planning
    #[arg(long, value_name = "NAME", conflicts_with_all = ["swarm", "plan", "plan_only"])]
    pub(crate) agent: Option<String>,
    /// Do it this many times, each in a copy of the folder; the best is kept
    #[arg(long, value_name = "N", requires = "agent", value_parser = clap::value_parser!(u32).range(2..=10))]
    pub(crate) candidates: Option<u32>,
    /// Do it once with each of these models, and join the results or keep the best (repeatable, or with commas)
    #[arg(long, value_name = "MODEL", requires = "agent", value_delimiter = ',', conflicts_with = "model")]
    pub(crate) models: Vec<String>,
    /// The command that chooses among candidates: the first for which it succeeds is kept
    #[arg(long, value_name = "COMMAND", requires = "candidates")]
    pub(crate) tests: Option<String>,
    /// Use a router and workers instead of a plan
    #[arg(long, conflicts_with_all = ["plan"])]
    pub(crate) swarm: bool,
    /// Run this plan instead of making one (our JSON or NetworkX node-link data)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Option<PathBuf>,
    /// Print the plan with the model, price range and rights of each step, and stop; with --json, print it in the form
    /// that --plan reads
    #[arg(long)]
    pub(crate) plan_only: bool,
    /// Show the plan and ask before its first step begins; until then the run may only read
    #[arg(long, conflicts_with_all = ["agent", "plan", "plan_only"])]
    pub(crate) plan_first: bool,
    /// Follow up on the newest run of this folder; agents get its questions and answers so far
    #[arg(long = "continue", conflicts_with = "plan")]
    pub(crate) continues: bool,
    /// A shared variable to start with (repeatable)
    #[arg(long = "var", value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, serde_json::Value)>,
    /// What must hold at the end (repeatable): "cargo test passes", "file report.md exists", "report.json fits
    /// schema.json", "citations hold", or free text
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) require: Vec<String>,
    /// Ask no questions: agents state what they assume instead, and the summary lists it
    #[arg(long)]
    pub(crate) assume: bool,
    #[command(flatten)]
    pub(crate) permission: PermissionFlags,
    #[command(flatten)]
    pub(crate) spending: SpendingFlags,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Print the run's id and return; the run continues in the background
    #[arg(long, conflicts_with = "plan_only")]
    pub(crate) detach: bool,
    /// The id of a run that was started with --detach
    #[arg(long, hide = true)]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// How many events to copy; `updraft events` shows their numbers
    #[arg(long, value_name = "N")]
    pub(crate) at: u64,
    /// Use another model from here on
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Use another goal from here on
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// Give a variable another value (repeatable)
    #[arg(long = "set", value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, serde_json::Value)>,
    /// Create the run without starting it; `updraft resume` starts it
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten)]
    pub(crate) permission: PermissionFlags,
    #[command(flatten)]
    pub(crate) spending: SpendingFlags,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first run
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) one: String,
    /// The second run
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) other: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The runs to remove
    #[arg(value_name = "RUN", required = true, add = crate::complete::runs())]
    pub(crate) runs: Vec<String>,
    /// Also remove runs that a process is working on; that process stops
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Remove runs that ended longer ago than this
    #[arg(long, value_name = "DURATION", value_parser = time_format::duration)]
    pub(crate) older_than: Duration,
    /// Only print what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}
