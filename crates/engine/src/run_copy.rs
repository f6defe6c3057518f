//! A copy in the journal of a run that another worker drives: it can be watched here, and what people send to it is
//! passed on.

use updraft_journal::{Batch, Blob, Change, Journal, Lease, RunHeader};
use updraft_run::{Input, Record, Run, RunId};

use crate::Error;
use crate::drive::{leave_home, note_home};

/// Where the journal notes which runs it has had from elsewhere, so that one that was removed here is not copied again.
const HAD: &str = "had from elsewhere";

/// A run that is copied. As long as this exists, the run counts as driven, so that no process continues it here.
#[derive(Debug)]
pub struct RunCopy {
    id: RunId,
    lease: Lease,
    run: Run,
    records: u64,
}

/// Notes that a run whose home is elsewhere is here.
pub(crate) async fn note_had(journal: &Journal, id: &RunId) -> Result<(), Error> {
    if journal.stored(HAD, id.as_str())?.is_none() {
        journal.change_stored(HAD, id.as_str(), |_| (Change::Set(String::new()), ())).await?;
    }
    Ok(())
}

impl RunCopy {
    /// Whether a run was here and has been removed.
    pub fn was_removed(journal: &Journal, id: &RunId) -> Result<bool, Error> {
        Ok(journal.head(id).is_err() && journal.stored(HAD, id.as_str())?.is_some())
    }

    /// Takes up a copy that exists. Returns `None` if the journal does not know the run.
    pub async fn open(journal: &Journal, id: &RunId) -> Result<Option<Self>, Error> {
        if journal.head(id).is_err() {
            return Ok(None);
        }
        let lease = journal.acquire(id).await?;
        let records = journal.load(id)?;
        let known = records.len() as u64;
        Ok(Some(Self { id: id.clone(), lease, run: Run::fold(records), records: known }))
    }

    /// Makes a copy of a run that begins with these records, and whose home is at this place.
    pub async fn create(
        journal: &Journal,
        id: &RunId,
        place: &str,
        records: Vec<Record>,
        blobs: Vec<Blob>,
    ) -> Result<Self, Error> {
        let Some(first) = records.first() else {
            return Err(Error::Incomplete { run: id.clone(), what: "it has no records".into() });
        };
        let created = first.at;
        let parent = records.iter().rev().find_map(|record| match &record.input {
            Input::Fork { from, .. } => Some(from.clone()),
            _ => None,
        });
        let (known, run) = (records.len() as u64, Run::fold(records.iter().cloned()));
        let head = RunHeader {
            workspace: run.settings().workspace.clone(),
            model: run.settings().model.clone(),
            parent,
            ..RunHeader::new(id.clone(), run.goal().text.clone(), created)
        };
        let batch = Batch { blobs, status: Some(run.recorded_status()), ..Batch::of(records) };
        // A copy without this note would be continued here.
        if !run.is_over() {
            note_home(journal, id, place.to_owned()).await?;
        }
        let lease = journal.create(head, batch).await?;
        note_had(journal, id).await?;
        Ok(Self { id: id.clone(), lease, run, records: known })
    }

    /// How many records are here.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.run.is_over()
    }

    /// Appends the records that follow, with the large values they name. Inputs of the inbox that were passed on are removed
    /// from it at once.
    pub async fn append(
        &mut self,
        journal: &Journal,
        records: Vec<Record>,
        blobs: Vec<Blob>,
        passed_on: Vec<i64>,
    ) -> Result<(), Error> {
        for record in &records {
            self.run.record(record);
        }
        self.records += records.len() as u64;
        let status = Some(self.run.recorded_status());
        let batch = Batch { blobs, status, handled: passed_on, ..Batch::of(records) };
        journal.append(&self.lease, batch).await?;
        if self.run.is_over() {
            leave_home(journal, &self.id).await;
        }
        Ok(())
    }

    /// Leaves the copy as it is.
    pub async fn release(self, journal: &Journal) -> Result<(), Error> {
        Ok(journal.release(self.lease).await?)
    }
}
