//! Arguments of `updraft undo` and `updraft audit`.

use clap::Args;

use super::RunOrNewest;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The run's id, any unique prefix of it, or `last` (default: the last run of this folder)
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Only list what the run changed, latest first, and what cannot be undone
    #[arg(long, conflicts_with_all = ["redo", "dry_run"])]
    pub(crate) list: bool,
    /// Undo only what this step changed
    #[arg(long, value_name = "STEP", conflicts_with = "redo")]
    pub(crate) step: Option<String>,
    /// Undo only what this call changed; `updraft undo --list` shows the addresses
    #[arg(long, value_name = "ADDRESS", conflicts_with = "redo")]
    pub(crate) call: Option<String>,
    /// Undo only what was changed at this path of the workspace, or in it
    #[arg(long, value_name = "PATH", conflicts_with = "redo")]
    pub(crate) path: Option<String>,
    /// Also undo changes to files that have been changed since
    #[arg(long, conflicts_with = "redo")]
    pub(crate) force: bool,
    /// Undo the last undo
    #[arg(long)]
    pub(crate) redo: bool,
    /// Only print what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Also show the changes in text files
    #[arg(long)]
    pub(crate) diff: bool,
    /// Print one JSON object per line, with the diffs
    #[arg(long)]
    pub(crate) json: bool,
}
