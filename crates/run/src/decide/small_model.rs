//! What a small model is kept from: ending before the task is done, and writing over a file that it has not seen.

use crate::answer_calls::ASK_USER;
use crate::effect::PreparedCall;
use crate::event::{Event, Note};
use crate::goal::SMALL_WINDOW;
use crate::message::ToolCall;
use crate::reply::{Failure, FailureKind};
use crate::state::Run;
use crate::step::{ConversationEntry, Step, StepRole, ToolCallOutcome};

use super::turn::has_failed;

impl Run {
    /// A small model likes to answer before it has looked at anything, and to call what failed done: it is sent back once.
    pub(super) fn keep_at_it(&self, step: &Step, turn: u32) -> Option<Vec<Event>> {
        let has_tools = self.card(&step.spec.agent)?.tools.iter().any(|tool| tool != ASK_USER);
        let is_first =
            !step.conversation.iter().any(|entry| matches!(entry, ConversationEntry::Note(Note::Unfinished { .. })));
        let may = step.role == StepRole::Work && is_first && turn + 1 < self.turns_of(step);
        if !self.is_small(step) || !may || !has_tools {
            return None;
        }
        let task = if step.spec.prompt.is_empty() { self.goal().text.as_str() } else { &step.spec.prompt };
        let last = step.conversation.iter().rev().find_map(|entry| match entry {
            ConversationEntry::Results(results) => Some(results),
            ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        });
        let why = match last {
            None => NOTHING_CALLED,
            Some(results) if results.outcomes.iter().all(did_nothing) => LAST_CALL_FAILED,
            Some(_) => return None,
        };
        let what = format!("{why}\n\nThe task is still: {task}");
        let otherwise = Failure::new(FailureKind::ModelBehavior, why);
        Some(self.correct(step, turn, Note::Unfinished { what }, &otherwise))
    }

    /// Why a small model may not replace a file: it has not looked at it, and would write what it believes to be there.
    pub(super) fn overwrites_unseen(&self, step: &Step, call: &ToolCall, prepared: &PreparedCall) -> Option<Failure> {
        let path = call.args["path"].as_str().filter(|_| prepared.replaces && self.is_small(step))?;
        if self.has_touched(step, plain(path)) {
            return None;
        }
        let why = format!("`{path}` is there, and you have not read it: read it first, then change it with edit_file");
        Some(Failure::new(FailureKind::Validation, why))
    }

    fn is_small(&self, step: &Step) -> bool {
        self.window_of(&step.spec.id) <= SMALL_WINDOW
    }

    /// Whether a step wanted to read this file, or has changed it.
    fn has_touched(&self, step: &Step, path: &str) -> bool {
        step.conversation.windows(2).any(|pair| {
            let [ConversationEntry::Answer(answer), ConversationEntry::Results(results)] = pair else { return false };
            self.calls_in(step, answer).iter().zip(&results.outcomes).any(|(call, outcome)| {
                let counts = match call.name.as_str() {
                    "read_file" => true,
                    "edit_file" | "write_file" => outcome.is_good(),
                    _ => false,
                };
                counts && call.args["path"].as_str().map(plain) == Some(path)
            })
        })
    }
}

/// Whether a call failed or was not made.
fn did_nothing(outcome: &ToolCallOutcome) -> bool {
    has_failed(outcome) || matches!(outcome, ToolCallOutcome::Rejected(_))
}

/// A path as others name the same file.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// What a small model is told that has called nothing.
const NOTHING_CALLED: &str = "No tool was called, so nothing was read, run or changed. First call the tool that reads or \
                              searches the files; then do the task, or give the answer.";

/// What a small model is told whose last call failed.
const LAST_CALL_FAILED: &str = "The last call failed, so it did nothing. Read its error, and call the tool again with what the \
                                error asks for. If it cannot be done, say so in the answer.";
