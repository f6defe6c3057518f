//! Finds a word of the index that resembles one that does not occur in it.

use strsim::osa_distance;

use super::WordLookup;

/// The most words of the index that are compared. A prefix of one letter in a large index stands for more than that.
const MOST_COMPARED: i64 = 200_000;

/// The occurring word that is nearest to a stem: one change for words of four letters or more, two from eight. Among
/// equals the one that occurs in more chunks. If nothing is that near, the most frequent continuation of the word.
pub(super) fn correct(index: &WordLookup<'_>, stem: &str) -> rusqlite::Result<Option<String>> {
    let length = stem.chars().count();
    let is_word = stem.bytes().all(|byte| byte.is_ascii_lowercase());
    let (Some(first), true, 4..=40) = (stem.chars().next(), is_word, length) else { return Ok(None) };
    let most = if length >= 8 { 2 } else { 1 };
    let mut best: Option<(usize, i64, String)> = None;
    let mut continuation: Option<(i64, String)> = None;
    let mut consider = |term: String, documents: i64| {
        if term.starts_with(stem) && continuation.as_ref().is_none_or(|(most, _)| documents > *most) {
            continuation = Some((documents, term.clone()));
        }
        let distance = distance(stem, &term, most);
        let is_better = best.as_ref().is_none_or(|(least, frequency, _)| (distance, -documents) < (*least, -frequency));
        if distance <= most && is_better {
            best = Some((distance, documents, term));
        }
    };
    let mut range =
        index.connection.prepare_cached("SELECT term, doc FROM vocabulary WHERE term >= ?1 AND term < ?2 LIMIT ?3")?;
    let mut rows = range.query((first.to_string(), format!("{first}\u{10ffff}"), MOST_COMPARED))?;
    while let Some(row) = rows.next()? {
        consider(row.get(0)?, row.get(1)?);
    }
    for changed in other_beginnings(stem) {
        let documents = index.count(&changed)?;
        if documents > 0 {
            consider(changed, documents);
        }
    }
    Ok(best.map(|(_, _, term)| term).or(continuation.map(|(_, term)| term)))
}

/// The number of changes. A misspelled ending is not cut off as an ending, so a stem with up to four letters after it
/// counts as one change: `connectoin` for `connect`.
fn distance(word: &str, term: &str, most: usize) -> usize {
    let (long, short) = (word.chars().count(), term.chars().count());
    if long.abs_diff(short) <= most {
        return osa_distance(word, term);
    }
    let has_ending = short >= 5 && (1..=4).contains(&long.saturating_sub(short)) && term.is_ascii();
    if has_ending { 1 + osa_distance(&word[..short], term) } else { usize::MAX }
}

/// The word with its first letter left out, replaced, exchanged with the second, or one put before it.
fn other_beginnings(stem: &str) -> Vec<String> {
    let rest = &stem[1..];
    let mut list = vec![rest.to_owned()];
    let mut exchanged: Vec<char> = stem.chars().collect();
    exchanged.swap(0, 1);
    list.push(exchanged.into_iter().collect());
    for letter in 'a'..='z' {
        list.push(format!("{letter}{rest}"));
        list.push(format!("{letter}{stem}"));
    }
    list
}
