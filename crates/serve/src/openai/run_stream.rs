//! A run told to one client as it goes on, as server-sent events: the part that chat and responses share.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use updraft_run::RunId;
use updraft_workbench::Fault;
use updraft_workbench::service::NumberedMoment;

use super::OpenAiState;
use super::failure::OpenAiFailure;
use crate::bearer::ApiCaller;
use crate::event_stream::{self, FrameSource, STILL_HERE};
use crate::run_follower::{ClientGuard, FollowerNews, RunFollower, is_rest};

/// Puts what happens in a run into frames.
pub(super) trait FrameTeller: Send + 'static {
    /// What comes before everything.
    fn begin(&mut self) -> String;
    /// What a moment means; the last is that with which the stream ends.
    fn take(&mut self, moment: &NumberedMoment, is_last: bool) -> String;
    /// What a model has written so far of that which is probably the answer.
    fn hear(&mut self, text: &str) -> String;
    /// The run cannot be read any more.
    fn fail(&mut self, fault: Fault) -> String;
}

/// Which run a client follows, and from where on.
pub(super) struct StreamedRun {
    pub(super) run: RunId,
    /// Only what comes after this event of the run is told.
    pub(super) after: u64,
    pub(super) caller: ApiCaller,
    pub(super) guard: ClientGuard,
}

/// The stream.
struct RunStream<T> {
    state: Arc<OpenAiState>,
    of: StreamedRun,
    follower: RunFollower,
    teller: T,
    has_begun: bool,
    is_over: bool,
}

/// Streams a run until it has ended, or needs somebody.
pub(super) fn response(
    state: Arc<OpenAiState>,
    of: StreamedRun,
    teller: impl FrameTeller,
) -> Result<Response, OpenAiFailure> {
    let follower = RunFollower::new(&state.service.runs, &of.run, state.stop.clone())?.with_text();
    Ok(event_stream::response(RunStream { state, of, follower, teller, has_begun: false, is_over: false }))
}

impl<T: FrameTeller> RunStream<T> {
    fn end(&mut self) {
        self.is_over = true;
        self.of.guard.disarm();
    }

    fn take(&mut self, moments: &[NumberedMoment]) -> String {
        let new: Vec<&NumberedMoment> = moments.iter().filter(|moment| moment.position > self.of.after).collect();
        // What was asked and answered since is no end.
        let is_end = new.last().is_some_and(|last| is_rest(&last.moment));
        let mut frames = String::new();
        for (n, moment) in new.iter().enumerate() {
            frames += &self.teller.take(moment, is_end && n + 1 == new.len());
        }
        if is_end {
            self.end();
        }
        frames
    }
}

impl<T: FrameTeller> FrameSource for RunStream<T> {
    async fn frames(&mut self) -> Option<Bytes> {
        if !self.has_begun {
            self.has_begun = true;
            let frames = self.teller.begin();
            if !frames.is_empty() {
                return Some(frames.into());
            }
        }
        while !self.is_over {
            if !self.state.access.still_knows(&self.of.caller) {
                return None;
            }
            let frames = match self.follower.next().await {
                Ok(FollowerNews::Moments(moments)) => self.take(&moments),
                Ok(FollowerNews::Text(text)) => self.teller.hear(&text),
                Ok(FollowerNews::Silence) => return Some(STILL_HERE),
                // Whoever comes back gets the rest.
                Ok(FollowerNews::ServerStops) => return None,
                Err(fault) => {
                    self.end();
                    self.teller.fail(fault)
                }
            };
            if !frames.is_empty() {
                return Some(frames.into());
            }
        }
        None
    }
}
