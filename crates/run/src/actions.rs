//! A short list of the calls a step made, one line per call. Later steps are shown it.

use crate::answer_calls::outcome_words;
use crate::message::ToolCall;
use crate::reply::Reply;
use crate::step::ToolCallOutcome;

/// How many calls are kept per step. Only the newest are kept, because later steps need to know how the work ended.
const MOST: usize = 12;
/// The longest arguments and the longest outcome that are kept, in characters.
const LONGEST: usize = 160;

/// The calls of a step, over all its visits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// The newest calls, oldest first.
    pub newest: Vec<Action>,
    /// How many earlier calls were dropped.
    pub earlier: u32,
}

/// One call that was made or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The tool.
    pub tool: String,
    /// Its arguments as JSON, cut to size.
    pub args: String,
    /// Whether the call succeeded.
    pub ok: bool,
    /// The first line of the outcome, cut to size.
    pub outcome: String,
}

impl Actions {
    /// Adds calls and drops the oldest beyond the limit.
    pub(crate) fn extend(&mut self, new: Vec<Action>) {
        self.newest.extend(new);
        let over = self.newest.len().saturating_sub(MOST);
        self.newest.drain(..over);
        self.earlier += over as u32;
    }
}

impl Action {
    /// Describes a call and its outcome.
    pub(crate) fn of(call: &ToolCall, outcome: &ToolCallOutcome) -> Self {
        let exit = match outcome {
            ToolCallOutcome::Replied(Reply::Output(output)) => {
                output.value.as_ref().and_then(|value| value.get("exit_code")?.as_i64())
            }
            ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => None,
        };
        let said = first_line(&outcome_words(outcome));
        let said = match exit.filter(|code| *code != 0) {
            Some(code) => format!("exit code {code}: {said}"),
            None => said,
        };
        let has_args = call.args.as_object().is_none_or(|args| !args.is_empty());
        let args = if has_args { short(&call.args.to_string()) } else { String::new() };
        Self { tool: call.name.clone(), args, ok: outcome.is_good(), outcome: said }
    }
}

fn first_line(text: &str) -> String {
    short(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default())
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
