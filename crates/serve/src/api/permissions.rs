//! `/permissions`: what agents may do in this workspace: the mode, the rules, and the files with text from outside.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use updraft_workbench::permissions::{PermissionList, PermissionRule};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiJson, ApiQuery};
use super::problem::{ApiResult, Problem};

/// What decides about calls.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiPermissions {
    /// The mode: `read-only`, `workspace`, `full`, or `workspace, and nobody is asked`.
    mode: &'static str,
    /// Where the mode comes from.
    origin: String,
    /// The rules, the strictest first.
    rules: Vec<ApiRule>,
    /// Files of the workspace that runs have written text from outside to.
    marked: Vec<ApiMarkedFile>,
}

/// A rule.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRule {
    /// What it does: `deny`, `ask` or `allow`.
    kind: &'static str,
    /// The rule: `tool` or `tool(pattern)`.
    rule: String,
    /// Where it comes from: a place in a file, or "always, in this workspace", which can be removed here.
    origin: String,
}

/// A file with text from outside.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiMarkedFile {
    /// Its path, relative to the workspace; `.` is all of it.
    path: String,
    /// Where the text came from, in words.
    from: String,
    /// The run that wrote it.
    run: String,
}

impl From<PermissionList> for ApiPermissions {
    fn from(PermissionList { mode, mode_from, rules, marked }: PermissionList) -> Self {
        let rule = |PermissionRule { kind, rule, from }| ApiRule { kind, rule, origin: from };
        let marked = marked.into_iter().map(|marked| ApiMarkedFile {
            path: marked.path,
            from: marked.origins.in_words(),
            run: marked.run.to_string(),
        });
        Self { mode, origin: mode_from, rules: rules.into_iter().map(rule).collect(), marked: marked.collect() }
    }
}

/// List the rules for what agents may do, and where each comes from
#[utoipa::path(get, path = "/permissions", tag = "permissions", responses((status = 200, body = ApiPermissions)))]
pub(super) async fn list(State(state): State<SharedState>) -> ApiResult<Json<ApiPermissions>> {
    let runs = state.service.runs.clone();
    Ok(Json(tokio::task::spawn_blocking(move || runs.permissions()).await??.into()))
}

/// A rule to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleBody {
    /// The rule: `tool` or `tool(pattern)`, such as `run_command(git push)`.
    #[schema(min_length = 1, max_length = 1000)]
    rule: String,
}

/// A rule as it is stored.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiStoredRule {
    /// The rule.
    rule: String,
}

/// Allow such calls from now on in this workspace, as "always" does
///
/// To send it again changes nothing. It holds for runs that start from now on, unless a rule denies the call.
#[utoipa::path(
    post,
    path = "/permissions",
    tag = "permissions",
    request_body = RuleBody,
    responses((status = 201, body = ApiStoredRule))
)]
pub(super) async fn allow(
    State(state): State<SharedState>,
    ApiJson(RuleBody { rule }): ApiJson<RuleBody>,
) -> ApiResult<(StatusCode, Json<ApiStoredRule>)> {
    if !(1..=1000).contains(&rule.chars().count()) {
        return Err(Problem::unreadable("a rule has 1 to 1000 characters"));
    }
    let runs = state.service.runs.clone();
    let rule = tokio::task::spawn_blocking(move || runs.allow_rule(&rule)).await??;
    Ok((StatusCode::CREATED, Json(ApiStoredRule { rule })))
}

/// Which rule is removed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RuleParams {
    /// The rule, as it is listed.
    rule: String,
}

/// Remove a rule that was allowed with "always", so that people are asked again
#[utoipa::path(
    delete,
    path = "/permissions",
    tag = "permissions",
    params(RuleParams),
    responses(
        (status = 204, description = "The rule is removed"),
        (status = 404, description = "There is no such rule", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn forget(
    State(state): State<SharedState>,
    ApiQuery(RuleParams { rule }): ApiQuery<RuleParams>,
) -> ApiResult<StatusCode> {
    let runs = state.service.runs.clone();
    let forgotten = tokio::task::spawn_blocking(move || runs.forget_rule(&rule)).await?;
    forgotten.map_err(|fault| Problem::from(fault).into_missing())?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which marks are cleared.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClearBody {
    /// Files or folders, as they are listed.
    #[serde(default)]
    files: Vec<String>,
    /// All of them.
    #[serde(default)]
    all: bool,
}

/// How many marks were cleared.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiMarkCount {
    /// Their number.
    cleared: usize,
}

/// Trust marked files as your own again
///
/// Runs wrote text from outside to them, so read them first.
#[utoipa::path(
    post,
    path = "/permissions/clear",
    tag = "permissions",
    request_body = ClearBody,
    responses((status = 200, body = ApiMarkCount))
)]
pub(super) async fn clear(
    State(state): State<SharedState>,
    ApiJson(ClearBody { files, all }): ApiJson<ClearBody>,
) -> ApiResult<Json<ApiMarkCount>> {
    if files.is_empty() != all {
        return Err(Problem::conflict("say either which `files` are meant, or `all`"));
    }
    let runs = state.service.runs.clone();
    let clearing = tokio::task::spawn_blocking(move || {
        let each = files.iter().map(|file| runs.clear_marks(Some(file)));
        if all { runs.clear_marks(None) } else { each.sum() }
    });
    Ok(Json(ApiMarkCount { cleared: clearing.await?? }))
}
