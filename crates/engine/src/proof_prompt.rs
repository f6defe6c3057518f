//! The question about requirements in free text: which calls and results of the run show that they are met.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::Run;

use crate::prompt_texts::PromptKit;

/// How much of a result is shown, in bytes.
const SHOWN: usize = 4_000;

/// The question: the open requirements, and what can be named as evidence.
pub(crate) fn question(run: &Run, kit: &PromptKit) -> String {
    let requirements: Vec<String> =
        run.asked_of_model().iter().map(|(n, one)| format!("{n}. {}", one.text.replace('\n', " "))).collect();
    let mut calls = String::new();
    for (at, call) in run.shown_calls() {
        let Some(end) = &call.ended else { continue };
        let how = match (end.exit, end.is_good) {
            (Some(code), _) => format!("exit code {code}"),
            (None, true) => "done".to_owned(),
            (None, false) => "failed".to_owned(),
        };
        let _ = writeln!(calls, "`{at}` {} ({how})\n{}\n", call.what, indented(end.words.trim()));
    }
    let results = run.shown_results().into_iter().map(|(at, text)| {
        let end = text.floor_char_boundary(SHOWN);
        let cut = if end < text.len() { "\n    …" } else { "" };
        format!("`{at}`\n{}{cut}", indented(text[..end].trim()))
    });
    let results: Vec<String> = results.collect();
    let (requirements, results) = (requirements.join("\n"), results.join("\n\n"));
    let goal = run.goal().own_words();
    kit.say("proof", &[("goal", goal), ("requirements", &requirements), ("calls", &calls), ("results", &results)])
}

/// The schema of the answer.
pub(crate) fn schema() -> Arc<Value> {
    let evidence = json!({ "type": "object", "properties": {
        "at": { "type": "string" }, "quote": { "type": "string" },
    }, "required": ["at", "quote"], "additionalProperties": false });
    let one = json!({ "type": "object", "properties": {
        "n": { "type": "integer" },
        "state": { "type": "string", "enum": ["met", "not_met", "unknown"] },
        "evidence": { "type": "array", "items": evidence },
        "why": { "type": "string" },
    }, "required": ["n", "state", "evidence", "why"], "additionalProperties": false });
    Arc::new(json!({ "type": "object", "properties": { "requirements": { "type": "array", "items": one } },
                     "required": ["requirements"], "additionalProperties": false }))
}

/// Quoted text is indented, so that nothing in it looks like a part of the question.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
