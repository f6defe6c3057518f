//! Words that the best candidates share count for the others too: a question about `wings` is also about `lift`.

use std::collections::BTreeMap;

use super::WordLookup;
use super::score::{Candidate, Lexicon, Scorer};
use super::terms::{QuestionTerms, idf};
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
    index: &WordLookup<'_>,
    (question, scorer): (&QuestionTerms, &Scorer<'_>),
    (candidates, lexicon): (&mut [Candidate], &Lexicon),
) -> rusqlite::Result<()> {
    let best = &candidates[..BEST.min(candidates.len())];
    let (Some(first), Some(last)) = (best.first(), best.last()) else { return Ok(()) };
    if best.len() < BEST || last.score <= 0.0 {
        return Ok(());
    }
    // If one candidate stands out, it is probably the only answer, and what it shares with others misleads.
    let trust = (last.score / first.score).powi(2);
    let words = shared_words(index, (candidates, lexicon, scorer))?;
    let asked: f64 = question.terms.iter().map(|term| term.weight).sum();
    let total: f64 = words.iter().map(|word| word.1).sum();
    let mut place_of = vec![None; lexicon.len()];
    for (at, (stem, _, _)) in words.iter().enumerate() {
        place_of[*stem as usize] = Some(at);
    }
    for candidate in &mut *candidates {
        let mut counts = [0.0; WORDS];
        for at in candidate.stems(lexicon).filter_map(|stem| place_of[stem as usize]) {
            counts[at] += 1.0;
        }
        let gain = |((_, weight, idf), count): (&(u32, f64, f64), f64)| {
            weight / total * idf * scorer.saturate(count, candidate)
        };
        let gain: f64 = words.iter().zip(counts).map(gain).sum();
        candidate.score += SHARE * trust * asked * gain;
    }
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    Ok(())
}

/// Stems that at least two of the best have, with their weights and how much they tell.
fn shared_words(
    index: &WordLookup<'_>,
    (candidates, lexicon, scorer): (&[Candidate], &Lexicon, &Scorer<'_>),
) -> rusqlite::Result<Vec<(u32, f64, f64)>> {
    let best = &candidates[..BEST];
    let sum: f64 = best.iter().map(|candidate| candidate.score).sum();
    let mut found: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for candidate in best {
        let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
        candidate.stems(lexicon).for_each(|stem| *counts.entry(stem).or_default() += 1.0);
        for (stem, count) in counts {
            let entry = found.entry(stem).or_default();
            entry.0 += 1;
            entry.1 += candidate.score / sum * scorer.saturate(count, candidate);
        }
    }
    let is_wanted = |stem: u32| lexicon.spelled(stem).len() > 1 && !is_stop_word(lexicon.spelled(stem));
    found.retain(|stem, (holders, _)| *holders >= 2 && is_wanted(*stem));
    let mut words: Vec<(u32, f64, f64)> = found.into_iter().map(|(stem, (_, weight))| (stem, weight, 0.0)).collect();
    // How often a word occurs in the whole index takes a look at the index: only those that are rare enough among the
    // candidates get one.
    let frequent = frequencies(candidates, lexicon);
    let worth = |word: &(u32, f64, f64)| word.1 * idf(frequent[word.0 as usize], candidates.len() as i64);
    words.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.0.cmp(&b.0)));
    words.truncate(2 * WORDS);
    for word in &mut words {
        word.2 = idf(index.count(lexicon.spelled(word.0))?, index.totals.chunks);
        word.1 *= word.2;
    }
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(lexicon.spelled(a.0).cmp(lexicon.spelled(b.0))));
    words.truncate(WORDS);
    Ok(words)
}

/// In how many candidates each stem occurs.
fn frequencies(candidates: &[Candidate], lexicon: &Lexicon) -> Vec<i64> {
    let mut counts = vec![0; lexicon.len()];
    let mut last_in = vec![usize::MAX; lexicon.len()];
    for (at, candidate) in candidates.iter().enumerate() {
        for stem in candidate.stems(lexicon) {
            if std::mem::replace(&mut last_in[stem as usize], at) != at {
                counts[stem as usize] += 1;
            }
        }
    }
    counts
}
