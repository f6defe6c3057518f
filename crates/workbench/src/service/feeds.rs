//! Runs as they are watched: each has one history that all watchers share, and tells them when it has grown.
//!
//! A feed follows the journal and not the engine, so a watcher can never slow a run, and runs of other processes are
//! followed too. Watchers are told positions, of which only the newest counts: a slow one skips what it missed, and
//! nothing is kept for it. Only live text is broadcast, and may be lost.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;
use updraft_engine::Delta;
use updraft_journal::Journal;
use updraft_run::{EffectAddress, Record, RunId};

use crate::fault::Fault;
use crate::history::RunHistory;

/// Most histories that are kept although nobody watches them.
const KEPT: usize = 32;
/// The shortest time between two looks at the journal: what is written in between is shown at once.
const PAUSE: Duration = Duration::from_millis(25);
/// Most pieces of live text kept for a slow watcher.
const PIECES: usize = 256;
/// Most bytes of live text that a new watcher is told.
const LIVE_TEXT: usize = 256 << 10;

/// The feeds of a service. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct LiveFeeds(Arc<Mutex<FeedMap>>);

#[derive(Default)]
struct FeedMap {
    feeds: BTreeMap<RunId, Arc<RunFeed>>,
    uses: u64,
}

/// A piece of a model's answer while it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveText {
    /// The question that the model answers.
    pub address: EffectAddress,
    /// The piece.
    pub text: Arc<str>,
    /// What it is.
    pub kind: LiveTextKind,
}

/// What a piece of live text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTextKind {
    /// More of the answer.
    Text,
    /// More of the reasoning.
    Reasoning,
    /// The whole answer so far: it replaces what was shown.
    Whole,
    /// A remark about the question, such as that it waits or that a call is being written.
    Status,
}

/// A run that is watched.
pub struct RunFeed {
    id: RunId,
    journal: Journal,
    history: RwLock<RunHistory>,
    position: watch::Sender<u64>,
    live: broadcast::Sender<LiveText>,
    /// The text of the answers that are being written.
    texts: Mutex<BTreeMap<EffectAddress, String>>,
    news: Notify,
    is_followed: AtomicBool,
    used: AtomicU64,
}

impl LiveFeeds {
    fn map(&self) -> MutexGuard<'_, FeedMap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The feed of a run.
    pub(super) fn of(&self, journal: &Journal, id: &RunId) -> Arc<RunFeed> {
        let mut map = self.map();
        map.uses += 1;
        let use_now = map.uses;
        // A run that could not be read may be there again: its feed begins anew.
        if let Some(feed) = map.feeds.get(id).filter(|feed| *feed.position.borrow() != u64::MAX) {
            feed.used.store(use_now, Ordering::Relaxed);
            return Arc::clone(feed);
        }
        let idle = map.feeds.values().filter(|feed| !feed.is_watched());
        if idle.clone().count() >= KEPT
            && let Some(oldest) = idle.min_by_key(|feed| feed.used.load(Ordering::Relaxed)).map(|feed| feed.id.clone())
        {
            map.feeds.remove(&oldest);
        }
        let feed = Arc::new(RunFeed {
            id: id.clone(),
            journal: journal.clone(),
            history: RwLock::default(),
            position: watch::Sender::new(0),
            live: broadcast::channel(PIECES).0,
            texts: Mutex::default(),
            news: Notify::new(),
            is_followed: AtomicBool::new(false),
            used: AtomicU64::new(use_now),
        });
        map.feeds.insert(id.clone(), Arc::clone(&feed));
        feed
    }

    /// Whether somebody watches a run.
    pub(super) fn are_watched(&self) -> bool {
        self.map().feeds.values().any(|feed| feed.is_watched())
    }

    fn watched(&self, id: &RunId) -> Option<Arc<RunFeed>> {
        self.map().feeds.get(id).filter(|feed| feed.is_watched()).cloned()
    }

    /// A record of a run is on disk.
    pub(super) fn advanced(&self, id: &RunId) {
        if let Some(feed) = self.watched(id) {
            feed.news.notify_one();
        }
    }

    /// A piece of an answer has arrived.
    pub(super) fn delta(&self, id: &RunId, at: &EffectAddress, delta: &Delta<'_>) {
        if let Some(feed) = self.watched(id) {
            feed.hear(at, delta);
        }
    }
}

impl RunFeed {
    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    fn is_watched(&self) -> bool {
        self.position.receiver_count() > 0
    }

    /// Reads the history as it is now. Blocks on the disk, so it belongs on a thread that may.
    pub fn read<T>(&self, look: impl FnOnce(&RunHistory) -> T) -> Result<T, Fault> {
        self.catch_up()?;
        Ok(look(&self.history.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The history up to a position; up to now if the run has not come that far. Blocks on the disk.
    pub fn until(&self, position: u64) -> Result<RunHistory, Fault> {
        let mut history = RunHistory::default();
        self.journal.read(&self.id, 0, &mut |first, record: Record| {
            if first > position {
                return ControlFlow::Break(());
            }
            history.add(first, &record, position);
            ControlFlow::Continue(())
        })?;
        Ok(history)
    }

    /// Reads what was written since.
    fn catch_up(&self) -> Result<u64, Fault> {
        let known = self.history.read().unwrap_or_else(PoisonError::into_inner).position();
        let head = self.journal.head(&self.id)?;
        if head.events <= known {
            return Ok(known);
        }
        let mut history = self.history.write().unwrap_or_else(PoisonError::into_inner);
        let from = history.position();
        self.journal.read(&self.id, from + 1, &mut |first, record: Record| {
            if first > from {
                history.add(first, &record, u64::MAX);
            }
            ControlFlow::Continue(())
        })?;
        Ok(history.position())
    }

    /// Receives the newest position whenever it has changed. The first value may be 0: nothing was read yet. `u64::MAX`
    /// means that the run can no longer be read.
    pub fn positions(&self) -> watch::Receiver<u64> {
        self.position.subscribe()
    }

    /// The text of the answers that are being written, and what comes next.
    pub fn live(&self) -> (Vec<LiveText>, broadcast::Receiver<LiveText>) {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = |(at, text): (&EffectAddress, &String)| LiveText {
            address: at.clone(),
            text: text.as_str().into(),
            kind: LiveTextKind::Whole,
        };
        (texts.iter().filter(|(_, text)| !text.is_empty()).map(whole).collect(), self.live.subscribe())
    }

    fn hear(&self, at: &EffectAddress, delta: &Delta<'_>) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, kind) = match delta {
            Delta::Text(text) => {
                let whole = texts.entry(at.clone()).or_default();
                if whole.len() < LIVE_TEXT {
                    whole.push_str(text);
                }
                ((*text).into(), LiveTextKind::Text)
            }
            Delta::Reasoning(text) => ((*text).into(), LiveTextKind::Reasoning),
            Delta::Call(name) => (format!("writes a call of {name}").into(), LiveTextKind::Status),
            Delta::Waiting(why) => ((*why).into(), LiveTextKind::Status),
            Delta::Again(_) => {
                texts.remove(at);
                ("".into(), LiveTextKind::Whole)
            }
            _ => return,
        };
        // There may be no receiver.
        let _ = self.live.send(LiveText { address: at.clone(), text, kind });
    }

    /// Follows the run as long as somebody watches. Returns at once if another task follows it.
    pub(super) async fn follow(self: Arc<Self>, stop: CancellationToken) {
        // A watcher may come just when the last one has left.
        while self.is_watched() && !stop.is_cancelled() && !self.is_followed.swap(true, Ordering::AcqRel) {
            let followed = self.follow_watched(&stop).await;
            self.is_followed.store(false, Ordering::Release);
            if followed.is_err() {
                // The run was deleted, or the journal cannot be read: pages that are loaded again say so.
                self.position.send_replace(u64::MAX);
                return;
            }
        }
    }

    async fn follow_watched(self: &Arc<Self>, stop: &CancellationToken) -> Result<(), Fault> {
        let mut changes = self.journal.changes();
        while self.is_watched() && !stop.is_cancelled() {
            let feed = Arc::clone(self);
            let caught_up = tokio::task::spawn_blocking(move || feed.catch_up()).await;
            let position = caught_up.map_err(|error| Fault::failed(error.to_string()))??;
            self.forget_written();
            self.position.send_if_modified(|known| std::mem::replace(known, position) != position);
            tokio::time::sleep(PAUSE).await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.position.closed() => {}
                () = self.news.notified() => {}
                () = changes.next() => {}
            }
        }
        Ok(())
    }

    /// Removes the texts of answers that are in the journal now.
    fn forget_written(&self) {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.retain(|at, _| history.run().open().contains_key(at));
    }
}
