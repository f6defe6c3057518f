//! The forms of a run: messages, decisions, answers, pause, resume, cancel and re-run.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value};
use updraft_run::{ApprovalScope, RunId, StepId, Verdict};
use updraft_workbench::service::{RepeatOrder, RunOrder};

use super::PageState;
use super::failure::PageFailure;
use super::inbox::{self, InboxDeed};
use super::run_page::back;
use super::visitor::Visitor;
use crate::users::UserRole;

type Page = State<Arc<PageState>>;

/// A message.
#[derive(Deserialize)]
pub(super) struct MessageForm {
    #[serde(default)]
    message: String,
}

/// Sends a message to a run, or starts a run that follows up on one that has ended.
pub(super) async fn tell(
    State(state): Page,
    Path(id): Path<String>,
    Form(form): Form<MessageForm>,
) -> Result<Response, PageFailure> {
    let runs = &state.service.runs;
    let view = runs.view(&id).await.map_err(PageFailure::missing)?;
    if !view.status.is_final() {
        runs.tell_user(&id, form.message).await?;
        return Ok(back(&id));
    }
    let follows = RunId::parse(&id).map_err(|bad| PageFailure::usage(&bad.to_string()))?;
    let order = RunOrder { goal: form.message, follows: Some(follows), ..RunOrder::default() };
    let new = runs.order(order).await?;
    Ok(back(new.as_str()))
}

/// A decision about a call or a plan.
#[derive(Deserialize)]
pub(super) struct VerdictForm {
    id: String,
    verdict: String,
    #[serde(default)]
    because: String,
    #[serde(default)]
    always: String,
    #[serde(default)]
    from: String,
}

pub(super) async fn approve(
    State(state): Page,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
    Form(form): Form<VerdictForm>,
) -> Result<Response, PageFailure> {
    let allow = match form.verdict.as_str() {
        "allow" => true,
        "deny" => false,
        _ => return Err(PageFailure::usage("a verdict is `allow` or `deny`")),
    };
    let always = match form.always.as_str() {
        "run" if allow => Some(ApprovalScope::Run),
        "workspace" if allow => Some(ApprovalScope::Workspace),
        _ => None,
    };
    let because = if allow { String::new() } else { form.because };
    let verdict = Verdict { allow, by: visitor.name().to_owned(), because, always, ..Verdict::default() };
    state.service.runs.decide(&run, Some(&form.id), verdict).await?;
    Ok(answered(&form.from, &run, if allow { InboxDeed::Allowed } else { InboxDeed::Refused }))
}

/// Answers a question with a text, or with the fields of its form.
pub(super) async fn answer(
    State(state): Page,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, PageFailure> {
    let runs = &state.service.runs;
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let from = field("from").unwrap_or_default();
    let id = field("id").ok_or_else(|| PageFailure::usage("the question is not named"))?;
    if field("decline").is_some() {
        runs.decline(&run, &id, visitor.name()).await?;
        return Ok(answered(&from, &run, InboxDeed::Declined));
    }
    let view = runs.view(&run).await.map_err(PageFailure::missing)?;
    let form = view.waits.iter().find(|wait| wait.id == id).and_then(|wait| wait.form.clone());
    let text = match form {
        Some(form) => filled_in(&form, &fields).to_string(),
        None => field("text").unwrap_or_default(),
    };
    runs.answer(&run, Some(&id), text).await?;
    Ok(answered(&from, &run, InboxDeed::Answered))
}

/// Back to where the form was: the inbox, or the run.
fn answered(from: &str, run: &str, deed: InboxDeed) -> Response {
    if from == "inbox" { inbox::back(run, deed) } else { back(run) }
}

/// The object that the fields of a form describe, by the types of its schema.
fn filled_in(form: &Value, fields: &[(String, String)]) -> Value {
    let mut object = Map::new();
    for (name, text) in fields.iter().filter_map(|(name, text)| Some((name.strip_prefix("field.")?, text))) {
        let value = match form["properties"][name]["type"].as_str() {
            _ if text.is_empty() => continue,
            Some("boolean") => Value::Bool(text == "true"),
            Some("integer" | "number") => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
            _ => Value::String(text.clone()),
        };
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

pub(super) async fn pause(State(state): Page, Path(run): Path<String>) -> Result<Response, PageFailure> {
    state.service.runs.pause(&run).await?;
    Ok(back(&run))
}

/// A higher limit, for a run that has reached one.
#[derive(Deserialize)]
pub(super) struct ResumeForm {
    #[serde(default)]
    limit: String,
}

/// A higher limit is the owner's money.
pub(super) async fn resume(
    State(state): Page,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
    Form(form): Form<ResumeForm>,
) -> Result<Response, PageFailure> {
    match form.limit.trim() {
        "" => state.service.runs.resume(&run).await?,
        _ if visitor.role() < UserRole::Administer => return Ok(visitor.refusal(UserRole::Administer)),
        limit => state.service.runs.raise_limit(&run, limit).await?,
    };
    Ok(back(&run))
}

pub(super) async fn cancel(
    State(state): Page,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
) -> Result<Response, PageFailure> {
    state.service.runs.cancel(&run, visitor.name()).await?;
    Ok(back(&run))
}

/// The step from which a run is repeated.
#[derive(Deserialize)]
pub(super) struct RerunForm {
    step: String,
}

pub(super) async fn rerun(
    State(state): Page,
    Path(run): Path<String>,
    Form(form): Form<RerunForm>,
) -> Result<Response, PageFailure> {
    let step = StepId::parse(&form.step).map_err(|bad| PageFailure::usage(&bad.to_string()))?;
    let new = state.service.runs.rerun(&run, RepeatOrder { again: vec![step], ..RepeatOrder::default() }).await?;
    Ok(back(new.as_str()))
}
