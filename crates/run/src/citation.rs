//! Citations in answers: `[n]` in the text, and a list that says for each number the source, the place and the quoted
//! words. They are read out of an answer, and checked against what tools of the run returned from that source.

mod check;
mod entry;
mod excerpt;
mod quotation;
mod reference;

use serde::{Deserialize, Serialize};

pub(crate) use check::check;
pub(crate) use entry::entries;
pub(crate) use excerpt::{Reading, ReadingLog};
pub use quotation::find_quotation;
use reference::references;

/// One citation of an answer, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Its number in the answer.
    pub n: u32,
    /// A path or an address.
    pub source: String,
    /// The place in the source as the answer gives it: `12-24`, `page 3`, `Sales!A2`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The quoted words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// SHA-256 of the source as it was read, in hexadecimal, if the tool that read it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What the check found.
    pub finding: CitationFinding,
}

/// What the check of a citation found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CitationFinding {
    /// The words are in the source, at that place.
    Holds,
    /// The source was read, and the words are not in what was read of it.
    NotFound,
    /// The words are in the source, at another place.
    Elsewhere {
        /// Where they are.
        at: String,
    },
    /// No tool of the run read the source.
    Unread,
    /// Nothing is quoted, so there is nothing to check.
    Unquoted,
    /// The run has read more than it keeps, and the source is not in what it kept.
    Unchecked,
}

impl CitationFinding {
    /// What is wrong, in a few words; `None` if nothing is.
    pub fn fault(&self) -> Option<String> {
        match self {
            Self::NotFound => Some("not found in the source".to_owned()),
            Self::Elsewhere { at } => Some(format!("found elsewhere, {at}")),
            Self::Unread => Some("source not read".to_owned()),
            Self::Holds | Self::Unquoted | Self::Unchecked => None,
        }
    }
}

impl Citation {
    /// The source and the place in it: `docs/tides.md:12-14`, `report.pdf, page 3`.
    pub fn source_and_place(&self) -> String {
        let Self { source, place, .. } = self;
        match place.chars().next() {
            None => source.clone(),
            Some(c) if c.is_ascii_digit() => format!("{source}:{place}"),
            Some(_) => format!("{source}, {place}"),
        }
    }

    /// What is wrong with it, as a sentence for the agent that wrote it.
    pub(crate) fn advice(&self) -> Option<String> {
        let Self { n, quote, .. } = self;
        let what = match &self.finding {
            CitationFinding::NotFound => "these words are not in what was read of it",
            CitationFinding::Elsewhere { at } => &format!("these words are there, but at another place: {at}"),
            CitationFinding::Unread => "no tool has read this source in this run",
            CitationFinding::Holds | CitationFinding::Unquoted | CitationFinding::Unchecked => return None,
        };
        let at = self.source_and_place();
        Some(format!("[{n}] {at} \"{quote}\": {what}"))
    }
}

/// Marks each citation that does not hold, in the text and in the list: `[2]` becomes `[2: not found in the source]`. If a
/// number is listed twice, it is marked in the text only if neither holds. Code and links are left as they are.
///
/// `citations` are those of this text, in the order of its list.
pub(crate) fn mark(text: &str, citations: &[Citation]) -> String {
    let fault = |citation: &Citation| citation.finding.fault();
    if !citations.iter().any(|one| fault(one).is_some()) {
        return text.to_owned();
    }
    let listed = entries(text);
    let holds_once = |n: u32| citations.iter().any(|one| one.n == n && fault(one).is_none());
    let mut fence = entry::Fence::default();
    let lines = text.split_inclusive('\n').enumerate().map(|(at, line)| {
        if fence.is_code(line) {
            return line.to_owned();
        }
        match listed.iter().zip(citations).find(|(entry, _)| entry.line == at) {
            Some((_, own)) => mark_line(line, 1, |_| fault(own)),
            None => mark_line(line, usize::MAX, |n| {
                citations.iter().find(|one| one.n == n && !holds_once(n)).and_then(fault)
            }),
        }
    });
    lines.collect()
}

/// Marks the first `most` references of a line that have a fault.
fn mark_line(line: &str, most: usize, fault: impl Fn(u32) -> Option<String>) -> String {
    let mut marked = String::new();
    let mut from = 0;
    for reference in references(line).into_iter().filter(|reference| !reference.is_link_target).take(most) {
        if let Some(fault) = fault(reference.n) {
            marked.extend([&line[from..reference.range.start], "[", &reference.n.to_string(), ": ", &fault, "]"]);
            from = reference.range.end;
        }
    }
    marked + &line[from..]
}

#[cfg(test)]
mod tests;
