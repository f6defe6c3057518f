//! Joins what words found and what vectors found.

use std::collections::HashSet;

use super::score::{Candidate, Lexicon, Scorer};
use super::terms::QuestionTerms;
use super::{SearchMethod, SearchRequest, WordLookup, WordMatch, candidates, stamp};
use super::{feedback, phrases};
use crate::error::Error;
use crate::index::Index;
use crate::pack::Unpacker;
use crate::vectors::{Embedder, Similarities};

/// Scores are compared with that of this rank: what lies below it says nothing about how sure a list is.
const DEPTH: usize = 100;

/// How far the nearest chunk stands out among all where vectors count as much as words, in standard deviations; and how
/// fast their weight grows with it. A model that finds everything equally near does not understand the question.
const EVEN: f64 = 4.2;
const GROWTH: f64 = 0.25;

/// How much more vectors count where the nearest chunks are source code: there the words of a question occur as names,
/// and mostly elsewhere.
const CODE: f64 = 16.0;

/// How many of the nearest chunks are looked at for that.
const NEAREST: usize = 10;

/// What both ways of searching found, before they are joined.
pub(crate) struct Halves {
    pub(super) question: QuestionTerms,
    pub(super) chunks: Vec<ScoredChunk>,
    /// What vectors count, compared with words.
    weight: f64,
}

/// A chunk with its scores.
pub(super) struct ScoredChunk {
    pub chunk: i64,
    pub words: f64,
    pub matches: Vec<WordMatch>,
    pub similarity: Option<f64>,
}

impl Index {
    /// Searches both ways.
    pub(crate) fn halves(&self, request: &SearchRequest, embedder: Option<&dyn Embedder>) -> Result<Halves, Error> {
        let embedder = embedder.filter(|_| request.method != SearchMethod::Words);
        let nearest = match embedder {
            Some(embedder) => self.nearest(request, embedder)?,
            None => Similarities::default(),
        };
        let fluency = embedder.map_or(0.0, |embedder| f64::from(embedder.fluency(&request.text)));
        let best = nearest.best(DEPTH + 1);
        let totals = self.totals()?;
        self.read(|connection| {
            let lookup = WordLookup { connection, totals, stamp: stamp(connection)?, counts: &self.word_counts };
            let mut question = QuestionTerms::read(&request.text, &lookup)?;
            let (phrases, unknown) = phrases::read(&request.text, connection)?;
            question.unknown.extend(unknown);
            let mut found = candidates::find(connection, (&question.terms, &phrases), &request.filter)?;
            let by_words: HashSet<i64> = found.iter().copied().collect();
            found.extend(best.iter().copied().filter(|chunk| !by_words.contains(chunk)));
            let mut lexicon = Lexicon::default();
            let scorer = Scorer::new(&question, totals.words as f64 / totals.chunks.max(1) as f64, &mut lexicon);
            let mut unpacker = Unpacker::new();
            let mut list = Vec::with_capacity(found.len());
            for chunk in found {
                if let Some(mut candidate) = Candidate::read(connection, chunk, (&mut lexicon, &mut unpacker))? {
                    candidate.score = scorer.score(&candidate, &lexicon);
                    if phrases.iter().all(|phrase| candidate.contains(phrase, &lexicon)) {
                        list.push(candidate);
                    }
                }
            }
            list.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
            feedback::apply(&lookup, (&question, &scorer), (&mut list, &lexicon))?;
            let chunk = |candidate: &Candidate| ScoredChunk {
                chunk: candidate.chunk,
                words: candidate.score,
                matches: scorer.matches(candidate, &lexicon),
                similarity: nearest.get(candidate.chunk),
            };
            let chunks = list.iter().map(chunk).collect();
            let near = &best[..best.len().min(NEAREST)];
            let code = list.iter().filter(|candidate| candidate.is_code && near.contains(&candidate.chunk)).count();
            let code = if has_identifier(&request.text) { 0.0 } else { code as f64 / near.len().max(1) as f64 };
            let standing = (GROWTH * (nearest.standing() - EVEN)).exp().clamp(0.1, 4.0);
            Ok(Halves { question, chunks, weight: fluency * standing * (1.0 + CODE * code) })
        })
    }
}

impl Halves {
    /// Numbers of chunks, best first.
    pub(crate) fn ranked_chunks(&self, method: SearchMethod) -> Vec<i64> {
        self.ranking(method).into_iter().map(|(at, _)| self.chunks[at].chunk).collect()
    }

    /// Positions of chunks with their scores, best first.
    pub(crate) fn ranking(&self, method: SearchMethod) -> Vec<(usize, f64)> {
        let words = Scale::of(self.chunks.iter().map(|chunk| chunk.words), 0.0);
        let vectors = Scale::of(self.chunks.iter().filter_map(|chunk| chunk.similarity), -1.0);
        let has_vectors = self.chunks.iter().any(|chunk| chunk.similarity.is_some());
        let weight = match method {
            SearchMethod::Words => 0.0,
            SearchMethod::Hybrid if !has_vectors => 0.0,
            SearchMethod::Hybrid => self.weight,
            SearchMethod::Vectors => 1.0,
        };
        let own = if method == SearchMethod::Vectors { 0.0 } else { 1.0 };
        let score = |(at, chunk): (usize, &ScoredChunk)| {
            let by_words = words.place(chunk.words);
            let by_vectors = chunk.similarity.map_or(0.0, |similarity| vectors.place(similarity));
            (at, (own * by_words + weight * by_vectors) / (own + weight))
        };
        let matches = |(_, chunk): &(usize, &ScoredChunk)| {
            (own > 0.0 && chunk.words > 0.0) || (weight > 0.0 && chunk.similarity.is_some())
        };
        let mut ranking: Vec<(usize, f64)> = self.chunks.iter().enumerate().filter(matches).map(score).collect();
        // Positions are in the order of the scores by words, which decide among equals.
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranking
    }
}

/// Whether a question names something of a program: such a name is looked for as it is.
fn has_identifier(question: &str) -> bool {
    question.split_whitespace().any(|word| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mut pairs = inner.chars().zip(inner.chars().skip(1));
        inner.contains(['_', ':', '(', '.']) || pairs.any(|(a, b)| a.is_lowercase() && b.is_uppercase())
    })
}

/// The range of the best scores of a list.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(scores: impl Iterator<Item = f64>, least: f64) -> Self {
        let mut scores: Vec<f64> = scores.collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let high = scores.first().copied().unwrap_or(least);
        Self { low: scores.get(DEPTH).copied().unwrap_or(least), high }
    }

    /// From 0 for the lowest to 1 for the highest; what lies below is 0.
    fn place(&self, score: f64) -> f64 {
        // Where the best are all alike, each of them is the best.
        let range = (self.high - self.low).max(f64::MIN_POSITIVE);
        if score >= self.high { 1.0 } else { ((score - self.low) / range).max(0.0) }
    }
}
