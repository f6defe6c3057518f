//! Reading files of a workspace that may come from anyone: never waiting for one, and never more than is sensible.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Bytes of a file of settings. The longest that people write are a hundredth of it.
pub(super) const LARGEST_SETTINGS: u64 = 1 << 20;

/// What is in an ordinary file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    // A pipe or a device would be waited for.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("it is no ordinary file; put one in its place, or remove it"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::other(format!("it is larger than {} MiB; make it shorter", most >> 20)));
    }
    Ok(bytes)
}

/// The same, as text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let bytes = read(path, LARGEST_SETTINGS)?;
    String::from_utf8(bytes).map_err(|_| Error::other("it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode};

    use super::*;

    #[test]
    fn neither_pipes_nor_folders_nor_huge_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        std::fs::write(at("huge"), vec![b'#'; (1 << 20) + 1]).unwrap();
        std::fs::write(at("largest"), vec![b'#'; 1 << 20]).unwrap();
        for (path, says) in [(at("pipe"), "no ordinary file"), (at("huge"), "larger than 1 MiB")] {
            let error = read_text(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(read_text(folder.path()).is_err());
        assert_eq!(read_text(&at("largest")).unwrap().len(), 1 << 20);
    }
}
