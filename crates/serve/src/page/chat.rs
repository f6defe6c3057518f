//! The chat of a run: what people and models said, calls folded, questions where they were asked.

use maud::{Markup, html};
use updraft_run::{Reply, RunId};
use updraft_workbench::history::{AnswerEntry, CallEntry, EntryKind, HistoryEntry, PlanEntry};

use super::markdown::markdown;
use super::run_page::RunScene;
use super::{questions, words};

/// How many entries a page shows; earlier ones are a link away.
const SHOWN: usize = 200;

/// The newest entries, or those before a position.
pub(super) fn list(scene: &RunScene<'_>) -> Markup {
    let entries = scene.history.entries();
    let end = match scene.before {
        Some(before) => entries.partition_point(|entry| entry.position < before),
        None => entries.len(),
    };
    let first = end.saturating_sub(SHOWN);
    let earlier = entries.get(first).filter(|_| first > 0).map(|entry| entry.position);
    html! {
        @if let Some(position) = earlier {
            p.earlier {
                a href={ (scene.address(scene.tab, scene.step.as_ref(), scene.at())) "&before=" (position) } {
                    "Earlier: " (first) " more entries"
                }
            }
        }
        ol.chat id="chat" data-newest[end == entries.len()] { @for entry in &entries[first..end] { (item(scene, entry)) } }
    }
}

/// The element id of an entry.
pub(super) fn id_of(entry: &HistoryEntry) -> String {
    match &entry.kind {
        EntryKind::Goal { .. } => format!("e-{}-goal", entry.position),
        _ => format!("e-{}", entry.position),
    }
}

/// One entry.
pub(super) fn item(scene: &RunScene<'_>, entry: &HistoryEntry) -> Markup {
    let (class, body) = match &entry.kind {
        EntryKind::Goal { text, files } => ("user", goal(text, files)),
        EntryKind::Told { text } => ("user", html! { div.text { (markdown(text)) } }),
        EntryKind::Forked { from, at } => ("note", forked(scene, from, *at)),
        EntryKind::Planned(plan) => ("plan", planned(scene, plan)),
        EntryKind::Answer(answer) => ("model", answered(answer)),
        EntryKind::Call(call) => ("call", called(scene, call)),
        EntryKind::Question(question) => ("question", questions::entry(scene, question)),
        EntryKind::StepEnded { status, why } => ("step-end", step_ended(status, why.as_deref())),
        EntryKind::Note { text, .. } => ("note", html! { p { (words::short(text, 400)) } }),
        EntryKind::Finished { answer, failed } => ("result", finished(answer, failed.as_deref())),
    };
    let is_bad = matches!(&entry.kind, EntryKind::Note { is_bad: true, .. });
    html! {
        li.entry.(class) id=(id_of(entry)) data-position=(entry.position) data-step=[entry.step.as_ref()] data-bad[is_bad] {
            div.by {
                span.who { (who(entry)) }
                @if let Some(step) = &entry.step { a.step href=(scene.step_address(step)) { (step) } }
                (words::clock(entry.at))
            }
            (body)
            @if is_forkable(entry) && !scene.source.is_stored() { (fork_link(scene, entry.changed)) }
        }
    }
}

/// Whether the run can be taken up again after this entry.
fn is_forkable(entry: &HistoryEntry) -> bool {
    match &entry.kind {
        EntryKind::Goal { .. } | EntryKind::Told { .. } => true,
        EntryKind::Planned(plan) => !plan.is_opening,
        EntryKind::Answer(answer) => answer.answer.as_ref().is_some_and(|answer| !answer.text.trim().is_empty()),
        EntryKind::Question(question) => question.reply.is_some(),
        EntryKind::Call(_)
        | EntryKind::Forked { .. }
        | EntryKind::StepEnded { .. }
        | EntryKind::Note { .. }
        | EntryKind::Finished { .. } => false,
    }
}

/// A link to where the run is taken up again after an event, as it was or with changes.
pub(super) fn fork_link(scene: &RunScene<'_>, at: u64) -> Markup {
    html! {
        p.fork { a.quiet href={ "/runs/" (scene.id) "/fork?at=" (at) } { "Fork from here" span.sr { " (after event " (at) ")" } } }
    }
}

fn who(entry: &HistoryEntry) -> &str {
    match &entry.kind {
        EntryKind::Goal { .. } | EntryKind::Told { .. } => "You",
        EntryKind::Answer(answer) => &answer.agent,
        EntryKind::Call(_) => "Call",
        EntryKind::Question(question) if question.is_plan => "Plan",
        EntryKind::Question(question) if question.is_approval => "Approval",
        EntryKind::Question(_) => "Question",
        EntryKind::Planned(_) => "Plan",
        EntryKind::StepEnded { .. } => "Step",
        EntryKind::Forked { .. } | EntryKind::Note { .. } => "Note",
        EntryKind::Finished { .. } => "Result",
    }
}

fn goal(text: &str, files: &[String]) -> Markup {
    html! {
        div.text { (markdown(text)) }
        @if !files.is_empty() {
            ul.files { @for file in files { li { (file) } } }
        }
    }
}

fn forked(scene: &RunScene<'_>, from: &RunId, at: u64) -> Markup {
    html! {
        p {
            "Forked from "
            @if scene.source.is_stored() { code { (from) } }
            @else { a href={ "/runs/" (from) "?at=" (at) } { (from) } }
            " at event " (at) "."
        }
    }
}

fn planned(scene: &RunScene<'_>, plan: &PlanEntry) -> Markup {
    html! {
        p {
            @if plan.is_opening { "Begins with " } @else { "Plans " }
            (words::count(plan.steps.len() as u64, "step"))
            @if !plan.why.is_empty() { " (" (words::short(&plan.why, 200)) ")" }
        }
        @if !plan.is_opening {
            details {
                summary { "Steps" }
                ul.plan-steps {
                    @for (step, agent) in plan.steps.iter().take(200) {
                        li { a href=(scene.step_address(step)) { (step) } " " span.agent { (agent) } }
                    }
                    @if plan.steps.len() > 200 { li { "and " (plan.steps.len() - 200) " more" } }
                }
            }
        }
    }
}

fn answered(entry: &AnswerEntry) -> Markup {
    html! {
        @match (&entry.answer, &entry.failed) {
            (Some(answer), _) => {
                @if !answer.reasoning.trim().is_empty() {
                    details.reasoning { summary { "Reasoning" } (words::verbatim(&answer.reasoning)) }
                }
                @if !answer.text.trim().is_empty() { (said(&answer.text)) }
                @if answer.text.trim().is_empty() && answer.calls.is_empty() { p.silent { "(says nothing)" } }
            }
            (None, Some(why)) => p.failed { (words::short(why, 600)) },
            (None, None) => {
                p.thinking { @if entry.begun.is_some() { "thinking…" } @else { "is about to think…" } }
                div.live id=(words::effect_id(&entry.address)) data-address=(entry.address) {}
            },
        }
    }
}

/// What a model said: Markdown, or data that is folded.
pub(super) fn said(text: &str) -> Markup {
    let is_data = text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok();
    html! {
        @if is_data { details.data { summary { "Data" } (words::verbatim(text)) } }
        @else { div.text { (markdown(text)) } }
    }
}

fn called(scene: &RunScene<'_>, call: &CallEntry) -> Markup {
    let state = match call.is_good() {
        None => "running",
        Some(true) => "completed",
        Some(false) => "failed",
    };
    html! {
        details.call data-status=(state) id=(words::effect_id(&call.address)) {
            summary {
                (words::step_status(state)) " "
                code.tool { (call.name) }
                span.arguments { (in_short(call)) }
                @if let Some(ended) = call.ended { span.took { (words::took(call.wanted, ended)) } }
            }
            (call_details(scene, call))
        }
    }
}

/// The arguments, the result and the changes of a call.
pub(super) fn call_details(scene: &RunScene<'_>, call: &CallEntry) -> Markup {
    let diff = scene.source.diff_of(call);
    html! {
        h4 { "Arguments" }
        (words::value(&call.args))
        @if let Some(result) = call.result() {
            h4 { @if call.rejected.is_some() { "Not made" } @else { "Result" } }
            (words::verbatim(&result))
        }
        @if let Some(Reply::Output(output)) = &call.reply && !output.changes.is_empty() {
            h4 { "Files changed" }
            ul.files { @for change in output.changes.iter().take(100) { li { code { (change.path) } } } }
        }
        @if let Some(diff) = diff { h4 { "Diff" } (diff_lines(&diff)) }
    }
}

/// A unified diff; each line says what it is.
fn diff_lines(diff: &str) -> Markup {
    let kind = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => "added",
        Some(b'-') if !line.starts_with("---") => "removed",
        Some(b'@') => "place",
        _ => "same",
    };
    html! { pre.diff { @for line in diff.lines().take(2_000) { span.line data-line=(kind(line)) { (line) "\n" } } } }
}

/// The arguments in one line.
pub(super) fn in_short(call: &CallEntry) -> String {
    let Some(fields) = call.args.as_object() else { return words::short(&call.args.to_string(), 80) };
    let field = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) => format!("{name}: {}", words::short(text, 60)),
        None => format!("{name}: {}", words::short(&value.to_string(), 60)),
    };
    words::short(&fields.iter().map(field).collect::<Vec<_>>().join(", "), 160)
}

fn step_ended(status: &str, why: Option<&str>) -> Markup {
    html! {
        p {
            (words::step_status(status))
            @if let Some(why) = why { ": " (words::short(why, 400)) }
        }
    }
}

fn finished(answer: &str, failed: Option<&str>) -> Markup {
    html! {
        @if let Some(why) = failed { p.failed { (words::short(why, 800)) } }
        @if !answer.trim().is_empty() { (said(answer)) }
    }
}
