//! Text and attributes of SVG: escaped, measured, cut to a width.

use std::fmt::Write as _;

/// Adds text that a browser shows as it is. What XML does not allow is shown as a replacement character.
pub(crate) fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Adds ` name="value"`, escaped.
pub(crate) fn attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape(out, value);
    out.push('"');
}

/// Adds a line of text with its left end at `x` and its base line at `y`.
pub(crate) fn text(out: &mut String, class: &str, (x, y): (f64, f64), words: &str) {
    if words.is_empty() {
        return;
    }
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">");
    escape(out, words);
    out.push_str("</text>");
}

/// The text, cut so that it fits `width` letters; wide characters count as two.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().map(letters).sum::<usize>() <= width {
        return text;
    }
    let mut room = width.saturating_sub(1);
    let mut kept = String::new();
    for c in text.chars() {
        let Some(left) = room.checked_sub(letters(c)) else { break };
        room = left;
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// How many letters wide a character is, roughly: the text is set in the reader's own font.
fn letters(c: char) -> usize {
    match c {
        '\u{0300}'..='\u{036f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_markup_is_escaped() {
        let mut out = String::new();
        attribute(&mut out, "aria-label", "a\"><script>'&\u{0}\u{1b}[31m\n");
        assert_eq!(out, " aria-label=\"a&quot;&gt;&lt;script&gt;&#39;&amp;\u{fffd}\u{fffd}[31m \"");
    }

    #[test]
    fn text_is_cut_by_its_width() {
        assert_eq!(cut("one  two\nthree", 13), "one two three");
        assert_eq!(cut("one two three", 9), "one two…");
        assert_eq!(cut("検索と要約", 7), "検索と…");
    }
}
