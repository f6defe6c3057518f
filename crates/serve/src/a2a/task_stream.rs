//! A task that a client follows: the task as it is, then what happens, until it has ended or needs input.

use std::sync::Arc;

use axum::body::Bytes;
use serde_json::{Value, json};
use updraft_run::RunId;

use super::A2aState;
use super::failure::A2aResult;
use super::task_json::{TaskParts, TaskPlace, is_working, task};
use crate::bearer::ApiCaller;
use crate::event_stream::{FrameSource, STILL_HERE, data};
use crate::run_follower::{FollowerNews, RunFollower, is_rest};

/// A stream of updates.
pub(super) struct TaskStream {
    state: Arc<A2aState>,
    caller: ApiCaller,
    run: RunId,
    context: String,
    follower: RunFollower,
    /// The client knows what happened up to this event of the run.
    known: u64,
    /// The task, until it was sent.
    first: Option<Value>,
    /// The id of the request, if it came by JSON-RPC.
    request: Option<Value>,
    is_over: bool,
}

impl TaskStream {
    /// Follows a task; the client gets this first, and knows what happened up to an event.
    pub(super) fn after(
        state: &Arc<A2aState>,
        caller: &ApiCaller,
        run: &RunId,
        (known, first): (u64, Value),
    ) -> A2aResult<Self> {
        let follower = RunFollower::new(&state.service.runs, run, state.stop.clone())?;
        Ok(Self {
            state: Arc::clone(state),
            caller: caller.clone(),
            run: run.clone(),
            context: first["contextId"].as_str().unwrap_or_default().to_owned(),
            follower,
            known,
            first: Some(first),
            request: None,
            is_over: false,
        })
    }

    /// Follows a task from now on.
    pub(super) async fn from_now(state: &Arc<A2aState>, caller: &ApiCaller, run: &RunId) -> A2aResult<Self> {
        let known = position(state, run).await?;
        let first = task(state, run, TaskParts::ALL).await?;
        Self::after(state, caller, run, (known, first))
    }

    /// Shows a task, and follows it from now on if it is at work.
    pub(super) async fn while_working(
        state: &Arc<A2aState>,
        caller: &ApiCaller,
        run: &RunId,
        parts: TaskParts,
    ) -> A2aResult<Self> {
        let known = position(state, run).await?;
        let first = task(state, run, parts).await?;
        let is_over = !is_working(&first);
        Ok(Self { is_over, ..Self::after(state, caller, run, (known, first))? })
    }

    /// The same as the response to a request by JSON-RPC.
    pub(super) fn for_request(self, id: Value) -> Self {
        Self { request: Some(id), ..self }
    }

    fn frame(&self, result: &Value) -> String {
        match &self.request {
            Some(id) => data(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            None => data(result),
        }
    }

    /// What is new, as frames; `None` if it cannot be read any more.
    async fn read_on(&mut self) -> Option<String> {
        let moments = match self.follower.next().await {
            Ok(FollowerNews::Moments(moments)) => moments,
            Ok(FollowerNews::Text(_) | FollowerNews::Silence) => return Some(String::new()),
            // Who follows it again gets the rest.
            Ok(FollowerNews::ServerStops) => return None,
            Err(fault) => {
                tracing::warn!(run = %self.run, why = fault.in_one_line(), "a stream ends");
                return None;
            }
        };
        let mut frames = String::new();
        for moment in moments.iter().filter(|moment| moment.position > self.known) {
            let place = TaskPlace { run: &self.run, context: &self.context };
            for update in place.updates(&self.state, moment).await.ok()? {
                frames += &self.frame(&update);
            }
            self.is_over |= is_rest(&moment.moment);
        }
        Some(frames)
    }
}

/// How many events a run has.
pub(super) async fn position(state: &A2aState, run: &RunId) -> A2aResult<u64> {
    let mut follower = RunFollower::new(&state.service.runs, run, state.stop.clone())?;
    follower.read().await?;
    Ok(follower.reader().map(updraft_workbench::service::MomentReader::position).unwrap_or_default())
}

impl FrameSource for TaskStream {
    async fn frames(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(self.frame(&json!({ "task": first })).into());
        }
        if self.is_over || !self.state.access.still_knows(&self.caller) {
            return None;
        }
        let frames = self.read_on().await?;
        Some(if frames.is_empty() { STILL_HERE } else { frames.into() })
    }
}
