//! A pool of a few connections for short reads, opened when needed.

use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::Error;
use crate::schema::JournalFile;

/// How many idle connections are kept; more are opened if there are more concurrent reads.
const KEPT: usize = 4;

/// The idle connections; `None` once the journal is closed.
#[derive(Debug)]
pub(crate) struct ReaderPool(Mutex<Option<Vec<Connection>>>);

impl ReaderPool {
    /// Starts with the connection that was used to check the file.
    pub(crate) fn with(first: Connection) -> Self {
        Self(Mutex::new(Some(vec![first])))
    }

    /// Lends a connection for one short read. The caller must not keep a statement open while it does other work.
    pub(crate) fn read<T>(
        &self,
        store: &JournalFile,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let idle = self.idle().as_mut().ok_or(Error::Closed)?.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => store.reader()?,
        };
        let answer = store.explain(read(&connection));
        let mut idle = self.idle();
        match idle.as_mut() {
            Some(kept) if kept.len() < KEPT => kept.push(connection),
            Some(_) | None => {
                drop(idle);
                drop(connection);
            }
        }
        answer
    }

    /// Closes the idle connections; the others close when they are returned.
    pub(crate) fn close(&self) {
        let idle = self.idle().take();
        drop(idle);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Vec<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
