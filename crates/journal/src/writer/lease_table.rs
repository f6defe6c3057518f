//! The leases that the writer holds, with a rollback if a transaction fails.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use crate::chain::ChainEnd;
use crate::process::Presence;
use crate::run_ends::RunEnd;

/// A lease this process holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldLease {
    /// Which of the leases granted in this process: an older one for the same run is void.
    pub(super) grant: u64,
    /// The run's end. No other process writes there, so it need not be read from the file.
    pub(super) end: ChainEnd,
}

/// The leases of this process, and its row in the journal.
#[derive(Debug, Default)]
pub(super) struct LeaseTable {
    signed_in: Option<SignIn>,
    held: HashMap<i64, HeldLease>,
    grants: u64,
    /// What the open transaction changed, to be restored if it fails.
    before: Vec<RollbackEntry>,
    /// The new ends of runs in the open transaction.
    ends: BTreeMap<i64, RunEnd>,
}

#[derive(Debug)]
struct SignIn {
    epoch: i64,
    next_beat: Instant,
    _presence: Presence,
}

#[derive(Debug)]
enum RollbackEntry {
    Held(i64, Option<HeldLease>),
    SignedOut,
}

impl LeaseTable {
    pub(super) fn epoch(&self) -> Option<i64> {
        self.signed_in.as_ref().map(|here| here.epoch)
    }

    pub(super) fn sign_in(&mut self, epoch: i64, presence: Presence, next_beat: Instant) {
        self.signed_in = Some(SignIn { epoch, next_beat, _presence: presence });
        self.before.push(RollbackEntry::SignedOut);
    }

    /// When the next heartbeat is due; `None` while it holds no lease.
    pub(super) fn next_beat(&self) -> Option<Instant> {
        self.signed_in.as_ref().filter(|_| !self.held.is_empty()).map(|here| here.next_beat)
    }

    /// Whether the heartbeat is due, if something is written anyway.
    pub(super) fn is_beat_due(&self, now: Instant) -> bool {
        self.signed_in.as_ref().is_some_and(|here| here.next_beat <= now)
    }

    pub(super) fn beat_again(&mut self, at: Instant) {
        if let Some(here) = &mut self.signed_in {
            here.next_beat = at;
        }
    }

    pub(super) fn put_off(&mut self, by: Duration) {
        self.beat_again(Instant::now() + by);
    }

    /// A number for a new lease.
    pub(super) fn next_grant(&mut self) -> u64 {
        self.grants += 1;
        self.grants
    }

    pub(super) fn held(&self, row: i64) -> Option<HeldLease> {
        self.held.get(&row).copied()
    }

    pub(super) fn hold(&mut self, row: i64, held: HeldLease) {
        let before = self.held.insert(row, held);
        self.before.push(RollbackEntry::Held(row, before));
    }

    pub(super) fn let_go(&mut self, row: i64) {
        let before = self.held.remove(&row);
        self.before.push(RollbackEntry::Held(row, before));
    }

    /// Another process considered this one gone: all leases are void, and the next lease needs a new row.
    pub(super) fn lose_everything(&mut self) {
        self.signed_in = None;
        self.held.clear();
        self.before.clear();
    }

    /// Sets the end a run will have once the transaction is on disk.
    pub(super) fn note_end(&mut self, row: i64, end: RunEnd) {
        self.ends.insert(row, end);
    }

    /// The transaction is on disk. Returns the new ends of its runs.
    pub(super) fn commit(&mut self) -> BTreeMap<i64, RunEnd> {
        self.before.clear();
        std::mem::take(&mut self.ends)
    }

    pub(super) fn undo(&mut self) {
        self.ends.clear();
        while let Some(before) = self.before.pop() {
            match before {
                RollbackEntry::Held(row, Some(held)) => drop(self.held.insert(row, held)),
                RollbackEntry::Held(row, None) => drop(self.held.remove(&row)),
                RollbackEntry::SignedOut => self.signed_in = None,
            }
        }
    }

    /// Releases every lease and removes this process from the journal.
    pub(super) fn sign_off(&mut self, connection: &mut Connection) -> rusqlite::Result<()> {
        let Some(epoch) = self.epoch() else { return Ok(()) };
        let leaving = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for row in self.held.keys() {
            leaving
                .prepare_cached("UPDATE runs SET owner = NULL WHERE id = ?1 AND owner = ?2")?
                .execute([*row, epoch])?;
        }
        leaving.execute("DELETE FROM processes WHERE id = ?1", [epoch])?;
        leaving.commit()
    }
}
