//! Arguments of `json`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    #[command(subcommand)]
    pub(crate) command: JsonCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JsonCommand {
    /// Turn a model's output into valid JSON: reads standard input, prints JSON, reports repairs on standard error
    Repair(JsonRepairArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JsonRepairArgs {
    /// A JSON Schema that guides the repair
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Fail if a repair had to guess
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) safe: bool,
}
