//! Which texts are keys, or may be: by how they begin, by their letters, and by the name of their field.

/// How keys of well-known services begin.
const BEGINNINGS: [&str; 28] = [
    "sk-",
    "sk_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AIza",
    "AKIA",
    "ASIA",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "SG.",
    "lin_api_",
    "ntn_",
    "dop_v1_",
    "shpat_",
    "gsk_",
];
/// Words in names of fields whose values are keys.
const KEY_WORDS: [&str; 16] = [
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "PASS",
    "PAT",
    "AUTH",
    "AUTHORIZATION",
    "CREDENTIAL",
    "CREDENTIALS",
    "BEARER",
    "COOKIE",
];
/// Minimum length of a key of a well-known service.
const SHORTEST_NAMED: usize = 16;
/// Minimum length of any other text that is taken for a key.
const SHORTEST_RANDOM: usize = 24;
/// Minimum number of different characters: placeholders such as `sk-xxxxxxxx` have fewer.
const FEWEST_LETTERS: usize = 8;
/// How names of keys end inside of a longer text.
const NAMES_INSIDE: [&str; 7] = ["password", "passwd", "pwd", "passphrase", "secret", "token", "key"];

/// A word of a text that is a key of a well-known service. Random letters alone are not enough: texts contain hashes.
pub fn known_key_in(text: &str) -> Option<&str> {
    let ends = |c: char| c.is_whitespace() || "\"'`=:,;()<>[]{}|/@&?".contains(c);
    text.split(ends).find(|word| is_named_key(word))
}

pub(super) fn is_key_text(word: &str) -> bool {
    is_named_key(word) || is_random(word)
}

fn is_named_key(word: &str) -> bool {
    let rest = BEGINNINGS.iter().find_map(|beginning| word.strip_prefix(beginning));
    rest.is_some_and(|rest| {
        word.len() >= SHORTEST_NAMED && rest.chars().all(is_of_key) && different(rest) >= FEWEST_LETTERS
    })
}

/// Whether a text looks as if nobody had chosen its letters.
fn is_random(word: &str) -> bool {
    let is_hex = word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
    let is_mixed = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit);
    let is_long = word.len() >= SHORTEST_RANDOM && word.chars().all(is_of_key);
    is_long && (is_hex || is_mixed) && different(word) >= FEWEST_LETTERS
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.+=".contains(c)
}

fn different(text: &str) -> usize {
    text.chars().collect::<std::collections::BTreeSet<_>>().len()
}

/// Whether the name of a variable, header, flag or parameter says that its value is a key: `GITHUB_TOKEN`, `apiKey`.
pub(super) fn is_key_name(name: &str) -> bool {
    let name = as_variable(name);
    let ends = ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end));
    ends || name.split('_').any(|word| KEY_WORDS.contains(&word))
}

/// Values that hold no key whatever their field is called.
pub(super) fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    value.is_empty()
        || matches!(value, "true" | "false" | "none" | "null")
        || (value.len() < 6 && value.parse::<f64>().is_ok())
}

pub(super) fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|begin| value.starts_with(begin)) && !value.split('/').any(is_key_text)
}

/// Whether it is an address with a password.
pub(super) fn has_password(value: &str) -> bool {
    let host = value.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    let login = host.and_then(|host| host.rsplit_once('@')).and_then(|(login, _)| login.split_once(':'));
    login.is_some_and(|(_, password)| !password.is_empty())
}

/// Whether a key is named inside of a longer text: `Server=x;Password=hunter2`.
pub(super) fn has_named_key(value: &str) -> bool {
    value.match_indices('=').any(|(at, _)| {
        let name = value[..at].trim_end().to_ascii_lowercase();
        let given = value[at + 1..].trim_start().split([';', '&', ',', ' ']).next().unwrap_or_default();
        NAMES_INSIDE.iter().any(|end| name.ends_with(end)) && !is_harmless(given)
    })
}

/// The text without the places of variables.
pub(super) fn without_variables(text: &str) -> String {
    let (mut bare, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        bare.push_str(&rest[..at]);
        rest = &rest[at + length + 1..];
    }
    bare + rest
}

/// A name as that of an environment variable: `api-key` as `API_KEY`.
pub(super) fn as_variable(name: &str) -> String {
    let name = name.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_prose_is_found_and_a_placeholder_is_none() {
        assert_eq!(known_key_in("export KEY=\"sk-ant-0a1B2c3D4e5F6g7H\" now"), Some("sk-ant-0a1B2c3D4e5F6g7H"));
        for text in ["sk-xxxxxxxxxxxxxxxxxxxx", "ghp_...", "the commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"] {
            assert_eq!(known_key_in(text), None, "{text}");
        }
    }
}
