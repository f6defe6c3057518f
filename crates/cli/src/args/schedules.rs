//! Arguments of `schedule` and `schedules`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::WorkspaceFlags;
use super::shared::parameter;
use crate::time_format;

#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// When (five cron fields in quotes, or @daily and the like; not with --every), and then the goal
    #[arg(value_name = "WHEN|GOAL")]
    pub(crate) words: Vec<String>,
    /// Again and again after this time, e.g. 90s, 2h, 1d
    #[arg(long, value_name = "DURATION", value_parser = time_format::duration)]
    pub(crate) every: Option<Duration>,
    /// Its name (default: s1, s2, …)
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The time zone of the cron fields, e.g. Europe/Berlin (default: that of this machine)
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Run this recipe instead of a goal: its name or its file
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath, conflicts_with = "agent")]
    pub(crate) recipe: Option<String>,
    /// A parameter of the recipe (repeatable)
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter, requires = "recipe")]
    pub(crate) parameters: Vec<(String, String)>,
    /// Use this one agent, without planning
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Another model than the server's
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What becomes of times at which no server was there: one run makes up for them, or they are skipped
    #[arg(long, value_enum, default_value_t = MissedWord::RunOnce)]
    pub(crate) missed: MissedWord,
    /// What becomes of times at which the last run has not ended: they are skipped, or begin when it has
    #[arg(long, value_enum, default_value_t = OverlapWord::Skip)]
    pub(crate) overlap: OverlapWord,
    /// The folder that agents work in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissedWord {
    RunOnce,
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverlapWord {
    Skip,
    Queue,
}

#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SchedulesCommand>,
    /// List those of all folders
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// Let nothing begin until it is resumed
    Pause(ScheduleName),
    /// Let it begin runs again; what was due in the meantime is not made up for
    Resume(ScheduleName),
    /// Remove a schedule; runs that have begun go on
    Rm(ScheduleName),
    /// Begin a run of it now
    RunNow(ScheduleName),
}

// A schedule of a folder by its name.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScheduleName {
    /// Its name
    pub(crate) name: String,
    /// The folder it belongs to (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}
