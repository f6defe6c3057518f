//! How runs, their questions and their events are written in the API.

use serde::Serialize;
use serde_json::Value;
use updraft_run::RunId;
use updraft_workbench::service::{NumberedEvent, PendingQuestion, RunRow, RunView};
use updraft_workbench::time_format;
use utoipa::ToSchema;

/// A run.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRun {
    /// Its id.
    id: String,
    /// Its status: `running`, `waiting` for a person (see `waits`), `paused` until it is resumed, or how it ended: `done`,
    /// `unproved`, `not_done`, `failed`, `cancelled`.
    status: &'static str,
    /// What it is doing, or why it stopped, in a few words.
    message: String,
    /// Its goal.
    goal: String,
    /// Its answer, or what there is of it so far.
    answer: String,
    /// The questions and approvals it waits for.
    waits: Vec<ApiQuestion>,
    /// How many of its steps have ended.
    done: usize,
    /// How many steps it has.
    steps: usize,
    /// Turns, calls, tokens, cost, time.
    #[schema(value_type = Object)]
    statistics: Value,
    /// When it began, as in RFC 3339.
    created: String,
    /// When something last happened, as in RFC 3339.
    updated: String,
}

/// A question or an approval that a run waits for.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiQuestion {
    /// Its address in the run, which is never used for another question.
    id: String,
    /// `approval` of a call, or `question`.
    kind: &'static str,
    /// The question.
    text: String,
    /// Answers to choose from, if any.
    options: Vec<String>,
    /// The call to be approved.
    call: Value,
    /// JSON Schema of the form to be filled in, if the answer is one.
    form: Option<Value>,
}

/// A run in a list.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRunRow {
    /// Its id.
    id: String,
    /// The beginning of its goal.
    goal: String,
    /// Its status.
    status: &'static str,
    /// The model it began with.
    model: String,
    /// When it began, as in RFC 3339.
    created: String,
    /// When something last happened, as in RFC 3339.
    updated: String,
    /// How many events it has.
    events: u64,
    /// How many of its steps have ended; absent while this is being added up.
    done: Option<usize>,
    /// How many steps it has.
    steps: Option<usize>,
    /// What it cost, in words.
    cost: Option<String>,
}

/// One event of a run's journal.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiEvent {
    /// The version of this form.
    schema: u32,
    /// The run.
    run: String,
    /// Its number in the run, from 1.
    #[schema(minimum = 1)]
    pub(super) seq: u64,
    /// What happened, such as `step_done`.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    /// When, as in RFC 3339.
    at: String,
    /// The event itself.
    event: Value,
}

impl From<RunView> for ApiRun {
    fn from(view: RunView) -> Self {
        let RunView { run, status, message, goal, answer, waits, done, steps, statistics, created, updated } = view;
        let waits = waits.into_iter().map(ApiQuestion::from).collect();
        let status = status.as_str();
        Self { id: run, status, message, goal, answer, waits, done, steps, statistics, created, updated }
    }
}

impl From<PendingQuestion> for ApiQuestion {
    fn from(asked: PendingQuestion) -> Self {
        let PendingQuestion { id, is_approval, text, options, call, form, is_inquiry: _ } = asked;
        Self { id, kind: if is_approval { "approval" } else { "question" }, text, options, call, form }
    }
}

impl From<RunRow> for ApiRunRow {
    fn from(row: RunRow) -> Self {
        let RunRow { id, goal, status, model, created, updated, events, figures } = row;
        Self {
            id: id.to_string(),
            goal,
            status: status.as_str(),
            model,
            created: time_format::iso(created),
            updated: time_format::iso(updated),
            events,
            done: figures.as_ref().map(|figures| figures.done),
            steps: figures.as_ref().map(|figures| figures.steps),
            cost: figures.map(|figures| figures.cost),
        }
    }
}

impl ApiEvent {
    /// An event of a run.
    pub(super) fn of(run: &RunId, numbered: &NumberedEvent) -> Self {
        Self {
            schema: 1,
            run: run.to_string(),
            seq: numbered.number,
            kind: numbered.event.name(),
            at: time_format::iso(numbered.at),
            event: serde_json::to_value(&numbered.event).unwrap_or_default(),
        }
    }
}
