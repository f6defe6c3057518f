//! Where there is no sandbox, nothing is moved aside, so nothing can be put back: the same interface, and a word on why.

use std::io;
use std::path::Path;

pub(super) fn back(_: &Path, _: &Path, _: bool) -> io::Result<bool> {
    Err(io::Error::other("files are moved aside, and put back, on Linux only"))
}

pub(super) fn met_a_link(_: &io::Error) -> bool {
    false
}
