//! `/aside`: files that were moved out of the workspace because other programs would run them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use updraft_workbench::aside::AsideEntry;
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiJson, ApiQuery};
use super::problem::{ApiResult, Problem};

/// A file that was moved aside.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiAside {
    /// Its name here.
    name: String,
    /// Where it was.
    path: String,
    /// What would have run it.
    why: String,
    /// The run whose command made it.
    run: String,
}

/// List files that were moved out of the workspace because other programs would run them
#[utoipa::path(get, path = "/aside", tag = "permissions", responses((status = 200, body = [ApiAside])))]
pub(super) async fn list(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiAside>>> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.aside_files()).await?;
    let written = |AsideEntry { name, moved, .. }: AsideEntry| ApiAside {
        name,
        path: moved.path.display().to_string(),
        why: moved.why,
        run: moved.run,
    };
    Ok(Json(all.into_iter().map(written).collect()))
}

/// Does something with a file that was moved aside.
async fn on_known(
    state: &SharedState,
    name: String,
    work: impl FnOnce(&AsideEntry) -> ApiResult<()> + Send + 'static,
) -> ApiResult<()> {
    let runs = state.service.runs.clone();
    tokio::task::spawn_blocking(move || {
        let known = runs.aside_files().into_iter().find(|one| one.name == name);
        let missing = || {
            Problem::missing("nothing of this workspace was moved aside under this name")
                .hint("`GET /api/v1/aside` lists what there is")
        };
        work(&known.ok_or_else(missing)?)
    })
    .await?
}

/// Which file is meant.
#[derive(Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AsideName {
    /// Its name, as it is listed.
    name: String,
}

/// Put a file back where it was
#[utoipa::path(
    post,
    path = "/aside/restore",
    tag = "permissions",
    request_body = AsideName,
    responses((status = 204, description = "It is back"))
)]
pub(super) async fn restore(
    State(state): State<SharedState>,
    ApiJson(AsideName { name }): ApiJson<AsideName>,
) -> ApiResult<StatusCode> {
    let restored = on_known(&state, name, |one| Ok(one.restore()?)).await;
    restored.map_err(Problem::missing_in_body)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete a file that was moved aside
#[utoipa::path(
    delete,
    path = "/aside",
    tag = "permissions",
    params(AsideName),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 404, description = "There is no such file", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn delete(
    State(state): State<SharedState>,
    ApiQuery(AsideName { name }): ApiQuery<AsideName>,
) -> ApiResult<StatusCode> {
    on_known(&state, name, |one| Ok(one.delete()?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
