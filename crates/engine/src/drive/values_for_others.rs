//! Keeps large values where other workers find them, and lets the wait for that be seen and ended.

use std::sync::Arc;
use std::time::Duration;

use updraft_journal::{Blob, Journal, PendingInput};
use updraft_models::Delta;
use updraft_run::{EffectAddress, Input, RunId, Status};

use super::RunDriver;
use crate::Error;

/// How long it may take before watchers are told, and before a run that is cancelled does without.
const MOMENT: Duration = Duration::from_secs(3);
/// How often a cancel is looked for, if nothing else happens.
const LOOK: Duration = Duration::from_secs(1);
const WAITS: &str =
    "waits until large values can be kept for the other workers; the log of the worker (`general.log`) says why";

impl RunDriver {
    /// Keeps large values at the run's home, if that is elsewhere, and returns them. That waits as long as the store is away
    /// or refuses, which may be for good: a run that is cancelled here then has them only here.
    pub(super) fn keep_for_others(
        &self,
        blobs: Vec<Blob>,
    ) -> impl Future<Output = Result<Vec<Blob>, Error>> + Send + use<> {
        let home = self.engine.home.clone().filter(|_| self.is_elsewhere() && !blobs.is_empty());
        let (engine, id) = (Arc::clone(&self.engine), self.id.clone());
        // Those that are about to begin wait, too: what a file contained is kept before it is changed.
        let held_up = self.run.open().iter().filter(|(_, open)| !open.effect.is_patient());
        let waiting: Vec<EffectAddress> = held_up.map(|(at, _)| at.clone()).collect();
        let is_cancelled = matches!(self.run.status(), Status::Cancelling | Status::Cancelled);
        async move {
            let Some(home) = home else { return Ok(blobs) };
            let mut keeping = home.keep_blobs(&id, &blobs);
            let mut kept = tokio::time::timeout(MOMENT, &mut keeping).await.ok();
            if kept.is_none() {
                for at in &waiting {
                    engine.watch.delta(&id, at, Delta::Waiting(WAITS));
                }
                kept = tokio::select! {
                    kept = &mut keeping => Some(kept),
                    () = until_cancelled(&engine.journal, &id, is_cancelled) => None,
                };
            }
            drop(keeping);
            match kept {
                Some(kept) => kept?,
                None => {
                    tracing::warn!(run = %id, "large values of a run that is cancelled are only in the journal here");
                }
            }
            Ok(blobs)
        }
    }
}

/// Returns when somebody has cancelled the run.
async fn until_cancelled(journal: &Journal, run: &RunId, is_cancelled: bool) {
    let cancels = |waiting: &PendingInput| matches!(waiting.input, Input::Cancel { step: None, .. });
    let mut changes = journal.changes();
    while !is_cancelled && !journal.inbox(run).is_ok_and(|inbox| inbox.iter().any(cancels)) {
        let _ = tokio::time::timeout(LOOK, changes.next()).await;
    }
}
