//! Follows a run, whichever process writes it.

use std::collections::VecDeque;
use std::sync::Arc;

use updraft_run::{Record, RunId};

use crate::Error;
use crate::change_watcher::ChangeWatcher;
use crate::journal::JournalInner;
use crate::records::Cursor;

/// Returns a run's records one by one, and waits for new ones.
#[derive(Debug)]
pub struct Tail {
    journal: Arc<JournalInner>,
    /// Lent to the thread that reads; `None` if that thread ended without returning it.
    cursor: Option<Cursor>,
    run: RunId,
    from: u64,
    read: VecDeque<(u64, Record)>,
    changes: ChangeWatcher,
    has_been_there: bool,
}

impl Tail {
    pub(crate) fn new(journal: &Arc<JournalInner>, run: &RunId, from: u64) -> Self {
        Self {
            journal: Arc::clone(journal),
            cursor: Some(Cursor::new(run, from)),
            run: run.clone(),
            from,
            read: VecDeque::new(),
            changes: ChangeWatcher::of(journal),
            has_been_there: false,
        }
    }

    /// The next record with the number of its first event; `None` once the run is deleted or the journal closed.
    ///
    /// It does not end with the run, because the run may be resumed. Cancel-safe: dropping the future loses no record.
    pub async fn next(&mut self) -> Result<Option<(u64, Record)>, Error> {
        loop {
            if let Some((seq, record)) = self.read.pop_front() {
                self.from = seq + record.events.len() as u64;
                return Ok(Some((seq, record)));
            }
            match self.look().await {
                Ok(()) => self.has_been_there = true,
                Err(Error::Closed) => return Ok(None),
                Err(Error::UnknownRun { .. }) if self.has_been_there => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.read.is_empty() {
                self.changes.next().await;
            }
        }
    }

    /// Reads what is there, on a thread that may wait for the disk.
    async fn look(&mut self) -> Result<(), Error> {
        let journal = Arc::clone(&self.journal);
        let mut cursor = self.cursor.take().unwrap_or_else(|| Cursor::new(&self.run, self.from));
        let reading = tokio::task::spawn_blocking(move || {
            let page = cursor.page(&journal);
            (cursor, page)
        });
        let (cursor, page) = reading.await.map_err(|_| Error::Closed)?;
        self.cursor = Some(cursor);
        self.read = page?.into();
        Ok(())
    }
}
