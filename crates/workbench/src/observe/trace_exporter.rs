//! Sends spans to a collector: in batches, with a limit on what waits, and without ever holding up a run.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use updraft_models::{Http, PostResult};

use super::otlp;
use super::span::Span;
use super::trace_target::TraceTarget;

/// How long the last spans are tried to be sent: a little less than the end of a process waits for it.
const LAST: Duration = Duration::from_millis(4_500);
/// The first and the longest pause after a collector did not answer.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Sends spans from a thread that may wait.
pub(crate) struct TraceExporter {
    target: TraceTarget,
    http: Http,
    runtime: Runtime,
    waiting: VecDeque<Span>,
    /// When what waits is to be sent.
    due: Option<Instant>,
    /// The next pause, if the collector does not answer.
    pause: Duration,
    /// How many spans were thrown away since it was last said.
    lost: usize,
}

impl TraceExporter {
    pub(crate) fn new(target: TraceTarget, http: &Http) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (http, waiting) = (http.apart(), VecDeque::new());
        Ok(Self { target, http, runtime, waiting, due: None, pause: PAUSE, lost: 0 })
    }

    pub(crate) fn target(&self) -> &TraceTarget {
        &self.target
    }

    /// Takes spans to be sent. If too many wait already, these are lost, which the log says.
    pub(crate) fn take(&mut self, spans: Vec<Span>, now: Instant) {
        let room = self.target.queue.saturating_sub(self.waiting.len());
        self.lost += spans.len().saturating_sub(room);
        self.waiting.extend(spans.into_iter().take(room));
        if !self.waiting.is_empty() {
            self.due.get_or_insert(now + self.target.delay);
        }
    }

    /// How long nothing has to be sent; `None` if nothing waits.
    pub(crate) fn rest(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// Sends what is due.
    pub(crate) fn send_due(&mut self, now: Instant) {
        // A full batch goes at once, unless the collector does not answer.
        let is_full = self.waiting.len() >= self.target.batch && self.pause == PAUSE;
        if !is_full && self.due.is_none_or(|due| now < due) {
            return;
        }
        self.due = None;
        while !self.waiting.is_empty() {
            if let Some(pause) = self.send_batch(self.target.timeout) {
                self.due = Some(Instant::now() + pause);
                return;
            }
        }
    }

    /// Sends all that waits, once, and gives up after a few seconds.
    pub(crate) fn finish(mut self) {
        let end = Instant::now() + LAST;
        while !self.waiting.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.send_batch(left.min(self.target.timeout)).is_some() {
                tracing::warn!(spans = self.waiting.len(), "the last spans could not be sent");
                return;
            }
        }
        self.say_lost();
    }

    /// Sends one batch, and returns how long to wait before it is tried again, if it has to be.
    fn send_batch(&mut self, limit: Duration) -> Option<Duration> {
        self.say_lost();
        let count = self.waiting.len().min(self.target.batch);
        let spans: Vec<Span> = self.waiting.drain(..count).collect();
        let TraceTarget { url, headers, encoding, resource, .. } = &self.target;
        let body = otlp::request(resource, &spans, *encoding);
        let kind = ("content-type".to_owned(), encoding.content_type().to_owned());
        let headers: Vec<_> = headers.iter().cloned().chain([kind]).collect();
        let wait = match self.runtime.block_on(self.http.post(url, &headers, body, limit)) {
            Ok(PostResult { status: 200..=299, .. }) => None,
            // The collector is there and asks to try again.
            Ok(PostResult { status: 429 | 502..=504, retry_after }) => Some(retry_after),
            Ok(PostResult { status, .. }) => {
                tracing::warn!(status, count, "the collector refused spans");
                None
            }
            Err(error) => {
                tracing::debug!(%error, "the collector does not answer");
                Some(None)
            }
        };
        let Some(asked) = wait else {
            self.pause = PAUSE;
            return None;
        };
        spans.into_iter().rev().for_each(|span| self.waiting.push_front(span));
        let pause = asked.unwrap_or(self.pause).min(LONGEST_PAUSE);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }

    fn say_lost(&mut self) {
        if self.lost > 0 {
            tracing::warn!(spans = self.lost, "spans are lost: the collector does not take them fast enough");
            self.lost = 0;
        }
    }
}
