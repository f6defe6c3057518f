//! The words of a question that are worth searching for.

use super::{WordLookup, spelling};
use crate::text::{Word, is_stop_word, stem, words};

/// What is read of a question, in bytes. A page of text is a long question.
const LONGEST: usize = 16 << 10;

/// How many words of a question are looked up for their spelling: each takes a look at a part of the vocabulary.
const MOST_CORRECTIONS: usize = 8;

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The forms in which it stands in the question, folded.
    pub forms: Vec<String>,
    /// What the index knows it by.
    pub stem: String,
    /// How often it stands in the question. Counting repetitions matters most for long questions.
    pub weight: f64,
    /// In how many chunks it occurs.
    pub documents: i64,
    /// How much it tells: rare words tell more.
    pub idf: f64,
}

/// The words of a question, and what became of those that occur nowhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionTerms {
    pub terms: Vec<Term>,
    /// Pairs of terms that are neighbours in the question, and how often.
    pub pairs: Vec<(usize, usize, f64)>,
    pub corrections: Vec<(String, String)>,
    pub unknown: Vec<String>,
}

impl QuestionTerms {
    /// Reads a question. Stop words are left out, unless there is nothing else.
    pub(crate) fn read(text: &str, index: &WordLookup<'_>) -> rusqlite::Result<Self> {
        let all = words(&text[..text.floor_char_boundary(LONGEST)]);
        let is_plain = all.iter().all(|word| is_stop_word(&word.folded));
        let mut question = Self::default();
        let mut before: Option<usize> = None;
        for word in &all {
            let is_wanted = is_plain || !is_stop_word(&word.folded);
            let term = if is_wanted { question.add(word, index)? } else { None };
            if let (Some(before), Some(term)) = (before, term) {
                question.add_pair(before, term);
            }
            before = term;
        }
        Ok(question)
    }

    fn add(&mut self, word: &Word, index: &WordLookup<'_>) -> rusqlite::Result<Option<usize>> {
        if let Some(at) = self.terms.iter().position(|term| term.forms.contains(&word.folded)) {
            self.terms[at].weight += 1.0;
            return Ok(Some(at));
        }
        if self.unknown.contains(&word.folded) {
            return Ok(None);
        }
        let mut stem = stem(&word.folded);
        let mut documents = index.count(&stem)?;
        if documents == 0 {
            let is_too_many = self.corrections.len() + self.unknown.len() >= MOST_CORRECTIONS;
            let similar = if is_too_many { None } else { spelling::correct(index, &stem)? };
            let Some(similar) = similar else {
                self.unknown.push(word.folded.clone());
                return Ok(None);
            };
            documents = index.count(&similar)?;
            self.corrections.push((word.folded.clone(), similar.clone()));
            stem = similar;
        }
        if let Some(at) = self.terms.iter().position(|term| term.stem == stem) {
            self.terms[at].weight += 1.0;
            self.terms[at].forms.push(word.folded.clone());
            return Ok(Some(at));
        }
        let idf = idf(documents, index.totals.chunks);
        self.terms.push(Term { forms: vec![word.folded.clone()], stem, weight: 1.0, documents, idf });
        Ok(Some(self.terms.len() - 1))
    }

    fn add_pair(&mut self, first: usize, second: usize) {
        match self.pairs.iter_mut().find(|pair| (pair.0, pair.1) == (first, second)) {
            Some(pair) => pair.2 += 1.0,
            None => self.pairs.push((first, second, 1.0)),
        }
    }
}

/// The inverse document frequency, never negative.
pub(super) fn idf(documents: i64, chunks: i64) -> f64 {
    let (with, all) = (documents as f64, chunks.max(documents) as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}
