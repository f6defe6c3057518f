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

/// The user's memory. Nothing is opened until it is used.
pub fn access(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> MemoryAccess {
    MemoryAccess::new(folders.memory(), knowledge::embedder(folders, workspace, settings))
}

/// What is remembered about a goal: the pinned memories, and those that fit best, within the limits. Memories that
/// contain text from outside are left out: agents find them with `recall`, which says where they come from. If the file
/// cannot be read, the run begins without.
pub(crate) fn recalled(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    goal: &Goal,
    agents: &[String],
) -> Value {
    let limits = &settings.effective.memory;
    if limits.recall.value == 0 || !folders.memory().exists() {
        return Value::Null;
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
            warn!(error = updraft_run::error_chain(&error), "nothing is recalled");
            return Value::Null;
        }
    };
    let best = best.into_iter().filter(|memory| !memory.content.pinned);
    let told = within(pinned, best, limits.recall.value as usize, limits.tokens.value as usize);
    let ids: Vec<i64> = told.iter().map(|memory| memory.id).collect();
    if let Err(error) = memory.count_use(&ids) {
        warn!(error = updraft_run::error_chain(&error), "the use of memories is not counted");
    }
    if told.is_empty() { Value::Null } else { told.iter().map(in_json).collect() }
}

/// The pinned memories and the best others, as far as they fit. Nothing that contains text from outside.
fn within(pinned: Vec<Memory>, best: impl Iterator<Item = Memory>, most: usize, tokens: usize) -> Vec<Memory> {
    let is_own = |memory: &Memory| memory.content.origins.is_empty();
    let mut left = tokens;
    let mut fits = |memory: &Memory| {
        let cost = tokens_of(&memory.content.text);
        let fits = cost <= left;
        left -= if fits { cost } else { 0 };
        fits
    };
    let mut told: Vec<Memory> = pinned.into_iter().filter(|memory| is_own(memory) && fits(memory)).collect();
    told.extend(best.filter(is_own).filter(|memory| fits(memory)).take(most));
    told
}

/// About how many tokens a text has.
pub fn tokens_of(text: &str) -> usize {
    text.len().div_ceil(4)
}

fn in_json(memory: &Memory) -> Value {
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
