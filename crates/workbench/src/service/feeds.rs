//! Runs as they are watched: each has one history that all watchers share, and tells them when it has grown.
//!
//! A feed follows the journal and not the engine, so a watcher can never slow a run, and runs of other processes are
//! followed too. Watchers are told positions, of which only the newest counts: a slow one skips what it missed, and
//! nothing is kept for it. Only live text is broadcast, and may be lost.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio::time::Instant;
use updraft_engine::Delta;
use updraft_journal::{ChangeWatcher, Journal};
use updraft_run::{EffectAddress, Event, Record, RunId};

use super::live_text::{LiveText, WrittenTexts, lock};
use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::history::RunHistory;

/// Most histories that are kept although nobody watches them, and most bytes of all these.
const KEPT: usize = 32;
const KEPT_BYTES: usize = 128 << 20;
/// The shortest time between two looks at the journal, and how much longer it is for each watcher: what is written in
/// between is shown at once. To write to a watcher takes about a tenth of that.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_EACH: Duration = Duration::from_micros(100);
/// How soon a change of the journal is looked at for a run that no other process drives: one of this process tells of its
/// records itself, and one that rests hardly ever changes.
const LATE: Duration = Duration::from_millis(500);
/// How many feeds look at the journal at the same time: as many as it keeps connections for. More would open their own.
static LOOKS: Semaphore = Semaphore::const_new(4);
/// How many events apart the kept histories of a run's past are at least, how many there are about, and most bytes of them.
const STRIDE: u64 = 5_000;
const PAST_KEPT: u64 = 8;
const PAST_BYTES: usize = 256 << 20;
/// More events than these are read by one thread and folded by another.
const MANY: u64 = 5_000;
/// Most pieces of live text kept for a slow watcher.
const PIECES: usize = 256;

/// The feeds of a service. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct LiveFeeds(Arc<Mutex<FeedMap>>);

#[derive(Default)]
struct FeedMap {
    feeds: BTreeMap<RunId, Arc<RunFeed>>,
    uses: u64,
    /// The answers that are being written in runs that have no feed.
    texts: BTreeMap<RunId, Arc<Mutex<WrittenTexts>>>,
}

/// A run that is watched.
pub struct RunFeed {
    id: RunId,
    journal: Journal,
    history: RwLock<RunHistory>,
    /// The history at some positions of the past, so that looks at it need not begin with the first event.
    past: Mutex<BTreeMap<u64, Arc<RunHistory>>>,
    position: watch::Sender<u64>,
    live: broadcast::Sender<LiveText>,
    /// The text of the answers that are being written.
    texts: Arc<Mutex<WrittenTexts>>,
    news: Notify,
    is_followed: AtomicBool,
    /// Whether a process drove the run when it was last looked at.
    is_driven: AtomicBool,
    used: AtomicU64,
    /// About how large the history is, and those of the past together.
    bytes: AtomicUsize,
    past_bytes: AtomicUsize,
}

impl FeedMap {
    /// Forgets the histories that nobody has looked at for longest, until the others are within the limits.
    fn shrink(&mut self) {
        loop {
            let idle: Vec<&Arc<RunFeed>> = self.feeds.values().filter(|feed| !feed.is_watched()).collect();
            let bytes: usize = idle.iter().map(|feed| feed.size()).sum();
            if idle.len() < KEPT && bytes <= KEPT_BYTES {
                return;
            }
            let oldest = idle.iter().min_by_key(|feed| feed.used.load(Ordering::Relaxed)).map(|feed| feed.id.clone());
            let Some(oldest) = oldest else { return };
            self.remove(&oldest);
        }
    }

    /// Removes a feed, but not what is being written.
    fn remove(&mut self, id: &RunId) {
        if let Some(feed) = self.feeds.remove(id).filter(|feed| !lock(&feed.texts).0.is_empty()) {
            self.texts.insert(id.clone(), Arc::clone(&feed.texts));
        }
    }
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
        map.remove(id);
        map.shrink();
        let texts = map.texts.remove(id).unwrap_or_default();
        let feed = Arc::new(RunFeed {
            id: id.clone(),
            journal: journal.clone(),
            history: RwLock::default(),
            past: Mutex::default(),
            position: watch::Sender::new(0),
            live: broadcast::channel(PIECES).0,
            texts,
            news: Notify::new(),
            is_followed: AtomicBool::new(false),
            is_driven: AtomicBool::new(false),
            used: AtomicU64::new(use_now),
            bytes: AtomicUsize::new(0),
            past_bytes: AtomicUsize::new(0),
        });
        map.feeds.insert(id.clone(), Arc::clone(&feed));
        feed
    }

    /// How many watchers all runs have.
    pub(super) fn watchers(&self) -> usize {
        self.map().feeds.values().map(|feed| feed.position.receiver_count()).sum()
    }

    /// A record of a run is on disk.
    pub(super) fn advanced(&self, id: &RunId, record: &Record) {
        let mut map = self.map();
        match map.feeds.get(id) {
            Some(feed) if feed.is_watched() => return feed.news.notify_one(),
            // One that is watched does it when it has read the record.
            Some(feed) => return lock(&feed.texts).forget(record),
            None => {}
        }
        let Some(texts) = map.texts.get(id) else { return };
        lock(texts).forget(record);
        if record.events.iter().any(|event| matches!(event, Event::Finished { .. })) {
            map.texts.remove(id);
        }
    }

    /// A piece of an answer has arrived.
    pub(super) fn delta(&self, id: &RunId, at: &EffectAddress, delta: &Delta<'_>) {
        let mut map = self.map();
        let feed = map.feeds.get(id).cloned();
        if let Some(feed) = feed {
            drop(map);
            feed.hear(at, delta);
        } else if matches!(delta, Delta::Text(_) | Delta::Again(_)) {
            lock(map.texts.entry(id.clone()).or_default()).add(at, delta);
        }
    }
}

impl RunFeed {
    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.past_bytes.load(Ordering::Relaxed)
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
        let newest = self.history.read().unwrap_or_else(PoisonError::into_inner).position();
        let stride = STRIDE.max(newest / PAST_KEPT);
        let known = self.past().range(..=position).next_back().map(|(_, history)| Arc::clone(history));
        let mut history = known.map(Arc::unwrap_or_clone).unwrap_or_default();
        let from = history.position();
        let (mut kept, mut last) = (from, 0);
        self.journal.read(&self.id, from + 1, &mut |first, record: Record| {
            if first > position {
                return ControlFlow::Break(());
            }
            // Only a history between two records can go on: this is the first record after an event.
            if first > from && first != last && history.position() >= kept + stride {
                self.keep(&history);
                kept = history.position();
            }
            last = first;
            if first > from {
                history.add(first, &record, position);
            }
            ControlFlow::Continue(())
        })?;
        Ok(history)
    }

    fn past(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<RunHistory>>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a history from which later looks at the past go on.
    fn keep(&self, history: &RunHistory) {
        let mut past = self.past();
        let bytes = past.values().map(|known| known.bytes()).sum::<usize>() + history.bytes();
        if !past.contains_key(&history.position()) && bytes <= PAST_BYTES {
            past.insert(history.position(), Arc::new(history.clone()));
            self.past_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Reads what was written since.
    fn catch_up(&self) -> Result<u64, Fault> {
        let known = self.history.read().unwrap_or_else(PoisonError::into_inner).position();
        let head = self.journal.head(&self.id)?;
        self.is_driven.store(head.is_owned(), Ordering::Relaxed);
        if head.events == known {
            return Ok(known);
        }
        let mut history = self.history.write().unwrap_or_else(PoisonError::into_inner);
        if head.events < known {
            // What was damaged has been cut off: the past that is known did not happen.
            *history = RunHistory::default();
            let mut past = self.past();
            past.clear();
            self.past_bytes.store(0, Ordering::Relaxed);
        }
        let from = history.position();
        let mut add = |first: u64, record: Record| {
            if first > from {
                history.add(first, &record, u64::MAX);
            }
        };
        let read = if head.events.saturating_sub(from) < MANY {
            self.read_from(from + 1, &mut add)
        } else {
            std::thread::scope(|scope| {
                let (send, receive) = std::sync::mpsc::sync_channel(1_024);
                let reading = scope
                    .spawn(move || self.read_from(from + 1, &mut |first, record| drop(send.send((first, record)))));
                for (first, record) in &receive {
                    add(first, record);
                }
                reading.join().map_err(|_| Fault::failed("the journal could not be read"))?
            })
        };
        self.bytes.store(history.bytes(), Ordering::Relaxed);
        read?;
        Ok(history.position())
    }

    fn read_from(&self, from: u64, visit: &mut dyn FnMut(u64, Record)) -> Result<(), Fault> {
        Ok(self.journal.read(&self.id, from, &mut |first, record: Record| {
            visit(first, record);
            ControlFlow::Continue(())
        })?)
    }

    /// Receives the newest position whenever it has changed. The first value may be 0: nothing was read yet. `u64::MAX`
    /// means that the run cannot be read now; whoever asks again may be luckier.
    pub fn positions(&self) -> watch::Receiver<u64> {
        self.position.send_if_modified(|position| {
            if *position == u64::MAX {
                *position = 0;
            }
            false
        });
        self.position.subscribe()
    }

    /// The text of the answers that are being written, and what comes next.
    pub fn live(&self) -> (Vec<LiveText>, broadcast::Receiver<LiveText>) {
        let texts = lock(&self.texts);
        (texts.whole(), self.live.subscribe())
    }

    /// The text that a model has written so far to a question.
    pub fn text_at(&self, question: &EffectAddress) -> Option<String> {
        lock(&self.texts).0.get(question).cloned()
    }

    fn hear(&self, at: &EffectAddress, delta: &Delta<'_>) {
        // Whoever asks for the texts gets them with what comes next, without a gap.
        let mut texts = lock(&self.texts);
        texts.add(at, delta);
        if let Some(piece) = LiveText::of(at, delta) {
            // There may be no receiver.
            let _ = self.live.send(piece);
        }
    }

    /// Follows the run as long as somebody watches. Returns at once if another task follows it.
    pub(super) async fn follow(self: Arc<Self>, runs: LiveRuns) {
        let stop = runs.stop_token();
        // A watcher may come just when the last one has left.
        while self.is_watched() && !stop.is_cancelled() && !self.is_followed.swap(true, Ordering::AcqRel) {
            let followed = self.follow_watched(&runs).await;
            self.is_followed.store(false, Ordering::Release);
            if followed.is_err() {
                // The run was deleted, or the journal cannot be read: pages that ask again are told.
                self.position.send_replace(u64::MAX);
                return;
            }
        }
    }

    async fn follow_watched(self: &Arc<Self>, runs: &LiveRuns) -> Result<(), Fault> {
        let mut changes = self.journal.changes();
        while self.is_watched() && !runs.is_stopping() {
            let feed = Arc::clone(self);
            let look = LOOKS.acquire().await;
            let caught_up = tokio::task::spawn_blocking(move || feed.catch_up()).await;
            drop(look);
            let position = caught_up.map_err(|error| Fault::failed(error.to_string()))??;
            self.forget_written();
            self.position.send_if_modified(|known| std::mem::replace(known, position) != position);
            tokio::time::sleep(PAUSE + PAUSE_EACH * self.position.receiver_count() as u32).await;
            self.until_news(runs, &mut changes).await;
        }
        Ok(())
    }

    /// Waits until the run may have grown. The journal only says that some run has: with hundreds that are watched, each
    /// would look for the records of all others. Only runs that another process drives are looked at each time.
    async fn until_news(&self, runs: &LiveRuns, changes: &mut ChangeWatcher) {
        let mut late = None;
        loop {
            tokio::select! {
                () = runs.stop_token().cancelled() => return,
                () = self.position.closed() => return,
                () = self.news.notified() => return,
                () = changes.next(), if late.is_none() => {
                    if self.is_driven.load(Ordering::Relaxed) && !runs.drives(&self.id) {
                        return;
                    }
                    late = Some(Instant::now() + LATE);
                }
                () = tokio::time::sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => return,
            }
        }
    }

    /// Removes the texts of answers that are in the journal now.
    fn forget_written(&self) {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        lock(&self.texts).0.retain(|at, _| history.run().open().contains_key(at));
    }
}

#[cfg(test)]
mod tests {
    use updraft_journal::{Batch, JournalOptions, RunHeader};
    use updraft_run::{Event, Input, Timestamp};

    use super::*;

    /// A run in which people only talk: three records of two events, then one without, and so on.
    async fn talk(journal: &Journal, events: u64) -> RunId {
        let id = RunId::from_bits([7; 10]);
        let told = |n: u64| {
            let told = Event::Told { message: format!("message {n}") };
            let events = if n % 4 == 3 { Vec::new() } else { vec![told.clone(), told] };
            Record { at: Timestamp(n as i64), input: Input::Pause, events }
        };
        let records: Vec<Record> = (0..events * 2 / 3).map(told).collect();
        let lease = journal.create(RunHeader::new(id.clone(), "talk", Timestamp(0)), Batch::of(records)).await.unwrap();
        journal.release(lease).await.unwrap();
        id
    }

    #[tokio::test]
    async fn a_look_at_the_past_goes_on_from_a_kept_one_and_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("j.db"), JournalOptions::default()).unwrap();
        let id = talk(&journal, 3 * STRIDE).await;
        let feed = LiveFeeds::default().of(&journal, &id);
        let newest = feed.read(RunHistory::position).unwrap();
        assert!(newest > 2 * STRIDE);
        let at = [newest, 2 * STRIDE + 1, STRIDE + 1, STRIDE, 3, 2 * STRIDE + 1, newest - 1];
        for position in at {
            let past = feed.until(position).unwrap();
            let fresh = LiveFeeds::default().of(&journal, &id).until(position).unwrap();
            assert_eq!((past.position(), fresh.position()), (position, position));
            assert!(past.run() == fresh.run(), "{position}");
            assert_eq!(past.entries().len(), fresh.entries().len());
        }
        assert_eq!(feed.past().len(), 2, "two histories are kept on the way");
        journal.close().await;
    }

    #[test]
    fn who_comes_in_the_middle_of_an_answer_reads_it_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("j.db"), JournalOptions::default()).unwrap();
        let (feeds, id) = (LiveFeeds::default(), RunId::from_bits([7; 10]));
        let [first, second]: [EffectAddress; 2] = ["a/0/0/ask.0", "a/0/1/ask.0"].map(|at| at.parse().unwrap());
        let say = |at: &EffectAddress, text: &str| feeds.delta(&id, at, &Delta::Text(text));
        say(&first, "A loom ");
        let feed = feeds.of(&journal, &id);
        let watcher = feed.positions();
        say(&first, "weaves.");
        assert_eq!(feed.text_at(&first).as_deref(), Some("A loom weaves."));
        feeds.delta(&id, &first, &Delta::Again("it broke off"));
        drop(watcher);
        // Nobody watches for a while.
        say(&first, "Looms ");
        feeds.map().remove(&id);
        say(&first, "weave.");
        let feed = feeds.of(&journal, &id);
        assert_eq!(feed.text_at(&first).as_deref(), Some("Looms weave."));
        let reply = |id: &EffectAddress| Event::Replied {
            id: id.clone(),
            attempt: 1,
            reply: updraft_run::Reply::Cancelled,
            prepared: Vec::new(),
        };
        let record = |events| Record { at: Timestamp(1), input: Input::Pause, events };
        feeds.advanced(&id, &record(vec![reply(&first)]));
        assert_eq!(feed.text_at(&first), None);
        // What nobody ever watched is not kept for ever.
        feeds.map().remove(&id);
        say(&second, "More.");
        feeds.advanced(&id, &record(vec![reply(&second), Event::Finished { answer: String::new(), failed: None }]));
        assert!(feeds.map().texts.is_empty());
    }

    #[test]
    fn histories_that_nobody_watches_are_forgotten_by_number_and_by_size() {
        let folder = tempfile::tempdir().unwrap();
        let journal =
            Journal::open(&folder.path().join("journal.db"), updraft_journal::JournalOptions::default()).unwrap();
        let feeds = LiveFeeds::default();
        let run = |n: u8| RunId::from_bits([n; 10]);
        let watched = feeds.of(&journal, &run(0));
        let _watcher = watched.positions();
        for n in 1..=100 {
            feeds.of(&journal, &run(n)).bytes.store(10, Ordering::Relaxed);
        }
        let known = |feeds: &LiveFeeds| feeds.map().feeds.keys().cloned().collect::<Vec<_>>();
        assert_eq!(known(&feeds).len(), KEPT + 1, "and the one that is watched");
        assert!(known(&feeds).contains(&run(0)) && known(&feeds).contains(&run(100)));
        // The past counts as well as the present, and it makes no difference which of them was looked at last.
        feeds.of(&journal, &run(90)).past_bytes.store(KEPT_BYTES / 2, Ordering::Relaxed);
        feeds.of(&journal, &run(91)).bytes.store(KEPT_BYTES / 2 + 1, Ordering::Relaxed);
        watched.bytes.store(KEPT_BYTES, Ordering::Relaxed);
        feeds.of(&journal, &run(101));
        assert_eq!(known(&feeds), [run(0), run(91), run(101)]);
        // A history that became smaller counts as what it is now.
        feeds.of(&journal, &run(91)).bytes.store(5, Ordering::Relaxed);
        feeds.of(&journal, &run(102));
        assert_eq!(known(&feeds), [run(0), run(91), run(101), run(102)]);
    }
}
