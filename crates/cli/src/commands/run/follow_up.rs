//! Continuing a conversation: what was said in earlier runs of a folder, as the new run's agents get it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use updraft_engine::failure_of;
use updraft_journal::Journal;
use updraft_run::{ConversationLimits, EarlierConversation, EarlierMessage, Goal, Origins, Run, RunId, RunMode};

use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::journal;
use crate::settings::TrustedWorkspaces;

/// How many runs of older versions, which kept no messages, are read back.
const MOST_RUNS: usize = 20;

/// The conversation that a goal continues.
#[derive(Clone, Debug, Default)]
pub(crate) struct FollowUp {
    pub(crate) follows: Option<RunId>,
    pub(crate) earlier: EarlierConversation,
    /// The origins of text in the answers, which must not count as the user's own words.
    origins: Origins,
    /// The folder of the newest run.
    workspace: String,
    mode: Option<RunMode>,
}

/// The file that other programs know as `agent_memory.json`.
#[derive(Default, Serialize, Deserialize)]
struct ConversationFile {
    #[serde(flatten)]
    earlier: EarlierConversation,
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    origins: Origins,
}

impl FollowUp {
    /// The newest conversation of a folder: from `MEMORY_FILE` if that is set, otherwise that of the newest run.
    pub(crate) fn find(folders: &AppFolders, workspace: &Path) -> Result<Self, CliError> {
        if let Some(file) = memory_file() {
            return Self::from_file(folders, &file, workspace);
        }
        let journal = journal::open_with_runs(folders)?;
        let newest = journal::newest_in(&journal, workspace)?;
        if journal.head(&newest)?.is_owned() {
            return Err(CliError::usage(format!("run {newest} is still running and has no answer yet")).hint(format!(
                "`updraft tell {newest} \"…\"` sends it a message; `updraft events {newest} --follow` follows it"
            )));
        }
        Ok(Self::after(&journal, &newest))
    }

    /// The conversation up to the end of a run.
    pub(crate) fn after(journal: &Journal, last: &RunId) -> Self {
        let mut found = Self { follows: Some(last.clone()), ..Self::default() };
        let (mut next, mut turns) = (Some(last.clone()), Vec::new());
        while let Some(id) = next.take().filter(|_| turns.len() < MOST_RUNS) {
            // If an earlier run was removed, the conversation begins after it.
            let Ok(records) = journal.load(&id) else { break };
            let run = Run::fold(records);
            if found.mode.is_none() {
                found.mode = Some(run.goal().mode.clone());
                found.workspace.clone_from(&run.settings().workspace);
            }
            found.origins.merge(&run.origins());
            turns.push((run.goal().own_words().to_owned(), answer(&run)));
            if run.goal().earlier.is_empty() {
                next.clone_from(&run.goal().follows);
            } else {
                found.earlier = run.goal().earlier.clone();
            }
        }
        for (question, answer) in turns.iter().rev() {
            found.earlier.add("user", question);
            found.earlier.add("assistant", answer);
        }
        found
    }

    /// The conversation in a file; empty if there is no file yet. What tools or unknown speakers said, and what a
    /// workspace brings along that is not trusted, is no word of the user.
    pub(crate) fn from_file(folders: &AppFolders, file: &Path, workspace: &Path) -> Result<Self, CliError> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(CliError::file("read", file, &error)),
        };
        let read: ConversationFile = serde_json::from_str(&text).map_err(|error| {
            CliError::usage(format!("`{}` is not a conversation: {error}", file.display()))
                .hint("expected an object with `summary` and `history`, a list of objects with `role` and `content`")
        })?;
        let mut origins = read.origins.outside_of("another workspace");
        let is_strange = |message: &EarlierMessage| !message.is_users() && !message.is_answer();
        let is_inside = file.canonicalize().is_ok_and(|file| file.starts_with(workspace));
        let is_brought = || is_inside && !TrustedWorkspaces::load(folders).trust_state(workspace).is_trusted();
        if read.earlier.history.iter().any(is_strange) || is_brought() {
            origins.add(&format!("the conversation in {}", file.display()));
        }
        Ok(Self { earlier: read.earlier, origins, ..Self::default() })
    }

    /// The same conversation, whichever agents have answered so far.
    pub(crate) fn with_any_agent(self) -> Self {
        Self { mode: None, ..self }
    }

    /// The conversation as the text of such a file.
    pub(crate) fn in_json(&self, limits: ConversationLimits) -> String {
        let mut earlier = self.earlier.clone();
        earlier.fold(limits);
        let file = ConversationFile { earlier, origins: self.origins.outside_of(&self.workspace) };
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// The goal with the conversation. The same agent works on it as before, unless another is named.
    pub(crate) fn add_to(&self, goal: Goal, limits: ConversationLimits) -> Goal {
        let mode = match (&goal.mode, &self.mode) {
            (RunMode::Plan, Some(before @ (RunMode::Agent(_) | RunMode::Swarm))) => before.clone(),
            (named, _) => named.clone(),
        };
        let mut earlier = self.earlier.clone();
        earlier.fold(limits);
        Goal { mode, earlier, follows: self.follows.clone(), origins: self.origins.clone(), ..goal }
    }
}

/// The file that conversations are kept in, if the user has set one.
pub(crate) fn memory_file() -> Option<PathBuf> {
    folders::set("MEMORY_FILE").map(PathBuf::from)
}

/// Keeps the conversation up to the end of a run in the file that the user has set, if there is one.
pub(crate) fn keep(journal: &Journal, last: &RunId, limits: ConversationLimits) -> Result<(), CliError> {
    let Some(file) = memory_file() else { return Ok(()) };
    let file = std::path::absolute(&file).map_err(|error| CliError::file("write", &file, &error))?;
    Ok(folders::replace_private(&file, FollowUp::after(journal, last).in_json(limits).as_bytes())?)
}

/// Whether a run continues the conversation in the file that the user has set, or is the newest part of it already: then
/// its answer belongs there once it is finished.
pub(crate) fn is_part(
    folders: &AppFolders,
    journal: &Journal,
    id: &RunId,
    workspace: &Path,
    limits: ConversationLimits,
) -> Result<bool, CliError> {
    let Some(file) = memory_file() else { return Ok(false) };
    let is_newest =
        || std::fs::read_to_string(&file).is_ok_and(|text| text == FollowUp::after(journal, id).in_json(limits));
    Ok(is_next(folders, journal, id, workspace, limits)? || is_newest())
}

/// Whether a run continues the conversation in the file that the user has set, which does not contain the run's own
/// messages yet.
pub(crate) fn is_next(
    folders: &AppFolders,
    journal: &Journal,
    id: &RunId,
    workspace: &Path,
    limits: ConversationLimits,
) -> Result<bool, CliError> {
    let Some(file) = memory_file() else { return Ok(false) };
    let mut before = FollowUp::from_file(folders, &file, workspace)?.earlier;
    before.fold(limits);
    let run = Run::fold(journal.load(id)?);
    let earlier = &run.goal().earlier;
    Ok(earlier.summary == before.summary && earlier.history == before.history)
}

/// A run's answer, or words for why there is none.
fn answer(run: &Run) -> String {
    let answer = run.answer();
    match failure_of(run) {
        Some(why) => format!("{answer}\n\n(This failed: {})", why.message).trim_start().to_owned(),
        None if answer.trim().is_empty() && !run.is_over() => {
            "(There is no answer: this was stopped before its end.)".to_owned()
        }
        None if answer.trim().is_empty() => format!("(There is no answer; the run is {}.)", run.status()),
        None => answer,
    }
}
