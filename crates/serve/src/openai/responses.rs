//! `/v1/responses`: create, look at, stream again, cancel, delete.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::RunId;
use updraft_workbench::service::ProgramOrder;
use updraft_workbench::time_format;

use super::OpenAiState;
use super::catalog;
use super::failure::{OpenAiFailure, json_body, read_json};
use super::response_body::ResponseState;
use super::response_record::ResponseRecord;
use super::response_request::ResponseRequest;
use super::response_story::ResponseStory;
use super::response_teller::ResponseTeller;
use super::run_stream::{self, StreamedRun};
use super::waits::WaitReply;
use crate::bearer::ApiCaller;
use crate::run_follower::{ClientGuard, RunFollower};

/// How many input items one page has, at most and without a wish.
const MOST_ITEMS: usize = 100;
const USUAL_ITEMS: usize = 20;

/// Starts a run, or continues one that waits, and answers as the request wants it.
pub(super) async fn create(
    State(state): State<Arc<OpenAiState>>,
    Extension(caller): Extension<ApiCaller>,
    request: Request,
) -> Result<Response, OpenAiFailure> {
    let request = ResponseRequest::read(&read_json(request).await?)?;
    let is_streamed = request.stream;
    let (record, mut guard) = begin(&state, request, &caller).await?;
    if is_streamed {
        return streamed(state, record, caller, None, guard);
    }
    let mut follower = RunFollower::new(&state.service.runs, &record.run, state.stop.clone())?;
    let mut story = ResponseStory::new(record.clone(), &state.origin);
    if record.background {
        for moment in follower.read().await? {
            story.take(&moment);
        }
    } else {
        follower.until_rest_after(record.after, |moment| story.take(moment)).await?;
    }
    guard.disarm();
    Ok(json_body(&story.body()))
}

/// Streams a response from an event on.
fn streamed(
    state: Arc<OpenAiState>,
    record: ResponseRecord,
    caller: ApiCaller,
    known: Option<u64>,
    guard: ClientGuard,
) -> Result<Response, OpenAiFailure> {
    let of = StreamedRun { run: record.run.clone(), after: record.after, caller, guard };
    let teller = ResponseTeller::new(ResponseStory::new(record, &state.origin), known);
    run_stream::response(state, of, teller)
}

/// Has the request done by a run: the one that waits for this answer, or a new one. Unless it is in the background, the run
/// is cancelled when the guard is dropped.
async fn begin(
    state: &OpenAiState,
    request: ResponseRequest,
    caller: &ApiCaller,
) -> Result<(ResponseRecord, ClientGuard), OpenAiFailure> {
    let runs = &state.service.runs;
    let before = request.previous.as_deref().map(|id| ResponseRecord::find(runs, id)).transpose()?;
    let model = match (request.model.as_str(), &before) {
        ("", Some(before)) => before.model.clone(),
        (model, _) => model.to_owned(),
    };
    let agent = catalog::agent_of(state, &model)?.map(|agent| agent.name);
    let created = time_format::now().0.div_euclid(1_000);
    let (run, after) = match &before {
        Some(before) => match continued(state, &request, before, caller).await? {
            Some(after) => (before.run.clone(), after),
            None => (ordered(state, &request, agent, Some(before.run.clone())).await?, 0),
        },
        None => (ordered(state, &request, agent, None).await?, 0),
    };
    let guard = ClientGuard::new(runs, &run, request.background);
    let mut record = ResponseRecord {
        run,
        after,
        created,
        model,
        instructions: request.instructions.clone(),
        previous: request.previous.clone(),
        background: request.background,
        metadata: request.metadata.clone(),
        input: Vec::new(),
        format: request.format.clone(),
    };
    record.input = request.kept_items(&record.id());
    record.keep(runs).await?;
    Ok((record, guard))
}

/// A new run for a request.
async fn ordered(
    state: &OpenAiState,
    request: &ResponseRequest,
    agent: Option<String>,
    follows: Option<RunId>,
) -> Result<RunId, OpenAiFailure> {
    if !request.decisions.is_empty() {
        let message = "no run waits for this approval: name the response that asked for it with `previous_response_id`";
        return Err(OpenAiFailure::invalid("input", message));
    }
    let (last, sent) = request.conversation.clone().split("input")?;
    let schema = request.form.schema_for(agent.as_deref(), "text.format")?;
    let instructions = request.instructions.iter().chain(&sent.instructions).cloned();
    let instructions: Vec<String> = instructions.chain(request.form.instruction()).collect();
    let order = ProgramOrder {
        goal: last.content,
        instructions: instructions.join("\n\n"),
        agent,
        earlier: sent.messages,
        pictures: sent.pictures,
        follows,
        schema,
    };
    Ok(state.service.runs.order_for_program(order).await?)
}

/// Passes the input on to the run of an earlier response if that waits; gives the place where it continues.
async fn continued(
    state: &OpenAiState,
    request: &ResponseRequest,
    before: &ResponseRecord,
    caller: &ApiCaller,
) -> Result<Option<u64>, OpenAiFailure> {
    let runs = &state.service.runs;
    let mut follower = RunFollower::new(runs, &before.run, state.stop.clone())?;
    follower.read().await?;
    let Some(reader) = follower.reader() else { return Ok(None) };
    let (waits, after, is_over) = (reader.waits(), reader.position(), reader.run().is_over());
    if is_over {
        return Ok(None);
    }
    if waits.is_empty() {
        let (id, run) = (before.id(), &before.run);
        let message = format!("`{id}` is not finished and asks nothing: wait for it, or cancel it. Its run is {run}");
        return Err(OpenAiFailure::invalid("previous_response_id", message));
    }
    let mut replies = request.decisions.clone();
    if replies.is_empty() {
        let (last, _) = request.conversation.clone().split("input")?;
        replies.push(WaitReply::Text(last.content));
    }
    for reply in replies {
        reply.give(runs, &before.run, &waits, caller.name()).await?;
    }
    Ok(Some(after))
}

/// Which response is looked at, and how.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShowRequest {
    stream: bool,
    starting_after: Option<u64>,
}

/// The response as it is now, or its events after a number.
pub(super) async fn show(
    State(state): State<Arc<OpenAiState>>,
    Extension(caller): Extension<ApiCaller>,
    Path(id): Path<String>,
    query: Result<Query<ShowRequest>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, OpenAiFailure> {
    let Query(query) = query.map_err(|error| OpenAiFailure::invalid("starting_after", error.body_text()))?;
    let record = ResponseRecord::find(&state.service.runs, &id)?;
    if !query.stream {
        return Ok(json_body(&told(&state, record).await?.body()));
    }
    let guard = ClientGuard::new(&state.service.runs, &record.run, true);
    streamed(state, record, caller, query.starting_after, guard)
}

/// A response up to now.
async fn told(state: &OpenAiState, record: ResponseRecord) -> Result<ResponseStory, OpenAiFailure> {
    let mut follower = RunFollower::new(&state.service.runs, &record.run, state.stop.clone())?;
    let mut story = ResponseStory::new(record, &state.origin);
    for moment in follower.read().await? {
        story.take(&moment);
    }
    Ok(story)
}

pub(super) async fn cancel(
    State(state): State<Arc<OpenAiState>>,
    Extension(caller): Extension<ApiCaller>,
    Path(id): Path<String>,
) -> Result<Response, OpenAiFailure> {
    let record = ResponseRecord::find(&state.service.runs, &id)?;
    let story = told(&state, record.clone()).await?;
    match story.state() {
        // Cancelling twice is no mistake.
        ResponseState::Cancelled | ResponseState::Completed | ResponseState::Failed => Ok(json_body(&story.body())),
        ResponseState::Queued | ResponseState::InProgress | ResponseState::Incomplete => {
            state.service.runs.cancel(record.run.as_str(), caller.name()).await?;
            Ok(json_body(&told(&state, record).await?.body()))
        }
    }
}

pub(super) async fn delete(
    State(state): State<Arc<OpenAiState>>,
    Path(id): Path<String>,
) -> Result<Response, OpenAiFailure> {
    ResponseRecord::forget(&state.service.runs, &id).await?;
    Ok(json_body(&json!({ "id": id, "object": "response", "deleted": true })))
}

/// Which input items are listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemListRequest {
    limit: Option<usize>,
    order: Option<String>,
    after: Option<String>,
}

pub(super) async fn input_items(
    State(state): State<Arc<OpenAiState>>,
    Path(id): Path<String>,
    query: Result<Query<ItemListRequest>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, OpenAiFailure> {
    let Query(query) = query.map_err(|error| OpenAiFailure::invalid("limit", error.body_text()))?;
    let mut items = ResponseRecord::find(&state.service.runs, &id)?.input;
    match query.order.as_deref() {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        Some(_) => return Err(OpenAiFailure::invalid("order", "`order` is `asc` or `desc`")),
    }
    if let Some(after) = &query.after {
        let place = items.iter().position(|item| item["id"] == after.as_str());
        let place = place.ok_or_else(|| OpenAiFailure::invalid("after", format!("there is no item `{after}`")))?;
        items.drain(..=place);
    }
    let limit = query.limit.unwrap_or(USUAL_ITEMS).clamp(1, MOST_ITEMS);
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id_of = |item: Option<&Value>| item.and_then(|item| item["id"].as_str()).unwrap_or_default().to_owned();
    Ok(json_body(&json!({ "object": "list", "first_id": id_of(items.first()), "last_id": id_of(items.last()),
                          "has_more": has_more, "data": items })))
}
