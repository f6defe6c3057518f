//! Arguments of `doctor`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

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
    /// A file with the token that is sent to both; needed beyond this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "restate")]
    pub(crate) restate_token: Option<PathBuf>,
    /// Also check the folder or bucket (s3://BUCKET/PREFIX) for large values: writes, reads and deletes something small
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::DirPath, requires = "restate")]
    pub(crate) blobs: Option<PathBuf>,
}
