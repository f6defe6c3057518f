//! `/`: the list of runs, those that need a person first.

use std::sync::Arc;

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use updraft_run::Status;
use updraft_workbench::service::{RunGroup, RunList, RunListQuery, RunRow};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};

/// How many runs one page lists.
const PAGE: usize = 25;

/// What the list is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListRequest {
    q: String,
    status: String,
    page: usize,
}

impl ListRequest {
    fn group(&self) -> Option<RunGroup> {
        RunGroup::ALL.iter().find(|(_, word, _)| *word == self.status).map(|(group, ..)| *group)
    }

    fn address(&self, page: usize) -> String {
        format!("/?q={}&status={}&page={page}", words::query(&self.q), words::query(&self.status))
    }
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Query(request): Query<ListRequest>,
) -> Result<Markup, PageFailure> {
    let (runs, asked) = (state.service.runs.clone(), request.clone());
    let list = tokio::task::spawn_blocking(move || {
        let skip = asked.page.saturating_mul(PAGE);
        runs.run_list(&RunListQuery { words: asked.q.clone(), group: asked.group(), skip, most: PAGE })
    });
    let list = list.await??;
    let frame = PageFrame { title: "Sessions", place: "/", kind: "sessions", waiting: list.waiting };
    Ok(layout::page(&frame, &body(&request, &list)))
}

fn body(request: &ListRequest, list: &RunList) -> Markup {
    html! {
        div.title {
            h1 { "Sessions" }
            a.button href="/new" { "New run" }
        }
        form.filter role="search" action="/" method="get" {
            label { span { "Search" } input type="search" name="q" value=(request.q) placeholder="Words of the goal"; }
            label {
                span { "Show" }
                select name="status" {
                    option value="" { "All" }
                    @for (_, word, name) in RunGroup::ALL {
                        option value=(word) selected[request.status == word] { (name) }
                    }
                }
            }
            button type="submit" { "Filter" }
        }
        @if list.rows.is_empty() {
            p.empty {
                @if list.all == 0 { "There are no runs in this folder yet." }
                @else { "No run fits. " a href="/" { "Show all " (list.all) } }
            }
        } @else {
            ol.runs data-refresh[list.rows.iter().any(|row| row.figures.is_none())] { @for row in &list.rows { (card(row)) } }
            (pages(request, list))
        }
    }
}

fn card(row: &RunRow) -> Markup {
    let figures = row.figures.as_ref();
    html! {
        li.run-card data-status=(row.status.as_str()) data-run=(row.id) {
            a.goal href={ "/runs/" (row.id) } { (goal(row)) }
            (words::run_status(row.status))
            @if row.status == Status::Waiting && let Some(waits) = figures.map(|figures| figures.waits) {
                span.waits { (words::count(waits as u64, "question")) }
            }
            dl.facts {
                div { dt { "Started" } dd { (words::moment(row.created)) } }
                div { dt { "Lasted" } dd { (words::took(row.created, row.updated)) } }
                div {
                    dt { "Steps" }
                    dd { @match figures { Some(it) => { (it.done) " / " (it.steps) } None => "…" } }
                }
                div { dt { "Cost" } dd { @match figures { Some(it) => (it.cost), None => "…" } } }
                div { dt { "Model" } dd { (row.model) } }
            }
        }
    }
}

fn goal(row: &RunRow) -> String {
    if row.goal.trim().is_empty() { "(no goal)".to_owned() } else { words::short(&row.goal, 160) }
}

fn pages(request: &ListRequest, list: &RunList) -> Markup {
    let last = list.found.saturating_sub(1) / PAGE;
    html! {
        @if last > 0 {
            nav.pages aria-label="Pages" {
                @if request.page > 0 { a rel="prev" href=(request.address(request.page - 1)) { "Newer" } }
                span { "Page " (request.page + 1) " of " (last + 1) }
                @if request.page < last { a rel="next" href=(request.address(request.page + 1)) { "Older" } }
            }
        }
    }
}
