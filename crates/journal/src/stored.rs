//! Small values that other parts of the program store in the journal, by scope and key, each changed in one
//! transaction.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use crate::writer::{ChangeStored, SweepStored};
use crate::{Error, Journal};

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The value as it was written.
    pub value: String,
    /// How long ago it was written.
    pub age: Duration,
}

/// A stored value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its scope.
    pub scope: String,
    /// Its key.
    pub key: String,
    /// The value.
    pub stored: StoredValue,
}

/// What to do with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Leave it as it is, with its age.
    Nothing,
    /// Replace it with this value.
    Set(String),
    /// Remove it.
    Remove,
}

impl Journal {
    /// The value of a key. Returns `None` if there is none.
    pub fn stored(&self, scope: &str, key: &str) -> Result<Option<StoredValue>, Error> {
        let now = (self.0.shared.store.options.clock)().0;
        self.0.read(|connection| if is_there(connection)? { get(connection, scope, key, now) } else { Ok(None) })
    }

    /// The scopes that begin with this prefix and have values.
    pub fn stored_scopes(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.0.read(|connection| {
            if !is_there(connection)? {
                return Ok(Vec::new());
            }
            let like = "SELECT DISTINCT scope FROM stored WHERE substr(scope, 1, length(?1)) = ?1 ORDER BY scope";
            connection.prepare(like)?.query_map([prefix], |row| row.get(0))?.collect()
        })
    }

    /// All values of the scopes that begin with this prefix, those written last first.
    pub fn stored_under(&self, prefix: &str) -> Result<Vec<StoredEntry>, Error> {
        let now = (self.0.shared.store.options.clock)().0;
        self.0.read(|connection| {
            if !is_there(connection)? {
                return Ok(Vec::new());
            }
            let all = "SELECT scope, key, value, at FROM stored WHERE substr(scope, 1, length(?1)) = ?1 ORDER BY at DESC, key";
            let entry = |row: &rusqlite::Row<'_>| {
                let stored = StoredValue { value: row.get(2)?, age: age(now, row.get(3)?) };
                Ok(StoredEntry { scope: row.get(0)?, key: row.get(1)?, stored })
            };
            connection.prepare(all)?.query_map([prefix], entry)?.collect()
        })
    }

    /// Passes the value of a key to `change`, does what `change` returns, and returns its result once everything is on
    /// disk. No other process changes the value in the meantime. `change` may be called again if the transaction must
    /// be repeated.
    pub async fn change_stored<T: Send + 'static>(
        &self,
        scope: &str,
        key: &str,
        change: impl Fn(Option<StoredValue>) -> (Change, T) + Send + 'static,
    ) -> Result<T, Error> {
        self.0.ask(ChangeStored { scope: scope.to_owned(), key: key.to_owned(), change }).await
    }

    /// Removes the values of a scope that were not written for this long, and of the rest all except the `most` newest.
    pub async fn sweep_stored(&self, scope: &str, age: Duration, most: usize) -> Result<(), Error> {
        self.0.ask(SweepStored { scope: scope.to_owned(), age, most }).await
    }
}

/// Whether the table exists. It does not in files of older versions.
fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'stored'")?.exists([])
}

pub(crate) fn get(connection: &Connection, scope: &str, key: &str, now: i64) -> rusqlite::Result<Option<StoredValue>> {
    let mut statement = connection.prepare_cached("SELECT value, at FROM stored WHERE scope = ?1 AND key = ?2")?;
    let found = statement
        .query_row(params![scope, key], |row| Ok(StoredValue { value: row.get(0)?, age: age(now, row.get(1)?) }));
    found.optional()
}

fn age(now: i64, at: i64) -> Duration {
    Duration::from_millis(now.saturating_sub(at).max(0).unsigned_abs())
}
