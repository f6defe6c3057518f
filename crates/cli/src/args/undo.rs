//! Arguments of `updraft undo` and `updraft audit`.

use clap::Args;

use super::RunOrNewest;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The run's id, any unique beginning of it, or `last` (default: the last run of this folder)
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Only say what the run changed, the last first, and what cannot be undone
    #[arg(long, conflicts_with_all = ["redo", "dry_run"])]
    pub(crate) list: bool,
    /// Only what this step changed
    #[arg(long, value_name = "STEP", conflicts_with = "redo")]
    pub(crate) step: Option<String>,
    /// Only what this call changed; `updraft undo --list` names them
    #[arg(long, value_name = "ADDRESS", conflicts_with = "redo")]
    pub(crate) call: Option<String>,
    /// Also files that were changed since
    #[arg(long, conflicts_with = "redo")]
    pub(crate) force: bool,
    /// Take the last undo back
    #[arg(long)]
    pub(crate) redo: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) run: RunOrNewest,
    /// Also what changed in text files
    #[arg(long)]
    pub(crate) diff: bool,
    /// One JSON object a line, with the diffs
    #[arg(long)]
    pub(crate) json: bool,
}
