//! Where the words of a goal were found: the result of the search step, and the input of later steps.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::question::GoalQuestion;

/// Maximum number of files for one word: more would enlarge the journal and are never read.
const MAX_FILES: usize = 24;
/// Maximum number of lines for one word in one file.
const MAX_LINES: usize = 12;

/// The hits, by word in lower case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct WordHits(BTreeMap<String, WordMatches>);

/// The hits of one word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WordMatches {
    files: usize,
    matches: Vec<MatchedLines>,
}

/// The hits in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MatchedLines {
    path: String,
    lines: BTreeSet<u32>,
}

impl WordHits {
    /// Reads the hits from a variable; empty if it contains something else.
    pub(super) fn from_value(value: Value) -> Self {
        serde_json::from_value(value).unwrap_or_default()
    }

    /// Adds the result of a search for some words.
    pub(super) fn add(&mut self, words: &[&str], result: &str) {
        for word in words {
            let found = self.0.entry((*word).to_owned()).or_default();
            for (path, line) in result.lines().filter_map(place) {
                match found.matches.iter_mut().find(|known| known.path == path) {
                    Some(known) => {
                        known.lines.insert(line);
                    }
                    None => found.matches.push(MatchedLines { path: path.to_owned(), lines: BTreeSet::from([line]) }),
                }
            }
            found.files = found.matches.len();
        }
    }

    /// Keeps only the most relevant files and lines.
    pub(super) fn bounded(mut self) -> Self {
        let mut words_of: BTreeMap<String, usize> = BTreeMap::new();
        for found in self.0.values() {
            for known in &found.matches {
                *words_of.entry(known.path.clone()).or_default() += 1;
            }
        }
        for found in self.0.values_mut() {
            found.matches.sort_by_key(|known| std::cmp::Reverse(words_of.get(&known.path).copied().unwrap_or(0)));
            found.matches.truncate(MAX_FILES);
        }
        let shared: BTreeMap<String, BTreeSet<u32>> = self.lines_by_file();
        for found in self.0.values_mut() {
            for known in &mut found.matches {
                if known.lines.len() > MAX_LINES {
                    known.lines = most_shared(&known.lines, shared.get(&known.path));
                }
            }
        }
        self
    }

    /// Lines of each file on which more than one word occurs.
    fn lines_by_file(&self) -> BTreeMap<String, BTreeSet<u32>> {
        let mut seen: BTreeMap<(String, u32), usize> = BTreeMap::new();
        for known in self.0.values().flat_map(|found| &found.matches) {
            for &line in &known.lines {
                *seen.entry((known.path.clone(), line)).or_default() += 1;
            }
        }
        let mut shared: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for ((path, line), _) in seen.into_iter().filter(|(_, words)| *words > 1) {
            shared.entry(path).or_default().insert(line);
        }
        shared
    }

    /// How many files contain a word; `None` if it was not searched for.
    pub(super) fn files_with(&self, word: &str) -> Option<usize> {
        self.0.get(word).map(|found| found.files)
    }

    /// The lines of a file that contain a word.
    pub(super) fn lines(&self, word: &str, path: &str) -> impl Iterator<Item = u32> + '_ {
        let path = path.to_owned();
        let matches = self.0.get(word).map(|found| found.matches.as_slice()).unwrap_or_default();
        matches.iter().filter(move |known| known.path == path).flat_map(|known| known.lines.iter().copied())
    }

    /// Every file with a hit.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.0.values().flat_map(|found| &found.matches).map(|known| known.path.as_str()).collect()
    }

    /// The weight of a word: high if it occurs in few files.
    pub(super) fn weight(&self, word: &str, files: usize) -> f64 {
        let all = files.max(1) as f64;
        let with = self.files_with(word).unwrap_or(files / 4) as f64;
        (1.0 + (all + 1.0) / (with + 0.5)).ln()
    }

    /// Whether nearly every word of the goal has about as many hits as a search returns, so that pairs are worth
    /// a search.
    pub(super) fn are_all_common(&self, question: &GoalQuestion, limit: u64) -> bool {
        let lines = |word: &str| -> u64 {
            self.0.get(word).map_or(0, |found| found.matches.iter().map(|m| m.lines.len() as u64).sum())
        };
        let terms = question.terms();
        terms.len() > 1 && terms.iter().filter(|term| lines(&term.lower) * 10 >= limit * 9).count() + 1 >= terms.len()
    }
}

fn most_shared(lines: &BTreeSet<u32>, shared: Option<&BTreeSet<u32>>) -> BTreeSet<u32> {
    let is_shared = |line: &&u32| shared.is_some_and(|shared| shared.contains(*line));
    let first = lines.iter().filter(is_shared);
    let rest = lines.iter().filter(|line| !is_shared(line));
    first.chain(rest).take(MAX_LINES).copied().collect()
}

/// Parses `path:line: text`; other lines are remarks of the tool.
fn place(line: &str) -> Option<(&str, u32)> {
    let mut from = 0;
    while let Some(colon) = line[from..].find(':').map(|at| at + from) {
        let rest = &line[colon + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && rest[digits..].starts_with(':') && colon > 0 {
            return Some((line[..colon].trim_start_matches("./"), rest[..digits].parse().ok()?));
        }
        from = colon + 1;
    }
    None
}
