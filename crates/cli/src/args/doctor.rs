//! Arguments of `doctor`.

use clap::Args;

use super::WorkspaceFlags;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
    /// Also check a Restate server: its ingress; of a cluster, those of several nodes with commas between them
    #[arg(long, value_name = "URL")]
    pub(crate) restate: Option<String>,
    /// Its admin address, or several (default: port 9070 of the same hosts)
    #[arg(long, value_name = "URL", requires = "restate")]
    pub(crate) restate_admin: Option<String>,
}
