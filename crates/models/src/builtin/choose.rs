//! Choosing among several results of one step: the first candidate that passes the tests, or else the first result.

use serde_json::{Value, json};
use updraft_run::{KEEP_CANDIDATE, ModelAnswer};

use super::conversation;
use crate::Prompt;

const TEST: &str = "test_candidates";

pub(super) fn choose(prompt: &Prompt<'_>) -> ModelAnswer {
    let brief = prompt.brief;
    if brief.candidates.is_empty() {
        let first = brief.inputs.values().map(|value| plain(value)).find(|text| !text.trim().is_empty());
        return conversation::saying(first.unwrap_or_default());
    }
    let keep =
        |name: &str| conversation::calling(prompt, vec![(KEEP_CANDIDATE.to_owned(), json!({ "candidate": name }))]);
    if let Some(kept) = conversation::exchanges(prompt.messages, KEEP_CANDIDATE).last() {
        if kept.result.is_error {
            return gives_up(&kept.result.text);
        }
        let name = kept.call.args["candidate"].as_str().unwrap_or_default();
        return conversation::saying(result_of(prompt, name));
    }
    let Some(command) = &brief.tests else { return keep(&brief.candidates[0]) };
    let tested = conversation::exchanges(prompt.messages, TEST);
    let Some(tested) = tested.last() else {
        let args = json!({ "candidates": brief.candidates, "command": command });
        return conversation::calling(prompt, vec![(TEST.to_owned(), args)]);
    };
    let has_passed = |name: &&String| tested.result.text.lines().any(|line| line == format!("{name}: passed"));
    match brief.candidates.iter().find(has_passed) {
        Some(name) => keep(name),
        None => gives_up(&format!("no candidate passes `{command}`:\n{}", tested.result.text)),
    }
}

/// What the step of a candidate gave. Its variable has the name of the step.
fn result_of(prompt: &Prompt<'_>, name: &str) -> String {
    let variable = name.rsplit('/').next().unwrap_or_default().replace(['-', '.'], "_");
    prompt.brief.inputs.get(&variable).map(|value| plain(value)).unwrap_or_default()
}

fn gives_up(why: &str) -> ModelAnswer {
    conversation::saying(json!({ "error": why }).to_string())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
