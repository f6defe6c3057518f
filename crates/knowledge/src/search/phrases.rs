//! Words between quotation marks stand next to each other in what is found, in any of their forms.

use rusqlite::{Connection, OptionalExtension};

use crate::text::{stem, words};

/// The most phrases of a question that count.
const MOST: usize = 8;

/// The stems of a phrase in order.
pub(super) type Phrase = Vec<String>;

/// The phrases of a question that occur somewhere, and the text of those that do not. The latter are searched for as
/// plain words.
pub(super) fn read(question: &str, connection: &Connection) -> rusqlite::Result<(Vec<Phrase>, Vec<String>)> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for text in quoted(question).into_iter().take(MOST) {
        let phrase: Phrase = words(text).iter().map(|word| stem(&word.folded)).collect();
        if phrase.len() < 2 {
            continue;
        }
        let mut find = connection.prepare_cached("SELECT 1 FROM words WHERE words MATCH ?1 LIMIT 1")?;
        match find.query_row([query(&phrase)], |_| Ok(())).optional()? {
            Some(()) => known.push(phrase),
            None => unknown.push(format!("\"{text}\"")),
        }
    }
    Ok((known, unknown))
}

/// A phrase as SQLite's index is asked for it. Stems are letters and digits only, so quotes are all the care they need.
pub(super) fn query(phrase: &[String]) -> String {
    format!("{{stems heading}} : \"{}\"", phrase.join(" "))
}

/// What stands between straight or typographic quotation marks. A mark without its partner means nothing.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '“', '„', '«']) {
        let opening = rest[start..].chars().next().map_or(1, char::len_utf8);
        let inside = &rest[start + opening..];
        let Some(end) = inside.find(['"', '”', '“', '»']) else { break };
        found.push(inside[..end].trim());
        let closing = inside[end..].chars().next().map_or(1, char::len_utf8);
        rest = &inside[end + closing..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_stands_between_quotation_marks_is_a_phrase() {
        assert_eq!(
            quoted("what does \"exit code\" mean, „an Bord“ or “on board”"),
            ["exit code", "an Bord", "on board"]
        );
        assert_eq!(quoted("a 5\" disk"), [""; 0]);
    }
}
