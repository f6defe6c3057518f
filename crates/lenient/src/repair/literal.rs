//! Numbers and literals, as JSON, Python and JavaScript write them.

use serde_json::{Number, Value};

use super::JsonFault;

/// The longest number that is recognised when looking ahead; a limit keeps reading linear.
const LONGEST_PLAIN: usize = 64;

/// Whether `word` is a literal of JSON, Python or JavaScript.
pub(super) fn is_literal(word: &str) -> bool {
    read_literal(word).is_some()
}

/// Whether `word` is a value that needs no quotes.
pub(super) fn is_plain(word: &str) -> bool {
    word.len() <= LONGEST_PLAIN && (is_literal(word) || read_number(word).is_some())
}

/// Reads a literal, and says what is wrong with it if JSON writes it differently.
pub(super) fn read_literal(word: &str) -> Option<(Value, Option<JsonFault>)> {
    if !(3..=9).contains(&word.len()) {
        return None;
    }
    let exact = match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        "undefined" | "NaN" | "nan" | "inf" | "-inf" | "Infinity" | "-Infinity" | "+Infinity" => {
            return Some((Value::Null, Some(JsonFault::JavaScriptLiteral)));
        }
        _ => {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            let value = match () {
                () if is("true") => Value::Bool(true),
                () if is("false") => Value::Bool(false),
                () if is("none") || is("null") => Value::Null,
                () => return None,
            };
            return Some((value, Some(JsonFault::PythonLiteral)));
        }
    };
    Some((exact, None))
}

/// Reads a number as people write it, and says whether it is in JSON form.
pub(super) fn read_number(token: &str) -> Option<(Value, bool)> {
    if !token.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    if let Ok(number) = serde_json::from_str::<Number>(token) {
        return Some((Value::Number(number), true));
    }
    if let Some(number) = read_radix(token) {
        return Some((Value::Number(number.into()), false));
    }
    let (sign, rest) = match token.strip_prefix(['-', '+']) {
        Some(rest) if token.starts_with('-') => ("-", rest),
        Some(rest) => ("", rest),
        None => ("", token),
    };
    let (whole, rest) = digits(rest)?;
    let (fraction, rest, has_point) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, rest) = digits(rest)?;
            (fraction, rest, true)
        }
        None => (String::new(), rest, false),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let sign = if rest.starts_with('-') { "-" } else { "" };
            let (power, rest) = digits(rest.strip_prefix(['-', '+']).unwrap_or(rest))?;
            if !rest.is_empty() {
                return None;
            }
            if power.is_empty() { String::new() } else { format!("e{sign}{power}") }
        }
        // JavaScript's big integers: `10n`.
        None if rest == "n" && !has_point => String::new(),
        None if rest.is_empty() => String::new(),
        None => return None,
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if has_point { "." } else { "" };
    let fraction = if has_point && fraction.is_empty() { "0" } else { &fraction };
    let written = format!("{sign}{whole}{point}{fraction}{exponent}");
    // A number that does not fit into a double becomes `null`.
    let value = serde_json::from_str::<Number>(&written).map_or(Value::Null, Value::Number);
    Some((value, false))
}

/// Reads `0x1F`, `0o17` and `0b101`.
fn read_radix(token: &str) -> Option<i64> {
    let (sign, rest) = token.strip_prefix('-').map_or((1, token), |rest| (-1, rest));
    let rest = rest.strip_prefix('0')?;
    let radix = match rest.as_bytes().first()? {
        b'x' | b'X' => 16,
        b'o' | b'O' => 8,
        b'b' | b'B' => 2,
        _ => return None,
    };
    let digits = rest.get(1..)?.replace('_', "");
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(&digits, radix).ok().map(|number| sign * number)
}

/// Digits at the start of `text`, without the underscores between them, and what follows.
fn digits(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end)?;
    if run.starts_with('_') || run.ends_with('_') {
        return None;
    }
    Some((run.replace('_', ""), rest))
}
