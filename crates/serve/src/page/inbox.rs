//! `/inbox`: the questions and approvals of all runs, to be answered in one place.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use updraft_workbench::Fault;
use updraft_workbench::history::{QuestionEntry, RunHistory};
use updraft_workbench::service::{LiveRuns, RunFeed, RunGroup, RunListQuery, RunRow, RunView};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::questions::FormPlace;
use super::{PageState, questions, words};

/// How many runs are looked at.
const RUNS: usize = 100;

/// What was just done here.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InboxDeed {
    Allowed,
    Refused,
    Answered,
    Declined,
}

impl InboxDeed {
    fn word(self) -> &'static str {
        match self {
            InboxDeed::Allowed => "allowed",
            InboxDeed::Refused => "refused",
            InboxDeed::Answered => "answered",
            InboxDeed::Declined => "declined",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            InboxDeed::Allowed => "Allowed",
            InboxDeed::Refused => "Refused",
            InboxDeed::Answered => "Answered",
            InboxDeed::Declined => "Declined to answer",
        }
    }
}

/// What was done before, and for which run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InboxRequest {
    did: Option<InboxDeed>,
    run: String,
}

/// Back to the inbox, which then says what was done.
pub(super) fn back(run: &str, deed: InboxDeed) -> Response {
    Redirect::to(&format!("/inbox?did={}&run={}", deed.word(), words::query(run))).into_response()
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Query(request): Query<InboxRequest>,
) -> Result<Markup, PageFailure> {
    let runs = state.service.runs.clone();
    let done = match request.did {
        Some(deed) => runs.view(&request.run).await.ok().map(|view| done(deed, &view)),
        None => None,
    };
    let cards = tokio::task::spawn_blocking(move || cards(&runs)).await??;
    let frame = PageFrame { title: "Inbox", place: "/inbox", kind: "inbox", waiting: state.service.runs.waiting() };
    let body = html! {
        h1 { "Inbox" }
        @if let Some(done) = done { (done) }
        @if cards.is_empty() { p.empty { "Nothing waits for you." } }
        ol.questions { @for card in &cards { (card) } }
    };
    Ok(layout::page(&frame, &body))
}

fn done(deed: InboxDeed, run: &RunView) -> Markup {
    html! {
        p.done role="status" { (deed.in_words()) ": " a href={ "/runs/" (run.run) } { (words::short(&run.goal, 120)) } }
    }
}

/// All open questions, the oldest first.
fn cards(runs: &LiveRuns) -> Result<Vec<Markup>, Fault> {
    let query = RunListQuery { group: Some(RunGroup::NeedsYou), most: RUNS, ..RunListQuery::default() };
    let mut found = Vec::new();
    for row in runs.run_list(&query)?.rows {
        let read = |feed: Arc<RunFeed>| {
            feed.read(|history| {
                let open = questions::open(history);
                open.map(|question| (question.asked, card(&row, history, question))).collect::<Vec<_>>()
            })
        };
        // A run that was deleted meanwhile, or cannot be read, does not hide the others.
        found.extend(runs.feed(row.id.as_str()).and_then(read).unwrap_or_default());
    }
    found.sort_by_key(|(asked, _)| *asked);
    Ok(found.into_iter().map(|(_, card)| card).collect())
}

fn card(row: &RunRow, history: &RunHistory, question: &QuestionEntry) -> Markup {
    html! {
        li.inbox-card data-run=(row.id) {
            div.by {
                a href={ "/runs/" (row.id) "#" (questions::place(history, question)) } { (words::short(&row.goal, 120)) }
                " " (words::moment(question.asked))
            }
            (questions::asked(question))
            @if question.is_plan {
                p { a href={ "/runs/" (row.id) } { "Look at the plan" } }
            } @else {
                (questions::form(row.id.as_str(), question, FormPlace::Inbox))
            }
        }
    }
}
