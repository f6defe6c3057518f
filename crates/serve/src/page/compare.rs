//! `/compare`: two runs side by side, from the first event in which they differ.

use std::sync::Arc;

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use updraft_workbench::Fault;
use updraft_workbench::history::RunHistory;
use updraft_workbench::service::{LiveRuns, RunFigures};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, chat, events, words};

/// The runs to be compared.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompareRequest {
    a: String,
    b: String,
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Query(request): Query<CompareRequest>,
) -> Result<Markup, PageFailure> {
    let runs = state.service.runs.clone();
    let body = tokio::task::spawn_blocking(move || body(&runs, &request)).await?.map_err(PageFailure::missing)?;
    let frame =
        PageFrame { title: "Compare", place: "/compare", kind: "compare", waiting: state.service.runs.waiting() };
    Ok(layout::page(&frame, &body))
}

fn body(runs: &LiveRuns, request: &CompareRequest) -> Result<Markup, Fault> {
    let form = html! {
        h1 { "Compare two runs" }
        form.filter.pair method="get" action="/compare" {
            label { span { "One run" } input type="text" name="a" value=(request.a) required maxlength="64"; }
            label { span { "Another" } input type="text" name="b" value=(request.b) required maxlength="64"; }
            button type="submit" { "Compare" }
        }
    };
    if request.a.is_empty() || request.b.is_empty() {
        return Ok(form);
    }
    let diff = runs.compare(&request.a, &request.b)?;
    let differ = diff.parts_at.is_some();
    let left = side(runs, &request.a, differ, diff.left_event)?;
    let right = side(runs, &request.b, differ, diff.right_event)?;
    let same = match (diff.steps.is_empty(), diff.same_answer) {
        (true, true) => "; the results of all steps and the answers are the same.",
        (false, true) => "; the answers are the same.",
        (_, false) => "; the answers differ.",
    };
    Ok(html! {
        (form)
        p.verdict role="status" {
            @match diff.parts_at {
                None => "They do not differ, but for times and the order of steps that ran at the same time.",
                Some(at) => {
                    "They differ from event " (at) " on"
                    @if let Some(step) = &diff.first_step { "; the first step that differs is " strong { (step) } }
                    (same)
                }
            }
        }
        div.sides { (left) (right) }
        @if !diff.steps.is_empty() {
            table.differences.stacked {
                caption { "Steps that differ" }
                thead { tr { th scope="col" { "Step" } th scope="col" { "One run" } th scope="col" { "Another" } } }
                tbody {
                    @for step in diff.steps.iter().take(500) {
                        tr {
                            th scope="row" { (step.step) }
                            td data-label="One run" { (cell(step.left.as_deref(), step.left_output.as_deref())) }
                            td data-label="Another" { (cell(step.right.as_deref(), step.right_output.as_deref())) }
                        }
                    }
                }
            }
        }
    })
}

fn cell(status: Option<&str>, output: Option<&str>) -> Markup {
    html! {
        @match status { Some(status) => (words::step_status(status)), None => "does not exist" }
        @if let Some(output) = output { details { summary { (words::short(output, 80)) } (words::verbatim(output)) } }
    }
}

/// One run, and the event in which it differs from the other.
fn side(runs: &LiveRuns, id: &str, differ: bool, at: Option<u64>) -> Result<Markup, Fault> {
    let feed = runs.feed(id)?;
    let event = match at {
        Some(at) => runs.events(feed.id(), at, 1)?.pop(),
        None => None,
    };
    feed.read(|history: &RunHistory| {
        let (run, figures) = (history.run(), RunFigures::of(history.run()));
        html! {
            section.side aria-label={ "Run " (id) } {
                h2 { a href={ "/runs/" (id) } { (words::short(run.goal().own_words(), 120)) } }
                (words::run_status(run.status()))
                dl.facts {
                    div { dt { "Model" } dd { (run.settings().model) } }
                    div { dt { "Steps" } dd { (figures.done) " / " (figures.steps) } }
                    div { dt { "Time" } dd { (words::length(figures.worked)) } }
                    div { dt { "Cost" } dd { (figures.cost) } }
                }
                @match &event {
                    Some(event) => {
                        p { a href={ "/runs/" (id) "?at=" (event.number) } { "At event " (event.number) } }
                        (events::content(event))
                    }
                    None if differ => p.hint { "This run has no such event." },
                    None => {}
                }
                @if run.is_over() { (chat::said(&run.answer())) }
            }
        }
    })
}
