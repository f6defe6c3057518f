//! Runs that are started on a worker with a label, where another program keeps runs and knows the workers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use updraft_run::RunId;

use super::orders::RunOrder;
use super::runs::LiveRuns;
use crate::fault::Fault;

/// How long to wait until a run that another worker has begun can be seen here.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often that is looked for, if nothing else happens.
const LOOK: Duration = Duration::from_millis(100);

/// Starts a run under this id on a worker that has the order's label, here or elsewhere. Returns once the goal is safe.
pub type RunPlacer = Arc<dyn Fn(RunId, RunOrder) -> PlacementFuture + Send + Sync>;
/// What a [`RunPlacer`] returns.
pub type PlacementFuture = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>>;

impl LiveRuns {
    /// Says how runs are started on workers with a label. Called once, when the worker starts.
    pub fn place_with(&self, placer: RunPlacer) {
        let _ = self.placer().set(placer);
    }

    /// Whether an order may ask for a label.
    pub fn knows_labels(&self) -> bool {
        self.placer().get().is_some()
    }

    /// Starts a run that asks for a label. It can be seen here when this returns, unless its worker is slow.
    pub(super) async fn place(&self, id: RunId, order: RunOrder) -> Result<RunId, Fault> {
        let Some(placer) = self.placer().get() else {
            return Err(Fault::usage("there are no workers with labels here, so none can be asked for")
                .hint("leave out the label, or let Restate keep the runs: `updraft serve --engine restate`"));
        };
        placer(id.clone(), order).await?;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.journal().head(&id).is_err() && tokio::time::Instant::now() < deadline {
            let _ = tokio::time::timeout(LOOK, self.journal().changed()).await;
        }
        Ok(id)
    }
}
