//! The words inside names of programs: `readHttpBody` has `read`, `http` and `body`.

/// The parts of a name written with capitals or digits inside, folded; nothing if it has only one.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let is_plain = |byte: &u8| !byte.is_ascii_uppercase() && !byte.is_ascii_digit();
    if name.is_ascii() && name.as_bytes().iter().skip(1).all(is_plain) && !name.starts_with(|c: char| c.is_numeric()) {
        return Vec::new();
    }
    let mut parts: Vec<String> = Vec::new();
    let chars: Vec<char> = name.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let starts = match before {
            None => true,
            Some(before) if c.is_uppercase() => {
                before.is_lowercase() || after.is_some_and(|after| after.is_lowercase())
            }
            Some(before) => c.is_numeric() != before.is_numeric(),
        };
        match parts.last_mut() {
            Some(part) if !starts => part.extend(c.to_lowercase()),
            Some(_) | None => parts.push(c.to_lowercase().collect()),
        }
    }
    if parts.len() < 2 { Vec::new() } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_capitals_and_digits() {
        assert_eq!(parts("readHttpBody"), ["read", "http", "body"]);
        assert_eq!(parts("HTTPServer2"), ["http", "server", "2"]);
        assert_eq!(parts("Plain"), [""; 0]);
    }
}
