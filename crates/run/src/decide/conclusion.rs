//! The verdict of a review: one word, in an object or in a text.

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Accept,
    Retry,
    Pivot,
    Replan,
}

/// How models begin a line with their verdict.
const LABELS: [&str; 5] = ["verdict", "final verdict", "overall verdict", "my verdict", "decision"];
/// `Failed: none` is no rejection.
const DENIALS: [&str; 6] = ["0", "no", "none", "not", "nothing", "never"];

impl Conclusion {
    /// Parses a verdict. The prompts ask for `accept`, `retry`, `pivot` or `replan`; the others are what models write
    /// instead.
    pub(super) fn parse(text: &str) -> Option<Conclusion> {
        match text.trim().to_ascii_lowercase().as_str() {
            "accept" | "accepted" | "approve" | "approved" | "pass" | "passed" => Some(Conclusion::Accept),
            "retry" | "revise" | "reject" | "rejected" | "send back" | "send_back" | "fail" | "failed" => {
                Some(Conclusion::Retry)
            }
            "pivot" => Some(Conclusion::Pivot),
            "replan" => Some(Conclusion::Replan),
            _ => None,
        }
    }

    /// The verdict of a review in words: on the last line with a label (`Verdict: retry`), or else at the beginning
    /// (`reject: line 3 is wrong`). An acceptance must stand alone, because more words may take it back.
    pub(super) fn in_words(text: &str) -> Option<Conclusion> {
        let lines: Vec<&str> = text.lines().map(unmarked).filter(|line| !line.is_empty()).collect();
        let labelled = (0..lines.len()).rev().find_map(|at| {
            let rest = after_label(lines[at])?;
            Some(if rest.is_empty() { lines.get(at + 1).copied().unwrap_or_default() } else { rest })
        });
        let (found, rest) = Self::at_start(labelled.or(lines.first().copied())?)?;
        let others = if labelled.is_some() { &[] } else { &lines[1..] };
        if found == Conclusion::Accept {
            return (rest.is_empty() && others.is_empty()).then_some(found);
        }
        let next = if rest.is_empty() { others.first().copied().unwrap_or_default() } else { rest };
        let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_denied = DENIALS.iter().any(|denial| word.eq_ignore_ascii_case(denial));
        let is_contradicted = others.iter().filter_map(|line| Self::at_start(line)).any(|(other, _)| other != found);
        (!is_denied && !is_contradicted).then_some(found)
    }

    /// The verdict that a line begins with, and what follows it. A sentence that begins with such a word has none.
    fn at_start(line: &str) -> Option<(Conclusion, &str)> {
        let end = line.find(|c: char| !c.is_ascii_alphabetic() && !matches!(c, ' ' | '_')).unwrap_or(line.len());
        let (word, after) = line.split_at(end);
        let found = Self::parse(word)?;
        let mut signs = after.chars();
        let goes_on = match signs.next() {
            Some('-' | '.' | '/' | '\'' | '’') => signs.next().is_some_and(char::is_alphanumeric),
            first => first.is_some_and(char::is_alphanumeric),
        };
        (!goes_on).then(|| (found, unmarked(after)))
    }
}

/// What follows the label of a verdict.
fn after_label(line: &str) -> Option<&str> {
    let begins = |label: &&str| line.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label));
    let rest = &line[LABELS.iter().find(|label| begins(label))?.len()..];
    (!rest.starts_with(char::is_alphanumeric)).then(|| unmarked(rest))
}

/// A text without the signs before its first word.
fn unmarked(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::Conclusion::{self, Accept, Pivot, Replan, Retry};

    #[test]
    fn a_rejection_in_words_is_found() {
        for text in [
            "reject: line 3 is wrong",
            "Rejected. Line 3 is wrong",
            "**Reject** Line 3 is wrong",
            "Reject—line 3 is wrong",
            "Reject (line 3 is wrong)",
            "REJECT ❌",
            "> “Reject” – line 3 is wrong",
            "send_back: line 3",
            "- send back - line 3",
            "fail: 3 rows are missing",
            "**Verdict:** ❌ retry\n\nLine 3 is wrong",
            "# Verdict\n\n`retry`\nLine 3 is wrong",
            "Line 3 is wrong.\n\nFinal verdict: Retry",
            "## Passed\n- a\n\n## Failed\n- b\n\nDecision: reject",
            "Accept.\n\n{\"verdict\": \"retry\", \"feedback\": \"x\"}",
            "{\"verdict\": \"retry\", \"feedback\": \"cut o",
        ] {
            assert_eq!(Conclusion::in_words(text), Some(Retry), "{text}");
        }
        assert_eq!(Conclusion::in_words("Pivot: use the other file"), Some(Pivot));
        assert_eq!(Conclusion::in_words("My verdict: replan"), Some(Replan));
    }

    #[test]
    fn an_acceptance_in_words_stands_alone() {
        for text in ["accept", "**Accepted.** ✅", "Verdict: approve", "The sum is right.\n\n**Verdict:** pass\n"] {
            assert_eq!(Conclusion::in_words(text), Some(Accept), "{text}");
        }
        for text in [
            "Accept, but only once line 3 is corrected.",
            "Accept.\n\nOn a second look, line 3 is wrong.",
            "**Approved:** No",
            "* **Pass:** the sum\n* **Fail:** the date",
            "Accepted: 3\nRejected: 2",
            "Verdict: accept, if line 3 is corrected",
        ] {
            assert_eq!(Conclusion::in_words(text), None, "{text}");
        }
    }

    #[test]
    fn a_sentence_is_no_verdict() {
        for text in [
            "",
            "ä",
            "Retry: not needed. It is right.",
            "Failed: none\nThe rest is right",
            "Failed:\n- none",
            "Fail: the date\nPass: the sum",
            "I would write {\"verdict\": \"retry\"} only for a fault.",
            "Accept-Encoding is missing.",
            "Fail fast: that is what it does.",
            "Fail-fast is what it does",
            "retry.rs has no test",
            "Reject the header, and it is fine: accept",
            "Verdicts: none",
            "Verdict\n",
        ] {
            assert_eq!(Conclusion::in_words(text), None, "{text}");
        }
    }
}
