//! Opens files by path without ever blocking, since a path may come from anyone and name a pipe or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file for reading; links are followed. The caller must check that it is a regular file before reading it.
pub fn open_plain(path: &Path) -> io::Result<File> {
    opened(path, false)
}

/// Reads a regular file of at most `most` bytes.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file; replace it with one, or remove it"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {} MiB; make it shorter", most >> 20)));
    }
    Ok(bytes)
}

/// Opens a file, but not a link: on Unix a link is an error, on Windows the result is not a regular file.
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    opened(path, true)
}

/// Opens without blocking: opening a pipe or a device would otherwise wait.
#[cfg(unix)]
fn opened(path: &Path, refuses_links: bool) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let links = if refuses_links { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | links).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file. Pipes and devices are not files on this system. Untested.
#[cfg(not(unix))]
fn opened(path: &Path, refuses_links: bool) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let flags = if refuses_links { OPEN_REPARSE_POINT } else { 0 };
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
