//! Finds sentences in consecutive lines, so that a sentence over several lines is quoted whole.

/// A quotable piece of a block of lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Index of its first line in the block.
    pub(super) first: usize,
    /// Index of its last line.
    pub(super) last: usize,
    pub(super) text: String,
}

/// Longer lines are split into sentences for quoting.
const LONG_LINE: usize = 240;
/// Longer sentences, and lists without full stops, are quoted two lines at a time.
const LONG_SENTENCE: usize = 480;

/// The pieces of a block of trimmed lines. Each is a part of the lines joined by single spaces.
pub(super) fn pieces(lines: &[String]) -> Vec<Piece> {
    let joined = lines.join(" ");
    let mut starts = Vec::with_capacity(lines.len());
    let mut at = 0;
    for line in lines {
        starts.push(at);
        at += line.len() + 1;
    }
    let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
    let mut found: Vec<Piece> = Vec::new();
    for (from, to) in with_what_they_refer_to(&joined, sentences(&joined)) {
        let (first, last) = (line_of(from), line_of(to.saturating_sub(1)));
        let sentence = &joined[from..to];
        if first != last && sentence.chars().count() > LONG_SENTENCE {
            found.extend((first..last).map(|at| Piece { first: at, last: at + 1, text: lines[at..=at + 1].join(" ") }));
            continue;
        }
        let is_whole = first == last
            && lines[first].chars().count() <= LONG_LINE
            && holds_whole_sentences(&joined, starts[first], &lines[first]);
        let text = if is_whole { lines[first].clone() } else { sentence.to_owned() };
        found.push(Piece { first, last, text });
    }
    found.dedup();
    found
}

/// Whether a line neither begins nor ends inside a sentence.
fn holds_whole_sentences(joined: &str, start: usize, line: &str) -> bool {
    let ends = |text: &str| text.trim_end_matches(['"', ')', '*', '_', '`', '”']).ends_with(['.', '!', '?', ':']);
    let before = joined[..start].trim_end();
    let is_last = start + line.len() >= joined.len();
    (before.is_empty() || ends(before)) && (is_last || ends(line))
}

/// Where sentences begin and end.
fn sentences(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    for (index, &(at, c)) in chars.iter().enumerate() {
        if !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let mut end = index + 1;
        while chars.get(end).is_some_and(|(_, c)| matches!(c, '"' | ')' | '*' | '_' | '`' | '”')) {
            end += 1;
        }
        let is_end = match (chars.get(end), chars.get(end + 1)) {
            (None, _) => true,
            (Some((_, space)), next) => space.is_whitespace() && next.is_none_or(|(_, c)| !c.is_lowercase()),
        };
        if is_end && !is_abbreviation(&text[start..at], c) {
            let stop = chars.get(end).map_or(text.len(), |(at, _)| *at);
            push_trimmed(&mut found, text, start, stop);
            start = stop;
        }
    }
    push_trimmed(&mut found, text, start, text.len());
    found
}

fn push_trimmed(found: &mut Vec<(usize, usize)>, text: &str, from: usize, to: usize) {
    let piece = &text[from..to];
    let from = from + piece.len() - piece.trim_start().len();
    let to = from + piece.trim().len();
    if piece.chars().any(char::is_alphanumeric) {
        found.push((from, to));
    }
}

fn is_abbreviation(before: &str, mark: char) -> bool {
    let last = before.rsplit([' ', '(']).next().unwrap_or(before);
    let is_initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    let is_list_number = before.trim().chars().all(|c| c.is_ascii_digit());
    let known = ["e.g", "i.e", "etc", "vs", "cf", "Dr", "Mr", "Mrs", "Prof", "St", "No", "approx", "ca", "z.B", "d.h"];
    mark == '.' && (is_initial || is_list_number || known.contains(&last))
}

/// A sentence that begins with a pronoun is quoted with the one before it.
fn with_what_they_refer_to(text: &str, sentences: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::with_capacity(sentences.len());
    let mut before: Option<(usize, usize)> = None;
    for (from, to) in sentences {
        let first = text[from..to].split_whitespace().next().unwrap_or_default();
        let refers = matches!(
            first,
            "It" | "Its" | "They" | "Their" | "He" | "She" | "His" | "Her" | "There" | "Es" | "Sie" | "Er"
        );
        match before {
            Some((start, _)) if refers && text[start..to].chars().count() <= LONG_SENTENCE => found.push((start, to)),
            _ => found.push((from, to)),
        }
        before = Some((from, to));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_over_two_lines_is_one_piece() {
        let lines = ["First one. The tank", "holds 40 litres. It is", "blue."].map(str::to_owned);
        let found: Vec<_> = pieces(&lines).into_iter().map(|piece| (piece.first, piece.last, piece.text)).collect();
        assert_eq!(
            found,
            [
                (0, 0, "First one.".to_owned()),
                (0, 1, "The tank holds 40 litres.".to_owned()),
                (0, 2, "The tank holds 40 litres. It is blue.".to_owned()),
            ]
        );
    }
}
