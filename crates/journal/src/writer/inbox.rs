//! Leaving an input for whoever runs a run.

use rusqlite::params;
use updraft_run::{RunId, Timestamp};

use super::desk::{Desk, Refusal, Work};
use crate::head::Sent;
use crate::read;

/// Leaves an input; one with the same key that still waits makes it a repetition.
#[derive(Debug)]
pub(crate) struct SendInput {
    pub(crate) run: RunId,
    pub(crate) key: String,
    pub(crate) at: Timestamp,
    pub(crate) input: String,
}

impl Work for SendInput {
    type Answer = Sent;

    fn write(&self, desk: &mut Desk<'_>) -> Result<Sent, Refusal> {
        let (row, owner) = desk.run(&self.run)?.ok_or_else(|| read::unknown(&self.run))?;
        let added = desk
            .connection
            .prepare_cached("INSERT INTO inbox(run, key, at, input) VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
            .execute(params![row, self.key, self.at.0, self.input])?;
        Ok(match added {
            0 => Sent::Repeated,
            _ => Sent::Queued { owner: owner.map(|known| desk.owner(&known)) },
        })
    }

    fn bytes(&self) -> usize {
        self.input.len()
    }
}
