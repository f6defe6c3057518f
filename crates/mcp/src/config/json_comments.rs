//! JSON as people write it by hand: with comments and trailing commas.

use serde_json::Value;

/// Reads JSON, JSON with `//` and `/* */` comments, and JSON with commas before closing brackets.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let text = text.trim_start_matches('\u{feff}');
    // Plain JSON is tried first, so that error positions refer to the original text.
    serde_json::from_str(text).or_else(|fault| serde_json::from_str(&plain(text)).map_err(|_| fault))
}

/// The same text with blanks in place of comments and trailing commas.
fn plain(text: &str) -> String {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            ('"', _) => copy_string(&mut out, &mut rest),
            ('/', Some('/')) => while rest.next_if(|next| *next != '\n').is_some() {},
            ('/', Some('*')) => skip_block(&mut rest),
            ('}' | ']', _) => {
                drop_comma(&mut out);
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out.into_iter().collect()
}

fn copy_string(out: &mut Vec<char>, rest: &mut impl Iterator<Item = char>) {
    out.push('"');
    while let Some(letter) = rest.next() {
        out.push(letter);
        match letter {
            '"' => return,
            '\\' => out.extend(rest.next()),
            _ => {}
        }
    }
}

fn skip_block(rest: &mut std::iter::Peekable<impl Iterator<Item = char>>) {
    rest.next();
    while let Some(letter) = rest.next() {
        if letter == '*' && rest.next_if_eq(&'/').is_some() {
            return;
        }
    }
}

fn drop_comma(out: &mut [char]) {
    if let Some(last) = out.iter_mut().rev().find(|letter| !letter.is_whitespace())
        && *last == ','
    {
        *last = ' ';
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_over_but_not_inside_strings() {
        let text = "{ // servers\n \"a\": [1, 2, /* three */ ], \"url\": \"http://x/*y*/,]\\\"//\", }";
        assert_eq!(parse(text).unwrap(), json!({"a": [1, 2], "url": "http://x/*y*/,]\"//"}));
    }

    #[test]
    fn a_fault_is_told_at_the_place_where_it_stands() {
        assert_eq!(parse("{\n  \"a\": oops\n}").unwrap_err().line(), 2);
    }
}
