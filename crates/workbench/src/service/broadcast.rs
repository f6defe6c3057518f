//! Sends what happens in the runs of this process to listeners.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tracing::debug;
use updraft_engine::{Delta, RunWatcher};
use updraft_run::{Effect, EffectAddress, Event, Graph, PlanReason, Record, Reply, Run, RunId, StepId};

use super::feeds::LiveFeeds;
use super::files::changed;
use super::service_types::{RunProgress, WorkspaceFileChange};
use crate::observe::RunMetrics;

/// Most messages kept for a slow listener; older ones are lost.
const KEPT: usize = 256;

/// Broadcasts what happens in the runs of this process. The engine gets it as its watcher.
#[derive(Clone)]
pub(crate) struct RunBroadcast {
    progress: broadcast::Sender<(RunId, RunProgress)>,
    /// Files that runs and clients change.
    pub(crate) changed: broadcast::Sender<WorkspaceFileChange>,
    /// Runs that people watch.
    pub(crate) feeds: LiveFeeds,
    /// What runs do, counted.
    pub(crate) metrics: RunMetrics,
}

impl RunBroadcast {
    pub(crate) fn new() -> Self {
        Self {
            progress: broadcast::channel(KEPT).0,
            changed: broadcast::channel(KEPT).0,
            feeds: LiveFeeds::default(),
            metrics: RunMetrics::default(),
        }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<(RunId, RunProgress)> {
        self.progress.subscribe()
    }
}

/// The next message. A listener that was too slow continues with the oldest message that is still kept.
pub(crate) async fn next_of<T: Clone>(heard: &mut broadcast::Receiver<T>) -> T {
    loop {
        match heard.recv().await {
            Ok(told) => return told,
            Err(RecvError::Lagged(lost)) => debug!(lost, "a listener is slow"),
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// All messages that have been sent by now.
pub(crate) fn rest_of<T: Clone>(heard: &mut broadcast::Receiver<T>) -> Vec<T> {
    let mut rest = Vec::new();
    loop {
        match heard.try_recv() {
            Ok(told) => rest.push(told),
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return rest,
        }
    }
}

impl RunWatcher for RunBroadcast {
    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        self.metrics.count(id, record, run);
        self.feeds.advanced(id, record);
        for event in &record.events {
            if let Event::Replied { reply: Reply::Output(output), .. } = event {
                for change in changed(&output.changes) {
                    let _ = self.changed.send(change);
                }
            }
        }
        if self.progress.receiver_count() == 0 {
            return;
        }
        let done = run.steps().filter(|step| step.has_ended()).count();
        for message in record.events.iter().filter_map(|event| in_words(event, run)) {
            let _ = self.progress.send((id.clone(), RunProgress { done, steps: run.steps().count(), message }));
        }
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.feeds.delta(id, at, &delta);
    }
}

/// What an event means to whoever waits for the run, if anything.
pub(super) fn in_words(event: &Event, run: &Run) -> Option<String> {
    let name = |id: &StepId| {
        let step = run.step(id);
        step.map_or_else(|| id.to_string(), |step| format!("{} ({})", step.spec.id, step.spec.agent))
    };
    match event {
        Event::Planned { graph, because, .. } => plan_in_words(graph, because),
        Event::Wanted { id, effect: Effect::Ask } if id.turn == 0 => Some(format!("{} begins", name(&id.step))),
        Event::Wanted { id, effect: Effect::Call } => {
            let call = run.call_at(id)?;
            Some(format!("{} calls {}", name(&id.step), call.name))
        }
        Event::StepDone { step, .. } => Some(format!("{} is done", name(step))),
        Event::StepFailed { step, why } => Some(format!("{} failed: {}", name(step), why.message)),
        Event::StepSkipped { step, .. } => Some(format!("{} is skipped", name(step))),
        _ => None,
    }
}

/// A plan counts its own steps: not the one that made it, and not those that every goal begins with.
fn plan_in_words(graph: &Graph, because: &PlanReason) -> Option<String> {
    let steps = match graph.steps.len() {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    match because {
        PlanReason::First => Some(format!("planned: {steps}")),
        PlanReason::Failed(step) => Some(format!("planned again because {step} failed: {steps}")),
        PlanReason::Revised if graph.steps.is_empty() => Some("the plan was refused".to_owned()),
        PlanReason::Revised => Some(format!("planned as a person wants it: {steps}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::StepSpec;

    use super::*;

    #[tokio::test]
    async fn a_listener_that_was_too_slow_goes_on_with_what_is_kept() {
        let (send, mut heard) = broadcast::channel(2);
        for n in 0..5 {
            send.send(n).unwrap();
        }
        assert_eq!((next_of(&mut heard).await, next_of(&mut heard).await), (3, 4));
        for n in 5..9 {
            send.send(n).unwrap();
        }
        assert_eq!(rest_of(&mut heard), [7, 8]);
        send.send(9).unwrap();
        assert_eq!(next_of(&mut heard).await, 9);
    }

    #[test]
    fn a_plan_is_told_with_the_number_of_its_own_steps() {
        let graph = |ids: &[&str]| Graph {
            steps: ids.iter().map(|id| StepSpec::new(StepId::parse(id).unwrap(), "coder")).collect(),
        };
        let words = |ids: &[&str], because| plan_in_words(&graph(ids), &because).unwrap_or_default();
        assert_eq!(words(&["a"], PlanReason::First), "planned: 1 step");
        assert_eq!(words(&["a", "b"], PlanReason::First), "planned: 2 steps");
        let failed = PlanReason::Failed(StepId::parse("db").unwrap());
        assert_eq!(words(&["c"], failed), "planned again because db failed: 1 step");
        assert_eq!(words(&["plan"], PlanReason::Goal), "");
    }
}
