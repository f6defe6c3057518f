//! A closer look at one step: its task, its turns and calls, its result, what it read and wrote, and what it cost.

use maud::{Markup, html};
use updraft_run::{ConversationEntry, Note, Step, StepState};
use updraft_workbench::Fault;
use updraft_workbench::history::{AnswerEntry, EntryKind, HistoryEntry};

use super::markdown::markdown;
use super::run_page::RunScene;
use super::{chat, steps, waits, words};

/// How many turns and calls are shown; the newest.
const SHOWN: usize = 100;

/// The pane of the step that is looked at.
pub(super) fn pane(scene: &RunScene<'_>) -> Result<Markup, Fault> {
    let step = scene.step.as_ref().and_then(|id| scene.history.run().step(id));
    let body = match (&scene.step, step) {
        (_, Some(step)) => look(scene, step)?,
        (Some(id), None) => html! { p.empty { "There is no step `" (id) "` at this position." } },
        (None, None) => html! { p.empty { "Choose a step to look at it closely." } },
    };
    Ok(html! { aside.pane.inspector id="inspector" aria-label="Step" data-step=[scene.step.as_ref()] { (body) } })
}

fn look(scene: &RunScene<'_>, step: &Step) -> Result<Markup, Fault> {
    let spec = &step.spec;
    let own: Vec<&HistoryEntry> =
        scene.history.entries().iter().filter(|entry| entry.step.as_ref() == Some(&spec.id)).collect();
    let first = own.len().saturating_sub(SHOWN);
    Ok(html! {
        div.title {
            h2 { (spec.id) }
            (words::step_status(step.status()))
            a.close href=(scene.address(scene.tab, None, scene.at())) { "Close" }
        }
        @if !spec.description.is_empty() { p.about { (spec.description) } }
        (facts(scene, step))
        @if let Some(error) = error_of(step) { p.failed { (error) } }
        @if scene.is_now && scene.history.run().is_over() { (rerun_form(scene, step)) }
        @if !spec.prompt.is_empty() { details id="i-task" { summary { "Task" } (words::verbatim(&spec.prompt)) } }
        (variables(scene, step))
        @if let Some(output) = &step.output {
            details id="i-result" open { summary { "Result" } div.text { (markdown(output)) } }
        }
        (schema(scene, step))
        (visits(scene, step))
        h3 { "Turns and calls" }
        @if first > 0 { p.cut { (first) " earlier ones are in the chat and the events." } }
        ol.turns { @for entry in &own[first..] { (turn(scene, entry)?) } }
    })
}

pub(super) fn facts(scene: &RunScene<'_>, step: &Step) -> Markup {
    let (run, ledger) = (scene.history.run(), &step.ledger);
    let cost = if ledger.unpriced > 0 { "unknown".to_owned() } else { ledger.at_most().to_string() };
    html! {
        dl.facts {
            div { dt { "Agent" } dd { (step.spec.agent) } }
            div { dt { "Model" } dd { (run.model_for(&step.spec)) } }
            @if let Some(took) = steps::took(scene.history, &step.spec.id) { div { dt { "Time" } dd { (took) } } }
            div { dt { "Turns" } dd { (ledger.requests()) } }
            div { dt { "Calls" } dd { (ledger.calls) } }
            div { dt { "Tokens" } dd { (ledger.usage.input) " in, " (ledger.usage.output) " out"
                @if ledger.usage.cached > 0 { ", " (ledger.usage.cached) " cached" } } }
            div { dt { "Cost" } dd { (cost) } }
            @if let Some(sum) = scene.relations().subtree(&step.spec.id) {
                div { dt { "With what follows" } dd { (sum.in_words()) " in " (words::count(sum.steps as u64, "step")) } }
            }
            (waits(scene, step))
            @if run.is_kept(&step.spec.id) { div { dt { "Kept" } dd { "its result was taken from an earlier run" } } }
        }
    }
}

/// How long the step waited, and for what.
fn waits(scene: &RunScene<'_>, step: &Step) -> Markup {
    let waited = waits::of(scene, step);
    html! {
        @for (kind, millis) in waited.totals() {
            div { dt { (kind.name()) } dd { (words::length(millis)) } }
        }
        @if waited.retries > 0 { div { dt { "Asked again" } dd { (words::count(u64::from(waited.retries), "time")) } } }
    }
}

pub(super) fn error_of(step: &Step) -> Option<String> {
    match &step.state {
        _ if step.halted.is_some() => step.halted.as_ref().map(|why| why.message.clone()),
        StepState::Failed(why) => Some(why.message.clone()),
        StepState::Skipped { because } => Some(format!("skipped because `{because}` did not succeed")),
        _ => None,
    }
}

/// Repeats the run from this step on.
fn rerun_form(scene: &RunScene<'_>, step: &Step) -> Markup {
    html! {
        form.rerun method="post" action={ "/runs/" (scene.id) "/rerun" } {
            input type="hidden" name="step" value=(step.spec.id);
            button type="submit" { "Re-run from this step" }
        }
    }
}

/// What it read and wrote, with the values.
fn variables(scene: &RunScene<'_>, step: &Step) -> Markup {
    let run = scene.history.run();
    let read = |name: &String| {
        let frozen = step.opening.iter().flat_map(|opening| &opening.inputs).find(|(known, _)| known == name);
        frozen.map(|(_, value)| value.clone()).or_else(|| run.variables().get(name).map(|found| found.value.clone()))
    };
    let written = |name: &String| {
        let found = run.variables().get(name).filter(|found| found.by.as_ref() == Some(&step.spec.id));
        found.map(|found| found.value.clone())
    };
    let list = |title: &str, key: &str, values: Vec<(&String, Option<std::sync::Arc<serde_json::Value>>)>| {
        html! {
            @if !values.is_empty() {
                h3 { (title) }
                @for (name, value) in values {
                    @match value {
                        Some(value) => {
                            details id={ "i-" (key) "-" (words::query(name)) } { summary { code { (name) } } (words::value(&value)) }
                        }
                        None => p.absent { code { (name) } " has no value yet" },
                    }
                }
            }
        }
    };
    html! {
        (list("Reads", "reads", step.spec.reads.iter().map(|name| (name, read(name))).collect()))
        (list("Writes", "writes", step.spec.writes.iter().map(|name| (name, written(name))).collect()))
    }
}

/// The form its result must have, and what did not fit.
fn schema(scene: &RunScene<'_>, step: &Step) -> Markup {
    let card = scene.history.run().roster().agent(&step.spec.agent);
    let faults: Vec<String> = step.conversation.iter().filter_map(unfit).collect();
    html! {
        @if let Some(schema) = card.and_then(|card| card.schema.as_ref()) {
            details id="i-schema" {
                summary {
                    "Schema: "
                    @if step.state == StepState::Done { "fits" } @else { "not checked yet" }
                }
                (words::value(schema))
            }
        }
        @if !faults.is_empty() {
            h3 { "Sent back" }
            ul.faults { @for fault in &faults { li { (words::short(fault, 400)) } } }
        }
    }
}

fn unfit(entry: &ConversationEntry) -> Option<String> {
    match entry {
        ConversationEntry::Note(Note::Unfinished { what } | Note::Unfit { what }) => Some(what.clone()),
        ConversationEntry::Note(Note::MissingOutput { names }) => Some(format!("missing: {}", names.join(", "))),
        ConversationEntry::Note(Note::PlanFaults { faults } | Note::FalseCitations { faults }) => {
            Some(faults.join("; "))
        }
        _ => None,
    }
}

/// How often the step was entered, and why again.
fn visits(scene: &RunScene<'_>, step: &Step) -> Markup {
    let visits = scene.history.times(&step.spec.id).map(|times| times.visits.as_slice()).unwrap_or_default();
    html! {
        @if visits.len() > 1 {
            h3 { "Attempts" }
            ol.attempts {
                @for visit in visits {
                    li {
                        (words::clock(visit.began))
                        @if let Some(ended) = visit.ended { ", " (words::took(visit.began, ended)) }
                        @if let Some(words) = &visit.judgement { ": " (words::short(words, 300)) }
                    }
                }
            }
        }
    }
}

fn turn(scene: &RunScene<'_>, entry: &HistoryEntry) -> Result<Markup, Fault> {
    let body = match &entry.kind {
        EntryKind::Answer(answer) => asked(scene, answer)?,
        EntryKind::Call(call) => html! {
            details id={ "i-" (words::effect_id(&call.address)) } {
                summary { (words::step_status(match call.is_good() { None => "running", Some(true) => "completed", Some(false) => "failed" }))
                    " " code.tool { (call.name) }
                    @if call.attempts > 1 { " attempt " (call.attempts) }
                    @if let Some(ended) = call.ended { " " span.took { (words::took(call.wanted, ended)) } } }
                (chat::call_details(scene, call))
            }
        },
        EntryKind::Question(question) => html! { p { "Asked: " (words::short(&question.text, 200)) } },
        EntryKind::Note { text, .. } => html! { p.note { (words::short(text, 300)) } },
        _ => return Ok(html! {}),
    };
    Ok(html! { li.turn data-position=(entry.position) { (body) } })
}

/// A question to the model: what was sent, and what came back.
fn asked(scene: &RunScene<'_>, entry: &AnswerEntry) -> Result<Markup, Fault> {
    let is_wanted = scene.prompt.as_ref() == Some(&entry.address);
    let prompt = if is_wanted { scene.source.prompt(scene.id, &entry.address)? } else { None };
    let own = scene.step_address(&entry.address.step);
    Ok(html! {
        p.asked {
            strong { "Turn " (entry.address.turn + 1) }
            @if entry.attempts > 1 { ", attempt " (entry.attempts) }
            @if let Some(ended) = entry.ended { ", " (words::took(entry.wanted, ended)) }
            @if let Some(answer) = &entry.answer {
                ", " (answer.usage.input) " in, " (answer.usage.output) " out"
                @if let Some(cost) = answer.usage.cost { ", " (cost) }
            }
        }
        @match prompt {
            Some(sent) => details open id={ "i-" (words::effect_id(&entry.address)) } {
                summary { "Prompt as sent" }
                (words::verbatim(&sent))
            },
            None => p { a href={ (own) "&prompt=" (words::query(&entry.address.to_string())) } { "Prompt as sent" } },
        }
        @if let Some(answer) = &entry.answer {
            @if !answer.reasoning.trim().is_empty() { details { summary { "Reasoning" } (words::verbatim(&answer.reasoning)) } }
            @if !answer.text.trim().is_empty() { div.text { (markdown(&answer.text)) } }
        }
        @if let Some(why) = &entry.failed { p.failed { (words::short(why, 400)) } }
    })
}
