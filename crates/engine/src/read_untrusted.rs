//! Reads files that may come from anyone: never blocks on a pipe or device, and never reads more than a limit.

use std::io::{Error, Read, Result};
use std::path::Path;

/// The text of a regular file of at most `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String> {
    let file = updraft_tools::open_plain(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("it is not a regular file; replace it with one, or remove it"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::other(format!("it is larger than {} MiB; make it shorter", most >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8 text"))
}
