//! Takes a goal apart: what each part of it asks about.

use super::matching::{self, Word};
use super::units;

/// The most parts that are looked for one by one.
pub(super) const MOST_PARTS: usize = 3;

/// One part of a goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuestionPart {
    /// What is searched for.
    pub(super) query: String,
    /// Its telling words.
    pub(super) terms: Vec<Term>,
    /// The files that it asks about as a whole: `What is in a.txt?`
    pub(super) files: Vec<String>,
}

/// A telling word of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// As it was written.
    pub(super) word: String,
    pub(super) lower: String,
    /// Whether it names something: a line about something else is no answer.
    pub(super) is_name: bool,
}

impl QuestionPart {
    /// Whether it asks about nothing in particular, so that the files' introductions answer it.
    pub(super) fn is_overview(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it asks for a number or a date.
    pub(super) fn wants_number(&self) -> bool {
        let lower = self.query.to_lowercase();
        let phrases = [
            "how m", "how l", "how o", "how h", "how d", "how f", "when ", "year", "number", "code", "version",
            "default", "limit", "wie viel", "wann ",
        ];
        phrases.iter().any(|phrase| lower.contains(phrase))
    }

    /// Whether it names something that is written in code, such as `run_to_end`; otherwise documents answer it better.
    pub(super) fn is_about_code(&self) -> bool {
        self.terms.iter().flat_map(|term| matching::words(&term.word)).any(|word| word.is_identifier())
    }

    fn of(clause: &str) -> Self {
        let words = matching::words(clause);
        // In a goal in capitals, or without any, capitals do not mark names.
        let capitals = words.iter().filter(|word| word.is_capital()).count();
        let capitals_tell = capitals * 3 < words.len() * 2 || words.len() < 5;
        let mut part = Self { query: clause.trim().to_owned(), ..Self::default() };
        for (at, word) in words.iter().enumerate() {
            let is_quoted = clause.contains(&format!("`{}`", word.text));
            let is_known = part.terms.iter().any(|term| term.lower == word.lower);
            if !is_known && (is_quoted || is_telling(word)) {
                let is_marked = word.is_capital() && (at > 0 || word.possessive) && capitals_tell;
                let is_name = (is_quoted || is_marked || word.is_identifier()) && !is_kind_word(&word.lower);
                part.terms.push(Term { word: word.text.clone(), lower: word.lower.clone(), is_name });
            }
        }
        let files = files_in(clause);
        let is_of_file = |term: &Term| {
            CONTENT_WORDS.contains(&term.lower.as_str())
                || files.iter().flat_map(|file| matching::words(file)).any(|word| word.lower == term.lower)
        };
        if part.terms.iter().all(is_of_file) {
            part.files = files;
        }
        part
    }

    /// Adds what an earlier part is about.
    fn inherit(&mut self, first: &Self) {
        for name in first.terms.iter().filter(|term| term.is_name) {
            self.query.extend([" ", &name.word]);
            self.terms.push(name.clone());
        }
    }
}

/// Words that ask for all that a file says.
const CONTENT_WORDS: [&str; 10] =
    ["say", "says", "contain", "contains", "content", "contents", "inside", "written", "file", "document"];

/// The files that a clause names.
fn files_in(clause: &str) -> Vec<String> {
    let is_around = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '/' | '.'));
    let names = clause.split_whitespace().map(|token| token.trim_matches(is_around).trim_end_matches('.'));
    let names = names.map(|name| name.trim_start_matches("./")).filter(|name| units::is_file_name(name));
    names.map(str::to_owned).collect()
}

/// Takes a goal apart. There is always a part.
pub(super) fn parts_of(goal: &str) -> Vec<QuestionPart> {
    let mut parts: Vec<QuestionPart> = Vec::new();
    for clause in clauses(goal) {
        let mut part = QuestionPart::of(&clause);
        let has_names = part.terms.iter().any(|term| term.is_name);
        if let Some(first) = parts.first().filter(|_| !has_names && refers_back(&clause)) {
            part.inherit(first);
        }
        if !part.is_overview() || !parts.iter().any(QuestionPart::is_overview) {
            parts.push(part);
        }
    }
    let is_asked = |part: &QuestionPart| part.query.contains('?') || part.query.to_lowercase().starts_with("what");
    if parts.len() > 1 {
        parts.retain(|part| !part.is_overview() || is_asked(part));
    }
    while parts.len() > MOST_PARTS {
        let Some(last) = parts.pop() else { break };
        if let Some(joined) = parts.last_mut() {
            joined.query = format!("{} {}", joined.query, last.query);
            joined.terms.extend(last.terms);
        }
    }
    if parts.is_empty() {
        parts.push(QuestionPart::default());
    }
    parts
}

fn is_telling(word: &Word) -> bool {
    let is_long = word.lower.chars().count() > 1 || word.lower.chars().all(char::is_numeric);
    is_long && !matching::is_stop_word(&word.lower)
}

/// "Station Kestrel" may also be called just "Kestrel".
fn is_kind_word(lower: &str) -> bool {
    ["station", "port", "mount", "lake", "river", "city", "project", "team", "room", "building", "ship"]
        .contains(&lower)
}

fn refers_back(clause: &str) -> bool {
    let back = ["it", "its", "they", "their", "he", "she", "his", "her", "there", "why"];
    matching::words(clause).iter().any(|word| back.contains(&word.lower.as_str()))
}

/// Splits at the ends of sentences, and before "and how", "and from which" and the like.
fn clauses(goal: &str) -> Vec<String> {
    let tokens: Vec<&str> = goal.split_whitespace().collect();
    let asks = |at: usize| {
        let word = tokens.get(at).map(|word| word.to_lowercase()).unwrap_or_default();
        ["what", "how", "who", "when", "where", "why", "which", "whose"]
            .contains(&word.trim_matches(|c: char| !c.is_alphanumeric()))
    };
    let mut clauses = vec![String::new()];
    for (at, token) in tokens.iter().enumerate() {
        let Some(current) = clauses.last_mut() else { break };
        if matches!(*token, "and" | "And" | "or" | "&") && (asks(at + 1) || asks(at + 2)) && !current.is_empty() {
            clauses.push(String::new());
            continue;
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(token);
        if token.ends_with(['?', ';']) || (token.ends_with(['.', '!']) && token.chars().count() > 3) {
            clauses.push(String::new());
        }
    }
    clauses.retain(|clause| !clause.trim().is_empty());
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(goal: &str) -> Vec<Vec<String>> {
        let word = |term: &Term| if term.is_name { term.word.clone() } else { term.lower.clone() };
        parts_of(goal).iter().map(|part| part.terms.iter().map(word).collect()).collect()
    }

    #[test]
    fn a_goal_is_taken_apart_into_what_it_asks() {
        for (goal, expected) in [
            (
                "What does this project do, and how does it keep bread fresh?",
                vec![vec![], vec!["keep", "bread", "fresh"]],
            ),
            (
                "What is station Kestrel, and what is its launch code?",
                vec![vec!["station", "Kestrel"], vec!["launch", "code", "Kestrel"]],
            ),
            ("What is M2 of Brest?", vec![vec!["M2", "Brest"]]),
            ("Osprey's launch code?", vec![vec!["Osprey", "launch", "code"]]),
            ("What does WalkState::Skip do?", vec![vec!["WalkState", "Skip"]]),
        ] {
            assert_eq!(words_of(goal), expected, "{goal}");
        }
    }

    #[test]
    fn a_file_is_asked_about_as_a_whole_or_for_something_in_it() {
        for (goal, expected) in [
            ("What is in a.txt?", vec!["a.txt"]),
            ("What does `./docs/a.md` say?", vec!["docs/a.md"]),
            ("Summarise notes.md.", vec!["notes.md"]),
            ("Which license is in Cargo.toml?", vec![]),
            ("What does e.g. this do?", vec![]),
        ] {
            assert_eq!(parts_of(goal)[0].files, expected, "{goal}");
        }
    }
}
