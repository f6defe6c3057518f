//! Words that the best candidates share count for the others too: a question about `wings` is also about `lift`.

use std::collections::HashMap;

use rusqlite::Connection;

use super::score::{Candidate, Lexicon, Scorer};
use super::terms::{QuestionTerms, idf, occurrences};
use crate::text::is_stop_word;

/// How many candidates are believed.
const BEST: usize = 5;
/// How many of their words are taken.
const WORDS: usize = 20;
/// What these words count together, compared with those of the question.
const SHARE: f64 = 0.4;

/// Adds to the score of each candidate what it has of the words that the best ones share. Candidates must be in the order
/// of their scores; they are sorted again.
pub(super) fn apply(
    connection: &Connection,
    (question, scorer): (&QuestionTerms, &Scorer<'_>),
    (candidates, lexicon): (&mut [Candidate], &Lexicon),
    chunks: i64,
) -> rusqlite::Result<()> {
    let best = &candidates[..BEST.min(candidates.len())];
    let (Some(first), Some(last)) = (best.first(), best.last()) else { return Ok(()) };
    if best.len() < BEST || last.score <= 0.0 {
        return Ok(());
    }
    // If one candidate stands out, it is probably the only answer, and what it shares with others misleads.
    let trust = (last.score / first.score).powi(2);
    let words = shared_words(connection, (best, lexicon, scorer), chunks)?;
    let asked: f64 = question.terms.iter().map(|term| term.weight).sum();
    let total: f64 = words.iter().map(|word| word.1).sum();
    for candidate in &mut *candidates {
        let counts = candidate.stems(lexicon);
        let gain = |(stem, weight, idf): &(u32, f64, f64)| {
            let count = counts.get(stem).copied().unwrap_or_default();
            weight / total * idf * scorer.saturate(count, candidate)
        };
        let gain: f64 = words.iter().map(gain).sum();
        candidate.score += SHARE * trust * asked * gain;
    }
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    Ok(())
}

/// Stems that at least two of the best have, with their weights and how much they tell.
fn shared_words(
    connection: &Connection,
    (best, lexicon, scorer): (&[Candidate], &Lexicon, &Scorer<'_>),
    chunks: i64,
) -> rusqlite::Result<Vec<(u32, f64, f64)>> {
    let sum: f64 = best.iter().map(|candidate| candidate.score).sum();
    let mut found: HashMap<u32, (usize, f64)> = HashMap::new();
    for candidate in best {
        for (stem, count) in candidate.stems(lexicon) {
            let entry = found.entry(stem).or_default();
            entry.0 += 1;
            entry.1 += candidate.score / sum * scorer.saturate(count, candidate);
        }
    }
    let mut words = Vec::new();
    for (stem, (holders, weight)) in found {
        let spelled = lexicon.spelled(stem);
        if holders >= 2 && spelled.len() > 1 && !is_stop_word(spelled) {
            let idf = idf(occurrences(connection, spelled)?, chunks);
            words.push((stem, weight * idf, idf));
        }
    }
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(lexicon.spelled(a.0).cmp(lexicon.spelled(b.0))));
    words.truncate(WORDS);
    Ok(words)
}
