//! `/runs/ID`: the chat, a view of the whole (graph, timeline or events), and a closer look at one step, now or at any
//! position of the past.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use updraft_run::{BudgetLimit, EffectAddress, RunId, RunPhase, Status, StepId};
use updraft_workbench::history::{EntryKind, RunHistory};
use updraft_workbench::service::ReachedLimit;

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::relations::StepRelations;
use super::run_source::RunSource;
use super::waits::WaitTable;
use super::{PageState, chat, events, inspector, steps, words};

/// What of a run is to be shown.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunRequest {
    /// The view in the middle.
    pub(super) view: String,
    /// The step that is looked at.
    pub(super) step: String,
    /// The position; the present if absent.
    pub(super) at: Option<u64>,
    /// The question to a model whose prompt is shown.
    pub(super) prompt: String,
    /// The first event of the list of events.
    pub(super) from: Option<u64>,
    /// The chat begins before this position.
    pub(super) before: Option<u64>,
}

/// The views in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RunTab {
    Graph,
    Timeline,
    Events,
}

impl RunTab {
    const ALL: [(RunTab, &'static str, &'static str); 3] = [
        (RunTab::Graph, "graph", "Graph"),
        (RunTab::Timeline, "timeline", "Timeline"),
        (RunTab::Events, "events", "Events"),
    ];

    pub(super) fn of(word: &str) -> Self {
        Self::ALL.iter().find(|(_, known, _)| *known == word).map_or(RunTab::Graph, |(tab, ..)| *tab)
    }

    fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A run at a position, as one page shows it.
pub(super) struct RunScene<'a> {
    pub(super) source: RunSource<'a>,
    pub(super) id: &'a RunId,
    pub(super) history: &'a RunHistory,
    /// Whether this is the present, where something can be done.
    pub(super) is_now: bool,
    pub(super) tab: RunTab,
    pub(super) step: Option<StepId>,
    pub(super) prompt: Option<EffectAddress>,
    pub(super) from: Option<u64>,
    pub(super) before: Option<u64>,
    /// The newest position of the run.
    pub(super) newest: u64,
    /// What several parts of the page need.
    pub(super) cache: SceneCache,
}

/// What was derived from a run for one page, each when it was first asked for.
#[derive(Default)]
pub(super) struct SceneCache {
    relations: OnceCell<StepRelations>,
    waits: OnceCell<WaitTable>,
}

impl RunScene<'_> {
    /// How the steps depend on each other.
    pub(super) fn relations(&self) -> &StepRelations {
        self.cache.relations.get_or_init(|| StepRelations::of(self.history))
    }

    /// What the steps waited for.
    pub(super) fn waits(&self) -> &WaitTable {
        self.cache.waits.get_or_init(|| WaitTable::of(self.history))
    }

    /// The address of this page with another tab, step or position.
    pub(super) fn address(&self, tab: RunTab, step: Option<&StepId>, at: Option<u64>) -> String {
        if self.source.is_stored() {
            return step.map_or_else(|| "#main".to_owned(), |step| format!("#{}", steps::row_id(step)));
        }
        let mut address = format!("/runs/{}?view={}", self.id, tab.word());
        if let Some(step) = step {
            let _ = write!(address, "&step={}", words::query(step.as_str()));
        }
        if let Some(at) = at {
            let _ = write!(address, "&at={at}");
        }
        address
    }

    /// The position in addresses of this page: only if it is not the present.
    pub(super) fn at(&self) -> Option<u64> {
        (!self.is_now).then_some(self.history.position())
    }

    /// The address of a step.
    pub(super) fn step_address(&self, step: &StepId) -> String {
        self.address(self.tab, Some(step), self.at())
    }

    fn stream(&self) -> String {
        let step = self.step.as_ref().map(|step| words::query(step.as_str())).unwrap_or_default();
        let position = self.history.position();
        format!("/runs/{}/stream?after={position}&view={}&step={step}", self.id, self.tab.word())
    }
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Path(id): Path<String>,
    Query(request): Query<RunRequest>,
) -> Result<Response, PageFailure> {
    let runs = state.service.runs.clone();
    let feed = runs.feed(&id).map_err(PageFailure::missing)?;
    let made = tokio::task::spawn_blocking(move || {
        let newest = feed.read(RunHistory::position)?;
        let past = request.at.filter(|at| *at < newest);
        let past = past.map(|at| feed.until(at.max(1))).transpose()?;
        let look = |history: &RunHistory| {
            let scene = RunScene {
                source: RunSource::Served(&runs),
                id: feed.id(),
                history,
                is_now: request.at.is_none_or(|at| at >= newest),
                tab: RunTab::of(&request.view),
                step: StepId::parse(&request.step).ok(),
                prompt: request.prompt.parse().ok(),
                from: request.from,
                before: request.before,
                newest,
                cache: SceneCache::default(),
            };
            page(&scene)
        };
        match past {
            Some(past) => look(&past),
            None => feed.read(look)?,
        }
    });
    Ok(made.await??.into_response())
}

/// Back to a run after a form was sent.
pub(super) fn back(id: &str) -> Response {
    Redirect::to(&format!("/runs/{id}")).into_response()
}

fn page(scene: &RunScene<'_>) -> Result<Markup, updraft_workbench::Fault> {
    let run = scene.history.run();
    let title = words::short(run.goal().own_words(), 80);
    let frame = PageFrame { title: &title, place: "", kind: "run", waiting: scene.source.waiting() };
    // Nothing more happens to a run that is over.
    let stream = (scene.is_now && !run.is_over()).then(|| scene.stream());
    let body = html! {
        div.run-page data-run=(scene.id) data-position=(scene.history.position()) data-stream=[stream] {
            (head(scene))
            (time_bar(scene))
            section.pane.chat-pane id="chat-pane" aria-label="Conversation" {
                h2.sr { "Conversation" }
                (chat::list(scene))
                (composer(scene))
            }
            section.pane.view-pane id="view-pane" aria-label="The whole run" {
                (tabs(scene))
                (view_body(scene)?)
            }
            (inspector::pane(scene)?)
        }
    };
    Ok(layout::page(&frame, &body))
}

/// The head of the page: the goal, how far it has come, and what can be done.
pub(super) fn head(scene: &RunScene<'_>) -> Markup {
    let run = scene.history.run();
    let figures = updraft_workbench::service::RunFigures::of(run);
    let tokens = run.ledger().usage.input + run.ledger().usage.output;
    html! {
        header.run-head id="run-head" data-status=(run.status().as_str()) data-over[run.is_over()] {
            h1 { (words::short(run.goal().own_words(), 200)) }
            div.run-state {
                span aria-live="polite" { (words::run_status(run.status())) }
                ul.figures {
                    li { (figures.done) " / " (words::count(figures.steps as u64, "step")) }
                    li { (words::length(figures.worked)) }
                    li { (words::count(tokens, "token")) }
                    li { "cost " (figures.cost) }
                    li { (run.settings().model) }
                }
                @if scene.is_now { (controls(scene)) }
            }
            @if let Some(why) = reason(scene) { p.reason { (words::ticked(&why)) } }
            @if scene.is_now { (raise_form(scene)) }
            (relations(scene))
        }
    }
}

/// The runs that this one comes from, to go to or to compare with.
fn relations(scene: &RunScene<'_>) -> Markup {
    let run = scene.history.run();
    let forked = scene.history.entries().iter().find_map(|entry| match &entry.kind {
        EntryKind::Forked { from, .. } => Some(("Forked from", from)),
        _ => None,
    });
    let repeats = run.earlier_runs().repeated.as_ref().map(|repeated| ("Repeats", &repeated.of));
    let follows = run.goal().follows.as_ref().map(|last| ("Follows", last));
    html! {
        @if let Some(due) = &run.goal().due {
            p.relation { "Begun by the " a href="/schedules" { "schedule" } " " code { (due.schedule) } }
        }
        @for (word, other) in [forked, repeats, follows].into_iter().flatten() {
            p.relation {
                @if scene.source.is_stored() { (word) " " code { (other) } }
                @else {
                    (word) " " a href={ "/runs/" (other) } { (other) } " "
                    a href={ "/compare?a=" (other) "&b=" (scene.id) } { "Compare" }
                }
            }
        }
    }
}

/// Why the run stands still, if it does.
fn reason(scene: &RunScene<'_>) -> Option<String> {
    let run = scene.history.run();
    match run.phase() {
        RunPhase::Over { failed: Some(why), .. } => Some(why.message.clone()),
        RunPhase::Exhausted(_) => ReachedLimit::of(run).map(|limit| limit.why),
        RunPhase::Paused => Some("Paused: nothing new begins.".to_owned()),
        RunPhase::Cancelling { .. } => Some("What has begun is being stopped.".to_owned()),
        RunPhase::Over { failed: None, .. } | RunPhase::New | RunPhase::Running => None,
    }
}

/// Asks for a higher limit, with which a run that has reached one continues.
fn raise_form(scene: &RunScene<'_>) -> Markup {
    let limit = ReachedLimit::of(scene.history.run());
    let Some((which, suggestion)) = limit.and_then(|limit| Some((limit.which, limit.suggestion?))) else {
        return html! {};
    };
    let (label, is_number) = match which {
        BudgetLimit::Cost => ("New limit in dollars", true),
        BudgetLimit::Tokens => ("New limit on tokens", true),
        BudgetLimit::Turns => ("New limit on turns", true),
        BudgetLimit::Calls => ("New limit on tool calls", true),
        BudgetLimit::Time | BudgetLimit::Model | BudgetLimit::Window | BudgetLimit::Loop => {
            ("New limit on time, such as 90s, 10m or 1h30m", false)
        }
    };
    html! {
        form.raise method="post" action={ "/runs/" (scene.id) "/resume" } {
            label for="limit" { (label) }
            input id="limit" name="limit" required[true] maxlength=[(!is_number).then_some("40")] value=(suggestion)
                type=(if is_number { "number" } else { "text" }) min=[is_number.then_some("0")]
                step=[(which == BudgetLimit::Cost).then_some("0.01")];
            button type="submit" { "Raise and resume" }
        }
    }
}

/// Pause, resume, cancel: always in the same place.
fn controls(scene: &RunScene<'_>) -> Markup {
    let run = scene.history.run();
    let status = run.status();
    let is_resting = matches!(status, Status::Paused | Status::Exhausted);
    let is_over = run.is_over();
    // Without a higher limit it would stop at once.
    let needs_limit = ReachedLimit::of(run).is_some_and(|limit| limit.suggestion.is_some());
    let act = |what: &str, name: &str, is_off: bool| {
        html! {
            form method="post" action={ "/runs/" (scene.id) "/" (what) } {
                button.control type="submit" disabled[is_off] data-action=(what) { (name) }
            }
        }
    };
    html! {
        div.controls role="group" aria-label="Control the run" {
            @if is_resting || is_over { (act("resume", "Resume", is_over || needs_limit)) }
            @else { (act("pause", "Pause", false)) }
            (act("cancel", "Cancel", is_over))
        }
    }
}

/// The slider over the journal, and whether this is the past.
pub(super) fn time_bar(scene: &RunScene<'_>) -> Markup {
    let (at, newest) = (scene.history.position(), scene.newest);
    html! {
        div.time id="time-bar" data-past[!scene.is_now] {
            @if !scene.is_now {
                p.past role="status" {
                    "You look at the past: event " (at) " of " (newest) ", " (words::moment(scene.history.last())) ". "
                    a href=(scene.address(scene.tab, scene.step.as_ref(), None)) { "Back to now" }
                }
            }
            form.slider method="get" action={ "/runs/" (scene.id) } {
                input type="hidden" name="view" value=(scene.tab.word());
                @if let Some(step) = &scene.step { input type="hidden" name="step" value=(step); }
                label {
                    span { "Position" }
                    input type="range" name="at" min="1" max=(newest) value=(at) data-newest=(newest);
                }
                output { (at) " / " (newest) }
                button type="submit" { "Go" }
                @if at > 1 {
                    a rel="prev" href=(scene.address(scene.tab, scene.step.as_ref(), Some(at - 1))) { "One back" }
                }
                @if !scene.is_now {
                    a rel="next" href=(scene.address(scene.tab, scene.step.as_ref(), Some(at + 1))) { "One on" }
                }
            }
            @if !scene.is_now { (chat::fork_link(scene, at)) }
        }
    }
}

fn tabs(scene: &RunScene<'_>) -> Markup {
    html! {
        nav.tabs aria-label="Views" {
            @for (tab, _, name) in RunTab::ALL {
                a href=(scene.address(tab, scene.step.as_ref(), scene.at()))
                    aria-current=[(tab == scene.tab).then_some("page")] { (name) }
            }
        }
    }
}

/// The view in the middle.
pub(super) fn view_body(scene: &RunScene<'_>) -> Result<Markup, updraft_workbench::Fault> {
    let body = match scene.tab {
        RunTab::Graph => steps::graph(scene),
        RunTab::Timeline => steps::timeline(scene),
        RunTab::Events => events::list(scene)?,
    };
    Ok(html! { div.view-body id="view-body" data-view=(scene.tab.word()) { (body) } })
}

/// Where the user writes to a run: a message while it works, a follow-up when it has ended.
pub(super) fn composer(scene: &RunScene<'_>) -> Markup {
    let is_over = scene.history.run().is_over();
    let (label, button) = if is_over { ("Follow up", "Send as a new run") } else { ("Tell it something", "Send") };
    html! {
        @if scene.is_now {
            form.composer id="composer" method="post" action={ "/runs/" (scene.id) "/tell" } data-over[is_over] {
                label for="message" { (label) }
                textarea id="message" name="message" rows="3" required[true] maxlength="100000" {}
                button type="submit" { (button) }
            }
        }
    }
}
