//! What is said to a run: messages, answers and decisions.

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::Value;
use updraft_run::{ApprovalScope, Verdict};
use updraft_workbench::time_format;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, RunPath};
use super::keys::{KeyHeader, KeyedJson};
use super::problem::{ApiResult, Problem};
use super::run_json::ApiRun;
use crate::bearer::ApiCaller;

/// A message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageBody {
    /// What the agents should know or do.
    #[schema(min_length = 1)]
    message: String,
}

/// Send a message to a run
#[utoipa::path(
    post,
    path = "/runs/{id}/tell",
    tag = "steering",
    params(("id" = String, Path, description = "The run"), KeyHeader),
    request_body = MessageBody,
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn tell(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    KeyedJson { body: MessageBody { message }, key }: KeyedJson<MessageBody>,
) -> ApiResult<Json<ApiRun>> {
    if message.is_empty() {
        return Err(Problem::unreadable("the message is empty"));
    }
    let (runs, run) = (state.service.runs.clone(), id.clone());
    let told = state.once(key, move |begun| async move {
        let since = begun.unwrap_or_else(time_format::now);
        let told = match begun {
            None => runs.tell_user(run.as_str(), message.clone()).await,
            Some(begun) => runs.tell_user_once(run.as_str(), message.clone(), begun).await,
        };
        let Err(fault) = told else { return Ok(Value::Null) };
        // It may be in the run's inbox all the same, and be read later.
        let is_pending = runs.was_told(run.as_str(), &message, since).await.unwrap_or(true);
        Err(Problem::from(fault).pending(is_pending))
    });
    told.await?;
    Ok(Json(state.service.runs.view(id.as_str()).await?.into()))
}

/// An answer to a question of a run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    /// The question; may be absent if only one is open.
    question: Option<String>,
    /// The answer; for a question with a form, an object as JSON. Absent: the answer is declined.
    text: Option<String>,
}

/// Answer a question, or decline to
#[utoipa::path(
    post,
    path = "/runs/{id}/answer",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    request_body = AnswerBody,
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn answer(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
    ApiJson(AnswerBody { question, text }): ApiJson<AnswerBody>,
) -> ApiResult<Json<ApiRun>> {
    let runs = &state.service.runs;
    let view = if let Some(text) = text {
        runs.answer(id.as_str(), question.as_deref(), text).await?
    } else {
        let question = question.ok_or_else(|| Problem::conflict("say with `question` which one is declined"))?;
        runs.decline(id.as_str(), &question, caller.name()).await?
    };
    Ok(Json(view.into()))
}

/// A decision about a call or a plan.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictBody {
    /// The approval; may be absent if only one is open.
    approval: Option<String>,
    /// Whether the call may be made.
    allow: bool,
    /// What the agent is told with a refusal.
    #[serde(default)]
    because: String,
    /// The same is allowed from now on: in this run, or in all runs of this workspace.
    always: Option<ApiScope>,
}

/// Where an "always" applies.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ApiScope {
    Run,
    Workspace,
}

/// Allow or refuse a call, or a plan
#[utoipa::path(
    post,
    path = "/runs/{id}/approve",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    request_body = VerdictBody,
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn approve(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
    ApiJson(VerdictBody { approval, allow, because, always }): ApiJson<VerdictBody>,
) -> ApiResult<Json<ApiRun>> {
    let always = always.filter(|_| allow).map(|scope| match scope {
        ApiScope::Run => ApprovalScope::Run,
        ApiScope::Workspace => ApprovalScope::Workspace,
    });
    let because = if allow { String::new() } else { because };
    let verdict = Verdict { allow, by: caller.name().to_owned(), because, always, ..Verdict::default() };
    Ok(Json(state.service.runs.decide(id.as_str(), approval.as_deref(), verdict).await?.into()))
}
