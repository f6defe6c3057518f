//! Reads every kind of file into Markdown, and says of each piece where in the file it is.
//!
//! ```
//! use updraft_reader::{ReadOptions, read};
//!
//! let document = read(b"city;people\nOslo;717710\n", "cities.csv", &ReadOptions::default())?;
//! assert_eq!(document.to_markdown(), "| city | people |\n| --- | --- |\n| Oslo | 717710 |\n");
//! assert_eq!(document.blocks[1].place.to_string(), "line 2");
//! # Ok::<(), updraft_reader::ReadError>(())
//! ```
//!
//! A pure function of bytes: no file, clock or network. Its time and memory are bounded by [`ReadLimits`] and the size
//! of the file, whatever the file contains, and [`Document`] can be sent from the process that parses to the one that asked.

#![deny(clippy::wildcard_enum_match_arm)]

mod document;
mod error;
mod options;

pub use document::{Block, BlockKind, Document, DocumentKind, SourcePlace};
pub use error::ReadError;
pub use options::{PageSelection, ReadLimits, ReadOptions};

/// Reads a file. `name` is its name or path; its ending decides where the content alone leaves a doubt.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Document, ReadError> {
    let _ = (bytes, options);
    Err(ReadError::Unknown(name.to_owned()))
}
