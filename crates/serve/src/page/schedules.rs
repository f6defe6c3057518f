//! `/schedules`: what begins by itself, when next, and what became of it.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use updraft_workbench::schedules::Schedule;

use super::PageState;
use super::layout::{self, PageFrame};

/// How many of the next times and notes are shown.
const SHOWN: usize = 3;

pub(super) async fn show(State(state): State<Arc<PageState>>) -> Markup {
    let runs = state.service.runs.clone();
    let listed = tokio::task::spawn_blocking(move || runs.schedules()).await;
    let waiting = state.service.runs.waiting();
    let frame = PageFrame { title: "Schedules", place: "/settings", kind: "schedules", waiting };
    let body = html! {
        h1 { "Schedules" }
        p.about { "They are made with " code { "updraft schedule" } " and changed with " code { "updraft schedules" } "." }
        @match listed {
            Ok(Ok(all)) if all.is_empty() => { p { "There are none in this folder." } }
            Ok(Ok(all)) => { (table(&all)) }
            Ok(Err(fault)) => { p.reason { (fault.message) } }
            Err(_) => { p.reason { "They could not be read." } }
        }
    };
    layout::page(&frame, &body)
}

fn table(all: &[Schedule]) -> Markup {
    html! {
        table.schedules.stacked {
            thead {
                tr {
                    th scope="col" { "Name" } th scope="col" { "When" } th scope="col" { "What" } th scope="col" { "Next" }
                    th scope="col" { "Last" } th scope="col" { "Notes" }
                }
            }
            tbody { @for one in all { (row(one)) } }
        }
    }
}

fn row(one: &Schedule) -> Markup {
    html! {
        tr {
            th scope="row" { code { (one.name) } }
            td data-label="When" { code { (one.timing.in_words()) } @if one.paused { " paused" } }
            td data-label="What" { (one.work.in_words()) }
            td data-label="Next" { @for at in one.next_times(SHOWN) { div { (one.local(at)) } } }
            td data-label="Last" {
                @if let Some(last) = &one.last { a href={ "/runs/" (last.run) } { (one.local(last.due)) } }
                @for due in &one.waiting { div { "waits: " (one.local(due.due)) } }
            }
            td data-label="Notes" { @for note in one.notes.iter().rev().take(SHOWN) { div { (note.text) } } }
        }
    }
}
