//! Reads candidates and scores them by their words.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rusqlite::{Connection, OptionalExtension};

use super::terms::QuestionTerms;
use super::{MatchForm, WordMatch};
use crate::pack::Unpacker;
use crate::text::{each_word, parts, stem};

/// How soon more of the same word stops to count, and how much long chunks are held back: the parameters of BM25 that
/// SQLite uses too. Others were measured on six collections; no pair was better on most of them.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// A word in exactly the form of the question counts this much more than another form of it.
const EXACT: f64 = 0.35;
/// Two words that are neighbours in the question and in the chunk, compared with a word.
const PAIR: f64 = 0.5;
/// A word inside an identifier, compared with a word.
const PART: f64 = 0.2;

/// Numbers for words and stems: comparing numbers is cheap, and every word is stemmed once for a question.
#[derive(Default)]
pub(super) struct Lexicon {
    words: HashMap<String, u32, WordHash>,
    stem_of: Vec<u32>,
    numbers: HashMap<String, u32, WordHash>,
    stems: Vec<String>,
}

/// The hash of FNV-1a with eight bytes at a time: words are short, are counted in tens of thousands for every question,
/// and those who choose them gain nothing by collisions within one search.
#[derive(Default)]
struct WordHasher(u64);

type WordHash = BuildHasherDefault<WordHasher>;

impl std::hash::Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl Lexicon {
    fn word(&mut self, folded: &str) -> u32 {
        if let Some(number) = self.words.get(folded) {
            return *number;
        }
        let stem = self.stem(&stem(folded));
        let number = self.stem_of.len() as u32;
        self.stem_of.push(stem);
        self.words.insert(folded.to_owned(), number);
        number
    }

    /// The number of a word's stem.
    fn stem_of_word(&mut self, folded: &str) -> u32 {
        let word = self.word(folded);
        self.stem_of[word as usize]
    }

    pub(super) fn stem(&mut self, stem: &str) -> u32 {
        if let Some(number) = self.numbers.get(stem) {
            return *number;
        }
        let number = self.stems.len() as u32;
        self.stems.push(stem.to_owned());
        self.numbers.insert(stem.to_owned(), number);
        number
    }

    /// How many stems have a number.
    pub(super) fn len(&self) -> usize {
        self.stems.len()
    }

    pub(super) fn spelled(&self, stem: u32) -> &str {
        &self.stems[stem as usize]
    }
}

/// A chunk as numbers.
pub(super) struct Candidate {
    pub chunk: i64,
    pub score: f64,
    pub is_code: bool,
    text: Vec<u32>,
    heading: Vec<u32>,
    /// Stems inside identifiers.
    parts: Vec<u32>,
}

impl Candidate {
    /// Reads a chunk; nothing if it was removed meanwhile.
    pub(super) fn read(
        connection: &Connection,
        chunk: i64,
        (lexicon, unpacker): (&mut Lexicon, &mut Unpacker),
    ) -> rusqlite::Result<Option<Self>> {
        let mut find = connection.prepare_cached(
            "SELECT body, trail, title, path FROM chunks JOIN documents ON documents.id = chunks.document WHERE chunks.id = ?1",
        )?;
        find.query_row([chunk], |row| {
            let body = unpacker.unpack(row.get_ref(0)?)?;
            let is_code = is_code(body);
            let mut candidate =
                Self { chunk, score: 0.0, is_code, text: Vec::new(), heading: Vec::new(), parts: Vec::new() };
            each_word(body, |folded, range| {
                candidate.text.push(lexicon.word(folded));
                candidate.parts.extend(parts(&body[range]).iter().map(|part| lexicon.stem_of_word(part)));
            });
            let path = row.get_ref(3)?.as_str()?;
            let name = path.rsplit('/').next().unwrap_or(path);
            for text in [row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str_or_null()?.unwrap_or_default(), name] {
                each_word(text, |folded, _| candidate.heading.push(lexicon.word(folded)));
            }
            Ok(candidate)
        })
        .optional()
    }

    /// The stem of every word.
    pub(super) fn stems(&self, lexicon: &Lexicon) -> impl Iterator<Item = u32> {
        self.text.iter().chain(&self.heading).map(|word| lexicon.stem_of[*word as usize])
    }

    /// Whether these stems stand next to each other in the text or in a heading.
    pub(super) fn contains(&self, phrase: &[String], lexicon: &Lexicon) -> bool {
        let spelled = |word: &u32| lexicon.spelled(lexicon.stem_of[*word as usize]);
        let stands_in = |words: &[u32]| {
            words.windows(phrase.len()).any(|window| window.iter().map(spelled).eq(phrase.iter().map(String::as_str)))
        };
        stands_in(&self.text) || stands_in(&self.heading)
    }

    fn length(&self) -> f64 {
        (self.text.len() + self.heading.len()) as f64
    }
}

/// Several lines in which more than four of a hundred characters are brackets and the like.
fn is_code(text: &str) -> bool {
    /// What a character counts: 25 for a sign, and one less for anything that can be seen.
    const WORTH: [i32; 256] = {
        let mut worth = [-1; 256];
        let (signs, spaces) = (b"(){}[]=;_<>", b" \t\n\r\x0c");
        let mut at = 0;
        while at < signs.len() {
            worth[signs[at] as usize] = 24;
            at += 1;
        }
        at = 0;
        while at < spaces.len() {
            worth[spaces[at] as usize] = 0;
            at += 1;
        }
        worth
    };
    text.trim().contains('\n') && text.bytes().map(|byte| WORTH[byte as usize]).sum::<i32>() > 0
}

/// A question as numbers.
pub(super) struct Scorer<'a> {
    question: &'a QuestionTerms,
    average: f64,
    /// The term of a stem, by the stem's number. Terms are numbered first, so all others lie beyond.
    term_of: Vec<Option<usize>>,
    /// The words that stand in the question in exactly this form, by number.
    exact: Vec<bool>,
}

/// How often the terms of a question occur in a chunk.
#[derive(Clone, Default)]
struct Counts {
    text: f64,
    exact: f64,
    heading: f64,
    parts: f64,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(question: &'a QuestionTerms, average: f64, lexicon: &mut Lexicon) -> Self {
        for form in question.terms.iter().flat_map(|term| &term.forms) {
            lexicon.word(form);
        }
        let exact = vec![true; lexicon.stem_of.len()];
        let numbers: Vec<u32> = question.terms.iter().map(|term| lexicon.stem(&term.stem)).collect();
        let mut term_of = vec![None; lexicon.len()];
        for (at, stem) in numbers.into_iter().enumerate() {
            term_of[stem as usize] = Some(at);
        }
        Self { question, average, term_of, exact }
    }

    /// How well a chunk fits by its words.
    pub(super) fn score(&self, candidate: &Candidate, lexicon: &Lexicon) -> f64 {
        let mut score = 0.0;
        for (term, count) in self.question.terms.iter().zip(self.counts(candidate, lexicon)) {
            let all = self.saturate(count.text + count.heading + PART * count.parts, candidate);
            score += term.weight * term.idf * (all + EXACT * self.saturate(count.exact, candidate));
        }
        if self.question.pairs.is_empty() { score } else { score + PAIR * self.pairs(candidate, lexicon) }
    }

    /// Which words of the question a chunk has.
    pub(super) fn matches(&self, candidate: &Candidate, lexicon: &Lexicon) -> Vec<WordMatch> {
        let mut matches = Vec::new();
        for (term, count) in self.question.terms.iter().zip(self.counts(candidate, lexicon)) {
            let (form, number) = match &count {
                Counts { text, exact, .. } if *text > 0.0 && *exact > 0.0 => (MatchForm::Exact, count.text),
                Counts { text, .. } if *text > 0.0 => (MatchForm::Stem, count.text),
                Counts { heading, .. } if *heading > 0.0 => (MatchForm::Heading, count.heading),
                Counts { parts, .. } if *parts > 0.0 => (MatchForm::Part, count.parts),
                Counts { .. } => continue,
            };
            let word = term.forms.first().cloned().unwrap_or_default();
            matches.push(WordMatch { word, form, count: number as usize });
        }
        matches
    }

    /// BM25's share of a word that occurs `count` times.
    pub(super) fn saturate(&self, count: f64, candidate: &Candidate) -> f64 {
        if count == 0.0 {
            return 0.0;
        }
        let length = SATURATION * (1.0 - LENGTH + LENGTH * candidate.length() / self.average.max(1.0));
        count * (SATURATION + 1.0) / (count + length)
    }

    fn counts(&self, candidate: &Candidate, lexicon: &Lexicon) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.question.terms.len()];
        let exact = |word: u32| f64::from(u8::from(self.exact.get(word as usize) == Some(&true)));
        for word in &candidate.text {
            if let Some(at) = self.term(lexicon.stem_of[*word as usize]) {
                counts[at].text += 1.0;
                counts[at].exact += exact(*word);
            }
        }
        for word in &candidate.heading {
            if let Some(at) = self.term(lexicon.stem_of[*word as usize]) {
                counts[at].heading += 1.0;
                counts[at].exact += exact(*word);
            }
        }
        for stem in &candidate.parts {
            if let Some(at) = self.term(*stem) {
                counts[at].parts += 1.0;
            }
        }
        counts
    }

    fn term(&self, stem: u32) -> Option<usize> {
        self.term_of.get(stem as usize).copied().flatten()
    }

    fn pairs(&self, candidate: &Candidate, lexicon: &Lexicon) -> f64 {
        let mut counts = vec![0.0; self.question.pairs.len()];
        for list in [&candidate.text, &candidate.heading] {
            let mut before = None;
            for word in list {
                let term = self.term(lexicon.stem_of[*word as usize]);
                if let (Some(before), Some(term)) = (before, term)
                    && let Some(at) = self.question.pairs.iter().position(|pair| (pair.0, pair.1) == (before, term))
                {
                    counts[at] += 1.0;
                }
                before = term;
            }
        }
        let idf = |term: usize| self.question.terms[term].idf;
        let worth = |pair: &(usize, usize, f64)| pair.2 * (idf(pair.0) + idf(pair.1)) / 2.0;
        let pairs = self.question.pairs.iter().zip(counts);
        pairs.map(|(pair, count)| worth(pair) * self.saturate(count, candidate)).sum()
    }
}
