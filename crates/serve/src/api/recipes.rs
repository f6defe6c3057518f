//! `/recipes`: goals and plans with parameters, listed and run.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use updraft_workbench::recipes::FoundRecipe;
use updraft_workbench::schedules::ScheduleWork;
use utoipa::ToSchema;

use super::SharedState;
use super::input::ApiPath;
use super::keys::{KeyHeader, KeyedJson, KeyedStart, not_started};
use super::new_run::{ApiRunStart, created};
use super::problem::{ApiResult, Problem};

/// A goal or a plan with parameters.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRecipe {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// Its parameters.
    parameters: Vec<ApiParameter>,
    /// Why it cannot be used, if it cannot.
    fault: Option<String>,
}

/// A parameter of a recipe.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiParameter {
    /// Its name.
    name: String,
    /// What it means.
    description: String,
    /// Whether it must be given.
    required: bool,
}

impl From<FoundRecipe> for ApiRecipe {
    fn from(found: FoundRecipe) -> Self {
        let name = name_of(&found).to_owned();
        match found.recipe {
            Ok(recipe) => {
                let parameters = recipe.parameters.into_iter().map(|own| ApiParameter {
                    required: own.default.is_none(),
                    name: own.name,
                    description: own.description,
                });
                let parameters = parameters.collect();
                Self { name, description: recipe.description, parameters, fault: None }
            }
            Err(why) => Self { name, description: String::new(), parameters: Vec::new(), fault: Some(why) },
        }
    }
}

fn name_of(found: &FoundRecipe) -> &str {
    found.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// A recipe by its name. A program does not get to name files of the server.
pub(super) fn known_recipe(state: &SharedState, name: String) -> ApiResult<String> {
    let is_known = state.service.runs.recipes().iter().any(|found| name_of(found) == name);
    let missing = || Problem::missing(format!("there is no recipe `{name}`")).hint("`GET /api/v1/recipes` lists them");
    if is_known { Ok(name) } else { Err(missing().into_conflict()) }
}

/// List recipes
#[utoipa::path(get, path = "/recipes", tag = "schedules", responses((status = 200, body = [ApiRecipe])))]
pub(super) async fn list(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiRecipe>>> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.recipes()).await?;
    Ok(Json(all.into_iter().map(ApiRecipe::from).collect()))
}

/// The values for a recipe.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipeBody {
    /// Its parameters.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Another model than the recipe's or the server's.
    model: Option<String>,
}

/// Start a run of a recipe
///
/// Everything that is wrong with the parameters is said at once, and nothing is started.
#[utoipa::path(
    post,
    path = "/recipes/{name}/run",
    tag = "schedules",
    params(("name" = String, Path, description = "The recipe"), KeyHeader),
    request_body = RecipeBody,
    responses((status = 201, body = ApiRunStart, headers(("Location", description = "The address of the run"))))
)]
pub(super) async fn run(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
    sent: KeyedJson<RecipeBody>,
) -> ApiResult<impl IntoResponse> {
    if !state.service.runs.recipes().iter().any(|found| name_of(found) == name) {
        return Err(Problem::missing(format!("there is no recipe `{name}`")).hint("`GET /api/v1/recipes` lists them"));
    }
    let (RecipeBody { parameters, model }, id, _alone) = match sent.claim(&state).await? {
        KeyedStart::Known(id) => return Ok(created(id.to_string())),
        KeyedStart::New(body, id, alone) => (body, id, alone),
    };
    let parameters = parameters.into_iter().collect();
    let work = ScheduleWork { recipe: Some(name), parameters, model, ..ScheduleWork::default() };
    let started = Box::pin(state.service.runs.order_recipe(id, work)).await;
    Ok(created(started.map_err(not_started)?.to_string()))
}
