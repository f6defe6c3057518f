//! Why a file could not be read.

use serde::{Deserialize, Serialize};

use crate::document::DocumentKind;

/// Why a file gave no document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReadError {
    /// Neither text nor a kind of file that is known here.
    #[error("not text, and not a kind of file that can be read ({0})")]
    Unknown(String),

    /// The file is damaged, or not what it says it is.
    #[error("damaged {kind} file: {why}")]
    Damaged {
        /// What it claims to be.
        kind: DocumentKind,
        /// What was wrong.
        why: String,
    },

    /// The file needs a password.
    #[error("the {0} file is encrypted and needs a password")]
    Encrypted(DocumentKind),

    /// A PDF without text: its pages are pictures.
    #[error("the PDF has no text: its {pages} pages are pictures; a model that sees, or an OCR program, can read them")]
    Scanned {
        /// How many pages it has.
        pages: u32,
    },

    /// The file would become larger than allowed.
    #[error("the {kind} file would unpack to more than {limit} bytes")]
    TooLarge {
        /// What kind of file it is.
        kind: DocumentKind,
        /// The limit that it exceeds.
        limit: u64,
    },

    /// Elements are nested deeper than allowed.
    #[error("the {kind} file is nested deeper than {limit} levels")]
    TooDeep {
        /// What kind of file it is.
        kind: DocumentKind,
        /// The limit that it exceeds.
        limit: u32,
    },

    /// The wanted sheet is not in the workbook.
    #[error("no sheet `{wanted}`; the workbook has {}", .sheets.join(", "))]
    NoSuchSheet {
        /// What was asked for.
        wanted: String,
        /// What there is.
        sheets: Vec<String>,
    },

    /// None of the wanted pages is in the document.
    #[error("none of the wanted pages: the document has {pages}")]
    NoSuchPage {
        /// How many pages there are.
        pages: u32,
    },

    /// The wanted pages are not written as pages.
    #[error("`{0}` is no choice of pages; expected numbers and ranges such as `1-4,7`")]
    BadPages(String),

    /// The process that read the file ended before it was done, or could not be started.
    #[error("{0}")]
    Stopped(String),
}
