//! Copies runs from Restate into the journal here: those of this worker that are missing, as on a new machine, and those of
//! the other workers of a shared workspace, as they go on.
//!
//! A copy only grows, by records at their places, so doing it again changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_engine::{Error, RunCopy};
use updraft_journal::{Journal, PendingInput};
use updraft_run::RunId;

use crate::changes::{CHANGED, ChangePosition, ChangeQuestion, ChangeReport};
use crate::ingress::{CallFault, CallTarget};
use crate::messages::{LogEntry, TellRequest};
use crate::restate_home::{RestateHome, engine_error, place_of};
use crate::run_log::RunLog;
use crate::service_names::ServiceNames;
use crate::workspaces_object::{SHOW, WorkerCard, WorkspaceCard};

/// How often the others are asked what has changed; less often once nothing has for some times.
const LOOK: Duration = Duration::from_millis(300);
const LOOK_AT_QUIET: Duration = Duration::from_secs(5);
const QUIET: u32 = 100;
/// How often it is looked which workers there are. Those that look at this one are known anyway.
const LOOK_FOR_WORKERS: Duration = Duration::from_mins(1);
/// How long to wait for an answer, and how long to leave a worker alone that gave none.
const ANSWER: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_secs(5);
/// How long a worker that takes over waits for another of this machine to leave its copies, and how often it looks.
const HANDING_OVER: Duration = Duration::from_secs(30);
const LOOK_FOR_COPIES: Duration = Duration::from_millis(100);

/// Copies runs of one workspace.
pub struct RunProjector {
    home: Arc<RestateHome>,
    journal: Journal,
    /// The other workers.
    others: BTreeMap<String, FollowedWorker>,
    /// The workers that have the same journal: their runs are here anyway, and a copy would keep them from continuing.
    beside: BTreeSet<String>,
    /// The unfinished runs of others.
    copies: BTreeMap<RunId, (String, RunCopy)>,
    looked_for_workers: Option<Instant>,
}

/// Another worker of the workspace.
struct FollowedWorker {
    log: RunLog,
    position: ChangePosition,
    /// When it is asked again.
    next: Instant,
    /// How often it had nothing to say.
    quiet: u32,
    /// How many answers it gave.
    answers: u64,
    /// Whether it gave none to the last question. It is asked again with the same key until it does, so that questions to a
    /// worker that is away do not pile up in Restate.
    is_away: bool,
}

impl RunProjector {
    /// Copies runs of this workspace into this journal.
    pub fn new(home: Arc<RestateHome>, journal: Journal) -> Self {
        let (others, beside, copies) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { home, journal, others, beside, copies, looked_for_workers: None }
    }

    /// Copies the runs of this worker that the journal does not know: it is new, or was lost. Returns their number.
    pub async fn copy_own(&self) -> Result<usize, CallFault> {
        let mut count = 0;
        let until = Instant::now() + HANDING_OVER;
        for (run, records) in self.home.connection.runs_of(self.home.names()).await? {
            // If another worker of this machine has copied it until now, it hears of this one and leaves its copy.
            while self.journal.head(&run).is_ok_and(|head| head.is_owned()) && Instant::now() < until {
                tokio::time::sleep(LOOK_FOR_COPIES).await;
            }
            if self.journal.head(&run).is_ok() || self.was_removed(&run) {
                continue;
            }
            match self.copied(&self.home.log, &run, records).await {
                Ok(copy) => {
                    count += 1;
                    // From here on it can be continued.
                    if let Err(error) = copy.release(&self.journal).await {
                        tracing::warn!(%run, %error, "the copy of a run is kept by this process");
                    }
                }
                Err(error) => tracing::warn!(%run, %error, "a run could not be copied from Restate"),
            }
        }
        Ok(count)
    }

    /// Follows the runs of the other workers until `stop` is cancelled.
    pub async fn follow(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.follow_once().await;
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => {}
            }
        }
        self.close().await;
    }

    /// Leaves the copies as they are.
    pub async fn close(self) {
        drop(self.copies);
        self.journal.close().await;
    }

    /// Brings the copies of the other workers' runs up to date, and passes on what people have sent to them.
    pub async fn follow_once(&mut self) {
        self.look_for_workers().await;
        let due: Vec<String> = self
            .others
            .iter()
            .filter(|(_, other)| other.next <= Instant::now())
            .map(|(name, _)| name.clone())
            .collect();
        for name in due {
            if let Err(fault) = self.follow_worker(&name).await {
                tracing::debug!(worker = name, %fault, "another worker cannot be followed now");
                if let Some(other) = self.others.get_mut(&name) {
                    other.next = Instant::now() + PAUSE;
                    other.is_away = true;
                }
            }
        }
        self.pass_inputs_on().await;
    }

    async fn look_for_workers(&mut self) {
        let mut names = self.home.changes.askers();
        if self.looked_for_workers.is_none_or(|at| at.elapsed() >= LOOK_FOR_WORKERS) {
            self.looked_for_workers = Some(Instant::now());
            let (connection, workspace) = (&self.home.connection, &self.home.workspace);
            let shown = connection.ask_workspace::<WorkspaceCard>(workspace, SHOW, &Value::Null, ANSWER).await;
            if let Ok(WorkspaceCard { workers, .. }) = shown {
                let is_beside = |card: &WorkerCard| card.machine == connection.machine;
                let beside = workers.iter().filter(|(_, card)| is_beside(card)).map(|(name, _)| name.clone());
                self.beside = beside.collect();
                names.extend(workers.into_keys());
                self.leave_copies().await;
            }
        }
        names.remove(self.home.names().worker());
        for name in names.into_iter().filter(|name| !self.beside.contains(name)) {
            if let Some(names) = ServiceNames::new(&name).filter(|_| !self.others.contains_key(&name)) {
                let log = RunLog { ingress: self.home.log.ingress.clone(), names };
                let (position, next) = (ChangePosition::default(), Instant::now());
                self.others.insert(name, FollowedWorker { log, position, next, quiet: 0, answers: 0, is_away: false });
            }
        }
    }

    /// Leaves the copies of runs that a worker with the same journal has taken over.
    async fn leave_copies(&mut self) {
        self.others.retain(|name, _| !self.beside.contains(name));
        let taken: Vec<RunId> = self
            .copies
            .iter()
            .filter(|(_, (worker, _))| self.beside.contains(worker))
            .map(|(run, _)| run.clone())
            .collect();
        for run in taken {
            if let Some((_, copy)) = self.copies.remove(&run)
                && let Err(error) = copy.release(&self.journal).await
            {
                tracing::warn!(%run, %error, "the copy of a run is kept by this process");
            }
        }
    }

    async fn follow_worker(&mut self, name: &str) -> Result<(), CallFault> {
        let Some(other) = self.others.get(name) else { return Ok(()) };
        let log = other.log.clone();
        let service = log.names.hands();
        let question = ChangeQuestion { by: self.home.names().worker().to_owned(), position: other.position.clone() };
        let key = other.is_away.then(|| format!("{}-{}", self.home.connection.process, other.answers));
        let target = CallTarget { service: &service, key: "", handler: CHANGED, idempotency: key.as_deref() };
        let changes: ChangeReport = log.ingress.call_within(target, &question, Some(ANSWER)).await?;
        if let Some(other) = self.others.get_mut(name) {
            (other.answers, other.is_away) = (other.answers + 1, false);
            if other.position.process != changes.position.process {
                // It was started again, perhaps on this machine.
                self.looked_for_workers = None;
            }
        }
        let changed = if changes.is_incomplete {
            self.home.connection.runs_of(&log.names).await?
        } else {
            let known = changes.runs.iter().filter_map(|(run, records)| Some((RunId::parse(run).ok()?, *records)));
            known.collect()
        };
        let is_quiet = changed.is_empty();
        let mut failed = None;
        for (run, records) in changed {
            if let Err(error) = self.bring_up_to_date(name, &log, &run, records).await {
                failed.get_or_insert(format!("run {run} could not be copied: {error}"));
            }
        }
        if let Some(failed) = failed {
            // It is tried again later, from the same position on.
            return Err(CallFault::Unreadable(failed));
        }
        if let Some(other) = self.others.get_mut(name) {
            other.position = changes.position;
            other.quiet = if is_quiet { other.quiet.saturating_add(1) } else { 0 };
            other.next = Instant::now() + if other.quiet < QUIET { LOOK } else { LOOK_AT_QUIET };
        }
        Ok(())
    }

    async fn bring_up_to_date(&mut self, worker: &str, log: &RunLog, run: &RunId, to: u64) -> Result<(), Error> {
        let copy = match self.copies.remove(run) {
            Some((_, copy)) => Some(copy),
            None if self.is_complete(run) || self.was_removed(run) => return Ok(()),
            None => RunCopy::open(&self.journal, run).await?,
        };
        let copy = match copy {
            None => self.copied(log, run, to).await?,
            Some(mut copy) => {
                self.fill_up(log, run, &mut copy, to, Vec::new()).await?;
                copy
            }
        };
        self.keep(worker, run, copy).await
    }

    /// Appends what is missing up to this number of records.
    async fn fill_up(
        &self,
        log: &RunLog,
        run: &RunId,
        copy: &mut RunCopy,
        to: u64,
        passed_on: Vec<i64>,
    ) -> Result<(), Error> {
        if copy.records() >= to && passed_on.is_empty() {
            return Ok(());
        }
        let missing = log.records(run.as_str(), copy.records(), to, String::new()).await;
        let (records, _) = missing.map_err(|fault| engine_error(run, &fault))?;
        let blobs = self.home.connection.blobs_in(run, &records).await?;
        copy.append(&self.journal, records, blobs, passed_on).await
    }

    /// Keeps a copy in mind, unless the run is over.
    async fn keep(&mut self, worker: &str, run: &RunId, copy: RunCopy) -> Result<(), Error> {
        if copy.is_over() {
            return copy.release(&self.journal).await;
        }
        self.copies.insert(run.clone(), (worker.to_owned(), copy));
        Ok(())
    }

    /// Whether a run is over here, so that nothing can be missing.
    fn is_complete(&self, run: &RunId) -> bool {
        self.journal.head(run).is_ok_and(|head| head.status.is_final())
    }

    /// Whether a run was removed from the journal here: it stays so, though Restate still has it.
    fn was_removed(&self, run: &RunId) -> bool {
        RunCopy::was_removed(&self.journal, run).unwrap_or_default()
    }

    /// A new copy of a run.
    async fn copied(&self, log: &RunLog, run: &RunId, records: u64) -> Result<RunCopy, Error> {
        let read = log.records(run.as_str(), 0, records, String::new()).await;
        let (records, _) = read.map_err(|fault| engine_error(run, &fault))?;
        let blobs = self.home.connection.blobs_in(run, &records).await?;
        let place = place_of(log.ingress.url(), &log.names);
        RunCopy::create(&self.journal, run, &place, records, blobs).await
    }

    /// Passes on what people have sent to runs of others here.
    async fn pass_inputs_on(&mut self) {
        let runs: Vec<RunId> = self.copies.keys().cloned().collect();
        let waiting = self.journal.pending_inputs(&runs).unwrap_or_default();
        for input in waiting {
            let (run, number) = (input.run.clone(), input.id);
            let Some((worker, mut copy)) = self.copies.remove(&run) else { continue };
            let Some(log) = self.others.get(&worker).map(|other| other.log.clone()) else { continue };
            let to = match self.pass_on(&log, &run, input).await {
                Ok(records) => Some(records),
                // Other statuses come from nodes and proxies, and pass.
                Err(CallFault::Refused { status: 400 | 422, why }) => {
                    tracing::warn!(%run, why, "the worker of the run refused an input");
                    Some(copy.records())
                }
                Err(fault) => {
                    tracing::debug!(%run, %fault, "an input is passed on later");
                    None
                }
            };
            if let Some(other) = self.others.get_mut(&worker) {
                other.quiet = 0;
            }
            let kept = match to {
                // What came of it is here when it is no longer waiting.
                Some(to) => self.fill_up(&log, &run, &mut copy, to, vec![number]).await,
                None => Ok(()),
            };
            let kept = match kept {
                Ok(()) => self.keep(&worker, &run, copy).await,
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                tracing::warn!(%run, %error, "the run of another worker could not be copied");
                // All its runs are looked at again.
                if let Some(other) = self.others.get_mut(&worker) {
                    other.position = ChangePosition::default();
                }
            }
        }
    }

    /// Gives an input to the worker of a run. Returns how many records the run has then.
    async fn pass_on(&self, log: &RunLog, run: &RunId, waiting: PendingInput) -> Result<u64, CallFault> {
        let (service, machine) = (log.names.runs(), &self.home.connection.machine);
        let key = format!("inbox-{machine}-{}-{}", waiting.id, waiting.at.0);
        let target = CallTarget { service: &service, key: run.as_str(), handler: "tell", idempotency: Some(&key) };
        let request = TellRequest { at: waiting.at, input: waiting.input };
        let entry: LogEntry = log.ingress.call_within(target, &request, Some(ANSWER)).await?;
        Ok(entry.head.records)
    }
}

#[cfg(test)]
mod tests;
