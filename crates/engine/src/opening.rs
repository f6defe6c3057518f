//! The first message of a visit: the task, what it is given, and what came before.

use serde_json::Value;
use updraft_run::{Judgement, PriorVisit, Run, RunMode, Step, StepRole, VisitOpening};

use crate::context::{self, WorkspaceContext};
use crate::history;
use crate::plan_prompt;
use crate::prompt_texts::PromptKit;

/// The first message of a visit.
pub(crate) fn opening(run: &Run, step: &Step, kit: &PromptKit, context: &WorkspaceContext) -> String {
    let spec = &step.spec;
    let goal = &run.goal().text;
    let words = context_in_words(run, step, kit, context);
    let instructions = context.instructions_in_words(kit, run.settings().workspace_trusted);
    let frozen = step.opening.clone().unwrap_or_default();
    let inputs: serde_json::Map<String, Value> =
        frozen.inputs.iter().map(|(name, value)| (name.clone(), (**value).clone())).collect();
    let inputs = if inputs.is_empty() { String::new() } else { Value::Object(inputs).to_string() };
    let mut text = match step.role {
        StepRole::Plan => kit.say(
            "plan",
            &[
                ("goal", goal),
                ("instructions", &instructions),
                ("context", &words),
                ("variables", &inputs),
                ("models", &plan_prompt::models_in_words(run)),
                ("record", &plan_prompt::record_in_words(run)),
            ],
        ),
        StepRole::Distill => kit.say("distill", &[("files", &run.goal().files.join("\n")), ("goal", goal)]),
        // It asks nothing but the separate question about requirements in free text.
        StepRole::Prove => String::new(),
        StepRole::Work => match run.goal().mode {
            RunMode::Agent(_) if run.settings().has_small_window() => kit.say(
                "query-small",
                &[("goal", goal), ("instructions", &instructions), ("context", &words), ("inputs", &inputs)],
            ),
            RunMode::Agent(_) => kit.say(
                "query",
                &[("goal", goal), ("instructions", &instructions), ("context", &words), ("inputs", &inputs)],
            ),
            RunMode::Plan | RunMode::Swarm | RunMode::Given if run.is_review(step) => kit.say(
                "review",
                &[
                    ("goal", goal),
                    ("instructions", &instructions),
                    ("description", &spec.description),
                    ("prompt", &spec.prompt),
                    ("inputs", &inputs),
                    ("context", &words),
                ],
            ),
            RunMode::Plan | RunMode::Swarm | RunMode::Given => kit.say(
                "step",
                &[
                    ("goal", goal),
                    ("description", &spec.description),
                    ("prompt", &spec.prompt),
                    ("inputs", &inputs),
                    ("writes", &spec.writes.join("\n")),
                    ("instructions", &instructions),
                    ("context", &words),
                ],
            ),
        },
    };
    if let Some(repeated) = run.earlier_runs().repeated.as_ref().filter(|_| step.role == StepRole::Plan) {
        text.push_str("\n\n");
        text.push_str(&plan_prompt::repeated_in_words(kit, repeated));
    }
    let candidates: Vec<String> = run.candidates_of(step).iter().map(|name| format!("- `{name}`")).collect();
    if !candidates.is_empty() {
        text.push_str("\n\n");
        text.push_str(&kit.say("choose", &[("candidates", &candidates.join("\n"))]));
    }
    for message in run.told().iter().take(frozen.told) {
        text.push_str("\n\n");
        text.push_str(&kit.say("told", &[("message", message)]));
    }
    if let Some(carried) = &step.carried {
        text = format!("{text}\n\n{}", carried_in_words(run, carried, &frozen, kit));
    }
    text
}

/// The workspace, the files that were handed over, and what was done before.
fn context_in_words(run: &Run, step: &Step, kit: &PromptKit, context: &WorkspaceContext) -> String {
    let spec = &step.spec;
    let copied = run.is_in_copy(&spec.id);
    let copied = copied.then(|| WorkspaceContext { root: run.workspace_of(&spec.id), ..context.clone() });
    // A small model is told of the files alone: it takes a path or a date that stands before them for a part of the task.
    let small = run.settings().has_small_window() && step.role == StepRole::Work;
    let copied = if small { Some(context.with_files_alone()) } else { copied };
    let (handed, history) = (context::handed_over(run), history::in_words(run, step));
    let is_trusted = run.settings().workspace_trusted;
    copied.as_ref().unwrap_or(context).in_words(kit, &spec.agent, &handed, &history, step.role, is_trusted)
}

fn carried_in_words(run: &Run, carried: &PriorVisit, frozen: &VisitOpening, kit: &PromptKit) -> String {
    match &carried.judgement {
        Judgement::Retry { feedback } => {
            kit.say("feedback", &[("feedback", feedback), ("previous", &carried.previous)])
        }
        Judgement::Pivot { feedback } => kit.say("pivot", &[("feedback", feedback), ("previous", &carried.previous)]),
        Judgement::Again { instruction } => {
            kit.say("again", &[("instruction", instruction), ("previous", &as_json(&carried.previous))])
        }
        Judgement::Renewed { by } => kit.say("renewed", &[("step", by.as_str()), ("previous", &carried.previous)]),
        Judgement::Replan { why } => {
            let list = |wanted: &[&str], line: fn(&Step) -> String| {
                let steps = frozen.outline.iter().filter(|(_, status)| wanted.contains(status));
                let lines = steps.filter_map(|(id, _)| run.step(id)).map(line);
                lines.collect::<Vec<_>>().join("\n")
            };
            let failed = list(&["failed", "skipped", "cancelled"], plan_prompt::failed_in_words);
            let done = list(&["completed", "running", "waiting"], plan_prompt::planned_in_words);
            let remaining = list(&["pending", "ready"], plan_prompt::task_in_words);
            kit.say("replan", &[("failed", &failed), ("why", why), ("done", &done), ("remaining", &remaining)])
        }
        Judgement::Accept | Judgement::GiveUp => String::new(),
        _ => String::new(),
    }
}

/// A text as a JSON value: JSON stays as it is, anything else becomes a string.
fn as_json(text: &str) -> String {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_json { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}
