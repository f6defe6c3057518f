//! Completion while typing: files after `@`, commands after `/`.

use std::path::{Path, PathBuf};

use super::composer::Composer;
use super::mention;

/// Most files that are offered from: more than anybody looks through.
const MOST_FILES: usize = 50_000;
/// Most candidates that are offered at once.
const MOST: usize = 6;

/// What can be completed here.
#[derive(Debug, Default)]
pub(super) struct Completions {
    folder: PathBuf,
    /// The commands, each with what it does.
    commands: Vec<(String, String)>,
    /// The files of the folder, once they were needed.
    files: std::cell::OnceCell<Vec<String>>,
}

/// The candidates for what was typed.
#[derive(Debug)]
pub(super) struct Completion {
    /// The bytes before the cursor that are replaced.
    typed: String,
    candidates: Vec<(String, String)>,
    chosen: usize,
}

impl Completions {
    pub(super) fn new(folder: &Path, commands: Vec<(String, String)>) -> Self {
        Self { folder: folder.to_owned(), commands, files: std::cell::OnceCell::new() }
    }

    /// The candidates for the word before the cursor; none while a question is answered.
    pub(super) fn find(&self, composer: &Composer, answers: bool) -> Option<Completion> {
        let before = composer.before_cursor();
        let typed = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let candidates = match typed.get(..1)? {
            "/" if !answers && typed.len() == before.trim_start().len() => self.commands_like(typed),
            "@" => self.files_like(&typed[1..]),
            _ => return None,
        };
        (!candidates.is_empty()).then(|| Completion { typed: typed.to_owned(), candidates, chosen: 0 })
    }

    /// Whether there is such a command.
    pub(super) fn has_command(&self, name: &str) -> bool {
        self.commands.iter().any(|(known, _)| known == name)
    }

    /// The mention of a file that was dropped on the terminal.
    pub(super) fn dropped_file(&self, paste: &str) -> Option<String> {
        mention::dropped(paste, &self.folder)
    }

    fn commands_like(&self, typed: &str) -> Vec<(String, String)> {
        let fits = self.commands.iter().filter(|(name, _)| format!("/{name}").starts_with(typed));
        fits.take(MOST).map(|(name, what)| (format!("/{name}"), what.clone())).collect()
    }

    fn files_like(&self, typed: &str) -> Vec<(String, String)> {
        let files = self.files.get_or_init(|| files_in(&self.folder));
        let typed = typed.to_lowercase();
        let rank = |path: &&String| {
            let lower = path.to_lowercase();
            let name = lower.rsplit('/').next().unwrap_or_default();
            match () {
                () if lower.starts_with(&typed) => Some(0),
                () if name.starts_with(&typed) => Some(1),
                () if lower.contains(&typed) => Some(2),
                () if is_spread(&typed, &lower) => Some(3),
                () => None,
            }
        };
        let mut found: Vec<(u8, usize, &String)> =
            files.iter().filter_map(|path| Some((rank(&path)?, path.len(), path))).collect();
        found.sort();
        found.into_iter().take(MOST).map(|(_, _, path)| (format!("@{path}"), String::new())).collect()
    }
}

impl Completion {
    pub(super) fn candidates(&self) -> impl Iterator<Item = (bool, &str, &str)> {
        let shown = self.candidates.iter().enumerate();
        shown.map(|(n, (text, what))| (n == self.chosen, text.as_str(), what.as_str()))
    }

    /// How many bytes are replaced, and by what.
    pub(super) fn chosen(&self) -> (usize, String) {
        let chosen = self.candidates.get(self.chosen).map(|(text, _)| text.as_str()).unwrap_or_default();
        (self.typed.len(), format!("{chosen} "))
    }

    /// Whether the chosen one was typed already.
    pub(super) fn is_exact(&self) -> bool {
        self.candidates.get(self.chosen).is_some_and(|(text, _)| *text == self.typed)
    }

    pub(super) fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.candidates.len().max(1);
    }

    pub(super) fn previous(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.candidates.len().saturating_sub(1));
    }
}

/// Whether the characters occur in this order.
fn is_spread(typed: &str, path: &str) -> bool {
    let mut rest = path.chars();
    typed.chars().all(|c| rest.any(|other| other == c))
}

/// The files of a folder, without what git ignores.
fn files_in(folder: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(folder).hidden(true).require_git(false).build();
    let files = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let relative = files.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.to_str()?.to_owned()));
    relative.filter(|path| !path.contains(char::is_whitespace)).take(MOST_FILES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_are_offered_where_they_can_be_meant() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("src/view")).unwrap();
        for file in ["src/main.rs", "src/view/markdown.rs", "README.md", "a.png"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let commands = vec![("help".to_owned(), "show this".to_owned()), ("model".to_owned(), String::new())];
        let completions = Completions::new(&folder, commands);
        let offered = |text: &str| -> Vec<String> {
            let found = completions.find(&Composer::of(text), false);
            found.iter().flat_map(|found| found.candidates().map(|(_, text, _)| text.to_owned())).collect()
        };
        assert_eq!(offered("explain @ma"), ["@src/main.rs", "@src/view/markdown.rs"]);
        assert_eq!(offered("@svm"), ["@src/view/markdown.rs"]);
        assert_eq!((offered("/h"), offered("see /h").len()), (vec!["/help".to_owned()], 0));
        assert!(completions.find(&Composer::of("/h"), true).is_none());
    }
}
