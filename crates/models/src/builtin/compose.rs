//! Chooses what is quoted, and writes the answer.

use serde_json::{Value, json};

use super::matching::{self, Word};
use super::passages::{Findings, Passage};
use super::question::{QuestionPart, Term};
use super::units::{self, QuotableUnit, UnitForm, units};
use super::words;

/// The most quotations in an answer, and the most from one file.
const MOST_QUOTES: usize = 6;
const MOST_OF_A_FILE: usize = 2;
/// The least weight of a quotation, as a share of the best.
const WORTH_SHOWING: f64 = 0.6;
/// The share of what is asked that makes a quotation an answer, and not only close to one.
const COVERAGE: f64 = 0.34;

/// A quotation with its source and place.
#[derive(Clone, Debug, PartialEq)]
struct Quote {
    path: String,
    place: String,
    /// The headings above it, if they say what it is about.
    trail: String,
    text: String,
    /// The part of it that was matched.
    matched: String,
    is_row: bool,
    score: f64,
    /// Which words of the question it contains itself, which stand around it, and which of these in a heading or header.
    own: Vec<bool>,
    around: Vec<bool>,
    above: Vec<bool>,
    /// Whether it names something that the question does not.
    is_foreign: bool,
}

/// The answer to one part of a question, as data for the step that composes.
pub(super) fn answer_part(part: &QuestionPart, findings: &Findings, parts: usize) -> Value {
    let most = (MOST_QUOTES / parts.max(1)).max(2);
    if part.is_overview() {
        let introductions = beginnings(findings, |unit| unit.opens_file);
        let quotes = if introductions.is_empty() { beginnings(findings, |_| true) } else { introductions };
        let quotes = choose(quotes, most, 0.3);
        let remark = if quotes.is_empty() { words::NOTHING_TO_QUOTE.to_owned() } else { String::new() };
        return data("", &quotes, &remark);
    }
    // A file that was handed over may contain what the index does not.
    let is_read = |term: &Term| {
        let mut words = findings.passages.iter().flat_map(|passage| matching::words(&passage.text));
        words.any(|word| word.lower == term.lower)
    };
    let is_unknown = |term: &&Term| {
        let mut unknown = findings.unknown.iter().flat_map(|word| matching::words(word));
        unknown.any(|word| word.lower == term.lower || matching::parts(&term.word).contains(&word.lower))
            && !is_read(term)
    };
    let unknown: Vec<&Term> = part.terms.iter().filter(is_unknown).collect();
    let has_names = part.terms.iter().any(|term| term.is_name);
    let unknown_names: Vec<&Term> = unknown.iter().copied().filter(|term| term.is_name).collect();
    let absent = if has_names { &unknown_names } else { &unknown };
    let remark = if absent.is_empty() { String::new() } else { words::no_evidence(&listed(absent)) };
    let is_about_nothing =
        has_names && part.terms.iter().filter(|term| term.is_name).all(|term| unknown.contains(&term));
    if is_about_nothing || unknown.len() == part.terms.len() {
        return data("", &[], &remark);
    }
    let mut quotes = ranked(part, findings, &unknown);
    let known_names: Vec<usize> =
        (0..part.terms.len()).filter(|at| part.terms[*at].is_name && !unknown.contains(&&part.terms[*at])).collect();
    let names_in = |quote: &Quote| known_names.iter().filter(|at| quote.names(**at)).count();
    let most_names = quotes.iter().map(names_in).max().unwrap_or_default();
    // Of three names or more, some are often alternatives.
    let enough = if known_names.len() > 2 { most_names.saturating_sub(1).max(1) } else { most_names };
    quotes.retain(|quote| names_in(quote) >= enough && (most_names == known_names.len() || !quote.is_foreign));
    if !has_names && !unknown.is_empty() {
        // What is missing may be a name: only a line that has everything else is worth showing.
        let known = |at: &usize| !unknown.contains(&&part.terms[*at]);
        quotes.retain(|quote| (0..part.terms.len()).filter(known).all(|at| quote.own[at] || quote.above[at]));
    }
    let coverage = quotes.iter().map(Quote::coverage).fold(0.0, f64::max);
    let quotes = choose(quotes, most, WORTH_SHOWING);
    if quotes.is_empty() {
        let nothing = words::nothing_together(&listed(&part.terms.iter().collect::<Vec<_>>()));
        return data("", &[], if remark.is_empty() { &nothing } else { &remark });
    }
    let is_close = most_names < known_names.len() || coverage < COVERAGE;
    // One word without a capital may be missing because the files say it otherwise.
    let remark = if has_names || is_close || unknown.len() > 1 { remark } else { String::new() };
    data(if is_close { words::CLOSEST } else { "" }, &quotes, &remark)
}

/// Writes an answer from the parts' data. Citations are numbered through.
pub(super) fn written(parts: &[Value]) -> String {
    let mut number = 0;
    let mut seen: Vec<String> = Vec::new();
    let mut paragraphs: Vec<String> = Vec::new();
    for part in parts {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut lines: Vec<String> = Vec::new();
        for quote in part.get("quotes").and_then(Value::as_array).into_iter().flatten() {
            let (source, trail, words) = (text(quote, "source"), text(quote, "trail"), text(quote, "text"));
            if seen.contains(&words) {
                continue;
            }
            number += 1;
            let trail = if trail.is_empty() { trail } else { format!(" ({trail})") };
            lines.push(format!("- [{number}] {source}{trail}: \"{words}\""));
            seen.push(words);
        }
        if !lines.is_empty() {
            let lead = text(part, "lead");
            lines.splice(0..0, (!lead.is_empty()).then_some(lead));
            paragraphs.push(lines.join("\n"));
        }
        let remark = text(part, "remark");
        if !remark.is_empty() && !paragraphs.contains(&remark) {
            paragraphs.push(remark);
        }
    }
    paragraphs.push(words::NO_MODEL.to_owned());
    paragraphs.join("\n\n")
}

fn data(lead: &str, quotes: &[Quote], remark: &str) -> Value {
    let quotes: Vec<Value> = quotes
        .iter()
        .map(|quote| {
            let colon = if quote.place.is_empty() { "" } else if quote.place.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { ", " };
            json!({ "source": format!("{}{colon}{}", quote.path, quote.place), "trail": quote.trail, "text": quote.text })
        })
        .collect();
    json!({ "lead": lead, "quotes": quotes, "remark": remark })
}

fn listed(terms: &[&Term]) -> String {
    terms.iter().map(|term| term.word.as_str()).collect::<Vec<_>>().join(", ")
}

impl Quote {
    fn of(passage: &Passage, unit: &QuotableUnit, part: &QuestionPart) -> Self {
        let own_words = matching::words(&unit.text);
        let context = [unit.around.as_str(), &passage.trail, &passage.path];
        let around_words: Vec<Word> = context.iter().flat_map(|text| matching::words(text)).collect();
        let own: Vec<bool> = part.terms.iter().map(|term| says(&own_words, term)).collect();
        let around: Vec<bool> = part.terms.iter().map(|term| says(&around_words, term)).collect();
        let trail_words = matching::words(&passage.trail);
        let is_row = unit.form == UnitForm::Row;
        let above =
            part.terms.iter().map(|term| says(&trail_words, term) || (is_row && says(&around_words, term))).collect();
        let is_told_by_trail = part.terms.iter().zip(&own).any(|(term, own)| !own && says(&trail_words, term));
        Self {
            path: passage.path.clone(),
            place: match unit.lines {
                Some((first, last)) if first == last => first.to_string(),
                Some((first, last)) => format!("{first}-{last}"),
                None => passage.place.clone(),
            },
            trail: if is_told_by_trail { passage.trail.clone() } else { String::new() },
            is_foreign: names_something_else(part, unit, &own_words),
            text: unit.quoted.clone(),
            matched: unit.text.clone(),
            is_row,
            score: 0.0,
            own,
            around,
            above,
        }
    }

    /// Whether it contains a word of the question, or stands under one.
    fn says(&self, at: usize) -> bool {
        self.own[at] || self.around[at]
    }

    /// Whether it is about a name. A line that names something else is about that, unless it contains the name itself.
    fn names(&self, at: usize) -> bool {
        self.own[at] || (self.around[at] && (self.is_row || !self.is_foreign))
    }

    /// Where a word of the question is nowhere, whether this is about something else: it names something else, or is an
    /// entry such as `Height: 12 m` of something else.
    fn is_of_another(
        &self,
        part: &QuestionPart,
        passage: &Passage,
        (unknown, only_around): (&[&Term], &[bool]),
    ) -> bool {
        let lacks_name = unknown.iter().any(|term| term.is_name);
        if !lacks_name && part.terms.iter().zip(&self.own).any(|(term, own)| term.is_name && *own) {
            return false;
        }
        let is_entry = self.matched.contains([':', '=']) && self.matched.split_whitespace().count() <= 10;
        let is_lone_entry = is_entry && !only_around.iter().any(|says| *says);
        let is_lone_row = self.is_row && !self.own.iter().any(|says| *says);
        let heading = passage.trail.rsplit(" › ").next().unwrap_or_default();
        let is_of_other_section =
            is_entry && !heading.is_empty() && !part.terms.iter().any(|term| says(&matching::words(heading), term));
        self.is_foreign || is_lone_entry || is_lone_row || is_of_other_section
    }

    /// How much of the question it covers, from 0 to 1.
    fn coverage(&self) -> f64 {
        let covered = (0..self.own.len()).filter(|at| self.says(*at)).count();
        covered as f64 / self.own.len().max(1) as f64
    }
}

fn says(words: &[Word], term: &Term) -> bool {
    words.iter().any(|word| matching::is_form_of(word, &term.lower))
}

/// Everything that can be quoted, best first.
fn ranked(part: &QuestionPart, findings: &Findings, unknown: &[&Term]) -> Vec<Quote> {
    let mut quotes: Vec<Quote> = Vec::new();
    let asked = fingerprint(&part.query);
    for (rank, passage) in findings.passages.iter().enumerate() {
        for unit in units(passage) {
            // An example or a test that repeats the question does not answer it.
            if asked.len() >= 15 && fingerprint(&unit.text).contains(&asked) {
                continue;
            }
            let mut quote = Quote::of(passage, &unit, part);
            let weight = |at: usize| if part.terms[at].is_name { 2.0 } else { 1.0 };
            let sum = |flags: &[bool]| {
                flags.iter().enumerate().filter(|(_, says)| **says).map(|(at, _)| weight(at)).sum::<f64>()
            };
            let only_around: Vec<bool> =
                quote.own.iter().zip(&quote.around).map(|(own, around)| *around && !own).collect();
            let (own, lent) = (sum(&quote.own), sum(&only_around));
            let is_lent_only = own == 0.0 && !quote.is_row;
            if !unknown.is_empty() && quote.is_of_another(part, passage, (unknown, &only_around)) {
                continue;
            }
            if !unknown.is_empty() && !quote.is_row {
                quote.text.clone_from(&quote.matched);
            }
            if is_lent_only || own + lent == 0.0 {
                continue;
            }
            let words = unit.text.split_whitespace().count() as f64;
            let length = if words < 4.0 { 0.6 } else { 1.0 / (0.85 + 0.15 * (words / 20.0).max(0.5)) };
            let form = if unit.form == UnitForm::Code { 0.6 } else { 1.0 };
            let origin = if passage.path.contains("test") {
                0.7
            } else if units::is_code(&passage.path) && !part.is_about_code() {
                0.85
            } else if passage.path.to_lowercase().ends_with(".md") {
                1.15
            } else {
                1.0
            };
            let number =
                if part.wants_number() && unit.text.contains(|c: char| c.is_ascii_digit()) { 1.25 } else { 1.0 };
            let doubt = if unit.text.trim_end().ends_with('?') { 0.4 } else { 1.0 };
            let early = 1.0 / (1.0 + 0.05 * rank as f64);
            quote.score = (own + 0.5 * lent) * length * form * origin * number * doubt * early;
            quotes.push(quote);
        }
    }
    quotes.sort_by(|a, b| b.score.total_cmp(&a.score));
    quotes
}

/// Whether something found introduces its file.
pub(super) fn has_introduction(findings: &Findings) -> bool {
    !beginnings(findings, |unit| unit.opens_file).is_empty()
}

/// The first of such units in each file, which say what the folder is about; the README's before others.
fn beginnings(findings: &Findings, is_such: impl Fn(&QuotableUnit) -> bool) -> Vec<Quote> {
    let part = QuestionPart::default();
    let mut quotes: Vec<Quote> = Vec::new();
    for (rank, passage) in findings.passages.iter().enumerate() {
        let name = passage.path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let is_readme = name.starts_with("readme");
        for (at, unit) in
            units(passage).iter().filter(|unit| is_such(unit) && !unit.text.contains("](http")).enumerate()
        {
            let score = if is_readme { 2.0 } else { 1.0 } / (1.0 + 0.2 * at as f64 + 0.1 * rank as f64);
            quotes.push(Quote { score, ..Quote::of(passage, unit, &part) });
        }
    }
    quotes.sort_by(|a, b| b.score.total_cmp(&a.score));
    quotes
}

/// The best of them from several files, without what is said twice.
fn choose(quotes: Vec<Quote>, most: usize, share: f64) -> Vec<Quote> {
    let mut chosen: Vec<Quote> = Vec::new();
    for quote in quotes {
        let Some(best) = chosen.first() else {
            chosen.push(quote);
            continue;
        };
        let lacks = (0..quote.own.len()).any(|at| best.says(at) && !quote.says(at));
        let of_file = chosen.iter().filter(|other| other.path == quote.path).count();
        let own = fingerprint(&quote.matched);
        let is_known = chosen
            .iter()
            .map(|other| fingerprint(&other.text))
            .any(|other| other.contains(&own) || own.contains(&other));
        let is_worth_it = quote.score >= best.score * share && of_file < MOST_OF_A_FILE;
        if chosen.len() < most && is_worth_it && !is_known && !(quote.is_foreign && lacks) {
            chosen.push(quote);
        }
    }
    chosen
}

/// Only letters and digits, to compare texts whatever their form.
fn fingerprint(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a unit contains a name that the question does not.
fn names_something_else(part: &QuestionPart, unit: &QuotableUnit, own: &[Word]) -> bool {
    let is_row = unit.form == UnitForm::Row;
    let is_unknown = |word: &Word| {
        word.is_capital()
            && !matching::is_stop_word(&word.lower)
            && !part.terms.iter().any(|term| matching::is_form_of(word, &term.lower))
    };
    own.iter().enumerate().any(|(at, word)| {
        let names_it = own.get(at + 1).is_some_and(|next| {
            next.is_capital() || next.lower.ends_with('s') || matches!(next.lower.as_str(), "had" | "are")
        });
        is_unknown(word) && (is_row || !word.opens || word.possessive || names_it)
    })
}
