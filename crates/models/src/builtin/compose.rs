//! Chooses quotations and writes the answer, or says that there is no evidence.

use super::hits::WordHits;
use super::question::{GoalQuestion, QuestionPart, fingerprint};
use super::quote::Quote;
use super::stem;
use super::terms::Term;
use super::words;

/// Maximum number of quotations in an answer.
const MAX_QUOTES: usize = 6;
/// Maximum number of quotations from one file, unless there is no other file.
const MAX_OF_A_FILE: usize = 2;
/// Maximum number of quotations if nothing answers the question.
const MAX_CLOSEST: usize = 2;
/// The minimum weight of a quotation, as a share of the best.
const WORTH_SHOWING: f64 = 0.55;
/// The share of the question's words, by weight, that makes a quotation evidence.
const COVERAGE: f64 = 0.34;

/// Everything that an answer is based on.
pub(super) struct Evidence<'a> {
    pub(super) question: &'a GoalQuestion,
    pub(super) hits: &'a WordHits,
    pub(super) files: usize,
    pub(super) quotes: Vec<Quote>,
}

impl Evidence<'_> {
    /// The answer for a person.
    pub(super) fn answer(&self) -> String {
        let most = (MAX_QUOTES / self.question.parts.len()).max(2);
        let mut shown: Vec<String> = Vec::new();
        let mut paragraphs: Vec<String> = Vec::new();
        for (at, part) in self.question.parts.iter().enumerate() {
            let mut quotes: Vec<&Quote> = self.quotes.iter().filter(|quote| quote.part == at).collect();
            quotes.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line))));
            let paragraph = if part.is_overview() {
                self.overview(&quotes, most, &mut shown)
            } else {
                self.part(part, &quotes, most, &mut shown)
            };
            if !paragraph.is_empty() && !paragraphs.contains(&paragraph) {
                paragraphs.push(paragraph);
            }
        }
        paragraphs.push(words::NO_MODEL.to_owned());
        paragraphs.join("\n\n")
    }

    fn overview(&self, quotes: &[&Quote], most: usize, shown: &mut Vec<String>) -> String {
        let chosen = choose(quotes, most, 0.2, shown);
        if chosen.is_empty() { words::nothing_to_read(self.files) } else { written(&chosen) }
    }

    fn part(&self, part: &QuestionPart, quotes: &[&Quote], most: usize, shown: &mut Vec<String>) -> String {
        let meeting: Vec<&Quote> =
            quotes.iter().copied().filter(|quote| quote.meets && !self.is_of_another(part, quote)).collect();
        let absent: Vec<&Term> =
            part.terms.iter().filter(|term| self.hits.files_with(&term.lower) == Some(0)).collect();
        if meeting.is_empty() {
            let missing = required_terms(part).into_iter().filter(|term| absent.contains(term)).collect::<Vec<_>>();
            let missing = if missing.is_empty() { part.terms.iter().collect() } else { missing };
            return words::no_evidence(self.files, &listed(&missing));
        }
        let is_vague = !part.has_names() && absent.iter().any(|term| !stem::is_kind_word(&term.lower));
        let is_strong =
            |quote: &&Quote| !is_vague && self.coverage(part, quote) >= COVERAGE && !self.lacks_the_rarest(part, quote);
        let strong: Vec<&Quote> = meeting.iter().copied().filter(is_strong).collect();
        if strong.is_empty() {
            return self.closest(part, &meeting, shown);
        }
        let chosen = choose(&strong, most, WORTH_SHOWING, shown);
        let missing: Vec<&Term> = required_terms(part).into_iter().filter(|term| absent.contains(term)).collect();
        let remark = if missing.is_empty() { String::new() } else { words::no_evidence(self.files, &listed(&missing)) };
        [written(&chosen), remark].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// If no name can be recognised by its spelling, the rarest words may be a name: a line that lacks one of them and
    /// names something else is about that other thing.
    fn is_of_another(&self, part: &QuestionPart, quote: &Quote) -> bool {
        quote.foreign && self.rarest(part).iter().any(|term| !quote.speaks_of(term))
    }

    /// The same for words that occur in few files: a line without any of them is not an answer, only close to one.
    fn lacks_the_rarest(&self, part: &QuestionPart, quote: &Quote) -> bool {
        let is_rare =
            |term: &&Term| self.hits.files_with(&term.lower).is_some_and(|with| with * 5 <= self.files.max(5));
        let rare: Vec<&Term> = self.rarest(part).into_iter().filter(is_rare).collect();
        !rare.is_empty() && !rare.iter().any(|term| quote.speaks_of(term))
    }

    /// The words that occur in the fewest files, if the part has no names.
    fn rarest<'p>(&self, part: &'p QuestionPart) -> Vec<&'p Term> {
        if part.has_names() || part.terms.len() < 2 {
            return Vec::new();
        }
        let rarity = |term: &Term| self.hits.files_with(&term.lower).unwrap_or(usize::MAX);
        let telling: Vec<&Term> = part.terms.iter().filter(|term| !stem::is_kind_word(&term.lower)).collect();
        let least = telling.iter().map(|term| rarity(term)).min();
        telling.into_iter().filter(|term| Some(rarity(term)) == least).collect()
    }

    /// Lines about the right thing that do not answer the question.
    fn closest(&self, part: &QuestionPart, meeting: &[&Quote], shown: &mut Vec<String>) -> String {
        let said = |term: &&Term, quotes: &[&Quote]| quotes.iter().any(|quote| quote.speaks_of(term));
        let is_near =
            |quote: &&Quote| part.has_names() || (self.coverage(part, quote) >= COVERAGE && quote.terms.len() > 1);
        let near: Vec<&Quote> = meeting.iter().copied().filter(is_near).collect();
        let chosen = choose(&near, MAX_CLOSEST, WORTH_SHOWING, shown);
        let (shared, missing): (Vec<&Term>, Vec<&Term>) = part.terms.iter().partition(|term| said(term, &chosen));
        if chosen.is_empty() || shared.is_empty() || missing.is_empty() {
            let absent: Vec<&Term> =
                part.terms.iter().filter(|term| self.hits.files_with(&term.lower) == Some(0)).collect();
            let named = if absent.is_empty() { part.terms.iter().collect() } else { absent };
            return words::no_evidence(self.files, &listed(&named));
        }
        format!("{}\n{}", words::closest(self.files, &listed(&missing), &listed(&shared)), written(&chosen))
    }

    /// How much of what is asked about the required names a quotation covers, from 0 to 1.
    fn coverage(&self, part: &QuestionPart, quote: &Quote) -> f64 {
        let required = required_terms(part);
        let plain: Vec<&Term> =
            part.terms.iter().filter(|term| !required.contains(term) && !stem::is_kind_word(&term.lower)).collect();
        let weight = |term: &Term| match self.hits.files_with(&term.lower) {
            Some(0) => 1.0,
            Some(_) | None => self.hits.weight(&term.lower, self.files).max(1.0),
        };
        let all: f64 = plain.iter().map(|term| weight(term)).sum();
        let said: f64 = plain.iter().filter(|term| quote.speaks_of(term)).map(|term| weight(term)).sum();
        if all == 0.0 { 1.0 } else { said / all }
    }
}

fn required_terms(part: &QuestionPart) -> Vec<&Term> {
    part.required.iter().flatten().flatten().map(|&at| &part.terms[at]).collect()
}

fn listed(terms: &[&Term]) -> String {
    terms.iter().map(|term| term.word.as_str()).collect::<Vec<_>>().join(", ")
}

/// The best quotations from several files, without duplicates.
fn choose<'a>(quotes: &[&'a Quote], most: usize, share: f64, shown: &mut Vec<String>) -> Vec<&'a Quote> {
    let best = quotes.first().map_or(0.0, |quote| quote.score);
    let mut chosen: Vec<&Quote> = Vec::new();
    for quote in quotes {
        let of_file = chosen.iter().filter(|other| other.path == quote.path).count();
        let print = fingerprint(&quote.text);
        let is_known = shown.iter().any(|known| known.contains(&print) || print.contains(known.as_str()));
        if chosen.len() < most && of_file < MAX_OF_A_FILE && quote.score >= best * share && !is_known {
            shown.push(print);
            chosen.push(quote);
        }
    }
    chosen
}

/// One quotation per line, each with its file and line.
fn written(quotes: &[&Quote]) -> String {
    let place = |quote: &Quote| match quote.end_line {
        Some(end) => format!("{}:{}-{end}", quote.path, quote.line),
        None => format!("{}:{}", quote.path, quote.line),
    };
    let line = |quote: &&Quote| match &quote.under {
        Some(under) => {
            format!("- \"{}\" ({}:{}): \"{}\" ({})", under.text, quote.path, under.line, quote.text, place(quote))
        }
        None => format!("- \"{}\" ({})", quote.text, place(quote)),
    };
    quotes.iter().map(line).collect::<Vec<_>>().join("\n")
}
