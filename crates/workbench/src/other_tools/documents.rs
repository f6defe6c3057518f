//! Instructions of other tools: `CLAUDE.md`, `GEMINI.md`, `.cursorrules` and the like become documents in `.context`.

use super::collector::ImportCollector;
use super::{ImportFate, ImportKind, ImportScope};
use crate::untrusted;

/// What agents are told of all documents together.
const MOST_TOLD: usize = 64 << 10;
/// The document that is read where it is.
const READ: &str = "AGENTS.md";

pub(super) fn collect(found: &mut ImportCollector, path: &str, name: &str) {
    let (root, kind) = (found.place.root.clone(), ImportKind::Instructions);
    let from = root.join(path);
    let Some(text) = found.text(kind, &from) else { return };
    let Some(documents) = found.place.documents.clone() else {
        let why = "there are no instructions for all folders here; keep single sentences by \
                   `updraft memory add --scope user --pinned \"…\"`";
        found.leave_out(kind, name, &from, why);
        return;
    };
    if found.place.scope == ImportScope::Workspace && path == READ {
        let fate = ImportFate::Used("agents read it as it is, also that of deeper folders".to_owned());
        found.add(kind, name, &from, fate);
        return;
    }
    let instructions = untrusted::read_text(&root.join(READ)).unwrap_or_default();
    let is_pointer = text.trim().trim_start_matches("@./").trim_start_matches('@') == READ;
    if text.trim().is_empty() || is_pointer || text.trim() == instructions.trim() {
        let why = if text.trim().is_empty() { "it is empty" } else { "it says the same as AGENTS.md" };
        found.add(kind, name, &from, ImportFate::Used(why.to_owned()));
        return;
    }
    let mentioned: Vec<String> = text.split_whitespace().filter_map(mentioned_file).collect();
    let is_long = text.len() > MOST_TOLD;
    let item = found.take_text(kind, name, &from, documents.join(name), text);
    if !mentioned.is_empty() {
        let names = mentioned.join(", ");
        item.remarks.push(format!(
            "it includes other files by `@`: agents see the names and read them if they need to ({names})"
        ));
    }
    if is_long {
        item.remarks.push("agents are told 64 KB of all documents together; shorten it".to_owned());
    }
}

/// A file that is included: `@docs/style.md`.
fn mentioned_file(word: &str) -> Option<String> {
    let path = word.strip_prefix('@')?.trim_end_matches(['.', ',', ')']);
    let is_file = path.contains('/')
        || path.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "md" | "txt" | "json" | "toml"));
    (is_file && !path.starts_with('@')).then(|| format!("`{path}`"))
}
