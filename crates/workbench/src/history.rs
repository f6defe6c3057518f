//! A run as people read it: what was said, called and asked, and when, up to one position of its journal.
//!
//! Everything here is a function of the run's first events, so the past can be shown like the present. A position is the
//! number of the last event that counts.

mod archive;
mod entries;

use std::collections::BTreeMap;
use std::sync::Arc;

use updraft_run::{Effect, EffectAddress, EffectKind, Event, Record, Reply, Run, RunId, StepId, Timestamp};

pub use archive::RunArchive;
pub(crate) use archive::diff_in;
pub use entries::{AnswerEntry, CallEntry, EntryKind, HistoryEntry, PlanEntry, QuestionEntry, StepTimes, VisitTimes};

/// A run and its history up to a position.
#[derive(Clone, Debug, Default)]
pub struct RunHistory {
    run: Run,
    position: u64,
    began: Option<Timestamp>,
    last: Timestamp,
    /// The time of the last record, with or without events.
    passed: Timestamp,
    entries: Vec<HistoryEntry>,
    /// The entry of each effect.
    places: BTreeMap<EffectAddress, usize>,
    times: BTreeMap<StepId, StepTimes>,
    /// The last event that concerned each step.
    touched: BTreeMap<StepId, u64>,
    /// Bytes of text in replies.
    text: usize,
}

/// About how many bytes of memory an event takes, besides the text of replies.
const EVENT_BYTES: usize = 500;

impl RunHistory {
    /// Adds a record; `first` is the number of its first event. Events after `until` are left out.
    pub fn add(&mut self, first: u64, record: &Record, until: u64) {
        // A record without events has the place of the next one, with which it is read again.
        if record.events.is_empty() && record.at <= self.passed {
            return;
        }
        self.passed = record.at;
        self.run.pass(record);
        self.began.get_or_insert(record.at);
        for (number, event) in (first..=until).zip(&record.events) {
            self.last = record.at;
            self.position = number;
            self.before(number, event, record.at);
            self.run.apply(event);
            self.after(number, event, record.at);
        }
    }

    /// The run as it was then.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The number of the last event that counts.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// About how many bytes of memory this takes.
    pub fn bytes(&self) -> usize {
        self.text + EVENT_BYTES * usize::try_from(self.position).unwrap_or_default()
    }

    /// When the run began.
    pub fn began(&self) -> Timestamp {
        self.began.unwrap_or_default()
    }

    /// When its last event happened.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// What happened, in order.
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    /// The entry of an effect.
    pub fn entry_at(&self, id: &EffectAddress) -> Option<&HistoryEntry> {
        self.entries.get(*self.places.get(id)?)
    }

    /// The run that this one is a copy of, if it is.
    pub fn forked_from(&self) -> Option<&RunId> {
        self.entries.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Forked { from, .. } => Some(from),
            _ => None,
        })
    }

    /// When each step was at work.
    pub fn times(&self, step: &StepId) -> Option<&StepTimes> {
        self.times.get(step)
    }

    /// The last event that concerned a step.
    pub fn touched(&self, step: &StepId) -> u64 {
        self.touched.get(step).copied().unwrap_or_default()
    }

    fn push(&mut self, position: u64, at: Timestamp, step: Option<&StepId>, kind: EntryKind) {
        self.entries.push(HistoryEntry { position, changed: position, at, step: step.cloned(), kind });
    }

    fn place(&mut self, position: u64, at: Timestamp, id: &EffectAddress, kind: EntryKind) {
        self.places.insert(id.clone(), self.entries.len());
        self.push(position, at, Some(&id.step), kind);
    }

    fn entry(&mut self, id: &EffectAddress, position: u64) -> Option<&mut HistoryEntry> {
        let entry = self.entries.get_mut(*self.places.get(id)?)?;
        entry.changed = position;
        Some(entry)
    }

    /// What can be told only before the event is applied: which call was decided about.
    fn before(&mut self, position: u64, event: &Event, at: Timestamp) {
        if let Event::Rejected { id, why } = event
            && !self.places.contains_key(id)
        {
            let call = CallEntry::wanted(id, self.run.call_at(id), at);
            let rejected = CallEntry { rejected: Some(why.clone()), ended: Some(at), ..call };
            self.place(position, at, id, EntryKind::Call(Arc::new(rejected)));
        }
    }

    fn after(&mut self, position: u64, event: &Event, at: Timestamp) {
        match event {
            Event::Started(start) => {
                let text = start.goal.own_words().to_owned();
                self.push(position, at, None, EntryKind::Goal { text, files: start.goal.files.clone() });
            }
            Event::Forked { from, at: cut, goal, .. } => {
                self.push(position, at, None, EntryKind::Forked { from: from.clone(), at: *cut });
                if let Some(text) = goal {
                    self.push(position, at, None, EntryKind::Goal { text: text.clone(), files: Vec::new() });
                }
            }
            Event::Told { message } => self.push(position, at, None, EntryKind::Told { text: message.clone() }),
            Event::Planned { graph, because, instead } => {
                let plan = PlanEntry::of(graph, because, instead.as_deref());
                self.push(position, at, None, EntryKind::Planned(plan));
            }
            Event::Wanted { id, effect } => self.wanted(position, at, id, effect),
            Event::Held { id, .. } => {
                if let Some(entry) = self.entry(id, position) {
                    entry.held(at);
                }
            }
            Event::Reserved { id, .. } => {
                if let Some(entry) = self.entry(id, position) {
                    entry.reserved(at);
                }
            }
            Event::Begun { id, attempt, .. } => {
                if let Some(entry) = self.entry(id, position) {
                    entry.begun(*attempt, at);
                }
            }
            Event::Replied { id, reply, .. } => self.replied(position, at, id, reply),
            Event::Rejected { id, why } => {
                if let Some(entry) = self.entry(id, position) {
                    entry.rejected(why, at);
                }
            }
            Event::Judged { step, verdict } => {
                self.times.entry(step.clone()).or_default().judged(verdict, at);
                if let Some(text) = entries::judgement(verdict) {
                    self.push(position, at, Some(step), EntryKind::Note { text, is_bad: true });
                }
            }
            Event::StepDone { step, .. } => self.ended(position, at, step, "completed", None),
            Event::StepFailed { step, why } => self.ended(position, at, step, "failed", Some(&why.message)),
            Event::StepSkipped { step, because } => {
                let why = format!("`{because}` did not succeed");
                self.ended(position, at, step, "skipped", Some(&why));
            }
            Event::StepCancelled { step } => self.ended(position, at, step, "cancelled", None),
            Event::Finished { answer, failed } => {
                let failed = failed.as_ref().map(|why| why.message.clone());
                self.push(position, at, None, EntryKind::Finished { answer: answer.clone(), failed });
            }
            other => {
                if let Some((text, is_bad)) = entries::note(other) {
                    self.push(position, at, other.step(), EntryKind::Note { text, is_bad });
                }
            }
        }
        if let Some(step) = event.step() {
            self.touched.insert(step.clone(), position);
        }
    }

    fn wanted(&mut self, position: u64, at: Timestamp, id: &EffectAddress, effect: &Effect) {
        match effect {
            Effect::Ask => {
                self.times.entry(id.step.clone()).or_default().entered(id.visit, at);
                let step = self.run.step(&id.step);
                let agent = step.map(|step| step.spec.agent.clone()).unwrap_or_default();
                let model = self.run.model_of(&id.step).to_owned();
                let answer = AnswerEntry::asked(id, agent, model, at);
                self.place(position, at, id, EntryKind::Answer(Arc::new(answer)));
            }
            Effect::Prepare => self.times.entry(id.step.clone()).or_default().entered(id.visit, at),
            Effect::Call => {
                // It may have been approved: then its entry is there already.
                if let Some(entry) = self.entry(id, position) {
                    entry.wanted(at);
                } else {
                    let call = CallEntry::wanted(id, self.run.call_at(id), at);
                    self.place(position, at, id, EntryKind::Call(Arc::new(call)));
                }
            }
            Effect::Question { text, options, inquiry } => {
                let question = QuestionEntry::question(id, text, options, inquiry.as_deref(), at);
                self.place(position, at, id, EntryKind::Question(Arc::new(question)));
            }
            Effect::Approval { why, origins, always, like, .. } => {
                let call = self.run.call_at(&id.sibling(EffectKind::Call, id.n));
                let is_plan = self.run.plan_approval() == Some(id);
                let mut question = QuestionEntry::approval(id, why, origins, call, at);
                question.is_plan = is_plan;
                question.always.clone_from(always);
                question.always_in_run = like.as_ref().map(ToString::to_string);
                self.place(position, at, id, EntryKind::Question(Arc::new(question)));
            }
            Effect::Timer { .. } => {}
        }
    }

    fn replied(&mut self, position: u64, at: Timestamp, id: &EffectAddress, reply: &Reply) {
        self.text += match reply {
            Reply::Answer(answer) => answer.text.len() + answer.reasoning.len(),
            Reply::Output(output) => output.text.len(),
            _ => 0,
        };
        if let Some(entry) = self.entry(id, position) {
            entry.replied(reply, at);
        }
    }

    fn ended(&mut self, position: u64, at: Timestamp, step: &StepId, status: &'static str, why: Option<&str>) {
        self.times.entry(step.clone()).or_default().ended(at);
        let kind = EntryKind::StepEnded { status, why: why.map(str::to_owned) };
        self.push(position, at, Some(step), kind);
    }
}
