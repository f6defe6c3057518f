//! Tar archives (ustar), as npm, Debian and everybody's `tar` read them.

use std::collections::BTreeSet;

use super::{PackageFile, TIME, gzip};

const BLOCK: usize = 512;

/// Which folders get an entry of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderEntries {
    /// All above the files, with `./` before each name: what dpkg asks for.
    All,
    None,
}

/// The archive of the files, sorted by path, and compressed.
pub(super) fn make(files: &[PackageFile], folders: FolderEntries, level: u32) -> Result<Vec<u8>, String> {
    let mut sorted: Vec<&PackageFile> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let start = if folders == FolderEntries::All { "./" } else { "" };
    let mut archive = Vec::new();
    let mut entered = BTreeSet::new();
    for file in sorted {
        if folders == FolderEntries::All {
            for folder in folders_above(&file.path).filter(|folder| entered.insert(*folder)) {
                archive.extend(header(&format!("./{folder}"), 0, 0o755, b'5')?);
            }
        }
        archive.extend(header(&format!("{start}{}", file.path), file.bytes.len(), file.mode(), b'0')?);
        archive.extend_from_slice(&file.bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    gzip(&archive, level)
}

/// The folders above a file, the topmost first, each with a slash at the end; the root is the empty text.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(path.match_indices('/').map(|(at, _)| &path[..=at]))
}

fn header(path: &str, size: usize, mode: u32, kind: u8) -> Result<[u8; BLOCK], String> {
    if path.len() > 100 || !path.is_ascii() {
        return Err(format!("`{path}` does not fit into a tar archive: at most 100 letters"));
    }
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, path.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, format!("{TIME:011o}").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(265, b"root");
    put(297, b"root");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_once_and_before_what_is_in_them() {
        assert_eq!(folders_above("usr/bin/a").collect::<Vec<_>>(), ["", "usr/", "usr/bin/"]);
    }

    #[test]
    fn a_path_that_would_be_cut_off_is_refused() {
        assert!(header(&"a".repeat(101), 0, 0o644, b'0').unwrap_err().contains("at most 100"));
    }
}
