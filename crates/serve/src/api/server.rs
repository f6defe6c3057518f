//! The server itself: its health, what works here, its settings, and who may use it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use updraft_workbench::doctor::DoctorCheck;
use updraft_workbench::time_format;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, ApiPath};
use super::problem::{ApiResult, Problem};
use crate::users::{PageUser, UserRole};

/// The health of the server.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiHealth {
    /// `ok`.
    status: &'static str,
    /// The version of Updraft.
    version: &'static str,
    /// The folder it works in.
    workspace: String,
    /// How many runs wait for a person.
    waiting: usize,
}

/// Whether the server works
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = ApiHealth)))]
pub(super) async fn health(State(state): State<SharedState>) -> ApiResult<Json<ApiHealth>> {
    let (runs, workspace) = (state.service.runs.clone(), state.service.runs.workspace().to_owned());
    let waiting = tokio::task::spawn_blocking(move || runs.waiting()).await?;
    Ok(Json(ApiHealth { status: "ok", version: env!("CARGO_PKG_VERSION"), workspace, waiting }))
}

/// The result of one check.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiCheck {
    /// `ok`, `warn` or `fail`.
    status: &'static str,
    /// What was checked.
    check: &'static str,
    /// What was found.
    found: String,
    /// What to do about it; empty if there is nothing to do.
    advice: String,
}

/// What works here, what does not, and what to do about it
#[utoipa::path(get, path = "/doctor", tag = "server", responses((status = 200, body = [ApiCheck])))]
pub(super) async fn doctor(State(state): State<SharedState>) -> Json<Vec<ApiCheck>> {
    let checks = state.service.runs.doctor().await;
    let written = |check: &DoctorCheck| {
        let DoctorCheck { status, what, found, advice } = check.clone();
        ApiCheck { status: status.word(), check: what, found, advice }
    };
    Json(checks.iter().map(written).collect())
}

/// A setting.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiSetting {
    /// Its name.
    name: String,
    /// Its value, as in TOML.
    value: String,
    /// Where it comes from.
    origin: String,
}

/// List the settings that hold here
#[utoipa::path(get, path = "/settings", tag = "server", responses((status = 200, body = [ApiSetting])))]
pub(super) async fn settings(State(state): State<SharedState>) -> Json<Vec<ApiSetting>> {
    let all = state.service.settings().effective.list();
    Json(all.into_iter().map(|(name, value, origin)| ApiSetting { name, value, origin }).collect())
}

/// Somebody who may use the server.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiUser {
    /// The name, which the journal holds for what this user decides.
    name: String,
    /// What this user may do: `see`, `steer` or `administer`.
    role: &'static str,
    /// When the user was added, as in RFC 3339.
    since: String,
}

impl From<PageUser> for ApiUser {
    fn from(user: PageUser) -> Self {
        Self { role: user.role.word(), since: time_format::iso(user.since), name: user.name }
    }
}

/// List users
#[utoipa::path(get, path = "/users", tag = "server", responses((status = 200, body = [ApiUser])))]
pub(super) async fn users(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiUser>>> {
    let users = state.access.users().clone();
    let all = tokio::task::spawn_blocking(move || users.list()).await??;
    Ok(Json(all.into_iter().map(ApiUser::from).collect()))
}

/// A user to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserBody {
    /// The name: letters from a to z, digits, `-` or `_`.
    #[schema(min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9_-]+$")]
    name: String,
    /// What this user may do.
    role: ApiRole,
}

/// What a user may do. Each role includes those before it.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ApiRole {
    See,
    Steer,
    Administer,
}

/// The token of a user who was added.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiToken {
    /// It is stored nowhere, and cannot be shown again.
    token: String,
}

/// Add a user
#[utoipa::path(
    post,
    path = "/users",
    tag = "server",
    request_body = UserBody,
    responses((status = 201, body = ApiToken))
)]
pub(super) async fn add_user(
    State(state): State<SharedState>,
    ApiJson(UserBody { name, role }): ApiJson<UserBody>,
) -> ApiResult<(StatusCode, Json<ApiToken>)> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
        return Err(Problem::unreadable("a name has 1 to 40 letters from a to z, digits, `-` or `_`"));
    }
    let role = match role {
        ApiRole::See => UserRole::See,
        ApiRole::Steer => UserRole::Steer,
        ApiRole::Administer => UserRole::Administer,
    };
    let users = state.access.users().clone();
    let token = tokio::task::spawn_blocking(move || users.add(&name, role)).await??;
    Ok((StatusCode::CREATED, Json(ApiToken { token })))
}

/// Remove a user: the token and all visits end
#[utoipa::path(
    delete,
    path = "/users/{name}",
    tag = "server",
    params(("name" = String, Path, description = "The user")),
    responses((status = 204, description = "The user is removed"))
)]
pub(super) async fn remove_user(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
) -> ApiResult<StatusCode> {
    let users = state.access.users().clone();
    tokio::task::spawn_blocking(move || {
        if users.named(&name).is_none() {
            return Err(Problem::missing("there is no such user"));
        }
        Ok(users.remove(&name)?)
    })
    .await??;
    Ok(StatusCode::NO_CONTENT)
}
