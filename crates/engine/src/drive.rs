//! The loop that drives one run: take the waiting inputs, decide, write the records to the journal, and only then act.

mod at_home;
mod begin;
mod calls_from_code;
mod changing_tools;
mod copies;
mod log;
mod marks;
mod next_actions;
mod next_inputs;
mod parts;
mod values_for_others;
mod write_ahead;

pub use at_home::home_of;
pub(crate) use at_home::{attach as attach_home, check_home, leave_home, note_home};
pub(crate) use begin::context_blob;
pub(crate) use calls_from_code::CallRequest;
pub(crate) use log::log;
pub(crate) use marks::KnownMarks;
pub(crate) use next_actions::NextActions;
pub(crate) use parts::{MailSender, OpenedRun, QueuedInput};

use std::sync::Arc;

use updraft_journal::Batch;
use updraft_run::{BudgetLimit, Input, Record, Reply, Run, RunId, RunPhase, Timestamp};

use self::parts::{Briefing, CodeCalls, Inbox, Position, Unwritten, Work};
use crate::Error;
use crate::agent_stats;
use crate::clock::RunClock;
use crate::effects::RunningEffects;
use crate::engine::EngineInner;
use crate::home::HomeAttachment;

/// One run being driven. `drive/parts.rs` describes its parts.
pub(crate) struct RunDriver {
    pub(crate) engine: Arc<EngineInner>,
    pub(crate) id: RunId,
    pub(crate) run: Run,
    pub(crate) clock: RunClock,
    /// What models and tools are told.
    pub(crate) briefing: Briefing,
    /// Where inputs arrive.
    pub(crate) inbox: Inbox,
    /// The effects that are running.
    pub(crate) work: Work,
    /// Code that waits for calls it asked for.
    pub(crate) code: CodeCalls,
    /// What will be written with the next append.
    pub(crate) unwritten: Unwritten,
    /// The run's position in the journal.
    pub(crate) position: Position,
    /// Which files of the workspace contain text from outside, if there is a mark store.
    pub(crate) marks: Option<KnownMarks>,
    /// The run's home, if that is elsewhere.
    pub(crate) home: Option<HomeAttachment>,
}

/// A run that needs no process any more, for now or for good.
#[derive(Debug)]
pub struct DriveResult {
    /// Its id.
    pub id: RunId,
    /// The run in its last state.
    pub run: Run,
    /// The engine was told to stop before the run came to rest by itself.
    pub was_stopped: bool,
}

impl RunDriver {
    /// Continues with the run: takes the waiting inputs, and begins every open effect that may begin.
    pub(crate) async fn drive_from_here(mut self) -> Result<DriveResult, Error> {
        let queued = std::mem::take(&mut self.inbox.queued);
        self.process_inputs(queued, true).await?;
        self.drive().await
    }

    /// Drives the run until it is over, waits only for people, is paused or exhausted, or the engine is stopped.
    pub(crate) async fn drive(mut self) -> Result<DriveResult, Error> {
        loop {
            let mut arrived = self.next_inputs().await?;
            if arrived.is_empty() {
                // From here on senders are told that the run is no longer driven. What they sent before is still taken.
                self.inbox.mail.close();
                arrived.extend(std::iter::from_fn(|| self.inbox.mail.try_recv().ok()));
                if arrived.is_empty() && Box::pin(self.last_handed()).await? {
                    continue;
                }
            }
            if arrived.is_empty() {
                return self.stop_driving().await;
            }
            self.process_inputs(arrived, false).await?;
        }
    }

    /// Decides about the inputs, writes the records, and only then begins the effects that follow, or every open
    /// effect.
    async fn process_inputs(&mut self, arrived: Vec<QueuedInput>, everything: bool) -> Result<(), Error> {
        // Take new marks first: files are marked before their text can be read.
        let arrived = self.news_of_marks()?.into_iter().chain(arrived).collect();
        let (mut records, handled) = self.decide(arrived).await?;
        self.read_ahead(&mut records);
        let mut next = NextActions::after(&records);
        next.everything |= everything;
        if self.is_elsewhere() {
            // Its home hands over what may begin.
            (next.effects, next.everything) = (Vec::new(), false);
        }
        self.work.effects.allow_waiting(*self.run.phase() == RunPhase::Running);
        if matches!(self.run.phase(), RunPhase::Exhausted(BudgetLimit::Time)) {
            // Effects that do not end soon are left to the process that resumes the run with more time.
            self.work.deadline.get_or_insert_with(|| tokio::time::Instant::now() + next_inputs::GRACE);
        }
        if next.reload {
            self.briefing.kit = self.engine.kit_of(&self.id, &self.run)?;
        }
        if !records.is_empty() || !handled.is_empty() || !self.code.noted.is_empty() {
            self.append(records, handled).await?;
        }
        for step in &next.left {
            self.engine.performer.end_step(self.id.as_str(), step.as_str()).await;
        }
        self.begin(next).await
    }

    /// Decides about each input in turn: here in memory, or at the run's home.
    async fn decide(&mut self, arrived: Vec<QueuedInput>) -> Result<(Vec<Record>, Vec<i64>), Error> {
        if self.is_elsewhere() { Box::pin(self.decide_at_home(arrived)).await } else { Ok(self.decide_here(arrived)) }
    }

    /// Decides about each input in turn, in memory.
    fn decide_here(&mut self, arrived: Vec<QueuedInput>) -> (Vec<Record>, Vec<i64>) {
        let mut handled = Vec::new();
        let mut records = Vec::with_capacity(arrived.len());
        for mail in arrived {
            // An input that was in the inbox when the run was opened may be delivered a second time.
            if mail.row.is_some_and(|row| !self.inbox.taken.insert(row)) {
                continue;
            }
            handled.extend(mail.row);
            let (record, is_kept) = advance_and_filter(&mut self.run, mail.input, self.clock.now());
            if let Some(reply_to) = mail.reply_to {
                self.remember(reply_to, &record);
            }
            if is_kept {
                records.push(record);
            }
        }
        (records, handled)
    }

    /// Returns once everything is on disk. On failure the run in memory is dropped with `self`; the journal has the
    /// valid state.
    async fn append(&mut self, records: Vec<Record>, handled: Vec<i64>) -> Result<(), Error> {
        self.keep_marks(&records)?;
        let blobs = std::mem::take(&mut self.unwritten.blobs);
        self.unwritten.blobs = self.keep_for_others(blobs).await?;
        let status = self.run.recorded_status();
        let news = self.news_for_code(&records);
        let is_watched = self.engine.watch.is_watching();
        let told = (is_watched || log::is_on()).then(|| records.clone());
        let mut first = self.position.head + 1;
        self.position.head += records.iter().map(|record| record.events.len() as u64).sum::<u64>();
        let batch = Batch {
            records,
            blobs: std::mem::take(&mut self.unwritten.blobs),
            status: (status != self.position.status).then_some(status),
            due: None,
            handled,
        };
        self.position.status = status;
        self.engine.journal.append(&self.position.lease, batch).await?;
        for record in told.into_iter().flatten() {
            log::log(&self.id, &record, &self.run);
            if is_watched {
                self.engine.watch.record(&self.id, first, &record, &self.run);
            }
            first += record.events.len() as u64;
        }
        for reply_to in self.code.noted.drain(..) {
            let _ = reply_to.send(Reply::Said(String::new()));
        }
        for (reply_to, reply) in news {
            // If the code no longer waits, nothing is lost: its call is in the journal.
            let _ = reply_to.send(reply);
        }
        Ok(())
    }

    /// Stops driving: writes the inputs that were waiting for the next append, and releases the lease.
    async fn stop_driving(mut self) -> Result<DriveResult, Error> {
        let deferred = std::mem::take(&mut self.unwritten.deferred_inputs);
        if !deferred.is_empty() || !self.unwritten.blobs.is_empty() {
            let (records, handled) = self.decide(deferred).await?;
            self.append(records, handled).await?;
        }
        let was_stopped = !self.run.is_over() && self.engine.stop.is_cancelled();
        self.engine.forget(&self.id);
        self.work.effects = RunningEffects::default();
        self.settle_marks().await;
        if *self.run.phase() != RunPhase::Running {
            for step in self.run.steps().filter(|step| !step.background.is_empty()) {
                self.engine.performer.end_step(self.id.as_str(), step.spec.id.as_str()).await;
            }
        }
        // A run that waits for a person keeps what its tools hold.
        if self.run.is_over() {
            self.engine.performer.release(&self.id.to_string()).await;
            agent_stats::note(&self.engine.journal, &self.id, &self.run).await;
            if self.is_elsewhere() {
                at_home::leave_home(&self.engine.journal, &self.id).await;
            }
        }
        self.engine.journal.release(self.position.lease).await?;
        Ok(DriveResult { id: self.id, run: self.run, was_stopped })
    }
}

/// Advances a run by one input, and says whether the record is kept. One without consequences is not, unless it ends a
/// downtime, because downtime is not working time.
pub fn advance_and_filter(run: &mut Run, input: Input, now: Timestamp) -> (Record, bool) {
    let ends_downtime = matches!(input, Input::Recovered { .. }) && !run.is_at_rest();
    let record = run.advance(input, now);
    let is_kept = ends_downtime || !record.events.is_empty();
    (record, is_kept)
}
