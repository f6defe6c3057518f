//! The steps of a run: as a graph, as a list that says everything the graph shows, and in time.

use maud::{Markup, PreEscaped, html};
use updraft_drawing::{draw_graph, draw_timeline};
use updraft_run::{Step, StepId};
use updraft_workbench::history::RunHistory;

use super::run_page::RunScene;
use super::waits::{self, WaitKind};
use super::{pictures, words};

/// Graphs with more steps are only listed: nobody could read the picture.
const DRAWN: usize = 1_500;
/// How many steps a list shows.
const SHOWN: usize = 2_000;

/// The graph, and the same as a list.
pub(super) fn graph(scene: &RunScene<'_>) -> Markup {
    let run = scene.history.run();
    let count = run.steps().count();
    html! {
        @if count == 0 {
            p.empty { "There is no plan yet." }
        } @else {
            @if let Some(drawn) = drawn_graph(scene) { div.graph-frame id="graph-frame" { div.graph-layer { (drawn) } } }
            h2.sr { "Steps" }
            ol.steps id="steps" { @for step in run.steps().take(SHOWN) { (row(scene, step)) } }
            @if count > SHOWN { p.cut { "and " (count - SHOWN) " more steps" } }
        }
    }
}

/// The picture of the graph; `None` without steps, or with too many.
pub(super) fn drawn_graph(scene: &RunScene<'_>) -> Option<Markup> {
    let count = scene.history.run().steps().count();
    (1..=DRAWN).contains(&count).then(|| PreEscaped(draw_graph(&pictures::step_graph(scene))))
}

/// The element id of a step's row.
pub(super) fn row_id(step: &StepId) -> String {
    format!("step-{}", words::step_key(step))
}

/// A step in the list.
pub(super) fn row(scene: &RunScene<'_>, step: &Step) -> Markup {
    let spec = &step.spec;
    let before: Vec<&str> = scene.relations().before(&spec.id).map(StepId::as_str).collect();
    let cost = step.ledger.at_most();
    let is_chosen = scene.step.as_ref() == Some(&spec.id);
    html! {
        li.step-row id=(row_id(&spec.id)) data-step=(spec.id) data-status=(step.status()) data-chosen[is_chosen] {
            (words::step_status(step.status())) " "
            a.step href=(scene.step_address(&spec.id)) aria-current=[is_chosen.then_some("true")] { (spec.id) }
            " " span.agent { (spec.agent) }
            @if step.visit > 0 { span.visits { "visit " (step.visit + 1) } }
            @if let Some(took) = took(scene.history, &spec.id) {
                span.took {
                    (took) @if cost.0 > 0 { ", " (cost) }
                    @if let Some(sum) = scene.relations().subtree(&spec.id) {
                        span.subtree { "; with what follows " (sum.in_words()) }
                    }
                }
            }
            @if !spec.description.is_empty() { p.about { (words::short(&spec.description, 200)) } }
            @if !before.is_empty() { p.after { "after " (before.join(", ")) } }
        }
    }
}

/// How long a step has worked so far.
pub(super) fn took(history: &RunHistory, step: &StepId) -> Option<String> {
    let times = history.times(step)?;
    Some(words::took(times.began()?, times.ended.unwrap_or_else(|| history.last())))
}

/// When the steps were at work, as a picture and as a table.
pub(super) fn timeline(scene: &RunScene<'_>) -> Markup {
    let (history, run) = (scene.history, scene.history.run());
    let critical = pictures::critical(scene, u64::MAX);
    html! {
        @if run.steps().count() <= DRAWN {
            div.timeline-frame id="timeline-frame" { (PreEscaped(draw_timeline(&pictures::step_times(scene)))) }
            ul.legend {
                li data-kind="working" { "at work" }
                li data-kind="failed" { "attempt that failed" }
                @for kind in WaitKind::ALL { li data-kind=(kind.word()) { (kind.name().to_lowercase()) } }
                li data-kind="critical" { "critical path: without these steps the run would have been shorter" }
            }
        }
        div.table-wrap { table.timeline id="timeline" {
            caption.sr { "When the steps were at work" }
            thead { tr { th scope="col" { "Step" } th scope="col" { "Visit" } th scope="col" { "Began after" }
                         th scope="col" { "Took" } th scope="col" { "Waited" } th scope="col" { "Status" } } }
            tbody {
                @for step in run.steps().take(SHOWN) {
                    @let visits = history.times(&step.spec.id).map(|times| times.visits.as_slice()).unwrap_or_default();
                    @for (n, visit) in visits.iter().enumerate() {
                        tr data-step=(step.spec.id) data-status=(step.status()) {
                            th scope="row" {
                                a href=(scene.step_address(&step.spec.id)) { (step.spec.id) }
                                @if critical.contains(&step.spec.id) {
                                    span.critical { span aria-hidden="true" { " ◆" } span.sr { " (critical path)" } }
                                }
                            }
                            td { (visit.visit + 1) }
                            td { (words::took(history.began(), visit.began)) }
                            td { (words::took(visit.began, visit.ended.unwrap_or_else(|| history.last()))) }
                            td { @if n == 0 { (waited(scene, step)) } }
                            td {
                                @match &visit.judgement {
                                    Some(words) => (words::short(words, 120)),
                                    None => (words::step_status(step.status())),
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}

/// What a step waited for, in all its visits.
fn waited(scene: &RunScene<'_>, step: &Step) -> String {
    let waits = waits::of(scene, step);
    let total = |(kind, millis): (WaitKind, u64)| format!("{} {}", kind.short(), words::length(millis));
    let mut parts: Vec<String> = waits.totals().into_iter().map(total).collect();
    if waits.retries > 0 {
        parts.push(format!("asked again {}", words::count(u64::from(waits.retries), "time")));
    }
    parts.join(", ")
}
