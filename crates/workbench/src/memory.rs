//! The long-term memory: where it is, and what of it a run is told when it begins.

use std::path::Path;

use serde_json::{Value, json};
use tracing::warn;
use updraft_knowledge::{Memory, MemoryScope};
use updraft_run::Goal;
use updraft_tools::MemoryAccess;

use crate::folders::AppFolders;
use crate::knowledge;
use crate::settings::WorkspaceSettings;

/// How many memories are looked at to find those that may be told.
const LOOKED_AT: usize = 40;
/// About how many tokens the pinned memories of a run may have, whatever the limit of the others is.
const MOST_PINNED: usize = 4_000;

/// The user's memory. Nothing is opened until it is used.
pub fn access(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> MemoryAccess {
    MemoryAccess::new(folders.memory(), knowledge::embedder(folders, workspace, settings))
}

/// What is remembered about a goal: the pinned memories, and those that fit best, within the limits. Memories that
/// contain text from outside are left out: agents find them with `recall`, which says where they come from. If the file
/// cannot be read, the run begins without. Also returns a remark for the user if not all is told that should be.
pub(crate) fn recalled(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    goal: &Goal,
    agents: &[String],
) -> (Value, Option<String>) {
    let limits = &settings.effective.memory;
    if limits.recall.value == 0 || !folders.memory().exists() {
        return (Value::Null, None);
    }
    let mut scopes = vec![MemoryScope::User, MemoryScope::Workspace(workspace.display().to_string())];
    scopes.extend(agents.iter().cloned().map(MemoryScope::Agent));
    let memory = access(folders, workspace, settings);
    let pinned = memory.with(|store| store.list(&scopes));
    let found = pinned.and_then(|all| {
        let pinned = all.into_iter().rev().filter(|memory| memory.content.pinned);
        let best = memory.find(goal.own_words(), &scopes, LOOKED_AT)?;
        Ok((pinned.collect::<Vec<_>>(), best))
    });
    let (pinned, best) = match found {
        Ok(found) => found,
        Err(error) => {
            let why = updraft_run::error_chain(&error);
            warn!(error = why, "nothing is recalled");
            return (Value::Null, Some(format!("nothing is recalled: {why}")));
        }
    };
    let best = best.into_iter().filter(|memory| !memory.content.pinned);
    let (told, left_out) = within(pinned, best, limits.recall.value as usize, limits.tokens.value as usize);
    let ids: Vec<i64> = told.iter().map(|memory| memory.id).collect();
    if let Err(error) = memory.count_use(&ids) {
        warn!(error = updraft_run::error_chain(&error), "the use of memories is not counted");
    }
    let remark = (!left_out.is_empty()).then(|| {
        let numbers: Vec<String> = left_out.iter().map(i64::to_string).collect();
        format!(
            "there is too much that is pinned, so these are not told: {}; shorten or forget some (`updraft memory`)",
            numbers.join(", ")
        )
    });
    (if told.is_empty() { Value::Null } else { told.iter().map(in_json).collect() }, remark)
}

/// The pinned memories and the best others, as far as they fit, and the numbers of pinned ones that do not. Nothing that
/// contains text from outside.
fn within(
    pinned: Vec<Memory>,
    best: impl Iterator<Item = Memory>,
    most: usize,
    tokens: usize,
) -> (Vec<Memory>, Vec<i64>) {
    fn fits(memory: &Memory, left: &mut usize) -> bool {
        let rest = left.checked_sub(tokens_of(&memory.content.text));
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }
    let is_own = |memory: &Memory| memory.content.origins.is_empty();
    let mut left = MOST_PINNED;
    let (mut told, left_out): (Vec<Memory>, Vec<Memory>) =
        pinned.into_iter().filter(is_own).partition(|memory| fits(memory, &mut left));
    let mut left = tokens;
    told.extend(best.filter(is_own).filter(|memory| fits(memory, &mut left)).take(most));
    (told, left_out.iter().map(|memory| memory.id).collect())
}

/// About how many tokens a text has.
pub fn tokens_of(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// A memory as agents are told it, and as the beginning of what other programs are told.
pub fn in_json(memory: &Memory) -> Value {
    let content = &memory.content;
    json!({
        "id": memory.id,
        "text": content.text,
        "scope": content.scope.word(),
        "name": content.scope.name(),
        "pinned": content.pinned,
        "made": memory.made,
    })
}

#[cfg(test)]
mod tests {
    use updraft_knowledge::NewMemory;

    use super::*;

    fn memory(id: i64, bytes: usize, pinned: bool) -> Memory {
        let (text, scope) = ("x".repeat(bytes), MemoryScope::User);
        let content = NewMemory { text, scope, pinned, run: String::new(), step: String::new(), origins: Vec::new() };
        Memory { id, content, made: 0, used: None, uses: 0 }
    }

    #[test]
    fn pinned_memories_are_told_beyond_the_limit_of_others_and_what_is_too_much_is_named() {
        let pinned = (1..=5).map(|id| memory(id, 4_000, true)).collect();
        let others = [memory(7, 30, false), memory(8, 3_000, false), memory(9, 10, false)];
        let (told, left_out) = within(pinned, others.into_iter(), 5, 20);
        assert_eq!(told.iter().map(|memory| memory.id).collect::<Vec<_>>(), [1, 2, 3, 4, 7, 9]);
        assert_eq!(left_out, [5]);
    }
}
