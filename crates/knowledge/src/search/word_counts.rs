//! In how many chunks a word occurs. SQLite counts that from its lists each time, so it is remembered until the index
//! changes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};

/// The most words that are remembered.
const MOST: usize = 50_000;

/// Counts that are known, and the state of the index that they are true for.
#[derive(Default)]
pub(crate) struct WordCounts(Mutex<(IndexStamp, HashMap<String, i64>)>);

/// Changes whenever the index does: what others have committed, and what this connection has changed.
pub(super) type IndexStamp = (i64, i64);

/// The stamp as it is now.
pub(super) fn stamp(connection: &Connection) -> rusqlite::Result<IndexStamp> {
    let mut read = connection.prepare_cached("SELECT data_version, total_changes() FROM pragma_data_version")?;
    read.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
}

impl WordCounts {
    /// In how many chunks a stem occurs. Counts of another state of the index are forgotten.
    pub(super) fn of(&self, stem: &str, stamp: IndexStamp, connection: &Connection) -> rusqlite::Result<i64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != stamp || known.1.len() >= MOST {
            *known = (stamp, HashMap::new());
        }
        if let Some(count) = known.1.get(stem) {
            return Ok(*count);
        }
        let mut find = connection.prepare_cached("SELECT doc FROM vocabulary WHERE term = ?1")?;
        let count = find.query_row([stem], |row| row.get(0)).optional()?.unwrap_or(0);
        known.1.insert(stem.to_owned(), count);
        Ok(count)
    }
}
