//! Why something could not be stored or found.

use std::path::{Path, PathBuf};

/// Why an operation on the index gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file belongs to another program.
    #[error("`{}` is not an index: {why}", .path.display())]
    NotAnIndex {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },

    /// The file was written by a newer version.
    #[error("`{}` has layout {found}; this version knows layouts up to {known}", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The newest layout known here.
        known: i64,
    },

    /// SQLite reported an error.
    #[error("the index `{}` could not be used", .path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// A file or folder could not be read.
    #[error("could not read `{}`", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The model that makes vectors failed.
    #[error("`{name}` could not embed the text: {why}")]
    Embedder {
        /// The model.
        name: String,
        /// What it said.
        why: String,
    },

    /// A file of a model is not what it should be.
    #[error("`{}` is not usable as a model: {why}", .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        why: String,
    },

    /// A collection for measuring is not laid out as expected.
    #[error("`{}` is not a line of a collection: {why}", .path.display())]
    Collection {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        why: String,
    },

    /// The work was stopped by its caller. What was written before stays.
    #[error("stopped")]
    Cancelled,
}

impl Error {
    /// Whether the file is damaged or not an index, so that it can only be made again.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NotAnIndex { .. } => true,
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
            ),
            Self::Newer { .. }
            | Self::Io { .. }
            | Self::Embedder { .. }
            | Self::Model { .. }
            | Self::Collection { .. }
            | Self::Cancelled => false,
        }
    }

    pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self + Copy + '_ {
        move |source| Self::Sqlite { path: path.to_owned(), source }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + Copy + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
