//! Removes runs, the values that only they refer to, and frees the space they took.

use updraft_run::{ContentHash, RunId};

use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::records::{self, RecordPosition};
use crate::{Error, blobs, reserved_space};

/// How many pages are returned to the system in one transaction; fewer if there is hardly space for a log.
const PAGES: i64 = 2000;
const CRAMPED_PAGES: i64 = 50;

/// Removes a run. The answer lists the values in files that are no longer referenced.
#[derive(Debug)]
pub(crate) struct DeleteRun {
    pub(crate) run: RunId,
    /// Even if a process is running it.
    pub(crate) forced: bool,
}

impl WriteJob for DeleteRun {
    type Answer = Vec<ContentHash>;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<Vec<ContentHash>, WriteError> {
        let Some((row, owner)) = context.run(&self.run)? else {
            return match context.shared.heads.named(self.run.as_str()) {
                // The journal has lost it; now its entry can be removed.
                Some((row, _)) => context.forget_end(row).map(|()| Vec::new()),
                None => Err(records::unknown(&self.run).into()),
            };
        };
        let owner = owner.map(|known| context.owner(&known)).filter(|owner| owner.alive && !self.forced);
        if let Some(owner) = owner {
            return Err(Error::Owned { run: self.run.clone(), pid: owner.pid, since: owner.since }.into());
        }
        let named: Vec<[u8; 32]> = context
            .connection
            .prepare_cached("SELECT hash FROM refs WHERE run = ?1")?
            .query_map([row], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        context.forget_end(row)?;
        context.connection.prepare_cached("DELETE FROM runs WHERE id = ?1")?.execute([row])?;
        context
            .connection
            .prepare_cached("DELETE FROM records WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40")?
            .execute([row])?;
        let mut files = Vec::new();
        for hash in named {
            let mut statement = context.connection.prepare_cached(
                "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM refs WHERE hash = ?1)
                 RETURNING body IS NULL",
            )?;
            let mut gone = statement.query([hash])?;
            if let Some(row) = gone.next()?
                && row.get(0)?
            {
                files.push(ContentHash(hash));
            }
            // The statement must be stepped to its end to carry out the deletion.
            while gone.next()?.is_some() {}
        }
        Ok(files)
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// Removes the part of a run that cannot be trusted.
#[derive(Debug)]
pub(crate) struct TruncateRun {
    pub(crate) run: RunId,
    /// The first position that is removed.
    pub(crate) from: RecordPosition,
}

impl WriteJob for TruncateRun {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        let (row, owner) = context.run(&self.run)?.ok_or_else(|| context.shared.absent(&self.run))?;
        if let Some(owner) = owner.map(|known| context.owner(&known)).filter(|owner| owner.alive) {
            return Err(Error::Owned { run: self.run.clone(), pid: owner.pid, since: owner.since }.into());
        }
        context.forget_end(row)?;
        // It is not finished any more, whatever its status was.
        context.connection.prepare_cached("UPDATE runs SET status = 'running' WHERE id = ?1")?.execute([row])?;
        context
            .connection
            .prepare_cached("DELETE FROM records WHERE id >= ?2 AND id < (?1 + 1) << 40")?
            .execute([row, self.from.key(row)?])?;
        context.seal(row)
    }

    fn is_long(&self) -> bool {
        true
    }
}

impl WriteContext<'_> {
    /// Removes the recorded end of a run, before the run is removed or truncated.
    fn forget_end(&self, row: i64) -> Result<(), WriteError> {
        let heads = &self.shared.heads;
        heads.forget(row).map_err(|source| WriteError::Broken(Error::io(heads.path(), source)))
    }
}

/// Removes files of values that are not referenced. It holds the write lock, so that no process can start to reference
/// one.
#[derive(Debug)]
pub(crate) struct UnlinkBlobs {
    pub(crate) files: Vec<ContentHash>,
}

impl WriteJob for UnlinkBlobs {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        for hash in &self.files {
            if !context.connection.prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?.exists([hash.0])? {
                blobs::remove_file(&context.shared.store.path, hash)?;
            }
        }
        Ok(())
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// Returns free pages to the system. The answer says whether there are more.
#[derive(Debug)]
pub(crate) struct Vacuum;

impl WriteJob for Vacuum {
    type Answer = bool;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<bool, WriteError> {
        let pages = if reserved_space::is_cramped(&context.shared.store.path) { CRAMPED_PAGES } else { PAGES };
        let mut statement = context.connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
        let left: i64 = context.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        Ok(left > 0)
    }

    fn is_long(&self) -> bool {
        true
    }
}
