//! Converts ids and names of calls to the form that a provider requires.
//!
//! A conversation may come from another model, whose ids have another form. The same id is always converted in the same
//! way, so that a result still matches its call.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The id with only letters, digits, `_` and `-`, limited to this length.
pub(crate) fn plain_id(id: &str, longest: usize) -> Cow<'_, str> {
    if !id.is_empty() && id.len() <= longest && id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let mut plain = String::from(if id.is_empty() { "_" } else { "" });
    for byte in id.bytes() {
        if is_plain(byte) {
            plain.push(char::from(byte));
        } else {
            let _ = write!(plain, "_{byte:02x}");
        }
    }
    if plain.len() > longest {
        let hash = Sha256::digest(id);
        plain.truncate(longest.saturating_sub(16));
        for byte in &hash[..8] {
            let _ = write!(plain, "{byte:02x}");
        }
    }
    Cow::Owned(plain)
}

/// The name with only letters, digits, `_` and `-`: models also call tools that do not exist, by names that are not
/// allowed.
pub(crate) fn plain_name(name: &str, longest: usize) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= longest && name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain: String = name
        .chars()
        .take(longest)
        .map(|letter| if letter.is_ascii() && is_plain(letter as u8) { letter } else { '_' })
        .collect();
    Cow::Owned(if plain.is_empty() { "_".to_owned() } else { plain })
}

/// The beginning of the id's hash, as this many letters and digits.
pub(crate) fn hashed(id: &str, length: usize) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(id) {
        let _ = write!(text, "{byte:02x}");
    }
    text.truncate(length);
    text
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_apart_and_fit() {
        assert_eq!(plain_id("toolu_01-A", 64), "toolu_01-A");
        assert_eq!(plain_id("c3.0", 64), "c3_2e0");
        assert_eq!(plain_id("", 64), "_");
        let long = [plain_id(&"x".repeat(65), 64).into_owned(), plain_id(&"x".repeat(66), 64).into_owned()];
        assert!(long.iter().all(|id| id.len() == 64 && id.bytes().all(is_plain)));
        assert_ne!(long[0], long[1]);
    }

    #[test]
    fn names_that_no_tool_has_are_made_harmless() {
        assert_eq!(plain_name("read_file", 64), "read_file");
        assert_eq!(plain_name("functions.read größe", 64), "functions_read_gr__e");
        assert_eq!(plain_name("", 64), "_");
    }
}
