//! Cuts text to a maximum size: keeps the head and the tail, and marks what is missing.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Longer lines of an output are cut: a model cannot do much with them, and one may be the whole output.
const MAX_LINE_CHARACTERS: usize = 2_000;

/// An output for a model, if it is too long: long lines are cut, and of many lines the head and the tail are kept. Returns `None` if it fits as
/// it is.
pub(crate) fn for_model(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let lines = short_lines(text);
    let ends = head_and_tail(&lines, limit);
    if ends.is_none()
        && let Cow::Owned(cut) = lines
    {
        Some(cut)
    } else {
        ends
    }
}

/// The text with its long lines cut.
fn short_lines(text: &str) -> Cow<'_, str> {
    // No line has more characters than bytes.
    if text.lines().all(|line| line.len() <= MAX_LINE_CHARACTERS) {
        return Cow::Borrowed(text);
    }
    let mut cut = String::with_capacity(text.len().min(1 << 20));
    for line in text.split_inclusive('\n') {
        match line.char_indices().nth(MAX_LINE_CHARACTERS) {
            Some((at, _)) if line.len() > at + 1 => {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                let all = line.trim_end_matches('\n').chars().count();
                let _ = write!(cut, "{}… [line of {all} characters cut]{end}", &line[..at]);
            }
            Some(_) | None => cut.push_str(line),
        }
    }
    Cow::Owned(cut)
}

/// The head and tail of a text that is too long, with a line between them that says how much was left out. Returns
/// `None` if the text fits.
pub(crate) fn head_and_tail(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let head = tidy_end(text, text.floor_char_boundary(limit / 3 * 2));
    let tail = tidy_start(text, text.ceil_char_boundary(text.len() - limit / 3));
    Some(format!("{}\n[… {} of {} bytes left out …]\n{}", &text[..head], tail - head, text.len(), &text[tail..]))
}

/// At most `limit` bytes of a single line, with an ellipsis where it was cut.
pub(crate) fn line(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

/// Moves a cut back to the end of a line, if there is one near.
fn tidy_end(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(200));
    text[near..at].rfind('\n').map_or(at, |offset| near + offset)
}

/// Moves a cut forward to the start of a line, if there is one near.
fn tidy_start(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary((at + 200).min(text.len()));
    text[at..near].find('\n').map_or(at, |offset| at + offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_and_the_middle_is_counted() {
        let text = format!("first\n{}\nlast\n", "é".repeat(500));
        let cut = head_and_tail(&text, 90).unwrap();
        assert!(cut.starts_with("first\n"), "{cut}");
        assert!(cut.ends_with("last\n"), "{cut}");
        assert!(cut.contains("bytes left out"), "{cut}");
        assert!(cut.len() < 200, "{cut}");
        assert_eq!(head_and_tail("short", 90), None);
    }

    #[test]
    fn long_lines_are_cut_before_the_whole_is() {
        let text = format!("first\n{}\nlast\n", "é".repeat(5_000));
        assert_eq!(for_model(&text, 16 << 10), None);
        let cut = for_model(&text, 8 << 10).unwrap();
        let line = format!("{}… [line of 5000 characters cut]", "é".repeat(MAX_LINE_CHARACTERS));
        assert_eq!(cut, format!("first\n{line}\nlast\n"));
        assert_eq!(for_model(&"é\n".repeat(2_000), 16 << 10), None);
        assert!(for_model(&"x\n".repeat(20_000), 16 << 10).unwrap().contains("bytes left out"));
    }

    #[test]
    fn a_tiny_limit_does_not_split_a_character() {
        for limit in 0..8 {
            assert!(head_and_tail("ééééééééé", limit).is_some());
            assert!(line("ééééééééé", limit).ends_with('…'));
        }
    }
}
