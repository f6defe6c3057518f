//! What the journal of a run means to a program that waits for it: progress, questions, its end.
//!
//! The moments of a run are a function of its records, so whoever reads them again from the start gets the same ones in
//! the same order, also after the process was restarted.

mod answer_draft;

use std::ops::ControlFlow;

use updraft_engine::{failure_of, waiting_for, why_stopped};
use updraft_run::{Event, Record, Reply, Run, RunId, RunPhase, Status, Timestamp, TokenUsage};

use super::broadcast::in_words;
use super::runs::LiveRuns;
use super::service_types::PendingQuestion;
use super::view;
use crate::fault::{Fault, blocking};
pub use answer_draft::AnswerDraft;

/// What happened, to whoever waits for a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunMoment {
    /// A step did something.
    Progress(String),
    /// A model begins to write what is probably the answer.
    Writes(AnswerDraft),
    /// What it wrote, as a whole.
    Written {
        /// Its text.
        text: String,
        /// Whether it calls tools: then the text is only a remark.
        calls: bool,
    },
    /// What it has written so far is void, or not the next thing that is told.
    BreaksOff,
    /// It cannot continue until a person has answered.
    Asks(Vec<PendingQuestion>),
    /// It rests until it is resumed, for this reason.
    Rests(String),
    /// It continues after it had asked or rested.
    Continues,
    /// It is over.
    Ends {
        /// How.
        status: Status,
        /// The answer; may be empty.
        answer: String,
        /// Why it counts as failed, if it does.
        why: String,
    },
}

/// A moment with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedMoment {
    /// The number of the last event of its record.
    pub position: u64,
    /// When it was.
    pub at: Timestamp,
    /// The tokens that the run had used by then.
    pub usage: TokenUsage,
    /// What happened.
    pub moment: RunMoment,
}

/// Reads the moments of one run, from the first record on.
#[derive(Clone, Debug)]
pub struct MomentReader {
    id: RunId,
    run: Box<Run>,
    position: u64,
    passed: Timestamp,
    is_resting: bool,
    /// What a model is writing, if it is probably the answer.
    draft: Option<AnswerDraft>,
}

impl MomentReader {
    /// A reader at the start of a run.
    pub fn new(id: RunId) -> Self {
        Self { id, run: Box::default(), position: 0, passed: Timestamp::default(), is_resting: false, draft: None }
    }

    /// Which run it reads.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The run, as far as it was read.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The number of the last event that was read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The questions that it waits for, as far as it was read.
    pub fn waits(&self) -> Vec<PendingQuestion> {
        if self.is_resting { waiting_for(&self.run).iter().map(view::wait).collect() } else { Vec::new() }
    }

    /// What a model is writing, if it is probably the answer, as far as it was read.
    pub fn draft(&self) -> Option<&AnswerDraft> {
        self.draft.as_ref()
    }

    fn take(&mut self, first: u64, record: &Record, found: &mut Vec<NumberedMoment>) {
        // A record without events has the place of the next one, with which it is read again.
        if first <= self.position || (record.events.is_empty() && record.at <= self.passed) {
            return;
        }
        self.passed = record.at;
        self.run.record(record);
        let count = record.events.len() as u64;
        if count == 0 {
            return;
        }
        self.position = first + count - 1;
        let written = self.draft.as_ref().and_then(|draft| written(draft, record));
        let mut moments = Vec::new();
        if self.is_resting && !self.rests() {
            self.is_resting = false;
            moments.push(RunMoment::Continues);
        }
        // That the step which answers is done is told by the answer.
        let answers = self.draft.as_ref().filter(|_| written.is_some()).map(|draft| &draft.address.step);
        let is_told = |event: &&Event| !matches!(event, Event::StepDone { step, .. } if Some(step) == answers);
        let lines = record.events.iter().filter(is_told).filter_map(|event| in_words(event, &self.run));
        moments.extend(lines.map(RunMoment::Progress));
        if record.events.iter().any(|event| matches!(event, Event::Finished { .. })) {
            moments.push(self.end());
        } else if !self.is_resting && self.rests() {
            self.is_resting = true;
            moments.push(self.rest());
        }
        self.follow_draft(written, &mut moments);
        let (position, at, usage) = (self.position, record.at, &self.run.ledger().usage);
        found.extend(moments.into_iter().map(|moment| NumberedMoment { position, at, usage: usage.clone(), moment }));
    }

    /// Adds what becomes of the answer that is being written to what else happened.
    fn follow_draft(&mut self, written: Option<RunMoment>, moments: &mut Vec<RunMoment>) {
        let next = AnswerDraft::of(&self.run);
        let is_as_before = self.draft == next && moments.is_empty() && written.is_none();
        if is_as_before {
            return;
        }
        if self.draft.is_some() {
            moments.insert(0, written.unwrap_or(RunMoment::BreaksOff));
        }
        moments.extend(next.clone().map(RunMoment::Writes));
        self.draft = next;
    }

    /// Whether it can go on only if somebody does something.
    fn rests(&self) -> bool {
        match self.run.phase() {
            RunPhase::Running => self.run.is_at_rest() && !waiting_for(&self.run).is_empty(),
            RunPhase::Paused | RunPhase::Exhausted(_) => true,
            RunPhase::New | RunPhase::Cancelling { .. } | RunPhase::Over { .. } => false,
        }
    }

    fn rest(&self) -> RunMoment {
        match self.run.phase() {
            RunPhase::Exhausted(_) => RunMoment::Rests(why_stopped(&self.run).unwrap_or_default()),
            RunPhase::Paused => RunMoment::Rests("a person paused it".to_owned()),
            _ => RunMoment::Asks(waiting_for(&self.run).iter().map(view::wait).collect()),
        }
    }

    fn end(&self) -> RunMoment {
        let answer = match self.run.phase() {
            RunPhase::Over { answer, .. } => answer.to_string(),
            _ => String::new(),
        };
        let why = failure_of(&self.run).map(|why| why.message.clone()).unwrap_or_default();
        RunMoment::Ends { status: self.run.status(), answer, why }
    }
}

/// What was written, if a record has it.
fn written(draft: &AnswerDraft, record: &Record) -> Option<RunMoment> {
    record.events.iter().find_map(|event| match event {
        Event::Replied { id, reply: Reply::Answer(answer), .. } if *id == draft.address => {
            Some(RunMoment::Written { text: answer.text.clone(), calls: !answer.calls.is_empty() })
        }
        _ => None,
    })
}

impl LiveRuns {
    /// Reads what was written to the journal since the reader was used last.
    pub async fn read_on(&self, mut reader: MomentReader) -> Result<(MomentReader, Vec<NumberedMoment>), Fault> {
        let journal = self.journal().clone();
        blocking(move || {
            let mut found = Vec::new();
            let (id, from) = (reader.id.clone(), reader.position + 1);
            journal.read(&id, from, &mut |first, record: Record| {
                reader.take(first, &record, &mut found);
                ControlFlow::Continue(())
            })?;
            Ok((reader, found))
        })
        .await
    }
}
