//! Which files come first if there are more matches than may be returned: those that the index finds for the words of
//! the pattern.

use updraft_knowledge::{SearchMethod, SearchRequest};
use updraft_workspace::{LinkPolicy, WorkspacePath};

use crate::tool::CallContext;
use crate::workspace_index::WorkspaceIndex;

/// Passages that are looked at.
const PASSAGES: usize = 50;
/// A shorter run of letters in a pattern says little.
const SHORTEST_WORD: usize = 3;

/// The files below a folder that say most about the words of a pattern, best first, with their sizes. None if the
/// workspace has no index yet: nobody waits for one here.
pub(super) fn files(
    index: &WorkspaceIndex,
    pattern: &str,
    start: &WorkspacePath,
    cx: &CallContext,
) -> Vec<(WorkspacePath, u64)> {
    let words = words(pattern);
    if words.is_empty() || !index.file().exists() {
        return Vec::new();
    }
    let request =
        SearchRequest { text: words, limit: PASSAGES, method: SearchMethod::Words, ..SearchRequest::default() };
    let Ok((answer, _)) = index.search(&request, &cx.around.read_rules) else { return Vec::new() };
    let folder = if *start == WorkspacePath::root() { String::new() } else { format!("{start}/") };
    let mut files: Vec<(WorkspacePath, u64)> = Vec::new();
    for passage in answer.passages.iter().filter(|passage| passage.path.starts_with(&folder)) {
        let Ok(path) = cx.place.workspace.locate(&passage.path) else { continue };
        let Ok(about) = cx.place.workspace.about(&path, LinkPolicy::Inside) else { continue };
        if !files.iter().any(|(other, _)| *other == path) {
            files.push((path, about.len));
        }
    }
    files
}

/// The words of a regular expression, without its escapes: `fn\s+run_\w*` has `run_`, and `[lL]oom` has `loom`.
fn words(pattern: &str) -> String {
    let mut plain = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '[' => {
                let class: Vec<char> = chars.by_ref().take_while(|c| *c != ']').collect();
                let is_letter = class.iter().all(|c| c.to_lowercase().eq(class[0].to_lowercase()));
                plain.push(if is_letter { class.first().copied().unwrap_or(' ') } else { ' ' });
            }
            '\\' => {
                chars.next();
                plain.push(' ');
            }
            c if c.is_alphanumeric() || c == '_' => plain.push(c),
            _ => plain.push(' '),
        }
    }
    let words = plain.split_whitespace().filter(|word| word.chars().count() >= SHORTEST_WORD);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_and_short_pieces_are_no_words() {
        for (pattern, words) in [
            (r"fn\s+run_\w*", "run_"),
            (r"(?i)(tides|brest)", "tides brest"),
            (r"[lL]oom[0-9]+", "loom"),
            (r"\bx.y\b", ""),
        ] {
            assert_eq!(super::words(pattern), words, "{pattern}");
        }
    }
}
