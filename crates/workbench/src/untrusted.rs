//! Reads untrusted files without blocking and with a size limit, and escapes untrusted text for the terminal.

use std::fmt::Write as _;
use std::io::{Error, Result};
use std::path::Path;

/// Most bytes of a settings file. The longest that people write are a hundredth of it.
pub const LARGEST_SETTINGS: u64 = 1 << 20;

/// Reads a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    updraft_tools::read_plain(path, most)
}

/// Reads a settings file as text.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = read(path, LARGEST_SETTINGS)?;
    String::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8 text"))
}

/// Escapes text from a model or a file for a terminal: characters that could move the cursor or reverse the line are
/// shown as codes.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if steers(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", c as u32);
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a character could control a terminal.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
}

#[cfg(test)]
#[cfg(unix)]
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
        for (path, says) in [(at("pipe"), "not a regular file"), (at("huge"), "larger than 1 MiB")] {
            let error = read_text(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(read_text(folder.path()).is_err());
        assert_eq!(read_text(&at("largest")).unwrap().len(), 1 << 20);
    }
}
