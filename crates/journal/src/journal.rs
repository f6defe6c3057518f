//! The journal's public interface.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use tokio::sync::watch;
use updraft_run::{ContentHash, Input, Record, RunId, Timestamp};

use crate::batch::{Batch, Blob};
use crate::chain::ChainEnd;
use crate::change_watcher::{ChangeBroadcast, ChangeWatcher};
use crate::lease::Lease;
use crate::options::{JournalOptions, WriterStats};
use crate::reader_pool::ReaderPool;
use crate::records::{Cursor, RecordPosition};
use crate::run_ends::{RunEnd, RunEndsFile};
use crate::run_header::{LeaseOwner, PendingInput, RunFilter, RunHeader, RunSummary, SendOutcome, Status};
use crate::schema::JournalFile;
use crate::tail::Tail;
use crate::writer::{
    AcquireLease, AppendRecords, CreateRun, DeleteRun, EncodedBatch, ImportRun, PutBlobs, SendInput, TruncateRun,
    UnlinkBlobs, Vacuum, WriteQueue,
};
use crate::{Error, blobs, list, location, records, reserved_space};

/// An open journal. Cheap to clone; all clones are the same journal.
///
/// The first write starts a thread. When the last clone, lease, tail and `ChangeWatcher` is dropped, that thread is
/// joined; [`close`](Journal::close) does the same without blocking other tasks.
#[derive(Clone, Debug)]
pub struct Journal(pub(crate) Arc<JournalInner>);

/// Shared by all clones.
#[derive(Debug)]
pub(crate) struct JournalInner {
    pub(crate) shared: Arc<JournalShared>,
    pub(crate) queue: WriteQueue,
}

/// Shared with the threads.
#[derive(Debug)]
pub(crate) struct JournalShared {
    pub(crate) store: JournalFile,
    pub(crate) readers: ReaderPool,
    pub(crate) watch: ChangeBroadcast,
    pub(crate) heads: RunEndsFile,
    /// Set once the files are found to be deleted or replaced.
    lost: watch::Sender<Option<Error>>,
    commits: AtomicU64,
    requests: AtomicU64,
    records: AtomicU64,
}

impl Journal {
    /// Opens a journal; creates its folder and file if they do not exist.
    pub fn open(path: &Path, options: JournalOptions) -> Result<Self, Error> {
        let store = JournalFile { path: location::prepare(path)?, options };
        let reader = store.create()?;
        Ok(Self::of(store, reader))
    }

    /// Opens an existing journal. Returns `None` if there is none, and creates nothing.
    pub fn open_existing(path: &Path, options: JournalOptions) -> Result<Option<Self>, Error> {
        if !path.exists() && !RunEndsFile::beside(path).path().exists() {
            return Ok(None);
        }
        let store = JournalFile { path: location::settle(path)?, options };
        let reader = match store.recognise() {
            Err(Error::Full { .. }) if reserved_space::release(&store.path) => store.recognise()?,
            other => other?,
        };
        Ok(reader.map(|reader| Self::of(store, reader)))
    }

    fn of(store: JournalFile, reader: Connection) -> Self {
        let shared = JournalShared {
            heads: RunEndsFile::beside(&store.path),
            store,
            readers: ReaderPool::with(reader),
            watch: ChangeBroadcast::new(),
            lost: watch::Sender::new(None),
            commits: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            records: AtomicU64::new(0),
        };
        Self(Arc::new(JournalInner { shared: Arc::new(shared), queue: WriteQueue::new() }))
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        &self.0.shared.store.path
    }

    /// The folder of large values, next to the file.
    pub fn blob_folder(&self) -> PathBuf {
        blobs::folder(self.path())
    }

    /// Creates a run with its first records, and takes its lease, in one transaction.
    pub async fn create(&self, head: RunHeader, batch: Batch) -> Result<Lease, Error> {
        let batch = self.encode(batch).await?;
        let run = head.id.clone();
        let grant = self.0.ask(CreateRun { head, batch }).await?;
        Ok(Lease::new(&self.0, run, grant))
    }

    /// Takes a run's lease if it is free, or if the process that holds it is gone. Never takes it from a live process.
    pub async fn acquire(&self, run: &RunId) -> Result<Lease, Error> {
        let grant = self.0.ask(AcquireLease { run: run.clone() }).await?;
        Ok(Lease::new(&self.0, run.clone(), grant))
    }

    /// Appends to a run, all or nothing, and returns the number of its last event once everything is on disk.
    ///
    /// Fails with `Fenced` if another process has taken the lease, and with `Deleted` if the run is gone. Dropping the
    /// future does not cancel the append: it may or may not happen.
    pub async fn append(&self, lease: &Lease, batch: Batch) -> Result<u64, Error> {
        let batch = self.encode(batch).await?;
        let grant = lease.grant();
        self.0.ask(AppendRecords { run: lease.run().clone(), row: grant.row, grant: grant.number, batch }).await
    }

    /// Releases a lease.
    pub async fn release(&self, lease: Lease) -> Result<(), Error> {
        self.0.ask(lease.into_release()).await
    }

    /// The number of the process that holds a lease. No other process that writes to this journal ever has the same
    /// number.
    pub fn epoch(&self, lease: &Lease) -> u64 {
        lease.epoch()
    }

    /// Passes a run's records to `visit`, each with the number of its first event, beginning with the record that
    /// contains event `from` (0 and 1 are the beginning). Reads in short pages, so `visit` may be slow.
    pub fn read(
        &self,
        run: &RunId,
        from: u64,
        visit: &mut dyn FnMut(u64, Record) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut cursor = Cursor::new(run, from);
        loop {
            let page = cursor.page(&self.0)?;
            if page.is_empty() {
                return Ok(());
            }
            for (seq, record) in page {
                if visit(seq, record).is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// All records of a run.
    pub fn load(&self, run: &RunId) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        self.read(run, 0, &mut |_, record| {
            records.push(record);
            ControlFlow::Continue(())
        })?;
        Ok(records)
    }

    /// What is known about a run without reading its records.
    pub fn head(&self, run: &RunId) -> Result<RunSummary, Error> {
        let store = &self.0.shared.store;
        let found = self.0.read(|connection| list::head(connection, store, run))?;
        let summary = found.ok_or_else(|| self.0.absent(run))?;
        if summary.status == Status::Damaged {
            let why = "its row in the list of runs is not what was written".to_owned();
            return Err(Error::DamagedRun { run: run.clone(), seq: summary.events + 1, why });
        }
        Ok(summary)
    }

    /// Lists runs, newest first. A run that has fewer events than were acknowledged has the status `Damaged`. Runs of
    /// which nothing is left come last, and do not count towards the limit.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, Error> {
        let JournalShared { store, heads, .. } = &*self.0.shared;
        // Read before the runs: everything it says was on disk by then.
        let acknowledged = heads.all();
        let found = match self.0.read(|connection| list::list(connection, store, filter)) {
            Err(Error::Damaged { .. }) => self.list_one_by_one(filter)?,
            other => other?,
        };
        let with_losses = found.into_iter().map(|(key, run)| {
            let end = acknowledged.get(&key).filter(|end| end.name == run.id.as_str());
            let lost = end.is_some_and(|end| run.events < end.end.place.events());
            if lost { RunSummary { status: Status::Damaged, ..run } } else { run }
        });
        let mut runs: Vec<RunSummary> = with_losses.collect();
        if filter.passes_unknown() {
            runs.extend(self.missing(&acknowledged)?);
        }
        Ok(runs)
    }

    /// Like `list` if a part of the file cannot be read: reads each run separately, so that one does not hide the
    /// others.
    fn list_one_by_one(&self, filter: &RunFilter) -> Result<Vec<(i64, RunSummary)>, Error> {
        let store = &self.0.shared.store;
        let found = self.0.read(list::keys)?.into_iter().filter_map(|(key, name)| {
            let id = RunId::parse(&name).ok()?;
            let found = self.0.read(|connection| list::head(connection, store, &id)).ok().flatten();
            let summary = found.or_else(|| RunSummary::missing(&RunEnd { name, end: ChainEnd::START }))?;
            filter.status.is_none_or(|status| status == summary.status).then_some((key, summary))
        });
        let mut found: Vec<(i64, RunSummary)> = found.collect();
        found.sort_by_key(|(key, summary)| std::cmp::Reverse((summary.created, *key)));
        Ok(found)
    }

    /// Runs that were acknowledged and no longer exist.
    fn missing(&self, acknowledged: &BTreeMap<i64, RunEnd>) -> Result<Vec<RunSummary>, Error> {
        let there = self.0.read(list::keys)?;
        let missing = acknowledged.iter().filter(|(key, end)| there.get(key).is_none_or(|name| *name != end.name));
        // Checked once more, because it may have been removed in the meantime.
        let missing = missing.filter(|(key, end)| self.0.shared.heads.of(**key, &end.name).is_some());
        Ok(missing.filter_map(|(_, end)| RunSummary::missing(end)).collect())
    }

    /// The run whose name begins with this prefix.
    pub fn find(&self, prefix: &str) -> Result<RunId, Error> {
        match self.0.read(|connection| list::find(connection, prefix))? {
            list::PrefixMatch::One(run) => Ok(run),
            list::PrefixMatch::Several(candidates) => Err(Error::Ambiguous { prefix: prefix.to_owned(), candidates }),
            // The journal has lost it; reading it will report that.
            list::PrefixMatch::None { close } => match RunId::parse(prefix) {
                Ok(run) if self.0.shared.heads.named(prefix).is_some() => Ok(run),
                _ => Err(Error::UnknownRun { name: prefix.to_owned(), close }),
            },
        }
    }

    /// The process that holds a run's lease, alive or not.
    pub fn owner(&self, run: &RunId) -> Result<Option<LeaseOwner>, Error> {
        Ok(self.head(run)?.owner)
    }

    /// A stored value, checked against its hash; `None` if there is none.
    pub fn blob(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, Error> {
        blobs::read(&self.0, hash)
    }

    /// Stores values for a run before the records that will refer to them. They are kept as long as the run.
    pub async fn put_blobs(&self, run: &RunId, blobs: Vec<Blob>) -> Result<(), Error> {
        blobs::store_files(self.path(), &blobs).await?;
        self.0.ask(PutBlobs { run: run.clone(), blobs }).await
    }

    /// Puts an input into the inbox of a run, and returns once it is on disk. The input is dropped if one with the same
    /// key is already waiting for the same run.
    pub async fn send(&self, run: &RunId, key: &str, input: &Input, at: Timestamp) -> Result<SendOutcome, Error> {
        let input = serde_json::to_string(input).map_err(|source| Error::Unwritable { source: source.into() })?;
        self.0.ask(SendInput { run: run.clone(), key: key.to_owned(), at, input }).await
    }

    /// Inputs that wait for a run, oldest first. They stay until a batch lists them as handled.
    pub fn inbox(&self, run: &RunId) -> Result<Vec<PendingInput>, Error> {
        records::pending(&self.0, std::slice::from_ref(run))?.into_iter().collect()
    }

    /// The runs that inputs wait for.
    pub fn runs_with_inputs(&self) -> Result<Vec<RunId>, Error> {
        records::awaited(&self.0)
    }

    /// Inputs that wait for any of these runs, oldest first. An input that cannot be parsed stays where it is and does
    /// not block the others.
    pub fn pending_inputs(&self, runs: &[RunId]) -> Result<Vec<PendingInput>, Error> {
        Ok(records::pending(&self.0, runs)?.into_iter().flatten().collect())
    }

    /// Returns when something was written after this was called. To read and then wait, use [`changes`](Self::changes):
    /// this would miss what is written between the two.
    pub async fn changed(&self) {
        self.changes().next().await;
    }

    /// Reports everything written from now on, by this process or another.
    pub fn changes(&self) -> ChangeWatcher {
        ChangeWatcher::of(&self.0)
    }

    /// Follows a run, whichever process writes it, beginning with the record that contains event `from`.
    pub fn tail(&self, run: &RunId, from: u64) -> Tail {
        Tail::new(&self.0, run, from)
    }

    /// Removes a run and the values that only it refers to. Fails with `Owned` if a process is running it, unless
    /// `forced`; its owner's next append then fails with `Deleted`.
    pub async fn delete(&self, run: &RunId, forced: bool) -> Result<(), Error> {
        self.make_room();
        self.remove(run, forced).await?;
        self.tidy().await
    }

    /// Removes every finished run, of one workspace or of all, whose last record is older than this, and returns their
    /// ids.
    pub async fn prune(&self, older_than: Timestamp, workspace: Option<&str>) -> Result<Vec<RunId>, Error> {
        self.make_room();
        let mut gone = Vec::new();
        let (inner, workspace) = (Arc::clone(&self.0), workspace.map(str::to_owned));
        let finished = move || inner.read(|connection| list::finished(connection, older_than, workspace.as_deref()));
        for run in blocking(finished).await? {
            match self.remove(&run, false).await {
                Ok(()) => gone.push(run),
                // A process is working on it, or another process has already removed it.
                Err(Error::Owned { .. } | Error::UnknownRun { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (path, now) = (self.path().to_path_buf(), (self.0.shared.store.options.clock)());
        let files = blocking(move || Ok(blobs::old_files(&path, now))).await?;
        if !files.is_empty() {
            self.0.ask(UnlinkBlobs { files }).await?;
        }
        self.tidy().await?;
        Ok(gone)
    }

    /// On a full disk, frees the reserved space: removing needs space before it frees any.
    fn make_room(&self) {
        if location::is_full(self.path()) {
            reserved_space::release(self.path());
        }
    }

    async fn remove(&self, run: &RunId, forced: bool) -> Result<(), Error> {
        let files = self.0.ask(DeleteRun { run: run.clone(), forced }).await?;
        if files.is_empty() { Ok(()) } else { self.0.ask(UnlinkBlobs { files }).await }
    }

    async fn tidy(&self) -> Result<(), Error> {
        while self.0.ask(Vacuum).await? {}
        Ok(())
    }

    /// Creates a run from an export, all or nothing. Fails with `Exists` if the id is taken.
    pub async fn import(&self, head: RunHeader, records: Vec<Record>, blobs: Vec<Blob>) -> Result<(), Error> {
        let batch = self.encode(Batch { records, blobs, ..Batch::default() }).await?;
        self.0.ask(ImportRun { head, batch }).await
    }

    /// Truncates a damaged run to the part that can be trusted. Returns the removed events: the first, and the last
    /// that is known to have existed. Returns `None` and does nothing if the run is not damaged.
    pub async fn cut_back(&self, run: &RunId) -> Result<Option<(u64, u64)>, Error> {
        let (journal, name) = (self.clone(), run.clone());
        let damage = blocking(move || records::first_damage(&journal.0, &name)).await?;
        let from = match (damage, self.head(run)) {
            (Some(RecordPosition::START), _) => return self.load(run).map(|_| None),
            (Some(from), _) => from,
            // Only the run's row is damaged.
            (None, Err(Error::DamagedRun { seq, .. })) => RecordPosition { seq: seq as i64, part: 0 },
            (None, other) => return other.map(|_| None),
        };
        let known = self.last_known(run);
        self.0.ask(TruncateRun { run: run.clone(), from }).await?;
        Ok(Some((from.events() + 1, known)))
    }

    /// The number of a run's last event that exists or was acknowledged.
    fn last_known(&self, run: &RunId) -> u64 {
        let JournalShared { store, heads, .. } = &*self.0.shared;
        let there = self.0.read(|connection| list::head(connection, store, run)).ok().flatten();
        let acknowledged = heads.named(run.as_str()).map(|(_, end)| end.place.events());
        there.map_or(0, |there| there.events).max(acknowledged.unwrap_or(0))
    }

    /// Returns when the journal's files are found to be deleted or replaced, which is checked with each heartbeat. From
    /// then on nothing can be written.
    pub async fn lost(&self) -> Error {
        let mut lost = self.0.shared.lost.subscribe();
        let found = lost.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        found.unwrap_or(Error::Closed)
    }

    /// What the writer has done so far.
    pub fn stats(&self) -> WriterStats {
        self.0.shared.stats()
    }

    /// Releases every lease and closes the file, so that only the file and the large values remain. For other clones
    /// the journal is closed from here on.
    pub async fn close(self) {
        self.0.queue.close(&self.0.shared).await;
    }

    async fn encode(&self, batch: Batch) -> Result<EncodedBatch, Error> {
        let batch = EncodedBatch::of(batch)?;
        blobs::store_files(self.path(), batch.blobs()).await?;
        Ok(batch)
    }
}

impl JournalInner {
    /// Why a run does not exist: it never did, or the journal lost it.
    pub(crate) fn absent(&self, run: &RunId) -> Error {
        self.shared.absent(run)
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.shared.readers.read(&self.shared.store, read)
    }

    pub(crate) async fn ask<W: crate::writer::WriteJob>(&self, work: W) -> Result<W::Answer, Error> {
        self.queue.ask(&self.shared, work).await
    }
}

/// Runs work that may wait for the disk on a thread where it blocks no tasks.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Closed)?
}

impl Drop for JournalInner {
    fn drop(&mut self) {
        self.queue.shut(&self.shared);
    }
}

impl JournalShared {
    /// Tells all users of the journal that nothing can be written any more.
    pub(crate) fn lose(&self, why: Error) {
        self.lost.send_replace(Some(why));
    }

    /// Why a run does not exist: it never did, or the journal lost it.
    pub(crate) fn absent(&self, run: &RunId) -> Error {
        match self.heads.named(run.as_str()) {
            Some((_, end)) => {
                let why = format!("the whole run is missing, although it had reached event {}", end.place.events());
                records::damaged(run, RecordPosition::START, &why)
            }
            None => records::unknown(run),
        }
    }

    /// Counts a commit and wakes the tasks that wait for one.
    pub(crate) fn count(&self, records: u64, requests: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.watch.tell();
    }

    fn stats(&self) -> WriterStats {
        WriterStats {
            commits: self.commits.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            records: self.records.load(Ordering::Relaxed),
        }
    }
}
