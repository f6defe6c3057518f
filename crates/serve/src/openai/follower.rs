//! Follows a run in its journal for one client: what happened, from the start, and what happens next.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_run::RunId;
use updraft_workbench::Fault;
use updraft_workbench::service::{LiveRuns, MomentReader, NumberedMoment, RunFeed, RunMoment};

/// How often a client is told that the server is there while nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A run that is followed.
pub(super) struct RunFollower {
    runs: LiveRuns,
    /// It follows the journal as long as somebody has its receiver.
    _feed: Arc<RunFeed>,
    positions: watch::Receiver<u64>,
    reader: Option<MomentReader>,
    stop: CancellationToken,
}

impl RunFollower {
    /// Follows a run from its start.
    pub(super) fn new(runs: &LiveRuns, run: &RunId, stop: CancellationToken) -> Result<Self, Fault> {
        let (feed, positions) = runs.watched_feed(run.as_str())?;
        let reader = Some(MomentReader::new(run.clone()));
        Ok(Self { runs: runs.clone(), _feed: feed, positions, reader, stop })
    }

    /// What happened since this was called last; it may be nothing.
    pub(super) async fn read(&mut self) -> Result<Vec<NumberedMoment>, Fault> {
        let Some(reader) = self.reader.take() else { return Err(gone()) };
        let (reader, moments) = self.runs.read_on(reader).await?;
        self.reader = Some(reader);
        Ok(moments)
    }

    /// The run as far as it was read.
    pub(super) fn reader(&self) -> Option<&MomentReader> {
        self.reader.as_ref()
    }

    /// What happens next.
    pub(super) async fn next(&mut self) -> Result<FollowerNews, Fault> {
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            // What is written while this reads changes the position again.
            let position = *self.positions.borrow_and_update();
            if position == u64::MAX {
                return Err(gone());
            }
            let moments = self.read().await?;
            if !moments.is_empty() {
                return Ok(FollowerNews::Moments(moments));
            }
            tokio::select! {
                () = self.stop.cancelled() => return Ok(FollowerNews::ServerStops),
                changed = self.positions.changed() => changed.map_err(|_| gone())?,
                () = tokio::time::sleep_until(heartbeat) => return Ok(FollowerNews::Silence),
            }
        }
    }

    /// Waits until the run has come so far, after a position, that a client gets its answer, and passes on what happens.
    pub(super) async fn until_rest_after(
        &mut self,
        position: u64,
        mut take: impl FnMut(&NumberedMoment),
    ) -> Result<(), Fault> {
        loop {
            let moments = match self.next().await? {
                FollowerNews::Moments(moments) => moments,
                FollowerNews::Silence => continue,
                FollowerNews::ServerStops => {
                    return Err(Fault::failed("the server is stopping; the run continues when it is back"));
                }
            };
            for moment in &moments {
                take(moment);
            }
            if moments.last().is_some_and(|last| last.position > position && is_rest(&last.moment)) {
                return Ok(());
            }
        }
    }
}

/// What whoever follows a run is told.
pub(super) enum FollowerNews {
    /// It went on.
    Moments(Vec<NumberedMoment>),
    /// Nothing happened for a while.
    Silence,
    /// The server stops.
    ServerStops,
}

fn gone() -> Fault {
    Fault::failed("the run cannot be read any more: it was removed, or the journal is damaged")
}

/// Whether a client that waits gets its answer here: the run has ended, or needs somebody.
pub(super) fn is_rest(moment: &RunMoment) -> bool {
    match moment {
        RunMoment::Ends { .. } | RunMoment::Asks(_) | RunMoment::Rests(_) => true,
        RunMoment::Progress(_) | RunMoment::Continues => false,
    }
}

/// Cancels a run when the client that waits for it goes away.
pub(super) struct ClientGuard {
    runs: LiveRuns,
    run: RunId,
    is_armed: bool,
}

impl ClientGuard {
    /// A guard that is armed unless the run is to outlive its client.
    pub(super) fn new(runs: &LiveRuns, run: &RunId, outlives: bool) -> Self {
        Self { runs: runs.clone(), run: run.clone(), is_armed: !outlives }
    }

    /// The client has its answer.
    pub(super) fn disarm(&mut self) {
        self.is_armed = false;
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        if self.is_armed {
            self.runs.abandon(&self.run, "the client that asked went away");
        }
    }
}
