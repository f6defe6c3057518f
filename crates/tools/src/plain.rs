//! Opening files by their path that may come from anyone: never waiting for one, whatever it is.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading; links are followed. Whoever reads it checks first that it is a regular file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    opened(path, false)
}

/// The same, but a link itself is not opened: on Unix that is an error, on Windows it is no regular file.
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    opened(path, true)
}

/// A pipe or a device would be waited for.
#[cfg(unix)]
fn opened(path: &Path, refuses_links: bool) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let links = if refuses_links { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | links).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Pipes and devices have no place among files here. Untested.
#[cfg(not(unix))]
fn opened(path: &Path, refuses_links: bool) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let flags = if refuses_links { OPEN_REPARSE_POINT } else { 0 };
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
