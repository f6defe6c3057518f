//! Finds the numbers in square brackets by which a text refers to its list of citations.

use std::ops::Range;

use super::entry::number;

/// A `[n]` in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) n: u32,
    pub(super) range: Range<usize>,
    /// Whether it is the target of a Markdown link, `[text][1]`.
    pub(super) is_link_target: bool,
}

/// The references in a line. Code, an index (`a[1]`) and a link's text (`[1](…)`) are none.
pub(super) fn references(line: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let (mut at, mut is_code) = (0, false);
    while let Some(start) = line[at..].find(['[', '`']).map(|offset| at + offset) {
        let (before, from) = line.split_at(start);
        at = start + 1;
        is_code ^= from.starts_with('`');
        let Some((n, after)) = number(from).filter(|(_, after)| !is_code && !after.starts_with('(')) else { continue };
        if before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')')) {
            continue;
        }
        at = line.len() - after.len();
        // Several citations stand together: `[1][2]`.
        let follows_another = found.last().is_some_and(|last| last.range.end == start);
        let is_link_target = before.ends_with(']') && !follows_another;
        found.push(Reference { n, range: start..at, is_link_target });
    }
    found
}
