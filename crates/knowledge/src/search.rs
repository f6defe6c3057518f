//! Searching: what is asked, what is found, and why.
//!
//! Words come first: SQLite's index gives 120 to 300 candidates, which are read and scored again in Rust, where
//! repeated words of the question, exact forms and neighbouring words count too. Vectors, if there are any, are compared
//! one by one. Both lists are then joined.

mod candidates;
mod feedback;
mod fusion;
mod passages;
mod phrases;
mod score;
mod snippet;
mod spelling;
mod terms;
mod word_counts;

use std::ops::Range;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use updraft_reader::SourcePlace;

use crate::entry::Totals;
use crate::error::Error;
use crate::index::Index;
use crate::vectors::Embedder;

pub(crate) use candidates::allowed;
pub(crate) use fusion::Halves;
pub(crate) use word_counts::WordCounts;
use word_counts::{IndexStamp, stamp};

/// What to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchRequest {
    /// A question, or some words. Words between quotation marks must stand next to each other, if they do so anywhere.
    pub text: String,
    /// The most passages to return; 10 if it is 0.
    pub limit: usize,
    /// Which documents to look at.
    pub filter: DocumentFilter,
    /// What to compare.
    pub method: SearchMethod,
}

/// What a search compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMethod {
    /// Words and vectors, where there are vectors.
    #[default]
    Hybrid,
    /// Words only.
    Words,
    /// Vectors only.
    Vectors,
}

/// Which documents a search looks at. Empty fields allow all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentFilter {
    /// A pattern for the path, such as `docs/*.md`. `*` stands for any characters, `/` included.
    pub path: Option<String>,
    /// Kinds of files, such as `markdown`.
    pub kinds: Vec<String>,
    /// The earliest date, in seconds since 1970.
    pub since: Option<i64>,
    /// The latest date.
    pub until: Option<i64>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The best passages, best first.
    pub passages: Vec<Passage>,
    /// Words that occur nowhere, with the word that was searched instead.
    pub corrections: Vec<(String, String)>,
    /// Words that occur nowhere and resemble none that does, and phrases that occur nowhere, in quotation marks.
    pub unknown: Vec<String>,
}

/// A chunk that answers a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The file.
    pub path: String,
    /// The kind of file.
    pub kind: String,
    /// The SHA-256 of the file as it was read.
    pub hash: Vec<u8>,
    /// The number of the chunk.
    pub chunk: i64,
    /// Where in the file it is.
    pub place: SourcePlace,
    /// The headings above it.
    pub trail: Vec<String>,
    /// All of it.
    pub text: String,
    /// The part that fits the question best.
    pub snippet: Snippet,
    /// From 0 to 1: only for comparison with the other passages of the same answer.
    pub score: f64,
    /// What made it match.
    pub why: Reasons,
}

/// A part of a passage with the words of the question marked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// The bytes of the words that matched.
    pub marks: Vec<Range<usize>>,
}

/// What made a passage match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasons {
    /// The words of the question that it has.
    pub words: Vec<WordMatch>,
    /// Its score by words alone, if it has any of them.
    pub word_score: Option<f64>,
    /// The cosine of its vector and the question's.
    pub similarity: Option<f64>,
}

/// A word of the question that a passage has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordMatch {
    /// The word, as in the question.
    pub word: String,
    /// How closely it matches.
    pub form: MatchForm,
    /// How often.
    pub count: usize,
}

/// How a word of a question stands in a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchForm {
    /// As it is.
    Exact,
    /// In another form: `connected` for `connection`.
    Stem,
    /// Only in a heading above, in the title or in the name of the file.
    Heading,
    /// Inside an identifier: `body` in `readHttpBody`.
    Part,
}

/// What the index knows about single words.
struct WordLookup<'a> {
    connection: &'a Connection,
    totals: Totals,
    stamp: IndexStamp,
    counts: &'a WordCounts,
}

impl WordLookup<'_> {
    /// In how many chunks a stem occurs.
    fn count(&self, stem: &str) -> rusqlite::Result<i64> {
        self.counts.of(stem, self.stamp, self.connection)
    }
}

impl Index {
    /// Finds the passages that fit a question best. Without an embedder, or where its vectors are missing, words decide.
    pub fn search(&self, request: &SearchRequest, embedder: Option<&dyn Embedder>) -> Result<SearchAnswer, Error> {
        let limit = if request.limit == 0 { 10 } else { request.limit };
        let halves = self.halves(request, embedder)?;
        let ranking = halves.ranking(request.method);
        self.passages(&halves, &ranking, limit)
    }
}
