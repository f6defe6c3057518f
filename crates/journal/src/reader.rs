//! A few connections for short reads, opened when they are wanted.

use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::Error;
use crate::schema::JournalFile;

/// So many are kept for the next reader; more are opened when more read at once.
const KEPT: usize = 4;

/// Connections that nobody uses at the moment; `None` once the journal is closed.
#[derive(Debug)]
pub(crate) struct ReaderPool(Mutex<Option<Vec<Connection>>>);

impl ReaderPool {
    /// Begins with the one that recognised the file.
    pub(crate) fn with(first: Connection) -> Self {
        Self(Mutex::new(Some(vec![first])))
    }

    /// Lends a connection for one short read. The caller must not keep a statement open while it does other things.
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
        let answer = store.told(read(&connection));
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

    /// Closes those that are idle; the others close when they come back.
    pub(crate) fn close(&self) {
        let idle = self.idle().take();
        drop(idle);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Vec<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
