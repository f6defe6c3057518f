//! The arguments of `updraft acp`.

use clap::Args;

use super::{ConfineFlags, PermissionFlags, SpendingFlags};

#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// The model for new sessions, as with `run`
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) permission: PermissionFlags,
    /// What each run may spend
    #[command(flatten)]
    pub(crate) spending: SpendingFlags,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
}
