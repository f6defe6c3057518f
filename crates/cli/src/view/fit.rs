//! Fits text to a terminal: measures columns, cuts, wraps at words.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::folders;
use crate::out;

/// The columns that a text without colour codes takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text on one line, cut to at most this many columns. Control characters become spaces.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let line: String = text.trim().chars().map(|c| if c == '\n' || out::steers(c) { ' ' } else { c }).collect();
    if width(&line) <= columns {
        return line;
    }
    let mut cut = beginning(&line, columns.saturating_sub(1)).trim_end().to_owned();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// A text in exactly this many columns.
pub(crate) fn column(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns);
    text.push_str(&" ".repeat(columns.saturating_sub(width(&text))));
    text
}

/// As much of the beginning as fits.
fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            return &text[..at];
        }
    }
    text
}

/// Wraps a line that may have our colours at its spaces. What follows is indented a little further. Commands in backticks stay
/// together, and what is longer than the line is left to the terminal to break, so that both are copied as they are.
pub(crate) fn wrap_painted(line: &str, columns: usize) -> Vec<String> {
    if width(&out::without_colours(line)) <= columns {
        return vec![line.to_owned()];
    }
    let indent = (line.len() - line.trim_start_matches(' ').len() + 2).min(columns / 2);
    let (mut lines, mut colour) = (Vec::new(), String::new());
    let (mut current, mut used, mut has_words) = (String::new(), 0, false);
    let is_quoted = line.matches('`').count().is_multiple_of(2);
    let mut in_quotes = false;
    let pieces = line.split_inclusive(|c: char| {
        in_quotes ^= is_quoted && c == '`';
        c == ' ' && !in_quotes
    });
    for word in pieces {
        let plain = out::without_colours(word);
        if has_words && used + width(plain.trim_end()) > columns {
            let end = if colour.is_empty() { "" } else { "\x1b[0m" };
            lines.push(format!("{}{end}", current.trim_end()));
            (current, used, has_words) = (format!("{}{colour}", " ".repeat(indent)), indent, false);
        }
        current.push_str(word);
        used += width(&plain);
        has_words |= !plain.trim().is_empty();
        for code in word.split('\x1b').skip(1).filter_map(|part| part.split_once('m').map(|(code, _)| code)) {
            colour = if code == "[0" { String::new() } else { format!("{colour}\x1b{code}m") };
        }
    }
    lines.push(current);
    lines
}

/// Wraps a text at spaces into lines of at most this many columns; breaks words that are longer than a line. Keeps line
/// breaks.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(4);
    let mut lines = Vec::new();
    for whole in out::harmless(text).lines() {
        let mut line = String::new();
        for word in whole.split_whitespace() {
            let mut word = word;
            if !line.is_empty() && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut line));
            }
            while width(word) > columns {
                let first = beginning(word, columns);
                lines.push(first.to_owned());
                word = &word[first.len()..];
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Rows and columns of the terminal on standard error, or else on standard output.
pub(crate) fn size() -> (usize, usize) {
    let columns = || folders::set("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(80);
    told_size().filter(|(rows, columns)| *rows > 0 && *columns > 0).unwrap_or_else(|| (24, columns()))
}

#[cfg(unix)]
fn told_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let size = size.or_else(|_| rustix::termios::tcgetwinsize(std::io::stdout())).ok()?;
    Some((size.ws_row.into(), size.ws_col.into()))
}

/// Not supported on Windows.
#[cfg(not(unix))]
fn told_size() -> Option<(usize, usize)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_the_columns_it_takes() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer text", 7), "longer…");
        assert_eq!(cut("日本語の文", 5), "日本…");
        assert_eq!(cut("two\nlines\u{1b}[2J", 80), "two lines [2J");
        assert_eq!((cut("x", 0), width(&column("日本語", 5))), (String::new(), 5));
    }

    #[test]
    fn a_text_is_wrapped_at_words_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(wrap("a 0123456789", 5), ["a", "01234", "56789"]);
    }

    #[test]
    fn a_painted_line_keeps_its_colour_and_its_indentation_and_long_words_stay_whole() {
        assert_eq!(wrap_painted("it fits", 9), ["it fits"]);
        assert_eq!(wrap_painted("  hint: `one two` three", 12), ["  hint:", "    `one two`", "    three"]);
        let paint = out::Paint::on();
        let line = format!("{} two", paint.dim("one and"));
        assert_eq!(wrap_painted(&line, 6), ["\u{1b}[2mone\u{1b}[0m", "  \u{1b}[2mand\u{1b}[0m", "  two"]);
        assert_eq!(
            wrap_painted("see http://example.org/a/b/c now", 10),
            ["see", "  http://example.org/a/b/c", "  now"]
        );
    }
}
