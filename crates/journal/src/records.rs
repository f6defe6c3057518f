//! Reads records, one page at a time.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, params};
use updraft_run::{Record, RunId, Timestamp};

use crate::batch::hash_of;
use crate::chain::{self, ChainEnd, ChainHash};
use crate::journal::JournalInner;
use crate::list::run_id;
use crate::run_header::PendingInput;
use crate::{Error, blobs};

/// A page ends after this many records or bytes, so that no read delays the writer's checkpoints for long.
const PAGE_ROWS: i64 = 500;
const PAGE_BYTES: usize = 4 << 20;

/// The position of a record, or of the next record to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPosition {
    /// The number of the record's first event; for a record without events, the number of the next event.
    pub(crate) seq: i64,
    /// How many records without events come before it under the same number.
    pub(crate) part: i64,
}

impl RecordPosition {
    pub(crate) const START: RecordPosition = RecordPosition { seq: 1, part: 0 };

    /// The position after a record with this many events.
    pub(crate) fn after(self, events: i64) -> Self {
        if events == 0 { Self { part: self.part + 1, ..self } } else { Self { seq: self.seq + events, part: 0 } }
    }

    /// The key of a record of this run at this position: 2^23 runs, 2^28 events each, 2^12 records without events in a
    /// row.
    pub(crate) fn key(self, row: i64) -> rusqlite::Result<i64> {
        let fits = row < 1 << 23 && self.seq < 1 << 28 && self.part < 1 << 12;
        if fits {
            Ok((row << 40) | (self.seq << 12) | self.part)
        } else {
            Err(rusqlite::Error::IntegralValueOutOfRange(0, row))
        }
    }

    /// The number of the last event before this position.
    pub(crate) fn events(self) -> u64 {
        (self.seq - 1).max(0) as u64
    }
}

/// A row of `records`, not yet parsed.
#[derive(Debug)]
pub(crate) struct RawRecord {
    pub(crate) place: RecordPosition,
    pub(crate) events: i64,
    pub(crate) at: i64,
    pub(crate) body: Vec<u8>,
    pub(crate) blob: Option<[u8; 32]>,
    /// Its hash; `None` if a version without hashes wrote it.
    link: Option<ChainHash>,
}

impl RawRecord {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            place: RecordPosition { seq: row.get(0)?, part: row.get(1)? },
            events: row.get(2)?,
            at: row.get(3)?,
            body: row.get(4)?,
            blob: row.get(5)?,
            link: row.get(6)?,
        })
    }

    /// The end after this record, if its position is the expected one and its content has not changed.
    fn follow(&self, end: ChainEnd) -> Result<ChainEnd, &'static str> {
        // The table has no gaps. A gap is damage, and the records after it must not be read as part of the run.
        if self.place != end.place {
            return Err("it is missing");
        }
        let digest = self.blob.unwrap_or_else(|| hash_of(&self.body).0);
        let next = end.after(self.events, self.at, &digest);
        match self.link {
            None if end.link.is_none() => Ok(ChainEnd { link: None, ..next }),
            None => Err("its hash is missing"),
            Some(_) if self.link == next.link => Ok(next),
            Some(_) => Err("it is not what was written: its hash differs"),
        }
    }

    /// The record's text, from the blob store if it is large.
    pub(crate) fn text(self, journal: &JournalInner, run: &RunId) -> Result<Vec<u8>, Error> {
        let Some(hash) = self.blob else { return Ok(self.body) };
        let hash = updraft_run::ContentHash(hash);
        match blobs::read(journal, &hash) {
            Ok(Some(text)) => Ok(text),
            Ok(None) => Err(damaged(run, self.place, "its text is not in the blob store")),
            Err(error @ Error::BadBlob { .. }) => Err(damaged(run, self.place, &error.to_string())),
            Err(other) => Err(other),
        }
    }

    /// The parsed and checked record.
    pub(crate) fn record(self, journal: &JournalInner, run: &RunId) -> Result<Record, Error> {
        let (place, events, at) = (self.place, self.events, Timestamp(self.at));
        // If the hash is right, the record is intact, but was written by a version that knew more.
        let fault = if self.link.is_some() { malformed } else { damaged };
        let text = self.text(journal, run)?;
        let record = Record::from_json(at, &text).map_err(|error| fault(run, place, &error.to_string()))?;
        if record.events.len() as i64 == events {
            Ok(record)
        } else {
            Err(fault(run, place, &format!("it should contain {events} events and contains {}", record.events.len())))
        }
    }
}

fn malformed(run: &RunId, place: RecordPosition, why: &str) -> Error {
    Error::Malformed { run: run.clone(), seq: place.seq as u64, why: why.to_owned() }
}

/// A run cannot be trusted from this position on.
pub(crate) fn damaged(run: &RunId, place: RecordPosition, why: &str) -> Error {
    Error::DamagedRun { run: run.clone(), seq: place.seq as u64, why: why.to_owned() }
}

/// Reads a run from some position on, and remembers its position between pages.
#[derive(Debug)]
pub(crate) struct Cursor {
    run: RunId,
    from: u64,
    /// The end of what was read.
    next: Option<ChainEnd>,
}

impl Cursor {
    /// Begins with the record that contains event `from`, or will contain it.
    pub(crate) fn new(run: &RunId, from: u64) -> Self {
        Self { run: run.clone(), from, next: None }
    }

    /// The next records as they are in the table; empty if there are no more yet.
    pub(crate) fn raw(&mut self, journal: &JournalInner) -> Result<Vec<RawRecord>, Error> {
        let place = self.next.map_or(RecordPosition { seq: self.from.max(1) as i64, part: 0 }, |end| end.place);
        let broken = |error| match error {
            Error::Damaged { why, .. } => damaged(&self.run, place, &why),
            other => other,
        };
        let row = journal.read(|connection| row_of(connection, &self.run)).map_err(broken)?;
        let row = row.ok_or_else(|| journal.absent(&self.run))?;
        // Read before the records: everything it says was on disk by then.
        let acknowledged = journal.shared.heads.of(row, self.run.as_str());
        let read = journal.read(|connection| {
            let start = match self.next {
                Some(next) => next,
                None => start(connection, row, self.from)?,
            };
            Ok((start, page(connection, row, start.place)?))
        });
        let (mut end, page) = read.map_err(broken)?;
        for raw in &page {
            end = raw.follow(end).map_err(|why| damaged(&self.run, end.place, why))?;
            self.next = Some(end);
        }
        if let Some(acknowledged) = acknowledged.filter(|_| page.is_empty()) {
            let checked = acknowledged.check(&self.run, end);
            // The run may have been removed while we read; its entry is removed first.
            if checked.is_err() && journal.shared.heads.of(row, self.run.as_str()).is_some() {
                return checked.map(|()| page);
            }
        }
        Ok(page)
    }

    /// The end of what could be read.
    pub(crate) fn end(&self) -> ChainEnd {
        self.next.unwrap_or(ChainEnd::START)
    }

    /// The next records with the numbers of their first events; empty if there are no more yet.
    pub(crate) fn page(&mut self, journal: &JournalInner) -> Result<Vec<(u64, Record)>, Error> {
        let run = self.run.clone();
        let page = self.raw(journal)?;
        page.into_iter().map(|raw| Ok((raw.place.seq as u64, raw.record(journal, &run)?))).collect()
    }
}

/// The first position of a run that cannot be trusted; `None` if there is no damage.
pub(crate) fn first_damage(journal: &JournalInner, run: &RunId) -> Result<Option<RecordPosition>, Error> {
    let mut cursor = Cursor::new(run, 0);
    loop {
        let page = match cursor.raw(journal) {
            Ok(page) if page.is_empty() => return Ok(None),
            Err(Error::DamagedRun { .. }) => return Ok(Some(cursor.end().place)),
            other => other?,
        };
        for raw in page {
            let place = raw.place;
            match raw.record(journal, run) {
                Err(Error::DamagedRun { .. }) => return Ok(Some(place)),
                other => drop(other?),
            }
        }
    }
}

/// The error for an unknown run, without looking for similar names.
pub(crate) fn unknown(run: &RunId) -> Error {
    Error::UnknownRun { name: run.to_string(), close: Vec::new() }
}

/// The run's key in the tables.
pub(crate) fn row_of(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM runs WHERE name = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// The run's end.
pub(crate) fn end(connection: &Connection, row: i64) -> rusqlite::Result<ChainEnd> {
    let last = connection
        .prepare_cached(
            "SELECT seq, part, events, chain FROM records WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40 ORDER BY id DESC LIMIT 1",
        )?
        .query_row([row], |row| {
            let place = RecordPosition { seq: row.get(0)?, part: row.get(1)? }.after(row.get(2)?);
            Ok(ChainEnd { place, link: row.get(3)? })
        })
        .optional()?;
    Ok(last.unwrap_or(ChainEnd::START))
}

/// The position of the record that contains event `from`, or will contain it, with the hash of the record before it.
fn start(connection: &Connection, row: i64, from: u64) -> rusqlite::Result<ChainEnd> {
    let from = i64::try_from(from).unwrap_or(i64::MAX).max(1);
    let before = connection
        .prepare_cached(
            "SELECT seq, part, events FROM records WHERE id >= ?1 << 40 AND id < (?1 << 40) + (?2 << 12)
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![row, from.min(1 << 28)], |row| {
            Ok((RecordPosition { seq: row.get(0)?, part: row.get(1)? }, row.get(2)?))
        })
        .optional()?;
    let place = match before {
        Some((place, events)) if place.after(events).seq > from => place,
        Some(_) | None => RecordPosition { seq: from, part: 0 },
    };
    let link = connection
        .prepare_cached(
            "SELECT chain FROM records WHERE id >= ?1 << 40 AND id < (?1 << 40) + (?2 << 12) + ?3 ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![row, place.seq.min(1 << 28), place.part], |row| row.get(0))
        .optional()?;
    Ok(ChainEnd { place, link: link.flatten() })
}

fn page(connection: &Connection, row: i64, from: RecordPosition) -> rusqlite::Result<Vec<RawRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, part, events, at, body, blob, chain FROM records
         WHERE id >= (?1 << 40) + (?2 << 12) + ?3 AND id < (?1 + 1) << 40 ORDER BY id LIMIT ?4",
    )?;
    let mut rows = statement.query(params![row, from.seq.min(1 << 28), from.part, PAGE_ROWS])?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES {
        match rows.next().and_then(|row| row.map(RawRecord::of).transpose()) {
            Ok(Some(raw)) => {
                bytes += raw.body.len();
                page.push(raw);
            }
            Ok(None) => break,
            // The records before it can be read. The next page begins with it, and reports what is wrong.
            Err(_) if !page.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

/// The runs that inputs wait for.
pub(crate) fn awaited(journal: &JournalInner) -> Result<Vec<RunId>, Error> {
    journal.read(|connection| {
        let mut statement = connection
            .prepare_cached("SELECT DISTINCT r.name FROM inbox i JOIN runs r ON r.id = i.run ORDER BY i.run")?;
        let all = statement.query_map([], |row| run_id(row, 0))?;
        all.collect()
    })
}

/// Inputs that wait for these runs, oldest first. Inputs of a newer version that cannot be parsed are errors.
pub(crate) fn pending(journal: &JournalInner, runs: &[RunId]) -> Result<Vec<Result<PendingInput, Error>>, Error> {
    type Found = (i64, RunId, i64, String, bool);
    let found: Vec<Found> = journal.read(|connection| {
        let mut statement = connection.prepare_cached(
            "SELECT i.id, i.at, i.input, i.key, i.run, i.sum, r.name FROM inbox i JOIN runs r ON r.id = i.run ORDER BY i.id",
        )?;
        let all = statement.query_map([], |row| {
            let sum: Option<ChainHash> = row.get(5)?;
            let whole = sum.is_none() || sum == Some(chain::sum(row, 0..5)?);
            Ok((row.get(0)?, run_id(row, 6)?, row.get(1)?, row.get(2)?, whole))
        })?;
        all.collect()
    })?;
    // The table is nearly always empty, so it is read completely and filtered here.
    let wanted: HashSet<&RunId> = if found.is_empty() { HashSet::new() } else { runs.iter().collect() };
    let wanted = found.into_iter().filter(|(_, run, ..)| wanted.contains(run));
    Ok(wanted
        .map(|(id, run, at, text, whole)| match serde_json::from_str(&text) {
            _ if !whole => Err(Error::BadInput { run, id, why: "it is not what was sent: its hash differs".into() }),
            Ok(input) => Ok(PendingInput { id, run, at: Timestamp(at), input }),
            Err(error) => Err(Error::BadInput { run, id, why: error.to_string() }),
        })
        .collect())
}
