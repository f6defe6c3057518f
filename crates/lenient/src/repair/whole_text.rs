//! Corrects faults that affect the whole text before it is read.

use std::borrow::Cow;

use super::JsonFault;

/// The corrected text, and which fault it had.
pub(super) fn put_right(text: &str) -> (Cow<'_, str>, Option<JsonFault>) {
    if let Some(unescaped) = unescape_structure(text) {
        return (Cow::Owned(unescaped), Some(JsonFault::NeedlessEscape));
    }
    if let Some(narrow) = narrow(text) {
        return (Cow::Owned(narrow), Some(JsonFault::FullWidth));
    }
    (Cow::Borrowed(text), None)
}

/// The text without one layer of escapes, if even its structure is escaped: `{\"a\": \"b\"}`.
fn unescape_structure(text: &str) -> Option<String> {
    let open = text.bytes().position(|b| matches!(b, b'{' | b'['))?;
    let inner = text.get(open + 1..)?.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    let inner = inner.strip_prefix("\\n").unwrap_or(inner).trim_start();
    if !inner.starts_with("\\\"") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Replaces full-width punctuation outside of strings by plain punctuation: `｛"a"：1｝`. Positions stay the same.
fn narrow(text: &str) -> Option<String> {
    const SIGNS: [char; 7] = ['｛', '｝', '［', '］', '：', '，', '；'];
    if text.is_ascii() || !text.contains(SIGNS) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut end_quote = None;
    let mut has_changed = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if end_quote.is_some() {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                _ if Some(c) == end_quote => end_quote = None,
                _ => {}
            }
            continue;
        }
        let plain = match c {
            '｛' => '{',
            '｝' => '}',
            '［' => '[',
            '］' => ']',
            '：' => ':',
            '，' => ',',
            '；' => ';',
            _ => {
                end_quote = match c {
                    '"' => Some('"'),
                    '“' | '”' => Some('”'),
                    _ => None,
                };
                out.push(c);
                continue;
            }
        };
        has_changed = true;
        out.push(plain);
        out.push_str("  "); // the sign takes three bytes
    }
    has_changed.then_some(out)
}
