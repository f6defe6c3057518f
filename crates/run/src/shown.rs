//! What a model is shown of the outputs of its calls: the whole text, its two ends, or only its name.
//!
//! Each call of a conversation has a number in its run. Its output has a name by that number, `@out/3`, by which tools
//! read it again.

use serde::{Deserialize, Serialize};

use crate::message::is_zero;

/// What the name of an output begins with; its number follows.
pub const OUTPUT_PREFIX: &str = "@out/";

/// What is shown of an output that is not shown whole. With two zeros, only a line with its name is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPart {
    /// So many bytes from its beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head: u64,
    /// So many bytes before its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail: u64,
}

impl ShownPart {
    /// Only the name.
    pub const NAME: Self = Self { head: 0, tail: 0 };

    /// At most `most` bytes of a text, two thirds of them from its beginning; cut between lines where one ends near.
    /// `None` if the text is not longer.
    pub fn within(text: &str, most: usize) -> Option<Self> {
        if text.len() <= most {
            return None;
        }
        let head = end_of_line(text, text.floor_char_boundary(most / 3 * 2));
        let tail = start_of_line(text, text.ceil_char_boundary(text.len() - most / 3));
        Some(Self { head: head as u64, tail: (text.len() - tail) as u64 })
    }

    /// The two ends of a text. `None` if only the name is shown, or the text is another.
    pub fn ends_of(self, text: &str) -> Option<(&str, &str)> {
        if self == Self::NAME {
            return None;
        }
        let tail = text.len().checked_sub(usize::try_from(self.tail).ok()?)?;
        Some((text.get(..usize::try_from(self.head).ok()?)?, text.get(tail..)?))
    }

    /// How many bytes of the output are shown.
    pub fn bytes(self) -> u64 {
        self.head.saturating_add(self.tail)
    }
}

/// Why outputs are no longer shown whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortening {
    /// They are too long for the window, alone or together with the others of their turn. No model has been shown them.
    Turn,
    /// The conversation fills most of the window.
    Window,
    /// A request was refused because it is longer than the window.
    Refusal,
}

/// How the size of a context window was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// From the settings, the table of models, or the model's server.
    Told,
    /// From a request that was refused because it is longer.
    Refusal,
    /// From a server that dropped the beginning of a longer prompt without saying so.
    Silence,
}

/// The name of the output with this number.
pub fn output_name(n: u32) -> String {
    format!("{OUTPUT_PREFIX}{n}")
}

/// The number in the name of an output.
pub fn output_number(name: &str) -> Option<u32> {
    name.strip_prefix(OUTPUT_PREFIX)?.parse().ok()
}

/// How far from a cut the end of a line may be, in bytes.
const NEAR: usize = 200;

fn end_of_line(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(NEAR));
    text[near..at].rfind('\n').map_or(at, |offset| near + offset + 1)
}

fn start_of_line(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary((at + NEAR).min(text.len()));
    text[at..near].find('\n').map_or(at, |offset| at + offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_between_lines_and_never_inside_a_character() {
        let text = (0..1000).map(|n| format!("line {n} é")).collect::<Vec<_>>().join("\n") + "\n";
        let part = ShownPart::within(&text, 900).unwrap();
        let (head, tail) = part.ends_of(&text).unwrap();
        assert!(head.starts_with("line 0 é\n") && head.ends_with("é\n"), "{head}");
        assert!(tail.starts_with("line ") && tail.ends_with("line 999 é\n"), "{tail}");
        assert!(part.bytes() <= 900 && part.bytes() > 450, "{part:?}");
        assert_eq!(ShownPart::within("short", 900), None);
        for most in 0..20 {
            let part = ShownPart::within("ééééééééééééé", most).unwrap();
            assert!(part == ShownPart::NAME || part.ends_of("ééééééééééééé").is_some(), "{most}: {part:?}");
        }
    }

    #[test]
    fn ends_that_a_text_does_not_have_are_not_shown() {
        assert_eq!(ShownPart::NAME.ends_of("text"), None);
        assert_eq!(ShownPart { head: 3, tail: 9 }.ends_of("text"), None);
        assert_eq!(ShownPart { head: 1, tail: 1 }.ends_of("text"), Some(("t", "t")));
    }

    #[test]
    fn the_name_of_an_output_is_its_number() {
        assert_eq!(output_number(&output_name(3)), Some(3));
        assert_eq!(output_number("@out/x"), None);
        assert_eq!(output_number("out/3"), None);
    }
}
