//! Ranks quotations by how well they fit the question.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hits::WordHits;
use super::question::{GoalQuestion, QuestionPart};
use super::rank::{self, FileCategory};
use super::stem::{self, Word};
use super::terms::Term;
use super::units::{self, Heading, QuotableUnit, UnitKind};

/// A quotation that can be checked against its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Quote {
    pub(super) path: String,
    pub(super) line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end_line: Option<u32>,
    pub(super) text: String,
    pub(super) score: f64,
    /// Words of the goal that it contains.
    #[serde(default)]
    pub(super) terms: Vec<String>,
    /// Words of the goal that occur only above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) context: Vec<String>,
    /// The heading that contains them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) under: Option<QuotedHeading>,
    /// The index of the part of the goal that it answers.
    #[serde(default)]
    pub(super) part: usize,
    /// Whether it is about what the part asks, and not about something similar.
    #[serde(default)]
    pub(super) meets: bool,
    /// Whether it names something that the goal does not.
    #[serde(default)]
    pub(super) foreign: bool,
}

/// A heading that is quoted with the text below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuotedHeading {
    pub(super) line: u32,
    pub(super) text: String,
}

impl Quote {
    /// Whether it, or a text above it, contains a word.
    pub(super) fn speaks_of(&self, term: &Term) -> bool {
        self.terms.iter().chain(&self.context).any(|word| *word == term.lower)
    }

    /// Reads quotations from a variable, including those inside objects.
    pub(super) fn all_in(value: &Value) -> Vec<Quote> {
        match value {
            Value::Array(items) => items.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect(),
            Value::Object(fields) => fields.values().flat_map(Quote::all_in).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    }
}

/// Maximum number of quotations of one reader for each part: a few more than an answer uses.
const KEPT: usize = 8;

/// The data by which quotations are ranked.
pub(super) struct QuoteWeights<'a> {
    pub(super) question: &'a GoalQuestion,
    pub(super) hits: &'a WordHits,
    pub(super) files: usize,
}

impl QuoteWeights<'_> {
    /// The best quotations of some texts, each given with its path and the number of its first line.
    pub(super) fn best(&self, texts: &[(&str, u32, &str)]) -> Vec<Quote> {
        let mut best = Vec::new();
        let cut: Vec<(&str, Vec<QuotableUnit>)> =
            texts.iter().map(|(path, first, text)| (*path, units::units(path, text, *first))).collect();
        for (at, part) in self.question.parts.iter().enumerate() {
            let mut found: Vec<Quote> = Vec::new();
            for (path, units) in &cut {
                found.extend(
                    units
                        .iter()
                        .filter_map(|unit| self.weigh(part, path, unit))
                        .map(|quote| Quote { part: at, ..quote }),
                );
            }
            found.sort_by(|a, b| {
                b.meets
                    .cmp(&a.meets)
                    .then(b.score.total_cmp(&a.score))
                    .then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
            });
            found.dedup_by(|a, b| a.path == b.path && a.line == b.line && a.text == b.text);
            found.truncate(KEPT);
            best.extend(found);
        }
        best
    }

    fn weigh(&self, part: &QuestionPart, path: &str, unit: &QuotableUnit) -> Option<Quote> {
        if self.question.is_echoed_in(&unit.text) {
            return None;
        }
        if part.is_overview() {
            return introduction(path, unit);
        }
        let words = stem::words(&unit.text);
        let lower = unit.text.to_lowercase();
        let foreign = names_something_else(part, unit, &words) || is_setting_of_another(part, unit);
        let context = UnitContext::of(part, path, unit, foreign);
        let mut quote = Quote { foreign, ..bare(path, unit) };
        let (mut own, mut lent) = (0.0, 0.0);
        for term in &part.terms {
            let weight = self.hits.weight(&term.lower, self.files) * if term.is_exact { 1.5 } else { 1.0 };
            let fit = term.fits(&words, &lower);
            if fit > 0.0 {
                own += weight * fit;
                quote.terms.push(term.lower.clone());
            } else if context.holds(term) || term.is_file(path) {
                lent += weight * 0.4;
                quote.context.push(term.lower.clone());
            }
        }
        let names_its_file = unit.opens_file && !quote.context.is_empty();
        if own == 0.0 && !names_its_file {
            return None;
        }
        quote.under = context
            .heading_for(part, &quote)
            .map(|heading| QuotedHeading { line: heading.line, text: heading.text.clone() });
        quote.meets = part
            .required
            .iter()
            .all(|names| names.iter().any(|name| name.iter().all(|&at| self.is_meant(&part.terms[at], &quote))));
        let closeness = closeness(part, &words);
        let score = (own * (1.0 + 0.3 * closeness) + lent) * fitness(part, path, unit, &words);
        quote.score = (score * 100.0).round() / 100.0;
        Some(quote)
    }

    /// A name that occurs in most files is the subject of the folder, and need not occur in each line.
    fn is_meant(&self, term: &Term, quote: &Quote) -> bool {
        let is_everywhere = self.hits.files_with(&term.lower).is_some_and(|with| with >= 4 && with * 3 >= self.files);
        quote.speaks_of(term) || (is_everywhere && !quote.foreign)
    }
}

/// The weight of a quotation by its form, regardless of its content.
fn fitness(part: &QuestionPart, path: &str, unit: &QuotableUnit, words: &[Word]) -> f64 {
    let length = 1.0 / (0.8 + 0.2 * (words.len() as f64 / 20.0).max(0.5));
    let form = match unit.form {
        UnitKind::Prose | UnitKind::Row => 1.0,
        UnitKind::Code if rank::kind(path) == FileCategory::Code => 0.6,
        UnitKind::Code => 0.85,
        UnitKind::Heading => 0.35,
    };
    let asked_number = part.wants_number && words.iter().any(|word| is_new_number(part, word));
    let is_question = unit.text.contains('?');
    length * form * rank::worth(path) * if asked_number { 1.3 } else { 1.0 } * if is_question { 0.4 } else { 1.0 }
}

fn is_new_number(part: &QuestionPart, word: &Word) -> bool {
    word.lower.chars().any(|c| c.is_ascii_digit()) && !part.terms.iter().any(|term| term.lower == word.lower)
}

fn bare(path: &str, unit: &QuotableUnit) -> Quote {
    Quote {
        path: path.to_owned(),
        line: unit.line,
        end_line: (unit.end_line > unit.line).then_some(unit.end_line),
        text: unit.text.clone(),
        score: 0.0,
        terms: Vec::new(),
        context: Vec::new(),
        under: None,
        part: 0,
        meets: false,
        foreign: false,
    }
}

/// A file's first sentences answer what the folder is about; so does a package's description.
fn introduction(path: &str, unit: &QuotableUnit) -> Option<Quote> {
    let is_description = unit.form == UnitKind::Code && unit.text.trim_start_matches('"').starts_with("description");
    let is_link = unit.text.contains("](http") && unit.text.split_whitespace().count() < 8;
    if !(unit.opens_file || is_description) || is_link {
        return None;
    }
    let early = 1.0 / (1.0 + f64::from(unit.line) / 40.0);
    Some(Quote { score: (rank::introduces(path) * early * 100.0).round() / 100.0, meets: true, ..bare(path, unit) })
}

/// How close the found words are to each other, from 0 to 1.
fn closeness(part: &QuestionPart, words: &[Word]) -> f64 {
    let places: Vec<usize> =
        part.terms.iter().filter_map(|term| words.iter().position(|word| term.fits_word(word) > 0.0)).collect();
    match (places.iter().min(), places.iter().max()) {
        (Some(first), Some(last)) if places.len() > 1 => {
            places.len() as f64 / (last - first + 1).max(places.len()) as f64
        }
        _ => 0.0,
    }
}

/// Whether a unit contains a capitalised name that the goal does not contain.
fn names_something_else(part: &QuestionPart, unit: &QuotableUnit, words: &[Word]) -> bool {
    let is_unknown = |word: &Word| {
        word.capital
            && !stem::is_stop_word(&word.lower)
            && !stem::is_kind_word(&word.lower)
            && !part.terms.iter().any(|term| term.fits_word(word) > 0.0)
    };
    words.iter().enumerate().any(|(at, word)| {
        let next_is_verb = words.get(at + 1).is_some_and(|next| {
            !next.capital && (next.lower.ends_with('s') || matches!(next.lower.as_str(), "had" | "are"))
        });
        is_unknown(word) && (unit.form == UnitKind::Row || !word.opens || word.possessive || next_is_verb)
    })
}

/// Whether a setting, or an entry such as `Height: 12 m`, is in a section that names something the goal does not.
fn is_setting_of_another(part: &QuestionPart, unit: &QuotableUnit) -> bool {
    let names_other = |heading: &Heading| names_other(part, &stem::words(&heading.text));
    let is_entry =
        unit.form == UnitKind::Prose && unit.text.contains([':', '=']) && unit.text.split_whitespace().count() <= 10;
    (unit.form == UnitKind::Code || is_entry) && unit.headings.last().is_some_and(names_other)
}

fn names_other(part: &QuestionPart, words: &[Word]) -> bool {
    !words.iter().all(|word| stem::is_section_word(&word.lower))
        && !words.iter().any(|word| part.terms.iter().any(|term| term.fits_word(word) > 0.0))
}

/// The headings and the path above a unit, which may contain the name that it is about.
struct UnitContext<'a> {
    headings: Vec<(&'a Heading, Vec<Word>, String)>,
    path: Option<(Vec<Word>, String)>,
}

impl<'a> UnitContext<'a> {
    /// Headings count from the nearest outwards, up to one that names something the goal does not; then the path.
    fn of(part: &QuestionPart, path: &str, unit: &'a QuotableUnit, foreign: bool) -> Self {
        let mut context = Self { headings: Vec::new(), path: None };
        let is_head_of_table = |heading: &Heading| unit.form == UnitKind::Row && Some(heading) == unit.headings.last();
        for heading in unit.headings.iter().rev() {
            let words = stem::words(&heading.text);
            let is_head = is_head_of_table(heading);
            if foreign && !is_head {
                return context;
            }
            let ends_here = !is_head && names_other(part, &words);
            context.headings.push((heading, words, heading.text.to_lowercase()));
            if ends_here {
                return context;
            }
        }
        if !foreign {
            context.path = Some((stem::words(path), path.to_lowercase()));
        }
        context
    }

    fn holds(&self, term: &Term) -> bool {
        self.headings.iter().any(|(_, words, lower)| term.fits(words, lower) > 0.0)
            || self.path.as_ref().is_some_and(|(words, lower)| term.fits(words, lower) > 0.0)
    }

    /// The nearest heading with a word that the quotation itself lacks.
    fn heading_for(&self, part: &QuestionPart, quote: &Quote) -> Option<&'a Heading> {
        let lent: Vec<&Term> = part.terms.iter().filter(|term| quote.context.contains(&term.lower)).collect();
        self.headings
            .iter()
            .find(|(_, words, lower)| lent.iter().any(|term| term.fits(words, lower) > 0.0))
            .map(|(heading, ..)| *heading)
    }
}
