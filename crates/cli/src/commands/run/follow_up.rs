//! `--continue`: adds the earlier questions and answers of this folder to the new goal.

use std::collections::VecDeque;
use std::path::Path;

use updraft_engine::failure_of;
use updraft_run::{Goal, Origins, Run, RunId, RunMode};
use updraft_workbench::{SessionLimits, with_conversation};

use crate::fault::CliError;
use crate::folders::AppFolders;
use crate::journal;

/// The conversation that a goal continues.
pub(super) struct FollowUp {
    follows: RunId,
    /// Goals and answers, oldest first.
    turns: VecDeque<(String, String)>,
    /// The origins of text in the answers, which must not count as the user's own words because it is in their goal.
    origins: Origins,
    mode: RunMode,
}

impl FollowUp {
    /// Reads the newest run of a folder, and the runs that it continued.
    pub(super) fn find(folders: &AppFolders, workspace: &Path) -> Result<Self, CliError> {
        let journal = journal::open_with_runs(folders)?;
        let newest = journal::newest_in(&journal, workspace)?;
        if journal.head(&newest)?.is_owned() {
            return Err(CliError::usage(format!("run {newest} is still running and has no answer yet")).hint(format!(
                "`updraft tell {newest} \"…\"` sends it a message; `updraft events {newest} --follow` follows it"
            )));
        }
        let mut found =
            Self { follows: newest.clone(), turns: VecDeque::new(), origins: Origins::default(), mode: RunMode::Plan };
        let (mut next, most) = (Some(newest), SessionLimits::default().turns);
        while let Some(id) = next.take().filter(|_| found.turns.len() < most) {
            // If an earlier run was removed, the conversation begins after it.
            let Ok(records) = journal.load(&id) else { break };
            let run = Run::fold(records);
            if found.turns.is_empty() {
                found.mode = run.goal().mode.clone();
            }
            found.origins.merge(&run.origins());
            found.turns.push_front((run.goal().own_words().to_owned(), answer(&run)));
            next.clone_from(&run.goal().follows);
        }
        Ok(found)
    }

    /// The goal with the conversation. The same agent works on it as before, unless another is named.
    pub(super) fn add_to(&self, goal: Goal) -> Goal {
        let turns: Vec<(&str, &str)> = self.turns.iter().map(|(asked, said)| (asked.as_str(), said.as_str())).collect();
        let text = with_conversation(&goal.text, &turns);
        let mode = match (&goal.mode, &self.mode) {
            (RunMode::Plan, RunMode::Agent(_) | RunMode::Swarm) => self.mode.clone(),
            (named, _) => named.clone(),
        };
        let (follows, origins) = (Some(self.follows.clone()), self.origins.clone());
        Goal { asked: goal.text.clone(), text, mode, follows, origins, ..goal }
    }
}

/// A run's answer, or words for why there is none.
fn answer(run: &Run) -> String {
    let answer = run.answer();
    match failure_of(run) {
        Some(why) => format!("{answer}\n\n(This failed: {})", why.message).trim_start().to_owned(),
        None if answer.trim().is_empty() => format!("(There is no answer; the run is {}.)", run.status()),
        None => answer,
    }
}
