//! The part of a passage that shows best why it was found.

use std::collections::HashSet;

use super::Snippet;
use super::terms::Term;
use crate::text::{parts, stem, words};

/// The most bytes of a snippet.
const LONGEST: usize = 320;

/// The window with the most telling words of the question, from a beginning of a line or sentence where there is one.
pub(super) fn snippet(text: &str, terms: &[Term]) -> Snippet {
    let marks = marks(text, terms);
    let start = best_start(&marks);
    let start = begin_at_boundary(text, start);
    let end = end_at_space(text, start);
    let shown = text[start..end].trim_end();
    let end = start + shown.len();
    let inside = marks.iter().filter(|(range, _)| range.start >= start && range.end <= end);
    let marks = inside.map(|(range, _)| range.start - start..range.end - start).collect();
    Snippet { text: shown.to_owned(), marks: joined(marks) }
}

/// Where words of the question stand, and which.
fn marks(text: &str, terms: &[Term]) -> Vec<(std::ops::Range<usize>, usize)> {
    let term_of = |stem: &str| terms.iter().position(|term| term.stem == stem);
    let mut marks = Vec::new();
    for word in words(text) {
        let inside = || parts(&text[word.range.clone()]).iter().find_map(|part| term_of(&stem(part)));
        if let Some(term) = term_of(&stem(&word.folded)).or_else(inside) {
            marks.push((word.range, term));
        }
    }
    marks.iter().map(|(range, term)| (range.clone(), *term)).collect()
}

/// The mark from which most different words fit into a snippet.
fn best_start(marks: &[(std::ops::Range<usize>, usize)]) -> usize {
    let different = |from: usize| {
        let reach = marks[from].0.start + LONGEST * 3 / 4;
        let inside = marks[from..].iter().take_while(|(range, _)| range.end <= reach);
        inside.map(|(_, term)| *term).collect::<HashSet<_>>().len()
    };
    let best = (0..marks.len()).max_by_key(|at| (different(*at), usize::MAX - at));
    best.map_or(0, |at| marks[at].0.start)
}

/// Goes back to the beginning of the line or sentence, if it is near, else to that of a word.
fn begin_at_boundary(text: &str, at: usize) -> usize {
    let earliest = text.floor_char_boundary(at.saturating_sub(LONGEST / 4));
    let before = &text[earliest..at];
    if earliest == 0 && !before.contains('\n') {
        return 0;
    }
    let ends = ["\n", ". ", "。", " "].map(|mark| before.rfind(mark).map(|found| earliest + found + mark.len()));
    ends.into_iter().flatten().next().unwrap_or(at)
}

fn end_at_space(text: &str, start: usize) -> usize {
    if text.len() - start <= LONGEST {
        return text.len();
    }
    let most = text.floor_char_boundary(start + LONGEST);
    text[start..most].rfind(char::is_whitespace).filter(|end| *end > LONGEST / 2).map_or(most, |end| start + end)
}

/// Pairs of characters overlap; their marks become one.
fn joined(marks: Vec<std::ops::Range<usize>>) -> Vec<std::ops::Range<usize>> {
    let mut joined: Vec<std::ops::Range<usize>> = Vec::new();
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start < last.end => last.end = last.end.max(mark.end),
            Some(_) | None => joined.push(mark),
        }
    }
    joined
}
