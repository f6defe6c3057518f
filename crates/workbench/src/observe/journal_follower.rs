//! Follows the runs of this process in the journal, on a thread of its own, for traces and logs.
//!
//! The loop that drives a run only notes that it has grown. What is made of the events is read back from the journal, so
//! it can never hold up a run, and says what the journal says.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use updraft_engine::{Delta, RunWatcher};
use updraft_journal::Journal;
use updraft_run::{EffectAddress, Record, Run, RunId};

use super::log_files::RunLogFiles;
use super::run_spans::RunSpans;
use super::trace_exporter::TraceExporter;
use crate::history::RunHistory;
use crate::time_format;

/// Most runs whose histories are kept in between; others are read again from the beginning.
const KEPT: usize = 64;
/// Of how many runs that are over it is remembered how far they were passed on.
const REMEMBERED: usize = 256;
/// How long the end of a process waits for the thread.
const LAST: Duration = Duration::from_secs(5);
/// How long the thread waits if nothing is to be sent.
const IDLE: Duration = Duration::from_mins(1);

/// Follows runs until it is closed.
pub(crate) struct JournalFollower {
    news: Arc<GrowthNews>,
    /// Is told when the thread has ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
    sends_traces: bool,
}

/// What the thread waits for.
#[derive(Default)]
struct GrowthNews {
    runs: Mutex<GrownRuns>,
    wake: Condvar,
}

#[derive(Default)]
struct GrownRuns {
    /// Runs that have grown, and how many events each had when it was first noticed.
    grown: BTreeMap<RunId, u64>,
    is_closing: bool,
}

/// What is made of the events.
pub(crate) struct RunOutputs {
    pub(crate) traces: Option<TraceExporter>,
    pub(crate) logs: Option<RunLogFiles>,
}

impl JournalFollower {
    pub(crate) fn start(journal: Journal, outputs: RunOutputs) -> std::io::Result<Self> {
        let news = Arc::<GrowthNews>::default();
        let (heard, sends_traces) = (Arc::clone(&news), outputs.traces.is_some());
        let following = FollowerThread { journal, outputs, runs: BTreeMap::new(), over: VecDeque::new() };
        let (ends, ended) = oneshot::channel();
        std::thread::Builder::new().name("observe".into()).spawn(move || {
            following.follow(&heard);
            let _ = ends.send(());
        })?;
        Ok(Self { news, ended: Mutex::new(Some(ended)), sends_traces })
    }

    /// Whether requests should name their place in a trace.
    pub(crate) fn sends_traces(&self) -> bool {
        self.sends_traces
    }

    /// Notes that a run has grown beyond this many events.
    fn grown(&self, id: &RunId, known: u64) {
        self.news.lock().grown.entry(id.clone()).or_insert(known);
        self.news.wake.notify_one();
    }

    /// Waits until everything has been read and sent, for a few seconds at most: a collector that does not answer must not keep the
    /// process from ending.
    pub(crate) async fn finish(&self) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ended) = ended else { return };
        self.news.lock().is_closing = true;
        self.news.wake.notify_one();
        if tokio::time::timeout(LAST, ended).await.is_err() {
            tracing::warn!("the last spans or log lines were not written in time");
        }
    }
}

impl Drop for JournalFollower {
    fn drop(&mut self) {
        // A process that ends without finishing leaves the thread alone.
        self.news.lock().is_closing = true;
        self.news.wake.notify_one();
    }
}

impl GrowthNews {
    fn lock(&self) -> MutexGuard<'_, GrownRuns> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watcher that also notes growth for a follower.
pub(crate) struct FollowedRuns {
    pub(crate) inner: Arc<dyn RunWatcher>,
    pub(crate) follower: Arc<JournalFollower>,
}

impl RunWatcher for FollowedRuns {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        self.inner.record(id, first, record, run);
        self.follower.grown(id, first.saturating_sub(1));
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.inner.delta(id, at, delta);
    }

    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.inner.said(id, at, line);
    }

    fn printed(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.inner.printed(id, at, line);
    }
}

struct FollowerThread {
    journal: Journal,
    outputs: RunOutputs,
    runs: BTreeMap<RunId, FollowedRun>,
    /// Runs that are over, newest last, and how far they were passed on: their last records may be announced after they
    /// were read.
    over: VecDeque<(RunId, u64)>,
}

struct FollowedRun {
    history: RunHistory,
    /// Events up to here were passed on, by this process or an earlier one.
    passed: u64,
}

impl FollowerThread {
    fn follow(mut self, news: &GrowthNews) {
        loop {
            let (grown, is_closing) = self.wait(news);
            for (id, known) in grown {
                if let Err(error) = self.catch_up(&id, known) {
                    tracing::warn!(run = %id, %error, "the run cannot be followed");
                    self.runs.remove(&id);
                }
            }
            if is_closing {
                if let Some(traces) = self.outputs.traces.take() {
                    traces.finish();
                }
                return;
            }
            if let Some(traces) = &mut self.outputs.traces {
                traces.send_due(Instant::now());
            }
            if let Some(logs) = &mut self.outputs.logs {
                logs.prune(time_format::system_time(time_format::now()));
            }
        }
    }

    fn wait(&self, news: &GrowthNews) -> (BTreeMap<RunId, u64>, bool) {
        let rest = self.outputs.traces.as_ref().and_then(|traces| traces.rest(Instant::now())).unwrap_or(IDLE);
        let is_quiet = |news: &mut GrownRuns| news.grown.is_empty() && !news.is_closing;
        let waited = news.wake.wait_timeout_while(news.lock(), rest, is_quiet);
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut news.grown), news.is_closing)
    }

    /// Reads what a run has grown by. Only what is beyond `known` is new to the first process that follows it.
    fn catch_up(&mut self, id: &RunId, known: u64) -> Result<(), updraft_journal::Error> {
        let over = self.over.iter().find(|(over, _)| over == id).map(|(_, passed)| *passed);
        let new =
            || FollowedRun { history: RunHistory::default(), passed: over.map_or(known, |passed| passed.max(known)) };
        if over.is_some_and(|passed| self.journal.head(id).is_ok_and(|head| head.events <= passed)) {
            return Ok(());
        }
        let mut run = self.runs.remove(id).unwrap_or_else(new);
        let (from, outputs) = (run.history.position(), &mut self.outputs);
        self.journal.read(id, from + 1, &mut |first, record: Record| {
            if first > from {
                run.history.add(first, &record, u64::MAX);
                if first > run.passed && !record.events.is_empty() {
                    run.passed = run.history.position();
                    outputs.take(id, &run.history, &record);
                }
            }
            ControlFlow::Continue(())
        })?;
        if run.history.run().is_over() {
            self.over.retain(|(over, _)| over != id);
            self.over.push_back((id.clone(), run.passed));
            if self.over.len() > REMEMBERED {
                self.over.pop_front();
            }
            return Ok(());
        }
        if self.runs.len() >= KEPT {
            // The one with most to remember is read again if it goes on.
            let largest = self.runs.iter().max_by_key(|(_, run)| run.history.bytes()).map(|(id, _)| id.clone());
            if let Some(run) = largest.and_then(|id| self.runs.get_mut(&id)) {
                run.history = RunHistory::default();
            }
        }
        self.runs.insert(id.clone(), run);
        Ok(())
    }
}

impl RunOutputs {
    fn take(&mut self, id: &RunId, history: &RunHistory, record: &Record) {
        if let Some(traces) = &mut self.traces {
            let spans = RunSpans { run: id, history, content: traces.target().content }.ended_with(record);
            if !spans.is_empty() {
                traces.take(spans, Instant::now());
            }
        }
        if let Some(logs) = &mut self.logs
            && let Err(error) = logs.take(id, history, record)
        {
            tracing::warn!(run = %id, %error, "a log of the run cannot be written");
        }
    }
}
