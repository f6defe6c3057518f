//! The loop that drives one run: take what waits, decide, write it down, and only then act.

mod begin;
mod careful;
mod code;
mod gather;
mod log;
mod marks;
mod tools;

pub(crate) use begin::context_blob;
pub(crate) use code::{MOST_WISHES, Wish};
pub(crate) use log::log;
pub(crate) use marks::Known;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use updraft_journal::{Batch, Blob, Lease, Status};
use updraft_run::{Address, Event, Input, Limit, Phase, Record, Reply, Run, RunId, StepId};

use crate::Error;
use crate::clock::RunClock;
use crate::context::Context;
use crate::conversation::Conversation;
use crate::effects::Effects;
use crate::engine::Inner;
use crate::words::Kit;

/// An input on its way to a run, and its place in the inbox if it came from another process.
pub(crate) struct Mail {
    pub(crate) input: Input,
    pub(crate) row: Option<i64>,
    /// The code that waits for what comes of it.
    pub(crate) heard: Option<oneshot::Sender<Reply>>,
}

impl From<Input> for Mail {
    fn from(input: Input) -> Self {
        Self { input, row: None, heard: None }
    }
}

/// One run being driven.
pub(crate) struct Drive {
    pub(crate) engine: Arc<Inner>,
    pub(crate) id: RunId,
    pub(crate) run: Run,
    pub(crate) clock: RunClock,
    pub(crate) lease: Lease,
    pub(crate) kit: Arc<Kit>,
    /// The version of the tools that the run has heard of.
    pub(crate) heard: Option<u64>,
    /// What a step that begins now is told about the workspace, and its blob's hash.
    pub(crate) context: (updraft_run::Hash, Arc<Context>),
    /// Something may have changed since the context was taken.
    pub(crate) is_stale: bool,
    pub(crate) mail: mpsc::UnboundedReceiver<Mail>,
    /// Calls that code asks for, and how it does.
    pub(crate) wishes: mpsc::Receiver<Wish>,
    pub(crate) wishing: mpsc::Sender<Wish>,
    /// The code that waits for calls it asked for.
    pub(crate) listening: BTreeMap<Address, oneshot::Sender<Reply>>,
    /// Those who wait until what they noted is on disk.
    pub(crate) noted: Vec<oneshot::Sender<Reply>>,
    /// Inputs to be taken at once.
    pub(crate) queued: Vec<Mail>,
    /// Inputs of other processes that were taken, by their places in the inbox.
    pub(crate) taken: BTreeSet<i64>,
    /// Inputs that can wait for the next append.
    pub(crate) riding: Vec<Mail>,
    /// Values that the next append must hold.
    pub(crate) blobs: Vec<Blob>,
    pub(crate) effects: Effects,
    pub(crate) conversations: BTreeMap<StepId, Box<Conversation>>,
    pub(crate) status: Status,
    /// Events on disk.
    pub(crate) head: u64,
    /// Which files of the workspace hold words from outside, where that is kept.
    pub(crate) marks: Option<Known>,
    /// When to give up on what was told to stop.
    pub(crate) patience: Option<tokio::time::Instant>,
}

/// A run that needs no process any more, for now or for good.
#[derive(Debug)]
pub struct Rested {
    /// Its id.
    pub id: RunId,
    /// As it stands.
    pub run: Run,
    /// The engine was told to stop before the run came to rest by itself.
    pub was_stopped: bool,
}

impl Drive {
    /// Goes on with the run as it stands: takes what waits, and begins whatever is open then.
    pub(crate) async fn drive_from_here(mut self) -> Result<Rested, Error> {
        let queued = std::mem::take(&mut self.queued);
        self.take(queued, true).await?;
        self.drive().await
    }

    /// Drives the run until it is over, waits only for people, is paused or exhausted, or the engine is stopped.
    pub(crate) async fn drive(mut self) -> Result<Rested, Error> {
        loop {
            let mut arrived = self.gather().await?;
            if arrived.is_empty() {
                // From here on senders are told that nobody listens; what they were quicker with is still taken.
                self.mail.close();
                arrived.extend(std::iter::from_fn(|| self.mail.try_recv().ok()));
            }
            if arrived.is_empty() {
                return self.rest().await;
            }
            self.take(arrived, false).await?;
        }
    }

    /// Decides on what arrived, writes it down, and only then begins what follows, or everything that is open.
    async fn take(&mut self, arrived: Vec<Mail>, everything: bool) -> Result<(), Error> {
        // Whatever was read was marked before it could be.
        let arrived = self.news_of_marks()?.into_iter().chain(arrived).collect();
        let (mut records, handled) = self.decide(arrived);
        self.read_ahead(&mut records);
        let mut begin = Begin::after(&records);
        begin.everything |= everything;
        self.effects.let_wait(*self.run.phase() == Phase::Running);
        if matches!(self.run.phase(), Phase::Exhausted(Limit::Time)) {
            // What does not end soon is left to whoever resumes the run with more time.
            self.patience.get_or_insert_with(|| tokio::time::Instant::now() + gather::GRACE);
        }
        if begin.reload {
            self.kit = self.engine.kit_of(&self.id, &self.run)?;
        }
        if !records.is_empty() || !handled.is_empty() || !self.noted.is_empty() {
            self.append(records, handled).await?;
        }
        self.begin(begin).await
    }

    /// Decides on each input in turn, in memory.
    fn decide(&mut self, arrived: Vec<Mail>) -> (Vec<Record>, Vec<i64>) {
        let mut handled = Vec::new();
        let mut records = Vec::with_capacity(arrived.len());
        for mail in arrived {
            // What waited when the run was opened may be brought once more by the post.
            if mail.row.is_some_and(|row| !self.taken.insert(row)) {
                continue;
            }
            handled.extend(mail.row);
            // An input from which nothing follows leaves no trace, but for the end of a downtime: it is not time at work.
            let ends_downtime = matches!(mail.input, Input::Recovered { .. }) && !self.run.is_at_rest();
            let record = self.run.advance(mail.input, self.clock.now());
            if let Some(heard) = mail.heard {
                self.remember(heard, &record);
            }
            if ends_downtime || !record.events.is_empty() {
                records.push(record);
            }
        }
        (records, handled)
    }

    /// Returns once everything is on disk. On failure the run in memory is dropped with `self`; the journal has the truth.
    async fn append(&mut self, records: Vec<Record>, handled: Vec<i64>) -> Result<(), Error> {
        self.keep_marks(&records)?;
        let status = status_of(&self.run);
        let news = self.news_for_code(&records);
        let is_watched = self.engine.watch.is_watching();
        let told = (is_watched || log::is_on()).then(|| records.clone());
        let batch = Batch {
            records,
            blobs: std::mem::take(&mut self.blobs),
            status: (status != self.status).then_some(status),
            due: None,
            handled,
        };
        self.status = status;
        self.engine.journal.append(&self.lease, batch).await?;
        for record in told.into_iter().flatten() {
            log::log(&self.id, &record, &self.run);
            if is_watched {
                self.engine.watch.record(&self.id, self.head + 1, &record, &self.run);
            }
            self.head += record.events.len() as u64;
        }
        for heard in self.noted.drain(..) {
            let _ = heard.send(Reply::Said(String::new()));
        }
        for (heard, reply) in news {
            // Code that no longer waits misses nothing: its call is in the journal.
            let _ = heard.send(reply);
        }
        Ok(())
    }

    /// Gives the run back: what was riding is written down, and the lease is free.
    async fn rest(mut self) -> Result<Rested, Error> {
        let riding = std::mem::take(&mut self.riding);
        if !riding.is_empty() || !self.blobs.is_empty() {
            let (records, handled) = self.decide(riding);
            self.append(records, handled).await?;
        }
        let was_stopped = !self.run.is_over() && self.engine.stop.is_cancelled();
        self.engine.forget(&self.id);
        self.effects = Effects::default();
        self.settle_marks().await;
        self.engine.journal.release(self.lease).await?;
        Ok(Rested { id: self.id, run: self.run, was_stopped })
    }
}

/// What to begin or stop after a batch of records.
#[derive(Debug, Default)]
pub(crate) struct Begin {
    /// Effects that became possible.
    pub(crate) effects: Vec<Address>,
    /// Look at everything that is open.
    pub(crate) everything: bool,
    /// Some effects may no longer be wanted.
    pub(crate) stop: bool,
    /// Agents, prompts or tools were taken anew.
    pub(crate) reload: bool,
}

impl Begin {
    fn after(records: &[Record]) -> Self {
        let mut begin = Self::default();
        for (record, event) in records.iter().flat_map(|record| record.events.iter().map(move |event| (record, event)))
        {
            match event {
                Event::Wanted { id, .. } | Event::Reserved { id, .. } | Event::Interrupted { id, .. } => {
                    begin.effects.push(id.clone());
                }
                Event::Resumed { .. } | Event::Forked { .. } => begin.everything = true,
                Event::Reloaded { .. } => begin.reload = true,
                // It was closed with the code that called it.
                Event::Replied { id, .. } if id.inner.is_some() && !is_reply_to(&record.input, id) => begin.stop = true,
                Event::Cancelled { .. }
                | Event::StepCancelled { .. }
                | Event::StepFailed { .. }
                | Event::Judged { .. }
                | Event::Finished { .. } => begin.stop = true,
                _ => {}
            }
        }
        // After a crash, what was wanted and never begun is found among all that is open.
        begin.everything |= records.iter().any(|record| matches!(record.input, Input::Recovered { .. }));
        begin
    }
}

fn is_reply_to(input: &Input, id: &Address) -> bool {
    matches!(input, Input::Replied { id: own, .. } if own == id)
}

pub(crate) fn status_of(run: &Run) -> Status {
    match run.phase() {
        Phase::New | Phase::Running | Phase::Cancelling { .. } if run.status() != "waiting" => Status::Running,
        Phase::New | Phase::Running | Phase::Cancelling { .. } => Status::Waiting,
        Phase::Paused => Status::Paused,
        Phase::Exhausted(_) => Status::Exhausted,
        Phase::Over { .. } => Status::from_word(run.status()),
    }
}
