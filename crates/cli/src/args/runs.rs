//! `runs`, `show`, `events`, `resume` and what controls a run.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};
use updraft_run::{Status, Timestamp};

use super::shared::{OutputFlags, RunName, RunOrNewest, SpendingFlags};
use super::{ConfineFlags, PermissionFlags};
use crate::time_format;

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only runs started at this time or later: 2h (ago), yesterday, 2026-07-01
    #[arg(long, value_name = "WHEN", value_parser = time_format::ago)]
    pub(crate) since: Option<Timestamp>,
    /// Only runs started before this time
    #[arg(long, value_name = "WHEN", value_parser = time_format::ago)]
    pub(crate) until: Option<Timestamp>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<StatusWord>,
    /// List at most this many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// A status to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWord {
    /// One that the journal has.
    Recorded(Status),
    /// Its process ended before the run did.
    Interrupted,
}

impl StatusWord {
    /// What the journal has for it.
    pub(crate) fn recorded(self) -> Status {
        match self {
            StatusWord::Recorded(status) => status,
            StatusWord::Interrupted => Status::Running,
        }
    }
}

impl ValueEnum for StatusWord {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<StatusWord>> = LazyLock::new(|| {
            Status::RECORDED.into_iter().map(StatusWord::Recorded).chain([StatusWord::Interrupted]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = match self {
            StatusWord::Recorded(status) => PossibleValue::new(status.as_str()),
            StatusWord::Interrupted => PossibleValue::new("interrupted"),
        };
        Some(match self {
            StatusWord::Recorded(Status::Unproved) => {
                value.help("It ended well, but nothing shows that all its requirements are met")
            }
            StatusWord::Recorded(Status::NotDone) => value.help("It ended, and a requirement is not met"),
            StatusWord::Interrupted => value.help("Its process ended before the run did"),
            StatusWord::Recorded(_) => value,
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Show every prompt instead
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Show the sources that the answer cites instead, and whether the quoted words hold
    #[arg(long, conflicts_with = "prompts")]
    pub(crate) sources: bool,
    /// Show instead what was required, and the evidence for each requirement, compared with the files as they are now
    #[arg(long, conflicts_with_all = ["prompts", "sources"])]
    pub(crate) proof: bool,
    /// Show what agents were told besides their tasks: each file, memory and skill with the reason and its size
    #[arg(long, conflicts_with_all = ["prompts", "sources", "proof"])]
    pub(crate) context: bool,
    /// Show the messages between you and the agents instead: tasks, results, feedback, questions
    #[arg(long, conflicts_with_all = ["prompts", "sources", "proof", "context"])]
    pub(crate) bus: bool,
    /// Write the prompts into this folder
    #[arg(long, value_name = "DIR", requires = "prompts", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Start with this event
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
    /// Wait for new events
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Show plans, reasoning, answers and judgements instead (reasoning.log)
    #[arg(long)]
    pub(crate) reasoning: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write every prompt and response to files in this folder: TIME_AGENT_prompt.txt, TIME_AGENT_response.txt
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["reasoning", "json"])]
    pub(crate) prompts: Option<std::path::PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Look at the steps of the run, in detail and on the whole screen, whether it is driven or not
    #[arg(long, conflicts_with = "plain")]
    pub(crate) fullscreen: bool,
    /// Print lines instead of drawing a console
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResumeArgs {
    /// The run's id, any unique prefix of it, or `last` (default: the newest run of this folder)
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Resume every interrupted run, except those that are paused or waiting for a person
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// For an imported run: the folder it may work in from now on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "all")]
    pub(crate) workspace: Option<PathBuf>,
    /// For a run with a damaged journal: discard the damaged events and all later ones, and continue before them
    #[arg(long, conflicts_with = "all")]
    pub(crate) from_damaged: bool,
    /// For a run whose plan waits for approval: use this plan instead, and approve it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "all")]
    pub(crate) plan: Option<PathBuf>,
    /// Use this model from now on, for all agents
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
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
pub(crate) struct RerunArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Pursue this goal instead; the planner changes the plan as little as it can
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// Use this plan instead
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Option<PathBuf>,
    /// Carry out this step again although nothing has changed for it (repeatable)
    #[arg(long, value_name = "STEP")]
    pub(crate) again: Vec<String>,
    /// Keep what steps got from the web and from servers, which may be outdated
    #[arg(long)]
    pub(crate) keep_web: bool,
    /// Only show what would be kept and what would be done again
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use this model; steps that used another are done again
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
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
pub(crate) struct StatsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// Cancel only this step
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// What the agents should know or do
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// The answer; for a form, a JSON object, or just the value if it has only one field
    #[arg(required_unless_present_any = ["decline", "dismiss"], default_value = "")]
    pub(crate) text: String,
    /// Which question to answer, if several are open
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Decline to answer
    #[arg(long, conflicts_with_all = ["text", "dismiss"])]
    pub(crate) decline: bool,
    /// Close the question without answering; an MCP server that asked is told so
    #[arg(long, conflicts_with = "text")]
    pub(crate) dismiss: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// Which call to refuse (default: all that wait for approval)
    pub(crate) id: Option<String>,
    /// A reason for the agent
    #[arg(long, value_name = "WHY", default_value = "")]
    pub(crate) because: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Treat differences as an error, even in a journal of another version
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
