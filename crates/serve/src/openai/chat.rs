//! `/v1/chat/completions`: the last message is the goal of a run, the messages before it are its context.
//!
//! The content is the answer of the run, told while it is written; what happens on the way is `reasoning_content`. A
//! client that goes away cancels the run, since nobody could get its answer.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use updraft_run::{RunId, Status};
use updraft_workbench::service::{LiveRuns, MomentReader, ProgramOrder, RunMoment};
use updraft_workbench::time_format;

use super::OpenAiState;
use super::answer_form::NO_OBJECT;
use super::catalog;
use super::chat_body::ChatHead;
use super::chat_request::ChatRequest;
use super::chat_teller::ChatTeller;
use super::failure::{OpenAiFailure, json_body, read_json};
use super::run_stream::{self, StreamedRun};
use super::waits::{self, WaitReply};
use crate::bearer::ApiCaller;
use crate::run_follower::{ClientGuard, RunFollower};

/// Starts a run, or answers one that waits, and waits for it.
pub(super) async fn complete(
    State(state): State<Arc<OpenAiState>>,
    Extension(caller): Extension<ApiCaller>,
    request: Request,
) -> Result<Response, OpenAiFailure> {
    let request = ChatRequest::read(&read_json(request).await?)?;
    let (stream, model, with_usage) = (request.stream, request.model.clone(), request.with_usage);
    let form = request.form.clone();
    let (run, after) = begin(&state, request, &caller).await?;
    let mut guard = ClientGuard::new(&state.service.runs, &run, false);
    let created = time_format::now().0.div_euclid(1_000);
    let head = ChatHead { run: run.clone(), created, model, with_usage, form };
    if stream {
        let teller = ChatTeller::new(Arc::clone(&state), head);
        return run_stream::response(state, StreamedRun { run, after, caller, guard }, teller);
    }
    let mut follower = RunFollower::new(&state.service.runs, &run, state.stop.clone())?;
    let (mut progress, mut last) = (Vec::new(), None);
    follower
        .until_rest_after(after, |moment| match &moment.moment {
            RunMoment::Progress(line) if moment.position > after => progress.push(line.clone()),
            _ => last = Some(moment.clone()),
        })
        .await?;
    guard.disarm();
    let used = last.as_ref().map(|last| last.usage.clone()).unwrap_or_default();
    let content = last.map_or(Ok(String::new()), |last| answer(&head, &last.moment, &state))?;
    Ok(json_body(&head.whole(&content, &progress, &used)))
}

/// The run that does what is asked, and the position after which its answer counts.
async fn begin(state: &OpenAiState, request: ChatRequest, caller: &ApiCaller) -> Result<(RunId, u64), OpenAiFailure> {
    let agent = catalog::agent_of(state, &request.model)?.map(|agent| agent.name);
    let (last, sent) = request.conversation.split("messages")?;
    let runs = &state.service.runs;
    let asked = sent.messages.last().filter(|message| message.is_answer());
    if let Some((run, seal)) = asked.and_then(|message| waits::run_in(&message.content))
        && let Some(waiting) = waiting(runs, run).await?
        && waits::is_sealed(waiting.id(), &waiting.waits(), &state.key, seal)
    {
        let (run, after) = (waiting.id().clone(), waiting.position());
        WaitReply::Text(last.content).give(runs, &run, &waiting.waits(), caller.name()).await?;
        return Ok((run, after));
    }
    let schema = request.form.schema_for(agent.as_deref(), "response_format")?;
    let instructions: Vec<String> = sent.instructions.into_iter().chain(request.form.instruction()).collect();
    let order = ProgramOrder {
        goal: last.content,
        instructions: instructions.join("\n\n"),
        agent,
        earlier: sent.messages,
        pictures: sent.pictures,
        follows: None,
        schema,
    };
    Ok((runs.order_for_program(order).await?, 0))
}

/// A run of this workspace, if it waits for an answer.
async fn waiting(runs: &LiveRuns, run: &str) -> Result<Option<MomentReader>, OpenAiFailure> {
    let Ok(feed) = runs.feed(run) else { return Ok(None) };
    let (reader, _) = runs.read_on(MomentReader::new(feed.id().clone())).await?;
    Ok(Some(reader).filter(|reader| !reader.waits().is_empty()))
}

/// What a client is told at the end.
pub(super) fn answer(head: &ChatHead, moment: &RunMoment, state: &OpenAiState) -> Result<String, OpenAiFailure> {
    let run = &head.run;
    match moment {
        RunMoment::Asks(asked) => Ok(waits::asked_sealed(run, asked, &state.origin, &state.key)),
        RunMoment::Rests(why) => Ok(waits::stopped(run, why, &state.origin)),
        RunMoment::Ends { status: Status::Done | Status::Unproved, answer, .. } => {
            head.form.told(answer).ok_or_else(|| OpenAiFailure::failed(format!("run {run}: {NO_OBJECT}")))
        }
        RunMoment::Ends { status: Status::Cancelled, .. } => {
            Err(OpenAiFailure::failed(format!("run {run} was cancelled")))
        }
        RunMoment::Ends { why, .. } => Err(OpenAiFailure::failed(format!("run {run} failed: {why}"))),
        RunMoment::Progress(_)
        | RunMoment::Continues
        | RunMoment::Writes(_)
        | RunMoment::Written { .. }
        | RunMoment::BreaksOff => Ok(String::new()),
    }
}
