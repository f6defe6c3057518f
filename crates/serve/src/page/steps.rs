//! The steps of a run: as a graph, as a list that says everything the graph shows, and in time.

use maud::{Markup, PreEscaped, html};
use updraft_drawing::{draw_graph, draw_timeline};
use updraft_run::{Step, StepId, Timestamp};
use updraft_workbench::history::RunHistory;

use super::run_page::RunScene;
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
            @if count <= DRAWN {
                div.graph-frame id="graph-frame" { (PreEscaped(draw_graph(&pictures::step_graph(scene)))) }
            }
            h2.sr { "Steps" }
            ol.steps id="steps" { @for step in run.steps().take(SHOWN) { (row(scene, step)) } }
            @if count > SHOWN { p.cut { "and " (count - SHOWN) " more steps" } }
        }
    }
}

/// The element id of a step's row.
pub(super) fn row_id(step: &StepId) -> String {
    format!("step-{}", words::step_key(step))
}

/// A step in the list.
pub(super) fn row(scene: &RunScene<'_>, step: &Step) -> Markup {
    let (run, spec) = (scene.history.run(), &step.spec);
    let before: Vec<&str> = run.before(step).map(|before| before.spec.id.as_str()).collect();
    let is_chosen = scene.step.as_ref() == Some(&spec.id);
    html! {
        li.step-row id=(row_id(&spec.id)) data-step=(spec.id) data-status=(step.status()) data-chosen[is_chosen] {
            (words::step_status(step.status())) " "
            a.step href=(scene.step_address(&spec.id)) aria-current=[is_chosen.then_some("true")] { (spec.id) }
            " " span.agent { (spec.agent) }
            @if step.visit > 0 { span.visits { "visit " (step.visit + 1) } }
            @if let Some(took) = took(scene.history, &spec.id) { span.took { (took) } }
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

/// When the steps were at work, as a table.
pub(super) fn timeline(scene: &RunScene<'_>) -> Markup {
    let (history, run) = (scene.history, scene.history.run());
    let began = history.began();
    let since = |at: Timestamp| words::took(began, at);
    html! {
        @if run.steps().count() <= DRAWN {
            div.timeline-frame id="timeline-frame" { (PreEscaped(draw_timeline(&pictures::step_times(scene)))) }
        }
        table.timeline id="timeline" {
            caption.sr { "When the steps were at work" }
            thead { tr { th scope="col" { "Step" } th scope="col" { "Visit" } th scope="col" { "Began after" }
                         th scope="col" { "Took" } th scope="col" { "Status" } } }
            tbody {
                @for step in run.steps().take(SHOWN) {
                    @for visit in history.times(&step.spec.id).map(|times| times.visits.as_slice()).unwrap_or_default() {
                        tr data-step=(step.spec.id) data-status=(step.status()) {
                            th scope="row" { a href=(scene.step_address(&step.spec.id)) { (step.spec.id) } }
                            td { (visit.visit + 1) }
                            td { (since(visit.began)) }
                            td { (words::took(visit.began, visit.ended.unwrap_or_else(|| history.last()))) }
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
        }
    }
}
