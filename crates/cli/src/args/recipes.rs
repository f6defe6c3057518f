//! Arguments of `recipes`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::WorkspaceFlags;

#[derive(Debug, Args)]
pub(crate) struct RecipesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RecipesCommand>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipesCommand {
    /// Check recipe files, and the agents and the graph of their plans
    Check {
        /// The files
        #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: WorkspaceFlags,
    },
}
