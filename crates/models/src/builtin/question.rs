//! Analyses a goal: splits it into parts, and finds what each part asks about.

use super::stem;
use super::terms::Term;
use super::tokens;

/// Maximum number of words to search for; each costs one call.
const MAX_TERMS: usize = 8;

/// An analysed goal.
#[derive(Debug, Default)]
pub(super) struct GoalQuestion {
    /// What it asks, part by part. Never empty.
    pub(super) parts: Vec<QuestionPart>,
    /// Its letters and digits, to recognise the goal where a file quotes it.
    print: String,
}

/// One part of a goal.
#[derive(Debug, Default)]
pub(super) struct QuestionPart {
    /// Its significant words.
    pub(super) terms: Vec<Term>,
    /// Things that must be mentioned: of each list of alternatives, one must occur with all its terms.
    pub(super) required: Vec<Vec<Vec<usize>>>,
    /// Whether it asks for a number, a date or an amount.
    pub(super) wants_number: bool,
}

impl QuestionPart {
    /// Whether it asks about something that is marked by a capital letter, digits or quotation marks.
    pub(super) fn has_names(&self) -> bool {
        !self.required.is_empty()
    }

    /// Whether it asks about nothing in particular, so that the files' introductions are the best answer.
    pub(super) fn is_overview(&self) -> bool {
        self.terms.is_empty()
    }
}

impl GoalQuestion {
    /// Analyses a goal.
    pub(super) fn of(goal: &str) -> Self {
        let mut parts: Vec<QuestionPart> = Vec::new();
        for clause in clauses(goal) {
            let mut part = part_of(&clause);
            if let Some(first) = parts.first().filter(|_| refers_back(&clause) && !part.has_names()) {
                inherit(&mut part, first);
            }
            if !part.terms.is_empty() || parts.is_empty() || !parts.iter().any(QuestionPart::is_overview) {
                parts.push(part);
            }
        }
        if parts.len() > 1 && is_order_only(goal) {
            parts.retain(|part| !part.is_overview());
        }
        if parts.is_empty() {
            parts.push(QuestionPart::default());
        }
        Self { parts, print: fingerprint(goal) }
    }

    /// Whether a text only repeats the question, as an example of use or a test does.
    pub(super) fn is_echoed_in(&self, text: &str) -> bool {
        self.print.len() >= 20 && fingerprint(text).contains(&self.print)
    }

    /// Every significant word once, names first, limited to the number that is searched for.
    pub(super) fn terms(&self) -> Vec<&Term> {
        let mut terms: Vec<&Term> = Vec::new();
        for wanted in [true, false] {
            for term in self.parts.iter().flat_map(|part| &part.terms).filter(|term| term.is_exact == wanted) {
                if !terms.iter().any(|known| known.lower == term.lower) {
                    terms.push(term);
                }
            }
        }
        terms.truncate(MAX_TERMS);
        terms
    }
}

/// Only letters and digits, to compare texts regardless of their formatting.
pub(super) fn fingerprint(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether the goal asks neither "what" nor for an overview, so that it is only an order.
fn is_order_only(goal: &str) -> bool {
    let lower = goal.to_lowercase();
    !["what", "overview", "summar", "about", "describe", "explain"].iter().any(|word| lower.contains(word))
}

/// Copies what an earlier part was about.
fn inherit(part: &mut QuestionPart, first: &QuestionPart) {
    for alternatives in &first.required {
        let moved = alternatives
            .iter()
            .map(|name| {
                name.iter()
                    .map(|&at| {
                        part.terms.push(first.terms[at].clone());
                        part.terms.len() - 1
                    })
                    .collect()
            })
            .collect();
        part.required.push(moved);
    }
}

fn refers_back(clause: &str) -> bool {
    stem::words(clause)
        .iter()
        .any(|w| matches!(w.lower.as_str(), "it" | "its" | "they" | "their" | "he" | "she" | "his" | "her" | "there"))
}

/// Splits at sentence ends, and before "and how", "and what" and similar phrases.
fn clauses(goal: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut current = String::new();
    let tokens: Vec<&str> = goal.split_whitespace().collect();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|next| next.to_lowercase());
        let asks_on = next.is_some_and(|next| {
            ["what", "how", "who", "when", "where", "why", "which", "whose"]
                .contains(&next.trim_end_matches(|c: char| !c.is_alphanumeric()))
        });
        if matches!(*token, "and" | "And" | "or" | "&") && asks_on && !current.is_empty() {
            clauses.push(std::mem::take(&mut current));
            continue;
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(token);
        if token.ends_with(['?', ';']) || (token.ends_with(['.', '!']) && token.chars().count() > 3) {
            clauses.push(std::mem::take(&mut current));
        }
    }
    clauses.push(current);
    clauses.retain(|clause| !clause.trim().is_empty());
    clauses
}

fn part_of(clause: &str) -> QuestionPart {
    let tokens = tokens::tokens(clause);
    let capitals_tell = tokens::capitals_tell(&tokens);
    let mut part = QuestionPart { wants_number: wants_number(clause), ..QuestionPart::default() };
    let mut previous: Option<usize> = None;
    let mut joined_by_and = false;
    for token in &tokens {
        if !token.is_telling() {
            joined_by_and = previous.is_some() && matches!(token.lower.as_str(), "and" | "or" | "und" | "oder");
            if !joined_by_and {
                previous = None;
            }
            continue;
        }
        let is_exact = token.quoted || token.is_name(capitals_tell);
        let at = push_term(&mut part, &token.text, is_exact);
        if part.terms[at].is_exact {
            let beside = previous.is_some() && token.gap.trim().is_empty();
            require(&mut part, at, beside && !joined_by_and, joined_by_and || token.gap.trim() == ",");
            previous = Some(at);
        } else {
            previous = None;
        }
        joined_by_and = false;
    }
    drop_kind_words(&mut part);
    part
}

fn push_term(part: &mut QuestionPart, text: &str, is_exact: bool) -> usize {
    let term = Term::new(text, is_exact);
    if let Some(at) = part.terms.iter().position(|known| known.lower == term.lower) {
        return at;
    }
    part.terms.push(term);
    part.terms.len() - 1
}

/// Adds a name to what is required: to the name before it, as its alternative, or as a new entry.
fn require(part: &mut QuestionPart, at: usize, extends: bool, is_alternative: bool) {
    match part.required.last_mut() {
        Some(alternatives) if extends => {
            if let Some(name) = alternatives.last_mut() {
                name.push(at);
            }
        }
        Some(alternatives) if is_alternative => alternatives.push(vec![at]),
        _ => part.required.push(vec![vec![at]]),
    }
}

/// "Station Kestrel" may also be called just "Kestrel".
fn drop_kind_words(part: &mut QuestionPart) {
    let QuestionPart { terms, required, .. } = part;
    for name in required.iter_mut().flatten() {
        if name.iter().any(|&at| !stem::is_kind_word(&terms[at].lower)) {
            name.retain(|&at| !stem::is_kind_word(&terms[at].lower));
        }
    }
}

fn wants_number(clause: &str) -> bool {
    let lower = format!(" {} ", clause.to_lowercase());
    [
        " how much",
        " how many",
        " how long",
        " how old",
        " how tall",
        " how high",
        " how deep",
        " how far",
        " how heavy",
        " how fast",
        " how wide",
        " when ",
        " year",
        " date",
        " number",
        " code ",
        " code?",
        " price",
        " cost",
        " size",
        " weight",
        " height",
        " length",
        " capacity",
        " port ",
        " version",
        " wie viel",
        " wann ",
        " wieviel",
    ]
    .iter()
    .any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(goal: &str) -> Vec<Vec<String>> {
        GoalQuestion::of(goal).parts.iter().map(|part| part.terms.iter().map(|t| t.lower.clone()).collect()).collect()
    }

    fn required_of(goal: &str) -> Vec<Vec<Vec<String>>> {
        let question = GoalQuestion::of(goal);
        let part = &question.parts[0];
        let name = |name: &Vec<usize>| name.iter().map(|&at| part.terms[at].lower.clone()).collect();
        part.required.iter().map(|alternatives| alternatives.iter().map(name).collect()).collect()
    }

    #[test]
    fn a_goal_is_taken_apart_into_what_it_asks() {
        assert_eq!(
            words_of("What does this project do, and how does it keep bread fresh?"),
            [vec![], vec!["keep", "bread", "fresh"]]
        );
        assert_eq!(
            words_of("What is station Kestrel, and what is its launch code?"),
            [vec!["station", "kestrel"], vec!["launch", "code", "kestrel"]]
        );
    }

    #[test]
    fn names_are_required() {
        assert_eq!(required_of("What is the launch key of station Osprey?"), [[["osprey"]]]);
        assert_eq!(required_of("Who is Elena Marsh?"), [[["elena", "marsh"]]]);
        assert_eq!(required_of("What are the keys of Kestrel and Osprey?"), [[["kestrel"], ["osprey"]]]);
        assert_eq!(required_of("How much does X-42 weigh?"), [[["x-42"]]]);
        assert_eq!(required_of("What is Marlowe's height?"), [[["marlowe"]]]);
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for (a, b) in [
            ("holds", "held"),
            ("cities", "city"),
            ("stopped", "stop"),
            ("storing", "stores"),
            ("crashes", "crash"),
            ("boxes", "box"),
            ("carried", "carries"),
        ] {
            assert_eq!(stem::stem(a), stem::stem(b), "{a} and {b}");
        }
    }
}
