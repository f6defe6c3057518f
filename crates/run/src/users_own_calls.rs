//! Decides which calls are the user's own: those whose arguments all appear in the user's own text.
//!
//! The user's own text is the goal, answers to an agent's questions, messages to a running run, and the documents of a
//! workspace that the user trusts. An argument *counts* unless it is absent, empty, true or false. Every value at every
//! depth is checked separately. A value *appears* in the user's text if
//!
//! - a **text** is there as a whole: all its words in sequence, each a whole word (`bob@x.org` is not in
//!   `notbob@x.org`, nor `x.org` in `bob@x.org`). Quotation marks and punctuation around words are ignored, and so is
//!   case in plain words; in words with digits or signs, case matters. A text that the user did not write never
//!   appears, so a summary, a file's content or a secret does not;
//! - a **number** is there as a number: 100 in "$100" and in "100.00", but not in "1000";
//! - a **date** (`2025-01-11`, with or without a time) is named there, in digits or with the name of its month, and its
//!   year is named too. The hour is ignored, because people say "for one hour".
//!
//! This cannot tell which of the user's words belong together ("5 to Ann, 90 to Bob"), nor whether they were meant as
//! an order ("do not write to Bob"). So it is used only for calls that add or send, never for calls that destroy or
//! overwrite: nothing is sent to a recipient the user did not name, and no text is sent that the user did not write. A
//! call without any argument that counts is not the user's own, and a call that repeats an earlier call, or its number,
//! is asked about.

use serde_json::Value;

use crate::arguments::leaves;

/// Characters that may surround words in prose.
const AROUND: &[char] = &[
    '"', '\'', '`', '“', '”', '‘', '’', '«', '»', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '!', '?', '*',
    '…',
];
/// Signs that may surround a number.
const MONEY: &[char] = &['$', '€', '£', '¥', '%'];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A call that was made: its tool and the arguments that count, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparableCall {
    tool: String,
    telling: Vec<(String, Vec<String>)>,
    numbers: Vec<(String, String)>,
}

impl ComparableCall {
    pub(crate) fn of(tool: &str, args: &Value) -> Self {
        let telling = telling(args);
        let number = |(place, value): &(String, &Value)| Some((place.clone(), figure(value)?.to_string()));
        Self {
            tool: tool.to_owned(),
            numbers: telling.iter().filter_map(number).collect(),
            telling: telling.into_iter().map(|(place, value)| (place, words_of(&plain(value)))).collect(),
        }
    }

    /// Whether it repeats another call: the same call, or another call with the same number.
    pub(crate) fn repeats(&self, made: &Self) -> bool {
        let is_again = |number: &(String, String)| made.numbers.contains(number);
        self.tool == made.tool && (self.telling == made.telling || self.numbers.iter().any(is_again))
    }
}

/// Whether there is an argument that counts, and all such arguments appear in these texts.
pub(crate) fn stands_in<'a>(texts: impl Iterator<Item = &'a str>, args: &Value) -> bool {
    let telling = telling(args);
    let said: Vec<Vec<String>> = texts.map(words_of).collect();
    !telling.is_empty() && telling.iter().all(|(_, value)| stands(value, &said))
}

fn telling(args: &Value) -> Vec<(String, &Value)> {
    let tells = |value: &Value| match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    };
    leaves(args).into_iter().filter(|(_, value)| tells(value)).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn stands(value: &Value, said: &[Vec<String>]) -> bool {
    if let Some(number) = figure(value) {
        let is_it = |word: &String| read_figure(word).is_some_and(|said| said.total_cmp(&number).is_eq());
        return said.iter().flatten().any(is_it);
    }
    let text = plain(value);
    if let Some(day) = Day::read(&text) {
        return day.is_named(said);
    }
    let wanted = words_of(&text);
    !wanted.is_empty() && said.iter().any(|words| words.windows(wanted.len()).any(|part| part == wanted))
}

/// The words of a text, in a form that can be compared. Plain words become lower case; all others stay as they are.
fn words_of(text: &str) -> Vec<String> {
    let word = |piece: &str| {
        let piece = piece.trim_start_matches(AROUND).trim_end_matches(|c| c == '.' || AROUND.contains(&c));
        let piece = piece.strip_suffix("'s").or_else(|| piece.strip_suffix("’s")).unwrap_or(piece);
        let is_plain = piece.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'));
        if is_plain { piece.to_lowercase() } else { piece.to_owned() }
    };
    text.split_whitespace().map(word).filter(|word| !word.is_empty()).collect()
}

/// The value as a number, if it is one.
fn figure(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => read_figure(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn read_figure(word: &str) -> Option<f64> {
    let word = word.trim_matches(MONEY);
    // A leading zero belongs to a code, not to a number.
    let is_code = word.len() > 1 && word.starts_with('0') && !word.starts_with("0.");
    let is_figure = word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !is_code;
    let groups: Vec<&str> = word.split(',').collect();
    let is_grouped = groups.len() > 1
        && groups[1..].iter().all(|group| group.split('.').next().is_some_and(|whole| whole.len() == 3));
    let digits = if is_grouped { groups.concat() } else { word.to_owned() };
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    // A longer number is an account number or a code, and is compared as text.
    (is_figure && is_plain && digits.len() <= 12).then(|| digits.parse().ok()).flatten()
}

/// A date.
struct Day {
    year: String,
    month: usize,
    number: u32,
}

impl Day {
    /// Parses `2025-01-11`, optionally followed by a time.
    fn read(text: &str) -> Option<Self> {
        let date = text.get(..10)?;
        let rest = &text[10..];
        let is_time = rest.is_empty()
            || (rest.starts_with([' ', 'T'])
                && rest[1..].chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.' | 'Z' | '+' | '-')));
        let (year, rest) = date.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let is_date =
            (year.len(), month.len(), day.len()) == (4, 2, 2) && date.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let (month, day) = (month.parse().ok()?, day.parse().ok()?);
        (is_date && is_time && (1..=12).contains(&month)).then(|| Self { year: year.to_owned(), month, number: day })
    }

    fn is_named(&self, said: &[Vec<String>]) -> bool {
        let figures = format!("{}-{:02}-{:02}", self.year, self.month, self.number);
        let in_figures = |words: &Vec<String>| words.iter().any(|word| word.get(..10) == Some(figures.as_str()));
        let in_words = |words: &Vec<String>| {
            let around = |at: usize| [at.checked_sub(1), at.checked_sub(2), Some(at + 1)].into_iter().flatten();
            let is_day = |at: usize| words.get(at).is_some_and(|word| day_of(word) == Some(self.number));
            let months = words.iter().enumerate().filter(|(_, word)| month_of(word) == Some(self.month));
            let is_near = |at: usize, near: usize| is_day(near) && (near + 2 != at || words[at - 1] == "of");
            words.contains(&self.year) && months.into_iter().any(|(at, _)| around(at).any(|near| is_near(at, near)))
        };
        said.iter().any(|words| in_figures(words) || in_words(words))
    }
}

fn month_of(word: &str) -> Option<usize> {
    let word = word.trim_end_matches('.').to_lowercase();
    MONTHS.iter().position(|month| *month == word || (word.len() >= 3 && month.starts_with(&word))).map(|at| at + 1)
}

fn day_of(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th", "."].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOAL: &str = "Pay Ann's invoice: send $1,250.50 to GB29NWBK60161331926819 (subject 'Rent for May.'.), then mail \
        bob@x.org. Book 'Le Marais Boutique' from January 11th to the 15th of January 2025. Meet on 2024-05-19 at 12:00. \
        The code is 0042.";

    fn stand(args: &Value) -> bool {
        stands_in([GOAL].into_iter(), args)
    }

    #[test]
    fn values_that_the_user_wrote_stand_in_the_users_words() {
        for args in [
            json!({"to": "GB29NWBK60161331926819", "amount": 1250.5, "subject": "rent for may", "urgent": true, "cc": null}),
            json!({"to": ["bob@x.org"], "amount": "1250.50"}),
            json!({"hotel": "Le Marais Boutique", "from": "2025-01-11", "until": "2025-01-15"}),
            json!({"who": "Ann", "start": "2024-05-19 12:00", "end": "2024-05-19T13:00:00Z"}),
            json!({"code": "0042"}),
        ] {
            assert!(stand(&args), "{args}");
        }
    }

    #[test]
    fn parts_of_words_other_orders_and_anything_added_do_not() {
        for args in [
            json!({"to": "x.org"}),
            json!({"to": "bob"}),
            json!({"to": "GB29NWBK60161331926818"}),
            json!({"to": "gb29nwbk60161331926819"}),
            json!({"to": "bob@x.org", "bcc": "eve@evil.org"}),
            json!({"to": {"name": "Ann", "more": ["bob@x.org", "eve@evil.org"]}}),
            json!({"to": "bob@x.org\r\nBcc: eve@evil.org"}),
            json!({"subject": "May for Rent"}),
            json!({"subject": "Rent for"  , "body": "May Rent"}),
            json!({"amount": 1250}),
            json!({"amount": 125}),
            json!({"amount": 250.5}),
            json!({"code": 42}),
            json!({"day": "2025-01-12"}),
            json!({"day": "2026-01-11"}),
            json!({"day": "2025-05-19 x@evil.org"}),
            json!({"body": "!!!"}),
        ] {
            assert!(!stand(&args), "{args}");
        }
    }

    #[test]
    fn a_call_that_tells_nothing_is_nobodys() {
        for args in [json!({}), json!({"all": true, "note": "", "x": null, "list": []}), Value::Null] {
            assert!(!stand(&args), "{args}");
        }
        assert!(!stands_in([].into_iter(), &json!({"to": "bob@x.org"})));
    }

    #[test]
    fn the_same_again_and_the_same_number_again_are_repetitions() {
        let errand = |args: Value| ComparableCall::of("pay", &args);
        let made = errand(json!({"to": "Ann", "amount": 50, "subject": "pizza"}));
        assert!(errand(json!({"subject": "PIZZA!", "to": "Ann", "amount": 50.0, "later": true})).repeats(&made));
        assert!(errand(json!({"to": "Ann", "amount": "50", "subject": "for pizza"})).repeats(&made));
        assert!(!errand(json!({"to": "Bob", "amount": 20, "subject": "pizza"})).repeats(&made));
        assert!(!ComparableCall::of("ask", &json!({"to": "Ann", "amount": 50, "subject": "pizza"})).repeats(&made));
    }
}
