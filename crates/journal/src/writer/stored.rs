//! Writes the small values that are stored in the journal.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::stored::{Change, StoredValue, get};

/// A value that is written gets a new `rowid`, so these are in the order of the last writes. The table is created when
/// something is first stored: older versions do not need it.
const TABLE: &str = "
CREATE TABLE IF NOT EXISTS stored(
    scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE(scope, key)
) STRICT";

/// Changes one value.
pub(crate) struct ChangeStored<F> {
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) change: F,
}

impl<T, F> WriteJob for ChangeStored<F>
where
    T: Send + 'static,
    F: Fn(Option<StoredValue>) -> (Change, T) + Send + 'static,
{
    type Answer = T;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<T, WriteError> {
        let (connection, now) = (table(context)?, (context.shared.store.options.clock)().0);
        let (change, answer) = (self.change)(get(connection, &self.scope, &self.key, now)?);
        match change {
            Change::Nothing => {}
            Change::Set(value) => {
                connection
                    .prepare_cached("INSERT OR REPLACE INTO stored(scope, key, value, at) VALUES(?1, ?2, ?3, ?4)")?
                    .execute(params![self.scope, self.key, value, now])?;
            }
            Change::Remove => {
                connection
                    .prepare_cached("DELETE FROM stored WHERE scope = ?1 AND key = ?2")?
                    .execute(params![self.scope, self.key])?;
            }
        }
        Ok(answer)
    }
}

/// Removes old values of a scope, and those beyond a number.
pub(crate) struct SweepStored {
    pub(crate) scope: String,
    pub(crate) age: Duration,
    pub(crate) most: usize,
}

impl WriteJob for SweepStored {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        let (connection, now) = (table(context)?, (context.shared.store.options.clock)().0);
        let age = i64::try_from(self.age.as_millis()).unwrap_or(i64::MAX);
        let most = i64::try_from(self.most).unwrap_or(i64::MAX);
        connection
            .prepare_cached(
                "DELETE FROM stored WHERE scope = ?1 AND (at <= ?2 OR rowid NOT IN (
                     SELECT rowid FROM stored WHERE scope = ?1 ORDER BY rowid DESC LIMIT ?3))",
            )?
            .execute(params![self.scope, now.saturating_sub(age), most])?;
        Ok(())
    }
}

/// The connection, with the table created.
fn table<'a>(context: &WriteContext<'a>) -> rusqlite::Result<&'a Connection> {
    context.connection.prepare_cached(TABLE)?.execute([])?;
    Ok(context.connection)
}
