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

/// Longest ending of a file's name in a task: `json`, `lock`.
const MAX_ENDING: usize = 5;

impl Run {
    /// A small model likes to answer before it has looked at anything, to call what failed done, and to stop behind the first of
    /// two files: it is sent back once.
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
            None => NOTHING_CALLED.to_owned(),
            Some(results) if results.outcomes.iter().all(did_nothing) => LAST_CALL_FAILED.to_owned(),
            Some(_) => left_over(task, &self.touched(step))?,
        };
        let what = format!("{why}\n\nThe task is still: {task}");
        let otherwise = Failure::new(FailureKind::ModelBehavior, why);
        Some(self.correct(step, turn, Note::Unfinished { what }, &otherwise))
    }

    /// Why a small model may not replace a file: it has not looked at it, and would write what it believes to be there.
    pub(super) fn overwrites_unseen(&self, step: &Step, call: &ToolCall, prepared: &PreparedCall) -> Option<Failure> {
        let path = call.args["path"].as_str().filter(|_| prepared.replaces && self.is_small(step))?;
        if self.touched(step).iter().any(|touched| touched.path == plain(path)) {
            return None;
        }
        let why = format!("`{path}` is there, and you have not read it: read it first, then change it with edit_file");
        Some(Failure::new(FailureKind::Validation, why))
    }

    fn is_small(&self, step: &Step) -> bool {
        self.window_of(&step.spec.id) <= SMALL_WINDOW
    }

    /// The files that a step wanted to read, and those that it has changed, in order.
    fn touched(&self, step: &Step) -> Vec<TouchedFile> {
        let turns = step.conversation.windows(2).filter_map(|pair| match pair {
            [ConversationEntry::Answer(answer), ConversationEntry::Results(results)] => Some((answer, results)),
            _ => None,
        });
        let mut touched = Vec::new();
        for (answer, results) in turns {
            for (call, outcome) in self.calls_in(step, answer).iter().zip(&results.outcomes) {
                let is_changed = match call.name.as_str() {
                    "read_file" => false,
                    "edit_file" | "write_file" if outcome.is_good() => true,
                    _ => continue,
                };
                let path = call.args["path"].as_str().map(|path| plain(path).to_owned());
                touched.extend(path.map(|path| TouchedFile { path, is_changed }));
            }
        }
        touched
    }
}

/// Whether a call failed or was not made.
fn did_nothing(outcome: &ToolCallOutcome) -> bool {
    has_failed(outcome) || matches!(outcome, ToolCallOutcome::Rejected(_))
}

/// A file that a step wanted to read, or has changed.
struct TouchedFile {
    path: String,
    is_changed: bool,
}

/// A path as others name the same file.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// What is said of the files that the task names and that were neither read nor changed, if others of them were changed.
fn left_over(task: &str, touched: &[TouchedFile]) -> Option<String> {
    let named = file_names(task);
    let is_touched = |name: &&&str| touched.iter().any(|file| file.path == plain(name));
    let is_changed = |name: &&&str| touched.iter().any(|file| file.path == plain(name) && file.is_changed);
    let changed: Vec<&str> = named.iter().filter(is_changed).copied().collect();
    let left: Vec<&str> = named.iter().filter(|name| !is_touched(name)).copied().collect();
    (!changed.is_empty() && !left.is_empty()).then(|| {
        let (changed, left) = (changed.join(", "), left.join(", "));
        format!("You have changed {changed} and not looked at {left}. If something is left to do there, do it now; if not, answer.")
    })
}

/// The words of a task that look like names of files, each once.
fn file_names(task: &str) -> Vec<&str> {
    let words = task.split(|c: char| c.is_whitespace() || ",;:()[]\"'`?!".contains(c));
    let mut names: Vec<&str> = Vec::new();
    for word in words.map(|word| word.trim_end_matches('.')).filter(|word| !word.contains("//")) {
        let Some((name, ending)) = word.rsplit_once('.') else { continue };
        let is_ending = ending.starts_with(char::is_alphabetic) && ending.chars().all(char::is_alphanumeric);
        // `e.g` is none.
        let is_name = !name.is_empty() && name.len() + ending.len() > 2 && ending.len() <= MAX_ENDING;
        if is_ending && is_name && !names.contains(&word) {
            names.push(word);
        }
    }
    names
}

/// What a small model is told that has called nothing.
const NOTHING_CALLED: &str = "No tool was called, so nothing was read, run or changed. First call the tool that reads or \
                              searches the files; then do the task, or give the answer.";

/// What a small model is told whose last call failed.
const LAST_CALL_FAILED: &str = "The last call failed, so it did nothing. Read its error, and call the tool again with what the \
                                error asks for. If it cannot be done, say so in the answer.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_found_in_a_task() {
        let found = file_names(
            "Rename it in shop.py and `src/till.py`, e.g. in shop.py. Set version 2.0.0; see https://a.example.",
        );
        assert_eq!(found, ["shop.py", "src/till.py"]);
    }

    #[test]
    fn a_named_file_that_was_not_looked_at_is_left_over_once_another_is_changed() {
        let file = |path: &str, is_changed| TouchedFile { path: path.into(), is_changed };
        let task = "Fix a.py and b.py.";
        assert_eq!(left_over(task, &[file("a.py", false)]), None);
        assert!(
            left_over(task, &[file("a.py", true)])
                .unwrap()
                .starts_with("You have changed a.py and not looked at b.py.")
        );
        assert_eq!(left_over(task, &[file("a.py", true), file("b.py", false)]), None);
    }
}
