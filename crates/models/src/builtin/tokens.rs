//! Splits a goal into words, and records how they are written.

use super::stem;

/// A word of the goal and its context.
pub(super) struct GoalToken {
    pub(super) text: String,
    pub(super) lower: String,
    opens: bool,
    pub(super) quoted: bool,
    names_the_folder: bool,
    /// The text between the word before and this one.
    pub(super) gap: String,
}

impl GoalToken {
    pub(super) fn is_telling(&self) -> bool {
        let is_small_number = self.lower.len() == 1 && !self.lower.chars().all(char::is_alphabetic);
        let is_letter = self.text.chars().count() == 1 && self.lower.is_ascii();
        self.quoted || !(stem::is_stop_word(&self.lower) || self.names_the_folder || is_small_number || is_letter)
    }

    pub(super) fn is_name(&self, capitals_tell: bool) -> bool {
        let mut letters = self.text.chars();
        let first = letters.next().is_some_and(char::is_uppercase);
        let later = letters.clone().any(char::is_uppercase);
        let has_digit = self.text.chars().any(|c| c.is_ascii_digit());
        has_digit || (capitals_tell && ((first && !self.opens) || later))
    }
}

/// Whether capital letters mark names: in German and in titles they do not.
pub(super) fn capitals_tell(tokens: &[GoalToken]) -> bool {
    let german = tokens
        .iter()
        .filter(|t| stem::is_german_stop_word(&t.lower) && !matches!(t.lower.as_str(), "was" | "am" | "die"))
        .count();
    let telling: Vec<_> = tokens.iter().filter(|t| t.is_telling()).collect();
    let capital = telling.iter().filter(|t| t.text.chars().next().is_some_and(char::is_uppercase)).count();
    let stops_are_capital = tokens
        .iter()
        .filter(|t| !t.opens && !t.is_telling())
        .all(|t| t.text.chars().next().is_some_and(char::is_uppercase));
    german < 2 && !(telling.len() >= 3 && capital == telling.len() && stops_are_capital)
}

/// The words of a clause; file names and names such as `X-42` or `read_file` are not split.
pub(super) fn tokens(clause: &str) -> Vec<GoalToken> {
    let chars: Vec<char> = clause.chars().collect();
    let mut tokens: Vec<GoalToken> = Vec::new();
    let (mut at, mut gap, mut opens, mut quoted) = (0, String::new(), true, false);
    while at < chars.len() {
        if !chars[at].is_alphanumeric() && chars[at] != '_' {
            let c = chars[at];
            if matches!(c, '"' | '“' | '”' | '„' | '`') {
                quoted = !quoted;
            }
            opens |= matches!(c, '.' | '!' | '?' | ':');
            gap.push(c);
            at += 1;
            continue;
        }
        let start = at;
        while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_' || joins(&chars, at)) {
            at += 1;
        }
        let run: String = chars[start..at].iter().collect();
        for (index, piece) in pieces(&run).into_iter().enumerate() {
            let gap = if index == 0 { std::mem::take(&mut gap) } else { " ".to_owned() };
            let lower = piece.to_lowercase();
            let names_the_folder =
                tokens.last().is_some_and(|before| stem::is_word_for_the_folder(&lower, &before.lower));
            tokens.push(GoalToken { lower, text: piece, opens, quoted, names_the_folder, gap });
            opens = false;
        }
    }
    tokens
}

fn joins(chars: &[char], at: usize) -> bool {
    let joint = matches!(chars[at], '\'' | '’' | '-' | '.' | '/' | ':' | '@');
    let next = chars.get(at + 1).copied();
    joint
        && at > 0
        && (next.is_some_and(|c| c.is_alphanumeric() || c == '_') || (chars[at] == ':' && next == Some(':')))
        || (chars[at] == ':' && at > 0 && chars[at - 1] == ':' && next.is_some_and(char::is_alphanumeric))
}

/// Drops `'s` and splits ordinary compounds (`well-known`); words with digits, dots or underscores are not split.
fn pieces(run: &str) -> Vec<String> {
    let bare = run.strip_suffix("'s").or_else(|| run.strip_suffix("’s")).unwrap_or(run);
    let is_whole = bare.chars().any(|c| c.is_ascii_digit() || matches!(c, '.' | '_' | '/' | ':' | '@'));
    if is_whole || !bare.contains(['-', '\'', '’']) {
        return vec![bare.to_owned()];
    }
    bare.split(['-', '\'', '’']).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}
