//! Leaves out tags that are nested deeper than any page needs. The parser looks through all open elements for every tag,
//! so that a page of nothing but openings would take it hours.

use std::borrow::Cow;

/// Elements that end by themselves when the next one begins, or have no end at all.
const NOT_COUNTED: [&str; 31] = [
    "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "rb", "rt",
    "rp", "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "html",
    "body",
];
/// Elements whose content is no markup.
const RAW: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "noframes"];

/// The page without the tags below `most` levels. Lines stay where they are.
pub(super) fn flattened(page: &str, most: usize) -> Cow<'_, str> {
    let mut kept = String::new();
    // Up to where the page has been copied.
    let mut copied = 0;
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(found) = page[at..].find('<') {
        let start = at + found;
        let Some((name, is_closing, end)) = tag(page, start) else {
            at = start + 1;
            continue;
        };
        at = end;
        if RAW.contains(&name.as_str()) && !is_closing {
            at = raw_end(page, end, &name);
            continue;
        }
        if NOT_COUNTED.contains(&name.as_str()) || name.is_empty() {
            continue;
        }
        let is_deep = if is_closing { depth > most } else { depth >= most };
        depth = if is_closing { depth.saturating_sub(1) } else { depth + 1 };
        if is_deep {
            kept.push_str(&page[copied..start]);
            kept.extend(page[start..end].chars().filter(|c| *c == '\n'));
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(page);
    }
    kept.push_str(&page[copied..]);
    Cow::Owned(kept)
}

/// The name of the tag that begins here, in small letters, whether it closes, and where it ends. A comment has no name.
fn tag(page: &str, start: usize) -> Option<(String, bool, usize)> {
    let rest = &page[start + 1..];
    if rest.starts_with("!--") {
        let end = rest.find("-->").map_or(page.len(), |end| start + 1 + end + 3);
        return Some((String::new(), false, end));
    }
    let is_closing = rest.starts_with('/');
    let inner = rest.strip_prefix('/').unwrap_or(rest);
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let name: String = inner.chars().take_while(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let mut quote = None;
    let mut previous = 0;
    for (index, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((name, is_closing, start + 1 + usize::from(is_closing) + index + 1)),
            // A quote opens a value only after `=`.
            (None, b'"' | b'\'') if previous == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            previous = byte;
        }
    }
    Some((name, is_closing, page.len()))
}

fn raw_end(page: &str, from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(found) = page[at..].find("</") {
        let start = at + found;
        let is_end = page
            .as_bytes()
            .get(start + 2..start + 2 + name.len())
            .is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()));
        if is_end {
            return start;
        }
        at = start + 2;
    }
    page.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_deep_is_left_out() {
        let page = "<div title='a>b'><b>x<i\n>y</i></b><!-- <div> --><script>if (a<b) '<div>'</script><p>z</div>";
        assert_eq!(flattened(page, 3), page);
        assert_eq!(flattened(page, 2), page.replace("<i\n>", "\n").replace("</i>", ""));
    }
}
