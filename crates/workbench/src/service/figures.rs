//! What runs did and cost, for lists: looked up once, and stored for long runs.
//!
//! A run of 100,000 events takes long to add up. Its figures are stored with the number of events they are for. When a run
//! comes to rest here they are taken from the run itself; others are added up in the background.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use updraft_engine::waiting_for;
use updraft_journal::{Change, Journal, RunSummary};
use updraft_run::{Run, RunId};

use super::runs::LiveRuns;
use crate::journal;

/// Runs with more events are added up in the background: a list does not wait for them.
const LARGE: u64 = 20_000;
/// Where figures are stored, how long, and of how many runs.
const SCOPE: &str = "figures";
const KEPT_FOR: Duration = Duration::from_hours(90 * 24);
const MOST_KEPT: usize = 1_000;
/// Older figures of a run that goes on are shown until it has grown by this part: 1/8.
const GROWTH: u64 = 8;

/// What a run did and cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Steps that have ended.
    pub done: usize,
    /// All steps.
    pub steps: usize,
    /// The cost in words.
    pub cost: String,
    /// Working time in milliseconds.
    pub worked: u64,
    /// Open questions and approvals.
    pub waits: usize,
}

impl RunFigures {
    /// The figures of a run.
    pub fn of(run: &Run) -> Self {
        let ledger = run.ledger();
        let cost = match (ledger.unpriced, ledger.usage.estimated && ledger.at_most().0 > 0) {
            (0, false) => ledger.at_most().to_string(),
            (0, true) => format!("about {}", ledger.at_most()),
            _ => "unknown".to_owned(),
        };
        Self {
            done: run.steps().filter(|step| step.has_ended()).count(),
            steps: run.steps().count(),
            cost,
            worked: run.worked().0,
            waits: waiting_for(run).len(),
        }
    }
}

/// Figures, and the number of events that they are for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FiguresAt {
    events: u64,
    figures: RunFigures,
}

impl FiguresAt {
    fn of(run: &Run) -> Self {
        Self { events: run.events(), figures: RunFigures::of(run) }
    }

    /// Whether they are good enough for a run as it is now.
    fn fit(&self, run: &RunSummary) -> bool {
        let is_at_work = run.is_owned() && run.events > LARGE;
        self.events == run.events || is_at_work && run.events - self.events.min(run.events) < run.events / GROWTH
    }
}

/// The figures that are known. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct FigureCache {
    known: Arc<Mutex<BTreeMap<RunId, FiguresAt>>>,
    /// Runs that are being added up.
    underway: Arc<Mutex<BTreeSet<RunId>>>,
}

impl FigureCache {
    fn known(&self) -> MutexGuard<'_, BTreeMap<RunId, FiguresAt>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn underway(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was last known, here or in the journal.
    fn last(&self, journal: &Journal, id: &RunId) -> Option<FiguresAt> {
        if let Some(known) = self.known().get(id) {
            return Some(known.clone());
        }
        let stored = journal.stored(SCOPE, id.as_str()).ok()??;
        let found: FiguresAt = serde_json::from_str(&stored.value).ok()?;
        self.known().insert(id.clone(), found.clone());
        Some(found)
    }

    fn add_up(&self, journal: &Journal, id: &RunId) -> Option<FiguresAt> {
        let found = FiguresAt::of(&journal::load(journal, id).ok()?);
        self.known().insert(id.clone(), found.clone());
        Some(found)
    }
}

impl LiveRuns {
    /// The figures of a run in a list. Blocks on the disk, but not for long.
    pub(super) fn figures_of(&self, run: &RunSummary) -> Option<RunFigures> {
        let cache = self.figures();
        if run.events <= LARGE {
            let known = cache.known().get(&run.id).filter(|known| known.fit(run)).cloned();
            return known.or_else(|| cache.add_up(self.journal(), &run.id)).map(|found| found.figures);
        }
        let last = cache.last(self.journal(), &run.id);
        if last.as_ref().is_none_or(|last| !last.fit(run)) && cache.underway().insert(run.id.clone()) {
            let (runs, id) = (self.clone(), run.id.clone());
            self.in_background(async move {
                // Its history is kept for whoever opens it next.
                let feed = runs.feeds().of(runs.journal(), &id);
                let added =
                    tokio::task::spawn_blocking(move || feed.read(|history| FiguresAt::of(history.run()))).await;
                if let Ok(Ok(found)) = added {
                    runs.store_figures(&id, &found).await;
                    runs.figures().known().insert(id.clone(), found);
                }
                runs.figures().underway().remove(&id);
            });
        }
        last.map(|last| last.figures)
    }

    /// Notes the figures of a run that has come to rest here.
    pub(super) async fn note_figures(&self, id: &RunId, run: &Run) {
        let found = FiguresAt::of(run);
        if found.events > LARGE {
            self.store_figures(id, &found).await;
        }
        self.figures().known().insert(id.clone(), found);
    }

    async fn store_figures(&self, id: &RunId, found: &FiguresAt) {
        let Ok(text) = serde_json::to_string(found) else { return };
        let stored = self.journal().change_stored(SCOPE, id.as_str(), move |_| (Change::Set(text.clone()), ())).await;
        let swept = self.journal().sweep_stored(SCOPE, KEPT_FOR, MOST_KEPT).await;
        if let Err(error) = stored.and(swept) {
            // They are added up again.
            tracing::debug!(%error, "figures of a run are not stored");
        }
    }
}
