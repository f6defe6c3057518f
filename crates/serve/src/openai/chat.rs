//! `/v1/chat/completions`: the last message is the goal of a run, the messages before it are its context.
//!
//! The content is the answer of the run; what happens on the way is `reasoning_content`. A client that goes away cancels
//! the run, since nobody could get its answer.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::json;
use updraft_run::{RunId, Status, TokenUsage};
use updraft_workbench::service::{LiveRuns, MomentReader, NumberedMoment, ProgramOrder, RunMoment};
use updraft_workbench::time_format;

use super::OpenAiState;
use super::catalog;
use super::chat_body::ChatHead;
use super::chat_request::ChatRequest;
use super::event_stream::{self, FrameSource, STILL_HERE};
use super::failure::{OpenAiFailure, json_body, read_json};
use super::follower::{ClientGuard, FollowerNews, RunFollower};
use super::response_story::pieces;
use super::waits::{self, WaitReply};
use crate::bearer::ApiCaller;

/// Starts a run, or answers one that waits, and waits for it.
pub(super) async fn complete(
    State(state): State<Arc<OpenAiState>>,
    Extension(caller): Extension<ApiCaller>,
    request: Request,
) -> Result<Response, OpenAiFailure> {
    let request = ChatRequest::read(&read_json(request).await?)?;
    let (stream, model, with_usage) = (request.stream, request.model.clone(), request.with_usage);
    let (run, after) = begin(&state, request, &caller).await?;
    let runs = &state.service.runs;
    let mut guard = ClientGuard::new(runs, &run, false);
    let mut follower = RunFollower::new(runs, &run, state.stop.clone())?;
    let created = time_format::now().0.div_euclid(1_000);
    let head = ChatHead { run, created, model, with_usage };
    if stream {
        let has_begun = false;
        let source = ChatStream { state, caller, head, follower, after, guard, has_begun, is_over: false };
        return Ok(event_stream::response(source));
    }
    let (mut progress, mut last) = (Vec::new(), None);
    follower
        .until_rest_after(after, |moment| match &moment.moment {
            RunMoment::Progress(line) if moment.position > after => progress.push(line.clone()),
            _ => last = Some(moment.clone()),
        })
        .await?;
    guard.disarm();
    let used = last.as_ref().map(|last| last.usage.clone()).unwrap_or_default();
    let content = last.map_or(Ok(String::new()), |last| answer(&head.run, &last.moment, &state))?;
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
    let order = ProgramOrder {
        goal: last.content,
        instructions: sent.instructions.join("\n\n"),
        agent,
        earlier: sent.messages,
        pictures: sent.pictures,
        follows: None,
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
fn answer(run: &RunId, moment: &RunMoment, state: &OpenAiState) -> Result<String, OpenAiFailure> {
    match moment {
        RunMoment::Asks(asked) => Ok(waits::asked_sealed(run, asked, &state.origin, &state.key)),
        RunMoment::Rests(why) => Ok(waits::stopped(run, why, &state.origin)),
        RunMoment::Ends { status: Status::Done | Status::Unproved, answer, .. } => Ok(answer.clone()),
        RunMoment::Ends { status: Status::Cancelled, .. } => {
            Err(OpenAiFailure::failed(format!("run {run} was cancelled")))
        }
        RunMoment::Ends { why, .. } => Err(OpenAiFailure::failed(format!("run {run} failed: {why}"))),
        RunMoment::Progress(_) | RunMoment::Continues => Ok(String::new()),
    }
}

/// The chunks of a completion.
struct ChatStream {
    state: Arc<OpenAiState>,
    caller: ApiCaller,
    head: ChatHead,
    follower: RunFollower,
    after: u64,
    guard: ClientGuard,
    has_begun: bool,
    is_over: bool,
}

impl ChatStream {
    /// What a moment means, as frames.
    fn told(&mut self, moment: &NumberedMoment) -> String {
        if let RunMoment::Progress(line) = &moment.moment {
            let delta = json!({ "reasoning_content": format!("{line}\n") });
            return event_stream::data(&self.head.chunk(&delta, None));
        }
        match answer(&self.head.run, &moment.moment, &self.state) {
            Ok(text) if text.is_empty() && moment.moment == RunMoment::Continues => String::new(),
            Ok(text) => self.ending(&text, &moment.usage),
            Err(failure) => self.failed(&failure),
        }
    }

    fn ending(&mut self, text: &str, used: &TokenUsage) -> String {
        self.is_over = true;
        self.guard.disarm();
        let mut frames: Vec<String> = Vec::new();
        for piece in pieces(text) {
            frames.push(event_stream::data(&self.head.chunk(&json!({ "content": piece }), None)));
        }
        frames.push(event_stream::data(&self.head.chunk(&json!({}), Some("stop"))));
        if self.head.with_usage {
            frames.push(event_stream::data(&self.head.usage_chunk(used)));
        }
        frames.push("data: [DONE]\n\n".to_owned());
        frames.concat()
    }

    fn failed(&mut self, failure: &OpenAiFailure) -> String {
        self.is_over = true;
        self.guard.disarm();
        format!("{}data: [DONE]\n\n", event_stream::data(&failure.body()))
    }
}

impl FrameSource for ChatStream {
    async fn frames(&mut self) -> Option<Bytes> {
        if !self.has_begun {
            self.has_begun = true;
            let delta = json!({ "role": "assistant", "content": "" });
            return Some(event_stream::data(&self.head.chunk(&delta, None)).into());
        }
        while !self.is_over {
            if !self.state.access.still_knows(&self.caller) {
                return None;
            }
            let moments = match self.follower.next().await {
                Ok(FollowerNews::Moments(moments)) => moments,
                Ok(FollowerNews::Silence) => return Some(STILL_HERE),
                Ok(FollowerNews::ServerStops) => return None,
                Err(fault) => return Some(self.failed(&fault.into()).into()),
            };
            let (mut frames, after) = (String::new(), self.after);
            for moment in moments.iter().filter(|moment| moment.position > after) {
                if !self.is_over {
                    frames += &self.told(moment);
                }
            }
            if !frames.is_empty() {
                return Some(frames.into());
            }
        }
        None
    }
}
