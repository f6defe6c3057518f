//! The text that is being written: a cursor, several lines, and large pastes shown folded.

use unicode_width::UnicodeWidthChar as _;

use crate::view;

/// A paste with more lines or characters is folded.
const MOST_LINES: usize = 5;
const MOST_CHARACTERS: usize = 1_000;
/// Stands for the first folded paste in the text; the next ones follow it. Never typed: it is for private use.
const FIRST_FOLD: u32 = 0xE000;
/// Most pastes that can be folded in one text.
const MOST_FOLDS: u32 = 0x1000;

/// A text with a cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct Composer {
    text: String,
    /// A byte position in the text.
    cursor: usize,
    folds: Vec<String>,
    /// What was deleted last by a command that deletes more than a character.
    killed: String,
}

/// The composer as rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ComposerRows {
    pub(super) rows: Vec<String>,
    /// The row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl Composer {
    pub(super) fn of(text: &str) -> Self {
        let text: String = text.chars().filter(|c| fold_number(*c).is_none()).collect();
        Self { cursor: text.len(), text, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text with all pastes in full.
    pub(super) fn whole(&self) -> String {
        let mut whole = String::new();
        for c in self.text.chars() {
            match fold_number(c).and_then(|n| self.folds.get(n)) {
                Some(paste) => whole.push_str(paste),
                None => whole.push(c),
            }
        }
        whole
    }

    /// The text as it is shown.
    pub(super) fn folded(&self) -> String {
        let mut shown = String::new();
        for c in self.text.chars() {
            match fold_number(c).and_then(|n| self.folds.get(n)) {
                Some(paste) => shown.push_str(&fold_label(paste)),
                None => shown.push(c),
            }
        }
        shown
    }

    /// The text before the cursor.
    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(super) fn insert(&mut self, text: &str) {
        let text: String = text.chars().filter(|c| fold_number(*c).is_none()).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Inserts a paste; a large one is folded.
    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect();
        let is_small = text.lines().count() <= MOST_LINES && text.chars().count() <= MOST_CHARACTERS;
        let fold =
            char::from_u32(FIRST_FOLD + self.folds.len() as u32).filter(|_| self.folds.len() < MOST_FOLDS as usize);
        match fold {
            Some(fold) if !is_small => {
                self.folds.push(text);
                self.text.insert(self.cursor, fold);
                self.cursor += fold.len_utf8();
            }
            _ => self.insert(&text.replace('\t', "    ")),
        }
    }

    /// Replaces the end of the text before the cursor.
    pub(super) fn replace_before_cursor(&mut self, bytes: usize, with: &str) {
        let from = self.cursor.saturating_sub(bytes);
        if self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor, "");
            self.cursor = from;
            self.insert(with);
        }
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.previous(self.cursor);
    }

    pub(super) fn right(&mut self) {
        self.cursor = self.next(self.cursor);
    }

    pub(super) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(super) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let end = rest[word..].find(char::is_whitespace).map_or(rest.len(), |end| word + end);
        self.cursor += end;
    }

    pub(super) fn line_start(&mut self) {
        self.cursor = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
    }

    pub(super) fn line_end(&mut self) {
        self.cursor = self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at);
    }

    /// Moves one line up; false if there is none.
    pub(super) fn up(&mut self) -> bool {
        let start = self.text[..self.cursor].rfind('\n');
        let Some(end) = start else { return false };
        let column = self.text[end + 1..self.cursor].chars().count();
        let above = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = above + nth(&self.text[above..end], column);
        true
    }

    /// Moves one line down; false if there is none.
    pub(super) fn down(&mut self) -> bool {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let column = self.text[start..self.cursor].chars().count();
        let Some(end) = self.text[self.cursor..].find('\n').map(|at| self.cursor + at) else { return false };
        let below = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.cursor = end + 1 + nth(&self.text[end + 1..below], column);
        true
    }

    pub(super) fn backspace(&mut self) {
        let from = self.previous(self.cursor);
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    pub(super) fn delete(&mut self) {
        let to = self.next(self.cursor);
        self.text.replace_range(self.cursor..to, "");
    }

    pub(super) fn delete_word(&mut self) {
        let from = self.word_start();
        self.kill(from, self.cursor);
    }

    pub(super) fn delete_to_start(&mut self) {
        let to = self.cursor;
        self.line_start();
        self.kill(self.cursor, to);
    }

    pub(super) fn delete_to_end(&mut self) {
        let from = self.cursor;
        self.line_end();
        self.kill(from, self.cursor);
    }

    pub(super) fn yank(&mut self) {
        let killed = self.killed.clone();
        self.text.insert_str(self.cursor, &killed);
        self.cursor += killed.len();
    }

    fn kill(&mut self, from: usize, to: usize) {
        self.killed = self.text[from..to].to_owned();
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn previous(&self, at: usize) -> usize {
        let before = &self.text[..at];
        let is_mark = |c: char| c.width() == Some(0) && c != '\n';
        before.char_indices().rev().find(|(_, c)| !is_mark(*c)).map_or(0, |(at, _)| at)
    }

    fn next(&self, at: usize) -> usize {
        let mut chars = self.text[at..].char_indices();
        chars.next();
        let is_mark = |c: char| c.width() == Some(0) && c != '\n';
        chars.find(|(_, c)| !is_mark(*c)).map_or(self.text.len(), |(n, _)| at + n)
    }

    /// The rows of the text behind a prompt, broken at the columns, at most this many around the cursor.
    pub(super) fn rows(&self, prompt: &str, columns: usize, most: usize) -> ComposerRows {
        let indent = view::width(prompt);
        let room = columns.saturating_sub(indent + 1).max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut cursor) = (0, (0, 0));
        for (at, c) in self.text.char_indices().chain([(self.text.len(), ' ')]) {
            if at == self.cursor {
                cursor = (rows.len() - 1, used);
            }
            if at == self.text.len() {
                break;
            }
            let shown = match fold_number(c).and_then(|n| self.folds.get(n)) {
                Some(paste) => fold_label(paste),
                None if c == '\t' => " ".to_owned(),
                None => c.to_string(),
            };
            let width = view::width(&shown);
            if c == '\n' || used > 0 && used + width > room {
                rows.push(String::new());
                used = 0;
                if at == self.cursor && c != '\n' {
                    cursor = (rows.len() - 1, 0);
                }
            }
            if c != '\n' {
                if let Some(row) = rows.last_mut() {
                    row.push_str(&shown);
                }
                used += width;
            }
        }
        let from = (cursor.0 + 1).saturating_sub(most.max(1));
        let shown = rows.iter().enumerate().skip(from).take(most.max(1));
        let rows = shown
            .map(|(n, row)| if n == 0 { format!("{prompt}{row}") } else { format!("{}{row}", " ".repeat(indent)) })
            .collect();
        ComposerRows { rows, cursor: (cursor.0 - from, cursor.1 + indent) }
    }
}

/// `[pasted 10,000 lines]`.
fn fold_label(paste: &str) -> String {
    let lines = paste.lines().count();
    if lines > 1 {
        format!("[pasted {} lines]", thousands(lines))
    } else {
        format!("[pasted {} characters]", thousands(paste.chars().count()))
    }
}

fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn fold_number(c: char) -> Option<usize> {
    (FIRST_FOLD..FIRST_FOLD + MOST_FOLDS).contains(&(c as u32)).then(|| (c as u32 - FIRST_FOLD) as usize)
}

fn nth(text: &str, column: usize) -> usize {
    text.char_indices().nth(column).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_edited_by_characters_words_and_lines() {
        let mut composer = Composer::of("one two");
        composer.delete_word();
        composer.insert("drei\nvier");
        assert!(composer.up() && !composer.up());
        composer.line_end();
        composer.insert("!");
        assert_eq!(composer.whole(), "one drei!\nvier");
        assert!(composer.down() && !composer.down());
        composer.delete_to_start();
        composer.yank();
        composer.line_start();
        composer.right();
        composer.delete();
        composer.backspace();
        assert_eq!(composer.whole(), "one drei!\ner");
        let mut accents = Composer::of("e\u{301}日");
        accents.left();
        accents.backspace();
        assert_eq!(accents.whole(), "日");
    }

    #[test]
    fn a_large_paste_is_shown_folded_and_sent_whole() {
        let lines = (0..10_000).map(|n| format!("line {n}\r\n")).collect::<Vec<_>>().concat();
        let mut composer = Composer::of("See ");
        composer.paste(&lines);
        composer.insert(" and say");
        assert_eq!(composer.folded(), "See [pasted 10,000 lines] and say");
        assert_eq!(composer.whole().lines().count(), 10_000 + 1);
        assert!(composer.whole().starts_with("See line 0\nline 1\n"));
        let rows = composer.rows("> ", 80, 5);
        assert_eq!(rows.rows, ["> See [pasted 10,000 lines] and say"]);
        (0.." and say".len()).for_each(|_| composer.left());
        composer.backspace();
        assert_eq!(composer.whole(), "See  and say");
        composer.paste("two\nlines");
        assert_eq!(composer.whole(), "See two\nlines and say");
    }

    #[test]
    fn rows_are_broken_at_the_columns_and_follow_the_cursor() {
        let composer = Composer::of("日本語の文章");
        assert_eq!(
            composer.rows("> ", 10, 5),
            ComposerRows { rows: vec!["> 日本語".into(), "  の文章".into()], cursor: (1, 8) }
        );
        let many = Composer::of("a\nb\nc\nd");
        assert_eq!(many.rows("> ", 10, 2), ComposerRows { rows: vec!["  c".into(), "  d".into()], cursor: (1, 3) });
        assert_eq!(Composer::default().rows("> ", 10, 2).cursor, (0, 2));
    }
}
