//! Creates a run as a copy of another run's first events.

use updraft_run::RunId;

use crate::Error;
use crate::batch::RecordRow;
use crate::blobs;
use crate::journal::{Journal, JournalInner, blocking};
use crate::lease::Lease;
use crate::records::{Cursor, RawRecord, RecordPosition};
use crate::run_header::RunHeader;
use crate::writer::ForkRun;

impl Journal {
    /// Creates a run from the first `at` events of another, and takes its lease. Values are shared, not copied.
    ///
    /// If the cut is inside a record, the record keeps only its first events.
    pub async fn fork(&self, from: &RunId, at: u64, to: RunHeader) -> Result<Lease, Error> {
        let (journal, origin, run) = (self.clone(), from.clone(), to.id.clone());
        let fork = blocking(move || prepare(&journal, origin, at, to)).await?;
        blobs::store_files(self.path(), &fork.blobs).await?;
        let grant = self.0.ask(fork).await?;
        Ok(Lease::new(&self.0, run, grant))
    }
}

/// Finds the record that the cut goes through, and encodes the part that is kept. Written records never change, so this
/// can be done before the transaction.
fn prepare(journal: &Journal, from: RunId, at: u64, to: RunHeader) -> Result<ForkRun, Error> {
    let events = journal.head(&from)?.events;
    if at > events {
        return Err(Error::NoSuchEvent { run: from, at, events });
    }
    let end = RecordPosition { seq: at as i64 + 1, part: 0 };
    let Some(raw) = holding(&journal.0, &from, at)? else {
        return Ok(ForkRun { from, until: end, cut: None, blobs: Vec::new(), to });
    };
    let (until, mut blobs) = (raw.place, Vec::new());
    let mut record = raw.record(&journal.0, &from)?;
    record.events.truncate((end.seq - until.seq) as usize);
    let cut = RecordRow::of(&record, &mut blobs)?;
    Ok(ForkRun { from, until, cut: Some(cut), blobs, to })
}

/// The record that contains event `at` and events after it: the one that the cut goes through.
fn holding(journal: &JournalInner, run: &RunId, at: u64) -> Result<Option<RawRecord>, Error> {
    if at == 0 {
        return Ok(None);
    }
    let mut cursor = Cursor::new(run, at);
    loop {
        let page = cursor.raw(journal)?;
        if page.is_empty() {
            return Ok(None);
        }
        // There may be records without events before it.
        if let Some(raw) = page.into_iter().find(|raw| raw.events > 0) {
            let cut = raw.place.after(raw.events).seq > at as i64 + 1;
            return Ok(cut.then_some(raw));
        }
    }
}
