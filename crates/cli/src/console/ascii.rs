//! Plain marks for terminals without Unicode.

use unicode_width::UnicodeWidthChar as _;

use crate::folders;

/// Whether the terminal shows Unicode, by the locale. If no locale is set, it most likely does.
pub(super) fn shows_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| folders::set(name));
    locale.is_none_or(|locale| is_unicode(&locale))
}

fn is_unicode(locale: &str) -> bool {
    let locale = locale.to_lowercase().replace('-', "");
    locale.contains("utf8")
}

/// The line in ASCII: our marks as similar ones, other characters as question marks. Takes as many columns as before.
pub(super) fn ascii(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            c if c.is_ascii() => plain.push(c),
            '✓' => plain.push('+'),
            '✗' => plain.push('x'),
            '›' | '→' | '↳' => plain.push('>'),
            '•' | '●' | '○' => plain.push('*'),
            '·' | '─' | '–' | '—' => plain.push('-'),
            '│' | '├' => plain.push('|'),
            '└' => plain.push('`'),
            '…' => plain.push('~'),
            '↻' => plain.push('@'),
            '“' | '”' => plain.push('"'),
            '‘' | '’' => plain.push('\''),
            '\u{2800}'..='\u{28ff}' => plain.push(['|', '/', '-', '\\'][c as usize % 4]),
            c => plain.extend(std::iter::repeat_n('?', c.width().unwrap_or_default())),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_marks_and_widths_stay_the_same() {
        let line = "  \x1b[32m✓\x1b[0m read é 日本 › a · b …";
        assert_eq!(ascii(line), "  \x1b[32m+\x1b[0m read ? ???? > a - b ~");
        assert!(is_unicode("de_DE.UTF-8") && is_unicode("C.utf8") && !is_unicode("C") && !is_unicode("de_DE@euro"));
    }
}
