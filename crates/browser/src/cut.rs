//! Texts of bounded length, which say how to get the rest.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutText {
    /// The part, without any note.
    pub text: String,
    /// The character that it begins with.
    pub from: usize,
    /// How many characters the whole has.
    pub total: usize,
}

impl CutText {
    /// At most `most` characters from `from` on, ended at a line's end if there is one.
    pub(crate) fn of(whole: &str, from: usize, most: usize) -> Self {
        let total = whole.chars().count();
        let mut text: String = whole.chars().skip(from).take(most).collect();
        if from + most < total
            && let Some(end) = text.rfind('\n').filter(|&end| end > text.len() / 2)
        {
            text.truncate(end + 1);
        }
        Self { text, from, total }
    }

    /// The character that the rest begins with, if there is a rest.
    pub fn next(&self) -> Option<usize> {
        let end = self.from + self.text.chars().count();
        (end < self.total).then_some(end)
    }

    /// The text with a note about what is missing, and how to get it.
    pub fn with_note(&self) -> String {
        let Some(next) = self.next() else { return self.text.clone() };
        let Self { text, from, total } = self;
        let line = if text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{line}[cut: characters {from} to {next} of {total}; ask again with from={next} for the rest]\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_how_to_go_on() {
        let whole = "one\ntwö\nthree\n";
        let first = CutText::of(whole, 0, 10);
        assert_eq!(first.with_note(), "one\ntwö\n[cut: characters 0 to 8 of 14; ask again with from=8 for the rest]\n");
        assert_eq!(CutText::of(whole, 8, 10).with_note(), "three\n");
        assert_eq!(CutText::of(whole, 99, 10).with_note(), "");
    }
}
