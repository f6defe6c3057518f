//! What was sent before: recalled with the arrow keys, searched with Ctrl-R, kept in a file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::composer::Composer;
use crate::folders;

/// Most messages that are kept.
const MOST: usize = 1_000;
/// A longer message is not kept.
const LONGEST: usize = 20_000;

/// Earlier messages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct MessageHistory {
    entries: Vec<String>,
    file: Option<PathBuf>,
    /// Where the arrow keys are, and what was being written before.
    recalled: Option<(usize, Composer)>,
}

impl MessageHistory {
    /// Reads the file; what cannot be read is left out.
    pub(super) fn load(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut entries: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        entries.drain(..entries.len().saturating_sub(MOST));
        Self { entries, file: Some(file.to_owned()), recalled: None }
    }

    /// Adds a message that was sent.
    pub(super) fn add(&mut self, message: &str) {
        self.recalled = None;
        if message.trim().is_empty()
            || message.len() > LONGEST
            || self.entries.last().is_some_and(|last| last == message)
        {
            return;
        }
        self.entries.push(message.to_owned());
        if let Some(file) = &self.file {
            let line = serde_json::to_string(message).unwrap_or_default() + "\n";
            // Nobody's work depends on it.
            let _ = folders::private_file(file, std::fs::OpenOptions::new().append(true))
                .and_then(|mut file| file.write_all(line.as_bytes()));
        }
    }

    /// The message before the one that is shown.
    pub(super) fn older(&mut self, composer: &Composer) -> Option<Composer> {
        let (at, draft) = match self.recalled.take() {
            Some((at, draft)) => (at, draft),
            None => (self.entries.len(), composer.clone()),
        };
        let next = at.checked_sub(1);
        self.recalled = Some((next.unwrap_or(at), draft));
        next.and_then(|at| self.entries.get(at)).map(|text| Composer::of(text))
    }

    /// The message after it, or what was being written.
    pub(super) fn newer(&mut self) -> Option<Composer> {
        let (at, draft) = self.recalled.take()?;
        match self.entries.get(at + 1) {
            Some(text) => {
                let text = Composer::of(text);
                self.recalled = Some((at + 1, draft));
                Some(text)
            }
            None => Some(draft),
        }
    }

    /// Ends recalling, because the text was edited.
    pub(super) fn settle(&mut self) {
        self.recalled = None;
    }

    /// The newest message with these words, after skipping some.
    pub(super) fn find(&self, words: &str, skipped: usize) -> Option<&str> {
        let words = words.to_lowercase();
        let mut seen = std::collections::BTreeSet::new();
        let fits = |entry: &&String| entry.to_lowercase().contains(&words) && seen.insert((*entry).clone());
        self.entries.iter().rev().filter(fits).nth(skipped).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_recalled_in_order_and_the_draft_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut history = MessageHistory::load(&file);
        for message in ["first", "second\nline", "second\nline"] {
            history.add(message);
        }
        let mut history = MessageHistory::load(&file);
        let draft = Composer::of("draft");
        assert_eq!(history.older(&draft).unwrap().whole(), "second\nline");
        assert_eq!(history.older(&draft).unwrap().whole(), "first");
        assert!(history.older(&draft).is_none());
        assert_eq!(history.newer().unwrap().whole(), "second\nline");
        assert_eq!(history.newer().unwrap().whole(), "draft");
        assert!(history.newer().is_none());
        assert_eq!(
            (history.find("FIR", 0), history.find("", 1), history.find("x", 0)),
            (Some("first"), Some("first"), None)
        );
    }
}
