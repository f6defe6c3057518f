//! What is kept of tasks and contexts besides the journals of their runs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::RunId;
use updraft_workbench::service::LiveRuns;

use super::failure::A2aResult;

/// Under which name notes are kept.
pub(super) const NOTES: &str = "a2a";
/// Most messages of a task that are kept.
const MOST_MESSAGES: usize = 1_000;

/// What is kept of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskNote {
    /// Its context.
    pub(super) context: String,
    /// The messages of both sides, oldest first.
    pub(super) messages: Vec<Value>,
}

impl TaskNote {
    fn key(run: &RunId) -> String {
        format!("task {run}")
    }

    /// What is kept of a task. A run that no agent has asked for is a context of its own, with its goal as the message.
    pub(super) fn of(runs: &LiveRuns, run: &RunId, goal: &str) -> A2aResult<Self> {
        let known = runs.note(NOTES, &Self::key(run))?.and_then(|text| serde_json::from_str(&text).ok());
        Ok(known.unwrap_or_else(|| {
            let message = json!({ "messageId": format!("{run}-goal"), "contextId": run.as_str(),
                                  "taskId": run.as_str(), "role": "ROLE_USER", "parts": [{ "text": goal }] });
            Self { context: run.to_string(), messages: vec![message] }
        }))
    }

    /// Whether a message with this id was received before.
    pub(super) fn has(&self, message: &str) -> bool {
        self.messages.iter().any(|known| known["messageId"] == message)
    }

    /// Whether a message was received as the next one after another.
    pub(super) fn has_after(&self, message: &str, earlier: &str) -> bool {
        self.messages.windows(2).any(|pair| pair[0]["messageId"] == earlier && pair[1]["messageId"] == message)
    }

    /// Keeps it.
    pub(super) async fn keep(&self, runs: &LiveRuns, run: &RunId) -> A2aResult<()> {
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(runs.keep_note(NOTES, &Self::key(run), text).await?)
    }

    /// Adds messages to those of a task.
    pub(super) async fn add(&self, runs: &LiveRuns, run: &RunId, messages: Vec<Value>) -> A2aResult<()> {
        let first = self.clone();
        let change = move |known: Option<&str>| {
            let mut note: Self =
                known.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| first.clone());
            note.messages.extend(messages.clone());
            let surplus = note.messages.len().saturating_sub(MOST_MESSAGES);
            note.messages.drain(..surplus);
            serde_json::to_string(&note).ok()
        };
        runs.change_note(NOTES, &Self::key(run), change).await?;
        Ok(())
    }

    /// Removes the last question and its answer from the messages of a task: the run has refused the answer.
    pub(super) async fn remove_last(&self, runs: &LiveRuns, run: &RunId, pair: [&str; 2]) -> A2aResult<()> {
        let pair = pair.map(str::to_owned);
        let change = move |known: Option<&str>| {
            let mut note: Self = known.and_then(|text| serde_json::from_str(text).ok())?;
            let at = note
                .messages
                .windows(2)
                .rposition(|two| two[0]["messageId"] == pair[0] && two[1]["messageId"] == pair[1])?;
            note.messages.drain(at..at + 2);
            serde_json::to_string(&note).ok()
        };
        runs.change_note(NOTES, &Self::key(run), change).await?;
        Ok(())
    }
}

fn context_key(context: &str) -> String {
    format!("context {context}")
}

/// The tasks of a context, oldest first.
pub(super) fn tasks_in(runs: &LiveRuns, context: &str) -> A2aResult<Vec<RunId>> {
    let note = runs.note(NOTES, &context_key(context))?;
    let named: Vec<String> = note.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let known: Vec<RunId> = named.iter().filter_map(|id| runs.find(id).ok()).collect();
    // A run that no agent has asked for is a context of its own.
    let alone = || {
        let run = runs.find(context).ok()?;
        let note = runs.note(NOTES, &TaskNote::key(&run)).ok()?;
        let is_elsewhere = note
            .and_then(|text| serde_json::from_str::<TaskNote>(&text).ok())
            .is_some_and(|note| note.context != context);
        (!is_elsewhere).then_some(run)
    };
    Ok(if known.is_empty() { alone().into_iter().collect() } else { known })
}

/// Adds a task to a context, unless it is there.
pub(super) async fn add_to_context(runs: &LiveRuns, context: &str, run: &RunId) -> A2aResult<()> {
    let (run, alone) = (run.to_string(), tasks_in(runs, context)?);
    let change = move |known: Option<&str>| {
        let known = known.and_then(|text| serde_json::from_str(text).ok());
        let mut named: Vec<String> = known.unwrap_or_else(|| alone.iter().map(RunId::to_string).collect());
        if named.contains(&run) {
            return None;
        }
        named.push(run.clone());
        serde_json::to_string(&named).ok()
    };
    runs.change_note(NOTES, &context_key(context), change).await?;
    Ok(())
}
