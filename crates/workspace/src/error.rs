//! Why a folder could not become the workspace. What a model should read is a `Failure` instead.

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
        /// Why.
        source: std::io::Error,
    },
}
