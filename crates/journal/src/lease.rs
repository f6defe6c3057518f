//! The right to write to a run.

use std::fmt;
use std::sync::Arc;

use updraft_run::RunId;

use crate::journal::JournalInner;
use crate::writer::{LeaseGrant, ReleaseLease};

/// The right to write to a run, held by one process at a time. Dropping it releases it, with a short delay.
#[must_use = "dropping a lease gives it back"]
pub struct Lease {
    journal: Arc<JournalInner>,
    run: RunId,
    grant: LeaseGrant,
    is_released: bool,
}

impl Lease {
    pub(crate) fn new(journal: &Arc<JournalInner>, run: RunId, grant: LeaseGrant) -> Self {
        Self { journal: Arc::clone(journal), run, grant, is_released: false }
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// A number that no other process that writes to this journal ever has.
    pub fn epoch(&self) -> u64 {
        self.grant.epoch
    }

    pub(crate) fn grant(&self) -> LeaseGrant {
        self.grant
    }

    /// The job that releases it; afterwards `Drop` has nothing to do.
    pub(crate) fn into_release(mut self) -> ReleaseLease {
        self.is_released = true;
        self.release()
    }

    fn release(&self) -> ReleaseLease {
        ReleaseLease { row: self.grant.row, grant: self.grant.number }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_released {
            self.journal.queue.tell(&self.journal.shared, self.release());
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({}, epoch {})", self.run, self.grant.epoch)
    }
}
