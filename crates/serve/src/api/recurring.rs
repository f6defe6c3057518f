//! `/schedules`: work that comes back.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use updraft_workbench::schedules::{DueRun, MissedPolicy, NewSchedule, OverlapPolicy, Schedule, ScheduleWork};
use updraft_workbench::time_format;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiPath, whole};
use super::keys::{KeyHeader, KeyedJson, SentKey};
use super::new_run::ApiRunStart;
use super::problem::{ApiResult, Problem};
use super::recipes::known_recipe;

/// How many of the next times are listed.
const SHOWN: usize = 3;

/// A goal or a recipe that begins by itself.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiSchedule {
    /// Its name.
    name: String,
    /// When it is due: five cron fields, or an interval in words.
    when: String,
    /// The time zone of the times.
    zone: String,
    /// What is done, in words.
    work: String,
    /// Whether nothing is due until it is resumed.
    paused: bool,
    /// The next times, as in RFC 3339.
    next: Vec<String>,
    /// Runs that are due and have not begun.
    waiting: Vec<ApiDueRun>,
    /// The run that began last.
    last: Option<ApiDueRun>,
    /// What happened to it lately besides runs that began, newest last.
    notes: Vec<String>,
}

/// A run of a schedule.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiDueRun {
    /// The run's id.
    run: String,
    /// When it was due, as in RFC 3339.
    due: String,
}

impl From<&DueRun> for ApiDueRun {
    fn from(due: &DueRun) -> Self {
        Self { run: due.run.to_string(), due: time_format::iso(due.due) }
    }
}

impl From<Schedule> for ApiSchedule {
    fn from(one: Schedule) -> Self {
        Self {
            when: one.timing.in_words(),
            work: one.work.in_words(),
            next: one.next_times(SHOWN).into_iter().map(time_format::iso).collect(),
            waiting: one.waiting.iter().map(ApiDueRun::from).collect(),
            last: one.last.as_ref().map(ApiDueRun::from),
            notes: one.notes.iter().map(|note| note.text.clone()).collect(),
            paused: one.paused,
            zone: one.zone,
            name: one.name,
        }
    }
}

/// List schedules
#[utoipa::path(get, path = "/schedules", tag = "schedules", responses((status = 200, body = [ApiSchedule])))]
pub(super) async fn list(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiSchedule>>> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.schedules()).await??;
    Ok(Json(all.into_iter().map(ApiSchedule::from).collect()))
}

/// What a new schedule is made from: either `cron` or `every_seconds`, either `goal` or `recipe`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleBody {
    /// Its name: letters, digits, `-` and `_`; absent: it gets a number.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    name: Option<String>,
    /// Five cron fields, such as `0 7 * * *`.
    cron: Option<String>,
    /// The interval.
    #[serde(default, deserialize_with = "whole_if_given")]
    #[schema(minimum = 60, maximum = 31_536_000)]
    every_seconds: Option<u64>,
    /// The name of the time zone; that of the server if absent.
    zone: Option<String>,
    /// What you want done.
    #[serde(default)]
    goal: String,
    /// A recipe, by its name.
    recipe: Option<String>,
    /// The recipe's parameters.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// One agent works on the goal alone.
    agent: Option<String>,
    /// Another model than the server's.
    model: Option<String>,
    /// Times at which no server was there are left out; otherwise one run makes up for all of them.
    #[serde(default)]
    skip_missed: bool,
    /// Times at which the last run has not ended are made up for one after the other; otherwise they are left out.
    #[serde(default)]
    queue: bool,
}

fn whole_if_given<'de, D: Deserializer<'de>>(body: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Whole(#[serde(deserialize_with = "whole")] u64);
    Ok(Option::<Whole>::deserialize(body)?.map(|Whole(number)| number))
}

/// Let a goal or a recipe begin by itself
#[utoipa::path(
    post,
    path = "/schedules",
    tag = "schedules",
    params(KeyHeader),
    request_body = ScheduleBody,
    responses((status = 201, body = ApiSchedule))
)]
pub(super) async fn add(
    State(state): State<SharedState>,
    KeyedJson { body, key }: KeyedJson<ScheduleBody>,
) -> ApiResult<(StatusCode, Json<Value>)> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_name = |name: &String| (1..=64).contains(&name.len()) && name.chars().all(is_plain);
    if !body.name.iter().all(is_name) {
        return Err(Problem::unreadable("a name has 1 to 64 letters from a to z, digits, `-` or `_`"));
    }
    if !body.every_seconds.is_none_or(|seconds| (60..=31_536_000).contains(&seconds)) {
        return Err(Problem::unreadable("`every_seconds` is a number from 60 to 31536000"));
    }
    if body.recipe.is_some() != body.goal.trim().is_empty() {
        return Err(Problem::conflict("a schedule has either a `goal` or a `recipe`"));
    }
    let recipe = body.recipe.map(|name| known_recipe(&state, name)).transpose()?;
    let parameters = body.parameters.into_iter().collect();
    let new = NewSchedule {
        name: body.name,
        cron: body.cron,
        every: body.every_seconds.map(Duration::from_secs),
        zone: body.zone,
        work: ScheduleWork { goal: body.goal, recipe, parameters, agent: body.agent, model: body.model },
        missed: if body.skip_missed { MissedPolicy::Skip } else { MissedPolicy::RunOnce },
        overlap: if body.queue { OverlapPolicy::Queue } else { OverlapPolicy::Skip },
    };
    let runs = state.service.runs.clone();
    let added = state.once(key, move |_| async move { Ok(json!(ApiSchedule::from(runs.add_schedule(new).await?))) });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

/// Checks that there is a schedule of this name.
async fn known_schedule(state: &SharedState, name: &str) -> ApiResult<()> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.schedules()).await??;
    if all.iter().any(|one| one.name == name) {
        return Ok(());
    }
    Err(Problem::missing(format!("there is no schedule `{name}`")).hint("`GET /api/v1/schedules` lists them"))
}

/// Remove a schedule; its runs stay
#[utoipa::path(
    delete,
    path = "/schedules/{name}",
    tag = "schedules",
    params(("name" = String, Path, description = "The schedule")),
    responses((status = 204, description = "The schedule is removed"))
)]
pub(super) async fn remove(State(state): State<SharedState>, ApiPath(name): ApiPath<String>) -> ApiResult<StatusCode> {
    known_schedule(&state, &name).await?;
    state.service.runs.remove_schedule(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule: nothing is due until it is resumed
#[utoipa::path(
    post,
    path = "/schedules/{name}/pause",
    tag = "schedules",
    params(("name" = String, Path, description = "The schedule")),
    responses((status = 200, body = ApiSchedule))
)]
pub(super) async fn pause(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
) -> ApiResult<Json<ApiSchedule>> {
    known_schedule(&state, &name).await?;
    Ok(Json(state.service.runs.pause_schedule(&name, true).await?.into()))
}

/// Resume a schedule; times in between are not made up for
#[utoipa::path(
    post,
    path = "/schedules/{name}/resume",
    tag = "schedules",
    params(("name" = String, Path, description = "The schedule")),
    responses((status = 200, body = ApiSchedule))
)]
pub(super) async fn resume(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
) -> ApiResult<Json<ApiSchedule>> {
    known_schedule(&state, &name).await?;
    Ok(Json(state.service.runs.pause_schedule(&name, false).await?.into()))
}

/// Begin a run of a schedule now
///
/// The run has this id; it begins within seconds, whatever else is due.
#[utoipa::path(
    post,
    path = "/schedules/{name}/run",
    tag = "schedules",
    params(("name" = String, Path, description = "The schedule"), KeyHeader),
    responses((status = 202, body = ApiRunStart))
)]
pub(super) async fn run_now(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
    request: Request,
) -> ApiResult<(StatusCode, Json<Value>)> {
    known_schedule(&state, &name).await?;
    let (runs, key) = (state.service.runs.clone(), SentKey::of(&request)?.with(""));
    let begun = state.once(key, move |_| async move {
        let id = runs.run_schedule(&name).await?.to_string();
        Ok(json!(ApiRunStart { id }))
    });
    Ok((StatusCode::ACCEPTED, Json(begun.await?)))
}
