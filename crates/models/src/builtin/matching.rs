//! Words of texts and questions, and whether two words are forms of one.

/// A word as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) lower: String,
    /// Whether it begins a sentence, so that a capital letter says nothing.
    pub(super) opens: bool,
    /// Whether `'s` follows.
    pub(super) possessive: bool,
}

impl Word {
    pub(super) fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// Whether it is written as only names are: `run_to_end`, `WalkState`, `X42`, `MSRV`.
    pub(super) fn is_identifier(&self) -> bool {
        let has = |test: fn(char) -> bool| self.text.chars().any(test);
        let has_inner_capital = self.text.chars().skip(1).any(char::is_uppercase);
        self.text.contains('_') || has_inner_capital || (has(char::is_numeric) && has(char::is_alphabetic))
    }
}

/// The words of a text: letters, digits and `_`, and dots between digits.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut opens = true;
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let is_part = |at: usize| {
            chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_')
                || (chars.get(at) == Some(&'.')
                    && at > 0
                    && chars[at - 1].is_ascii_digit()
                    && chars.get(at + 1).is_some_and(char::is_ascii_digit))
        };
        let start = at;
        while is_part(at) {
            at += 1;
        }
        if at == start {
            opens |= matches!(chars[at], '.' | '!' | '?' | ':' | '|' | '>' | '#')
                && !chars.get(at + 1).is_some_and(|c| c.is_alphanumeric());
            at += 1;
            continue;
        }
        let word: String = chars[start..at].iter().collect();
        let possessive = matches!(chars.get(at), Some('\'' | '’'))
            && chars.get(at + 1) == Some(&'s')
            && !chars.get(at + 2).is_some_and(|c| c.is_alphanumeric());
        at += if possessive { 2 } else { 0 };
        found.push(Word { lower: folded(&word), text: word, opens, possessive });
        opens = false;
    }
    found
}

/// In lower case and without accents, as the index compares words.
fn folded(word: &str) -> String {
    let plain = |c: char| match c {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' | 'ø' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        c => c,
    };
    word.to_lowercase().chars().map(plain).collect()
}

/// Whether a word of a text is a form of the word that is asked for, or an identifier that contains one.
pub(super) fn is_form_of(word: &Word, wanted: &str) -> bool {
    are_forms(&word.lower, wanted)
        || (word.is_identifier()
            && !wanted.contains('_')
            && parts(&word.text).iter().any(|part| are_forms(part, wanted)))
}

fn are_forms(a: &str, b: &str) -> bool {
    if a == b || stem(a) == stem(b) {
        return true;
    }
    let (a_len, b_len) = (a.chars().count(), b.chars().count());
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    common >= 5 && common * 4 >= a_len.max(b_len) * 3
}

/// A word without its commonest endings. Two forms need not be found by this alone: it only ranks what was retrieved.
fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    for (ending, instead) in
        [("ies", "y"), ("ied", "y"), ("ing", ""), ("er", ""), ("ed", ""), ("es", ""), ("s", ""), ("ly", "")]
    {
        if let Some(cut) = word.strip_suffix(ending).filter(|cut| cut.chars().count() >= 3) {
            stem = format!("{cut}{instead}");
            break;
        }
    }
    let last: Vec<char> = stem.chars().rev().take(2).collect();
    if let [a, b] = last[..]
        && a == b
        && !matches!(a, 'l' | 's' | 'e')
    {
        stem.pop();
    }
    if stem.chars().count() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

/// The words of an identifier, in lower case.
pub(super) fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        if c != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    parts.retain(|part| part.len() > 1);
    parts
}

/// Words that say nothing about what is asked for.
pub(super) fn is_stop_word(lower: &str) -> bool {
    STOP_WORDS.split_whitespace().any(|stop| stop == lower)
}

const STOP_WORDS: &str = "a about above after again all also am an and any are as at be been before being below between both but by \
    can could did do does doing done down each else ever every few for from further get gets give given gives go had has have having he \
    her here hers him his how i if in into is it its itself just least let like made make makes many may me mean means might mine more \
    most much must my need needed no nor not of off on once one only or other our ours out over own please same shall she should so some \
    such take takes tell than that the their theirs them then there these they this those through to too under until up upon us use used \
    uses very was we were what whats when where whether which while who whom whose why will with within without would yet you your yours \
    describe explain show list summarise summarize summary overview project repository repo folder directory happens happen happened \
    der die das den dem des ein eine einer eines und oder ist sind war im in von vom zu zum zur mit auf für aus bei nach wie was wer wo \
    wann warum welche welcher welches viel viele wieviel";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_recognised() {
        for (a, b) in [
            ("crashes", "crash"),
            ("cities", "city"),
            ("stopped", "stop"),
            ("storing", "stores"),
            ("weighs", "weight"),
            ("licenses", "license"),
            ("rolls", "roll"),
            ("busy_timeout", "timeout"),
            ("WalkState", "walk"),
        ] {
            assert!(is_form_of(&words(a)[0], b), "{a} and {b}");
        }
        for (a, b) in [("internal", "interval"), ("common", "commit"), ("station", "state")] {
            assert!(!is_form_of(&words(a)[0], b), "{a} and {b}");
        }
    }
}
