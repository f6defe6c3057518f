//! Citations in answers: `[n]` in the text, and a list that says for each number the source, the place and the quoted
//! words. They are read out of an answer, and checked against what tools of the run returned from that source.

mod check;
mod entry;
mod excerpt;
mod quotation;

use serde::{Deserialize, Serialize};

pub(crate) use check::check;
pub(crate) use entry::entries;
pub(crate) use excerpt::{Reading, ReadingLog};
pub use quotation::find_quotation;

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

/// Marks each citation that does not hold, in the text and in the list: `[2]` becomes `[2: not found in the source]`.
/// Code is left as it is.
pub(crate) fn mark(text: &str, citations: &[Citation]) -> String {
    let faults: Vec<(u32, String)> = citations.iter().filter_map(|one| Some((one.n, one.finding.fault()?))).collect();
    if faults.is_empty() {
        return text.to_owned();
    }
    let mut fence = entry::Fence::default();
    let lines = text
        .split_inclusive('\n')
        .map(|line| if fence.is_code(line) { line.to_owned() } else { mark_line(line, &faults) });
    lines.collect()
}

fn mark_line(line: &str, faults: &[(u32, String)]) -> String {
    let mut marked = String::new();
    let mut is_code = false;
    let mut rest = line;
    while let Some(at) = rest.find(['[', '`']) {
        let (before, from) = rest.split_at(at);
        marked.push_str(before);
        let is_index = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
        if from.starts_with('`') {
            is_code = !is_code;
        } else if let Some((n, after)) =
            entry::number(from).filter(|(_, after)| !is_code && !is_index && !after.starts_with('('))
            && let Some((_, fault)) = faults.iter().find(|(faulty, _)| *faulty == n)
        {
            marked.extend(["[", &n.to_string(), ": ", fault, "]"]);
            rest = after;
            continue;
        }
        marked.push_str(&from[..1]);
        rest = &from[1..];
    }
    marked + rest
}

#[cfg(test)]
mod tests;
