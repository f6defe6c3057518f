//! Follows a run in its journal for one client: what happened, from the start, and what happens next.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_run::RunId;
use updraft_workbench::Fault;
use updraft_workbench::service::{LiveRuns, LiveText, MomentReader, NumberedMoment, RunFeed, RunMoment};

/// How often a client is told that the server is there while nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The shortest time between two looks at a text that is being written.
const PAUSE: Duration = Duration::from_millis(30);

/// A run that is followed.
pub(crate) struct RunFollower {
    runs: LiveRuns,
    /// It follows the journal as long as somebody has its receiver.
    feed: Arc<RunFeed>,
    news: JournalNews,
    reader: Option<MomentReader>,
    /// Says that something was written; absent if nobody wants to know before it is in the journal.
    live: Option<broadcast::Receiver<LiveText>>,
    /// How much was written when that was last told, and until when it is not looked at again.
    heard: usize,
    rests: Instant,
    stop: CancellationToken,
}

/// Whether the journal may have more of a run than was read.
struct JournalNews {
    positions: watch::Receiver<u64>,
    is_new: bool,
}

impl JournalNews {
    /// Whether there may be news, once: whoever is told reads the journal, and what is written meanwhile is news again.
    fn take(&mut self) -> Result<bool, Fault> {
        let position = self.positions.borrow_and_update();
        if *position == u64::MAX {
            return Err(gone());
        }
        // It may have changed since it was last waited for.
        let is_new = position.has_changed() || self.is_new;
        self.is_new = false;
        Ok(is_new)
    }

    /// Waits for more.
    async fn wait(&mut self) -> Result<(), Fault> {
        self.positions.changed().await.map_err(|_| gone())?;
        self.is_new = true;
        Ok(())
    }
}

impl RunFollower {
    /// Follows a run from its start.
    pub(crate) fn new(runs: &LiveRuns, run: &RunId, stop: CancellationToken) -> Result<Self, Fault> {
        let (feed, positions) = runs.watched_feed(run.as_str())?;
        let reader = Some(MomentReader::new(run.clone()));
        let (live, heard, rests) = (None, 0, Instant::now());
        let news = JournalNews { positions, is_new: true };
        Ok(Self { runs: runs.clone(), feed, news, reader, live, heard, rests, stop })
    }

    /// The same, and what a model is writing is told if it is probably the answer.
    pub(crate) fn with_text(mut self) -> Self {
        self.live = Some(self.feed.live().1);
        self
    }

    /// What happened since this was called last; it may be nothing.
    pub(crate) async fn read(&mut self) -> Result<Vec<NumberedMoment>, Fault> {
        let Some(reader) = self.reader.take() else { return Err(gone()) };
        let (reader, moments) = self.runs.read_on(reader).await?;
        self.reader = Some(reader);
        Ok(moments)
    }

    /// The run as far as it was read.
    pub(crate) fn reader(&self) -> Option<&MomentReader> {
        self.reader.as_ref()
    }

    /// What happens next.
    pub(crate) async fn next(&mut self) -> Result<FollowerNews, Fault> {
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            let moments = if self.news.take()? { self.read().await? } else { Vec::new() };
            if !moments.is_empty() {
                self.heard = 0;
                return Ok(FollowerNews::Moments(moments));
            }
            if let Some(text) = self.new_text() {
                return Ok(FollowerNews::Text(text));
            }
            let is_written = self.reader.as_ref().is_some_and(|reader| reader.draft().is_some());
            tokio::select! {
                () = self.stop.cancelled() => return Ok(FollowerNews::ServerStops),
                waited = self.news.wait() => waited?,
                () = more(&mut self.live, self.rests), if is_written => self.rests = Instant::now() + PAUSE,
                () = tokio::time::sleep_until(heartbeat) => return Ok(FollowerNews::Silence),
            }
        }
    }

    /// What a model has written so far of that which is probably the answer, if it has written more.
    fn new_text(&mut self) -> Option<String> {
        self.live.as_ref()?;
        let text = self.feed.text_at(&self.reader.as_ref()?.draft()?.address)?;
        if std::mem::replace(&mut self.heard, text.len()) == text.len() { None } else { Some(text) }
    }

    /// Waits until the run has come so far, after a position, that a client gets its answer, and passes on what happens.
    pub(crate) async fn until_rest_after(
        &mut self,
        position: u64,
        mut take: impl FnMut(&NumberedMoment),
    ) -> Result<(), Fault> {
        loop {
            let moments = match self.next().await? {
                FollowerNews::Moments(moments) => moments,
                FollowerNews::Text(_) | FollowerNews::Silence => continue,
                FollowerNews::ServerStops => {
                    return Err(Fault::failed("the server is stopping; the run continues when it is back"));
                }
            };
            for moment in &moments {
                take(moment);
            }
            let last = moments.iter().rfind(|moment| !matches!(moment.moment, RunMoment::Progress(_)));
            if last.is_some_and(|last| last.position > position && is_rest(&last.moment)) {
                return Ok(());
            }
        }
    }
}

/// What whoever follows a run is told.
pub(crate) enum FollowerNews {
    /// It went on.
    Moments(Vec<NumberedMoment>),
    /// A model is writing what is probably the answer: its text so far.
    Text(String),
    /// Nothing happened for a while.
    Silence,
    /// The server stops.
    ServerStops,
}

/// Waits until something was written, but not before a moment. What is lost is no loss: the text is read as a whole.
async fn more(live: &mut Option<broadcast::Receiver<LiveText>>, moment: Instant) {
    let Some(live) = live else { return std::future::pending().await };
    tokio::time::sleep_until(moment).await;
    match live.recv().await {
        Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

fn gone() -> Fault {
    Fault::failed("the run cannot be read any more: it was removed, or the journal is damaged")
}

/// Whether a client that waits gets its answer here: the run has ended, or needs somebody.
pub(crate) fn is_rest(moment: &RunMoment) -> bool {
    match moment {
        RunMoment::Ends { .. } | RunMoment::Asks(_) | RunMoment::Rests(_) => true,
        RunMoment::Progress(_)
        | RunMoment::Continues
        | RunMoment::Writes(_)
        | RunMoment::Written { .. }
        | RunMoment::BreaksOff => false,
    }
}

/// Cancels a run when the client that waits for it goes away.
pub(crate) struct ClientGuard {
    runs: LiveRuns,
    run: RunId,
    is_armed: bool,
}

impl ClientGuard {
    /// A guard that is armed unless the run is to outlive its client.
    pub(crate) fn new(runs: &LiveRuns, run: &RunId, outlives: bool) -> Self {
        Self { runs: runs.clone(), run: run.clone(), is_armed: !outlives }
    }

    /// The client has its answer.
    pub(crate) fn disarm(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_while_a_client_is_told_is_news() {
        let (written, positions) = watch::channel(0);
        let mut news = JournalNews { positions, is_new: true };
        assert!(news.take().unwrap() && !news.take().unwrap());
        // The run ends after the journal was read, and before it is looked at again.
        written.send(7).unwrap();
        assert!(news.take().unwrap() && !news.take().unwrap());
        written.send(8).unwrap();
        news.wait().await.unwrap();
        assert!(news.take().unwrap() && !news.take().unwrap());
        written.send(u64::MAX).unwrap();
        assert!(news.take().is_err());
    }
}
