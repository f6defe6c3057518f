//! Files that a message mentions: `@path`, or `@"a path with spaces"`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use updraft_tools::mime_of;

/// The files that a message mentions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MentionedFiles {
    /// Files of the workspace.
    pub(crate) files: Vec<PathBuf>,
    /// Pictures from elsewhere. Agents see them, but reach nothing else there.
    pub(crate) pictures: Vec<PathBuf>,
}

/// The files that a message mentions, relative to the folder, if they exist.
pub(crate) fn mentioned(text: &str, folder: &Path) -> MentionedFiles {
    let mut found = MentionedFiles::default();
    for name in names(text) {
        let path = folder.join(name);
        let Some(real) = path.canonicalize().ok().filter(|path| path.is_file()) else { continue };
        let list = match real.starts_with(folder) {
            true => &mut found.files,
            false if is_picture(&real) => &mut found.pictures,
            false => continue,
        };
        if !list.contains(&real) {
            list.push(real);
        }
    }
    found
}

/// The path relative to the folder, if a paste is nothing but the path of a file in it, or of a picture: terminals paste
/// that when a file is dropped on them. Written as a mention.
pub(super) fn dropped(paste: &str, folder: &Path) -> Option<String> {
    let text = paste.trim();
    if text.is_empty() || text.contains('\n') || text.len() > 4_096 {
        return None;
    }
    let text = text.strip_prefix("file://").unwrap_or(text);
    let text = text.trim_matches(['\'', '"']).replace("\\ ", " ");
    let real = Path::new(&text).canonicalize().ok().filter(|path| path.is_file() && Path::new(&text).is_absolute())?;
    let inside = real.strip_prefix(folder).ok();
    let path = inside.or_else(|| is_picture(&real).then_some(real.as_path()))?;
    Some(mention(path.to_str()?))
}

/// A path as it is mentioned.
pub(super) fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

/// The names behind every `@` that begins a word.
fn names(text: &str) -> Vec<&str> {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(char::is_whitespace);
    let name = |(at, _): (usize, &str)| {
        let rest = &text[at + 1..];
        if let Some(quoted) = rest.strip_prefix('"') {
            return quoted.split_once('"').map(|(name, _)| name);
        }
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        Some(word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']))
    };
    let found = text.match_indices('@').filter(|(at, _)| begins(*at)).filter_map(name);
    found.filter(|name| !name.is_empty()).collect()
}

fn is_picture(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut begin));
    read.is_ok() && mime_of(&begin).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000000000";

    #[test]
    fn files_of_the_folder_and_pictures_from_anywhere_are_mentioned() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (folder, other) = (folder.path().canonicalize().unwrap(), other.path().canonicalize().unwrap());
        std::fs::write(folder.join("a.rs"), "").unwrap();
        std::fs::write(folder.join("two words.md"), "").unwrap();
        std::fs::write(other.join("screen shot.png"), PNG).unwrap();
        std::fs::write(other.join("secret.txt"), "").unwrap();
        let shot = other.join("screen shot.png");
        let text = format!(
            "see @a.rs, @\"two words.md\" and {}, not me@a.rs or @nothing or @{}",
            mention(shot.to_str().unwrap()),
            other.join("secret.txt").display()
        );
        let found = mentioned(&text, &folder);
        assert_eq!(found.files, [folder.join("a.rs"), folder.join("two words.md")]);
        assert_eq!(found.pictures, std::slice::from_ref(&shot));
        let dropped = |path: &Path| dropped(&format!("'{}'\n", path.display()), &folder);
        assert_eq!(dropped(&folder.join("a.rs")).as_deref(), Some("@a.rs"));
        assert_eq!(dropped(&folder.join("two words.md")).as_deref(), Some("@\"two words.md\""));
        assert_eq!(dropped(&shot), Some(format!("@\"{}\"", shot.display())));
        assert_eq!((dropped(&other.join("secret.txt")), dropped(Path::new("a.rs"))), (None, None));
    }
}
