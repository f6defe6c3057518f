//! Significant words of a goal: how to search for them, and how well a line matches them.

use super::stem::{self, Word};

/// A significant word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// As written in the goal.
    pub(super) word: String,
    /// In lower case; the key among the hits.
    pub(super) lower: String,
    stem: String,
    akin: Vec<String>,
    /// Whether it is a name, a number or quoted text, which only matches exactly.
    pub(super) is_exact: bool,
    is_literal: bool,
}

impl Term {
    pub(super) fn new(word: &str, is_exact: bool) -> Self {
        let lower = word.to_lowercase();
        let stem = stem::stem(&lower);
        let is_literal = word.chars().any(|c| !c.is_alphanumeric());
        let akin = if is_exact { Vec::new() } else { stem::akin(&stem).collect() };
        Self { word: word.to_owned(), lower, stem, akin, is_exact: is_exact || is_literal, is_literal }
    }

    /// How well the words of a line match, from 0 to 1. `lower` is the line in lower case.
    pub(super) fn fits(&self, words: &[Word], lower: &str) -> f64 {
        if self.is_literal {
            return if contains_bounded(lower, &self.lower) { 1.0 } else { 0.0 };
        }
        words.iter().map(|word| self.fits_word(word)).fold(0.0, f64::max)
    }

    /// Whether it is the name of this file.
    pub(super) fn is_file(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        self.is_literal && (path == self.lower || path.ends_with(&format!("/{}", self.lower)))
    }

    /// How well one word matches.
    pub(super) fn fits_word(&self, word: &Word) -> f64 {
        if word.lower == self.lower {
            return 1.0;
        }
        if self.is_exact {
            let is_plural =
                word.lower.strip_suffix('s') == Some(&self.lower) || self.lower.strip_suffix('s') == Some(&word.lower);
            return if is_plural && self.lower.len() > 3 { 0.9 } else { 0.0 };
        }
        if word.stem == self.stem {
            return 1.0;
        }
        if self.akin.contains(&word.stem) {
            return 0.5;
        }
        if is_derived(&word.stem, &self.stem) { 0.6 } else { 0.0 }
    }

    /// A regular expression that finds it regardless of case and form.
    pub(super) fn pattern(&self) -> String {
        if self.is_literal {
            return format!("(?i){}", escape(&self.lower));
        }
        if self.is_exact {
            return format!(r"(?i)(?:\b|_){}s?(?:\b|_)", escape(&self.lower));
        }
        format!(r"(?i){}", self.body())
    }

    fn body(&self) -> String {
        let irregular = stem::other_forms(&self.stem).map(str::to_owned);
        let stems: Vec<_> = std::iter::once(self.stem.clone())
            .chain(irregular)
            .chain(self.akin.iter().cloned())
            .map(|s| escape(&s))
            .collect();
        format!(r"(?:\b|_)(?:{})[^\W_]{{0,5}}(?:\b|_)", stems.join("|"))
    }

    /// A regular expression for lines that contain both words.
    pub(super) fn pattern_with(&self, other: &Term) -> String {
        let (a, b) = (self.pattern(), other.pattern());
        let (a, b) = (a.trim_start_matches("(?i)"), b.trim_start_matches("(?i)"));
        format!("(?i)(?:{a}.*{b}|{b}.*{a})")
    }
}

fn is_derived(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short.len() >= 5 && long.len() - short.len() <= 4 && long.starts_with(short)
}

fn contains_bounded(text: &str, part: &str) -> bool {
    text.match_indices(part).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + part.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() && c != '_' && c.is_ascii() && !c.is_whitespace() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
