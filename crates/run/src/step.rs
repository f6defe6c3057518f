//! One step of a graph as it stands: its place in the work, its conversation, and how its calls ended.

use std::sync::Arc;

use serde_json::Value;

use crate::budget::Ledger;
use crate::effect::Prepared;
use crate::event::{Judgement, Note};
use crate::graph::StepSpec;
use crate::id::{Address, Kind, StepId};
use crate::message::Answer;
use crate::origins::Origins;
use crate::reply::{Failure, Reply, Verdict};

/// One step of the graph, as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// As it was planned.
    pub spec: Arc<StepSpec>,
    /// What its result is for.
    pub role: Role,
    /// Where it stands.
    pub state: State,
    /// How often it was entered before.
    pub visit: u32,
    /// What this visit begins with, beyond the task.
    pub carried: Option<Carried>,
    /// What this visit's first message is made of, frozen when it began.
    pub opening: Option<Arc<Opening>>,
    /// The context this visit began with, where it is not the one the run started with.
    pub context: Option<crate::Hash>,
    /// The conversation of this visit.
    pub talk: Vec<Entry>,
    /// What it used.
    pub ledger: Ledger,
    /// Time at work, counted where the time of a step is limited.
    pub worked: crate::Millis,
    /// Where the words that it has read from outside came from.
    pub origins: Origins,
    /// What it gave, once it is done.
    pub output: Option<Arc<str>>,
    /// Why it cannot go on until the run is resumed.
    pub halted: Option<Failure>,
    /// What it did, where it called anything.
    pub actions: Option<Arc<crate::Actions>>,
    /// A new plan stands in for it: its failure is no longer the run's.
    pub superseded: bool,
    /// The review that rejected its result for good.
    pub rejected_by: Option<StepId>,
    /// The step whose result it has read and which makes that again, while this one is at work.
    pub(crate) outdated_by: Option<StepId>,
    pub(crate) next: Vec<usize>,
    pub(crate) waits: u32,
    /// What is known about the calls of the last answer.
    pub(crate) prepared: Vec<Prepared>,
    /// What went wrong with the last ask.
    pub(crate) trouble: Option<Failure>,
    /// What the model will be told before its next turn.
    pub(crate) pending: Vec<Note>,
    /// The judge's or summariser's words, until they are decided on.
    pub(crate) aside: Option<Arc<Answer>>,
    /// The last answer behind the one that it continues.
    pub(crate) joined: Option<Entry>,
}

/// What the first message of a visit is made of. Frozen, so that it can be made again exactly however the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The variables it is given.
    pub inputs: Vec<(String, Arc<Value>)>,
    /// How many of the user's later messages had been said.
    pub told: usize,
    /// For a new plan: the steps that had failed, were done, and had not begun.
    pub outline: Vec<(StepId, &'static str)>,
}

/// What a step's result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is part of the graph.
    Work,
    /// It makes the graph.
    Plan,
    /// It profiles the files handed over.
    Distill,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A step before it is not done.
    Waiting,
    /// It may begin.
    Ready,
    /// A model is being asked, or has just answered.
    Thinking {
        /// Which question of this visit.
        turn: u32,
    },
    /// Calls of that turn are open.
    Acting {
        /// The turn that asked for them.
        turn: u32,
        /// One for each call.
        slots: Vec<Slot>,
    },
    /// A model judges its result.
    Judging {
        /// The turn that gave it.
        turn: u32,
    },
    /// Its older turns are being summarised.
    Compacting {
        /// The last turn.
        turn: u32,
    },
    /// It ended well.
    Done,
    /// It failed.
    Failed(Failure),
    /// A step before it did not end well.
    Skipped {
        /// That step.
        because: StepId,
    },
    /// Someone cancelled it.
    Cancelled,
    /// A new plan left it out before it began.
    Dropped,
}

/// One call of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing was decided.
    Undecided,
    /// A person was asked: whether it may be made, or the question it is.
    Asked,
    /// The person's word.
    Decided(Verdict),
    /// It is wanted.
    Open,
    /// It has ended.
    Closed(Outcome),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The world replied.
    Replied(Reply),
    /// It was not made.
    Rejected(Failure),
}

impl Outcome {
    /// Whether it gave the agent what it asked for.
    pub fn is_good(&self) -> bool {
        match self {
            Outcome::Replied(Reply::Output(output)) => !output.is_error,
            Outcome::Replied(Reply::Said(_)) => true,
            Outcome::Replied(_) | Outcome::Rejected(_) => false,
        }
    }
}

/// One piece of a conversation after its opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The model answered.
    Answer(Arc<Answer>),
    /// Its calls ended.
    Results(Vec<Outcome>),
    /// It was told something.
    Note(Note),
    /// What stood here before is represented by a summary.
    Summary(Arc<str>),
}

/// What a later visit of a step begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Why it was entered again.
    pub judgement: Judgement,
    /// What it had said before.
    pub previous: Arc<str>,
}

impl Step {
    /// The status people see.
    pub fn status(&self) -> &'static str {
        match &self.state {
            _ if self.halted.is_some() => "waiting",
            State::Waiting => "pending",
            State::Ready => "ready",
            State::Thinking { .. } | State::Judging { .. } | State::Compacting { .. } => "running",
            State::Acting { slots, .. } => {
                let busy = slots.iter().any(|slot| !matches!(slot, Slot::Closed(_) | Slot::Asked));
                if busy { "running" } else { "waiting" }
            }
            State::Done => "completed",
            State::Failed(_) => "failed",
            State::Skipped { .. } | State::Dropped => "skipped",
            State::Cancelled => "cancelled",
        }
    }

    /// Whether it has read text from outside.
    pub fn is_untrusted(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        match self.state {
            State::Done | State::Failed(_) | State::Skipped { .. } | State::Cancelled | State::Dropped => true,
            State::Waiting
            | State::Ready
            | State::Thinking { .. }
            | State::Acting { .. }
            | State::Judging { .. }
            | State::Compacting { .. } => false,
        }
    }

    /// Whether it began or came to an end: its id is taken for good, and a new plan leaves it as it is.
    pub fn has_begun(&self) -> bool {
        match self.state {
            // One that is entered again has places of its own already.
            State::Waiting | State::Ready => self.visit > 0,
            State::Dropped => false,
            State::Thinking { .. }
            | State::Acting { .. }
            | State::Judging { .. }
            | State::Compacting { .. }
            | State::Done
            | State::Failed(_)
            | State::Skipped { .. }
            | State::Cancelled => true,
        }
    }

    /// Whether it is at work.
    pub fn is_at_work(&self) -> bool {
        !self.has_ended() && !matches!(self.state, State::Waiting | State::Ready)
    }

    /// The last thing its model said; an answer and its continuation as one.
    pub fn last_answer(&self) -> Option<&Arc<Answer>> {
        self.spoken().find_map(|entry| match entry {
            Entry::Answer(answer) => Some(answer),
            Entry::Results(_) | Entry::Note(_) | Entry::Summary(_) => None,
        })
    }

    /// The conversation from its newest entry; the last answer and what it continues as one.
    pub(crate) fn spoken(&self) -> impl Iterator<Item = &Entry> {
        let mut joined = self.joined.as_ref();
        self.talk.iter().rev().map(move |entry| match entry {
            Entry::Answer(_) => joined.take().unwrap_or(entry),
            Entry::Results(_) | Entry::Note(_) | Entry::Summary(_) => entry,
        })
    }

    /// Takes in an answer, together with the one that it continues.
    pub(crate) fn hear(&mut self, answer: &Arc<Answer>) {
        let is_answer = |entry: &&Entry| matches!(entry, Entry::Answer(_));
        let since = self.talk.iter().rev().take_while(|entry| !is_answer(entry));
        let continues = since.into_iter().any(|entry| matches!(entry, Entry::Note(Note::CutOff)));
        self.joined = match self.talk.iter().rev().find(is_answer) {
            Some(Entry::Answer(first)) if continues => Some(Entry::Answer(Arc::new(join(first, answer)))),
            _ => None,
        };
        self.talk.push(Entry::Answer(answer.clone()));
    }

    /// Whether the last answer continues the one before it.
    pub(crate) fn is_continued(&self) -> bool {
        self.joined.is_some()
    }

    pub(crate) fn turn(&self) -> u32 {
        match &self.state {
            State::Thinking { turn }
            | State::Acting { turn, .. }
            | State::Judging { turn }
            | State::Compacting { turn } => *turn,
            State::Waiting
            | State::Ready
            | State::Done
            | State::Failed(_)
            | State::Skipped { .. }
            | State::Cancelled
            | State::Dropped => 0,
        }
    }

    pub(crate) fn address(&self, turn: u32, kind: Kind) -> Address {
        Address::of(&self.spec.id, self.visit, turn, kind)
    }
}

/// An answer and its continuation, byte for byte.
fn join(first: &Answer, rest: &Answer) -> Answer {
    // Some models begin again instead: an object cannot go on with a whole object.
    let is_inside = serde_json::Deserializer::from_str(&first.text)
        .into_iter::<serde_json::Map<String, Value>>()
        .any(|object| object.is_err_and(|error| error.is_eof()));
    if is_inside && serde_json::from_str::<serde_json::Map<String, Value>>(&rest.text).is_ok() {
        return rest.clone();
    }
    Answer { text: format!("{}{}", first.text, rest.text), ..rest.clone() }
}
