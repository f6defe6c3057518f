//! Reads files that may come from anyone: never blocks on a pipe or device, and never reads more than a limit.

use std::io::{Error, Result};
use std::path::Path;

/// The text of a regular file of at most `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String> {
    let bytes = updraft_tools::read_plain(path, most)?;
    String::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8 text"))
}
