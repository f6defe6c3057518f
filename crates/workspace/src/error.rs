//! Why a workspace cannot be opened. Errors that a model should read are a `Failure` instead.

use std::path::PathBuf;

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder cannot be opened.
    #[error("could not open the workspace `{}`", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}
