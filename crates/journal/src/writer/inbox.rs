//! Puts an input into the inbox of a run.

use rusqlite::params;
use updraft_run::{RunId, Timestamp};

use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::chain;
use crate::run_header::SendOutcome;

/// Puts an input into the inbox. If one with the same key is still waiting, it counts as repeated.
#[derive(Debug)]
pub(crate) struct SendInput {
    pub(crate) run: RunId,
    pub(crate) key: String,
    pub(crate) at: Timestamp,
    pub(crate) input: String,
}

impl WriteJob for SendInput {
    type Answer = SendOutcome;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<SendOutcome, WriteError> {
        let (row, owner) = context.run(&self.run)?.ok_or_else(|| context.shared.absent(&self.run))?;
        let added = context
            .connection
            .prepare_cached("INSERT INTO inbox(run, key, at, input) VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
            .execute(params![row, self.key, self.at.0, self.input])?;
        if added > 0 {
            let id = context.connection.last_insert_rowid();
            let sum = context
                .connection
                .prepare_cached("SELECT id, at, input, key, run FROM inbox WHERE id = ?1")?
                .query_row([id], |row| chain::sum(row, 0..5))?;
            context.connection.prepare_cached("UPDATE inbox SET sum = ?2 WHERE id = ?1")?.execute(params![id, sum])?;
        }
        Ok(match added {
            0 => SendOutcome::Repeated,
            _ => SendOutcome::Queued { owner: owner.map(|known| context.owner(&known)) },
        })
    }

    fn bytes(&self) -> usize {
        self.input.len()
    }
}
