//! Takes and releases a run's lease.

use updraft_run::RunId;

use super::lease_table::HeldLease;
use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::Error;
use crate::process;
use crate::records;

/// A lease that was granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseGrant {
    /// The run's key in the tables.
    pub(crate) row: i64,
    /// Which of the leases granted in this process.
    pub(crate) number: u64,
    pub(crate) epoch: u64,
}

/// Takes a run's lease, if no live process holds it.
#[derive(Debug)]
pub(crate) struct AcquireLease {
    pub(crate) run: RunId,
}

impl WriteJob for AcquireLease {
    type Answer = LeaseGrant;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<LeaseGrant, WriteError> {
        let (row, owner) = context.run(&self.run)?.ok_or_else(|| context.shared.absent(&self.run))?;
        if let Some(owner) = owner {
            let ours = Some(owner.id) == context.leases.epoch();
            let alive = if ours { context.leases.held(row).is_some() } else { context.owner(&owner).alive };
            if alive {
                let pid = if ours { process::own().pid } else { owner.identity.pid };
                return Err(Error::Owned { run: self.run.clone(), pid, since: owner.since }.into());
            }
        }
        let end = records::end(context.connection, row)?;
        if let Some(acknowledged) = context.shared.heads.of(row, self.run.as_str()) {
            acknowledged.check(&self.run, end)?;
        }
        let epoch = context.epoch()?;
        context.connection.prepare_cached("UPDATE runs SET owner = ?2 WHERE id = ?1")?.execute([row, epoch])?;
        let number = context.leases.next_grant();
        context.leases.hold(row, HeldLease { grant: number, end });
        Ok(LeaseGrant { row, number, epoch: epoch as u64 })
    }
}

/// Releases a lease. It is no error if the lease was already lost.
#[derive(Debug)]
pub(crate) struct ReleaseLease {
    pub(crate) row: i64,
    pub(crate) grant: u64,
}

impl WriteJob for ReleaseLease {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        let held = context.leases.held(self.row).is_some_and(|held| held.grant == self.grant);
        if let (true, Some(epoch)) = (held, context.leases.epoch()) {
            context
                .connection
                .prepare_cached("UPDATE runs SET owner = NULL WHERE id = ?1 AND owner = ?2")?
                .execute([self.row, epoch])?;
            context.leases.let_go(self.row);
        }
        Ok(())
    }
}
