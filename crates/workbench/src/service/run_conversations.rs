//! Conversations as chains of runs: each follows up on the one before, whichever face it came in by.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use updraft_journal::{Change, Journal, RunFilter, RunSummary};
use updraft_run::{Event, Goal, Record, RunId, Timestamp};

use super::notes::{self, FaceNote};
use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::journal;

/// How many runs are looked at; older conversations are not found.
const NEWEST: usize = 2_000;

/// Runs that follow up on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunConversation {
    /// The first run.
    pub root: RunId,
    /// The folder it works in.
    pub workspace: String,
    /// The beginning of its first goal.
    pub title: String,
    /// Its runs, oldest first. If several follow up on the same run, the newest counts.
    pub runs: Vec<RunId>,
    /// When something last happened in it.
    pub updated: Timestamp,
}

/// The conversations of all folders of this machine, and what faces note about them. Cheap to clone.
#[derive(Clone)]
pub struct ConversationBook(Journal);

impl ConversationBook {
    /// Opens it; `None` if there was never a run.
    pub fn open(folders: &AppFolders) -> Result<Option<Self>, Fault> {
        Ok(journal::open_if_there(folders)?.map(Self))
    }

    /// The conversations of a folder, or of all, those that changed last first. Blocks on the disk.
    pub fn conversations(&self, workspace: Option<&str>) -> Result<Vec<RunConversation>, Fault> {
        conversations(&self.0, workspace)
    }

    /// The notes of a face in all folders. Blocks on the disk.
    pub fn notes(&self, face: &str) -> Result<Vec<FaceNote>, Fault> {
        notes::everywhere(&self.0, face)
    }

    /// Keeps a note. When this returns, it is on disk.
    pub async fn keep_note(&self, face: &str, workspace: &str, key: &str, text: String) -> Result<(), Fault> {
        let set = move |_| (Change::Set(text.clone()), ());
        Ok(self.0.change_stored(&notes::scope(face, workspace), key, set).await?)
    }

    /// Forgets a note; false if there was none.
    pub async fn drop_note(&self, face: &str, workspace: &str, key: &str) -> Result<bool, Fault> {
        let forget = |stored: Option<_>| (Change::Remove, stored.is_some());
        Ok(self.0.change_stored(&notes::scope(face, workspace), key, forget).await?)
    }

    /// Closes it.
    pub async fn close(self) {
        self.0.close().await;
    }
}

impl LiveRuns {
    /// The conversation of this folder that begins with a run. Blocks on the disk.
    pub fn conversation(&self, root: &RunId) -> Result<Option<RunConversation>, Fault> {
        let all = conversations(self.journal(), Some(self.workspace()))?;
        Ok(all.into_iter().find(|conversation| conversation.root == *root))
    }
}

fn conversations(journal: &Journal, workspace: Option<&str>) -> Result<Vec<RunConversation>, Fault> {
    let workspace = workspace.map(str::to_owned);
    let mut runs = journal.list(&RunFilter { workspace, limit: Some(NEWEST), ..RunFilter::default() })?;
    runs.sort_by_key(|run| run.created);
    let mut found: BTreeMap<RunId, RunConversation> = BTreeMap::new();
    let mut roots: BTreeMap<RunId, RunId> = BTreeMap::new();
    for run in runs {
        let RunSummary { id, workspace, goal: beginning, updated, parent, .. } = run;
        // A run that cannot be read is nobody's conversation.
        let Some(goal) = goal_of(journal, &id) else { continue };
        // A copy begins a conversation of its own.
        let before = goal.follows.as_ref().filter(|_| parent.is_none());
        let known = before.and_then(|before| Some((before, roots.get(before)?.clone())));
        let Some((before, root)) = known else {
            let title = title(if goal.asked.is_empty() { &beginning } else { &goal.asked });
            let runs = vec![id.clone()];
            roots.insert(id.clone(), id.clone());
            found.insert(id.clone(), RunConversation { root: id, workspace, title, runs, updated });
            continue;
        };
        if let Some(conversation) = found.get_mut(&root) {
            let place = conversation.runs.iter().position(|run| run == before);
            conversation.runs.truncate(place.map_or(usize::MAX, |place| place + 1));
            conversation.runs.push(id.clone());
            conversation.updated = conversation.updated.max(updated);
        }
        roots.insert(id, root);
    }
    let mut found: Vec<RunConversation> = found.into_values().collect();
    found.sort_by_key(|conversation| std::cmp::Reverse(conversation.updated));
    Ok(found)
}

/// The goal that a run began with.
fn goal_of(journal: &Journal, id: &RunId) -> Option<Goal> {
    let mut goal = None;
    let read = journal.read(id, 0, &mut |_, record: Record| {
        goal = record.events.into_iter().find_map(|event| match event {
            Event::Started(start) => Some(start.goal.clone()),
            _ => None,
        });
        if goal.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    read.ok()?;
    goal
}

fn title(goal: &str) -> String {
    let line = goal.trim().lines().next().unwrap_or_default();
    line.chars().take(120).collect()
}
