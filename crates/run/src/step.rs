//! One step of a graph as it stands: its place in the work, its conversation, and how its calls ended.

use std::sync::Arc;

use serde_json::Value;

use crate::budget::Ledger;
use crate::effect::PreparedCall;
use crate::event::{Judgement, Note};
use crate::graph::StepSpec;
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::ModelAnswer;
use crate::origins::Origins;
use crate::reply::{Failure, Reply, Verdict};

/// One step of the graph, as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// As it was planned.
    pub spec: Arc<StepSpec>,
    /// What its result is for.
    pub role: StepRole,
    /// Where it stands.
    pub state: StepState,
    /// How often it was entered before.
    pub visit: u32,
    /// What this visit begins with, beyond the task.
    pub carried: Option<PriorVisit>,
    /// What this visit's first message is made of, frozen when it began.
    pub opening: Option<Arc<VisitOpening>>,
    /// The context this visit began with, where it is not the one the run started with.
    pub context: Option<crate::ContentHash>,
    /// The conversation of this visit.
    pub talk: Vec<ConversationEntry>,
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
    pub(crate) prepared: Vec<PreparedCall>,
    /// What went wrong with the last ask.
    pub(crate) trouble: Option<Failure>,
    /// What the model will be told before its next turn.
    pub(crate) pending: Vec<Note>,
    /// The judge's or summariser's words, until they are decided on.
    pub(crate) aside: Option<Arc<ModelAnswer>>,
    /// The last answer behind the one that it continues.
    pub(crate) joined: Option<ConversationEntry>,
}

/// What the first message of a visit is made of. Frozen, so that it can be made again exactly however the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisitOpening {
    /// The variables it is given.
    pub inputs: Vec<(String, Arc<Value>)>,
    /// How many of the user's later messages had been said.
    pub told: usize,
    /// For a new plan: the steps that had failed, were done, and had not begun.
    pub outline: Vec<(StepId, &'static str)>,
}

/// What a step's result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepRole {
    /// It is part of the graph.
    Work,
    /// It makes the graph.
    Plan,
    /// It profiles the files handed over.
    Distill,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
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
        slots: Vec<CallSlot>,
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
pub enum CallSlot {
    /// Nothing was decided.
    Undecided,
    /// A person was asked: whether it may be made, or the question it is.
    Asked,
    /// The person's word.
    Decided(Verdict),
    /// It is wanted.
    Open,
    /// It has ended.
    Closed(ToolCallOutcome),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCallOutcome {
    /// The world replied.
    Replied(Reply),
    /// It was not made.
    Rejected(Failure),
}

impl ToolCallOutcome {
    /// Whether it gave the agent what it asked for.
    pub fn is_good(&self) -> bool {
        match self {
            ToolCallOutcome::Replied(Reply::Output(output)) => !output.is_error,
            ToolCallOutcome::Replied(Reply::Said(_)) => true,
            ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => false,
        }
    }
}

/// One piece of a conversation after its opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationEntry {
    /// The model answered.
    Answer(Arc<ModelAnswer>),
    /// Its calls ended.
    Results(Vec<ToolCallOutcome>),
    /// It was told something.
    Note(Note),
    /// What stood here before is represented by a summary.
    Summary(Arc<str>),
}

/// What a later visit of a step begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorVisit {
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
            StepState::Waiting => "pending",
            StepState::Ready => "ready",
            StepState::Thinking { .. } | StepState::Judging { .. } | StepState::Compacting { .. } => "running",
            StepState::Acting { slots, .. } => {
                let busy = slots.iter().any(|slot| !matches!(slot, CallSlot::Closed(_) | CallSlot::Asked));
                if busy { "running" } else { "waiting" }
            }
            StepState::Done => "completed",
            StepState::Failed(_) => "failed",
            StepState::Skipped { .. } | StepState::Dropped => "skipped",
            StepState::Cancelled => "cancelled",
        }
    }

    /// Whether it has read text from outside.
    pub fn is_untrusted(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        match self.state {
            StepState::Done
            | StepState::Failed(_)
            | StepState::Skipped { .. }
            | StepState::Cancelled
            | StepState::Dropped => true,
            StepState::Waiting
            | StepState::Ready
            | StepState::Thinking { .. }
            | StepState::Acting { .. }
            | StepState::Judging { .. }
            | StepState::Compacting { .. } => false,
        }
    }

    /// Whether it began or came to an end: its id is taken for good, and a new plan leaves it as it is.
    pub fn has_begun(&self) -> bool {
        match self.state {
            // One that is entered again has places of its own already.
            StepState::Waiting | StepState::Ready => self.visit > 0,
            StepState::Dropped => false,
            StepState::Thinking { .. }
            | StepState::Acting { .. }
            | StepState::Judging { .. }
            | StepState::Compacting { .. }
            | StepState::Done
            | StepState::Failed(_)
            | StepState::Skipped { .. }
            | StepState::Cancelled => true,
        }
    }

    /// Whether it is at work.
    pub fn is_at_work(&self) -> bool {
        !self.has_ended() && !matches!(self.state, StepState::Waiting | StepState::Ready)
    }

    /// The last thing its model said; an answer and its continuation as one.
    pub fn last_answer(&self) -> Option<&Arc<ModelAnswer>> {
        self.spoken().find_map(|entry| match entry {
            ConversationEntry::Answer(answer) => Some(answer),
            ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        })
    }

    /// The conversation from its newest entry; the last answer and what it continues as one.
    pub(crate) fn spoken(&self) -> impl Iterator<Item = &ConversationEntry> {
        let mut joined = self.joined.as_ref();
        self.talk.iter().rev().map(move |entry| match entry {
            ConversationEntry::Answer(_) => joined.take().unwrap_or(entry),
            ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => entry,
        })
    }

    /// Takes in an answer, together with the one that it continues.
    pub(crate) fn hear(&mut self, answer: &Arc<ModelAnswer>) {
        let is_answer = |entry: &&ConversationEntry| matches!(entry, ConversationEntry::Answer(_));
        let since = self.talk.iter().rev().take_while(|entry| !is_answer(entry));
        let continues = since.into_iter().any(|entry| matches!(entry, ConversationEntry::Note(Note::CutOff)));
        self.joined = match self.talk.iter().rev().find(is_answer) {
            Some(ConversationEntry::Answer(first)) if continues => {
                Some(ConversationEntry::Answer(Arc::new(join(first, answer))))
            }
            _ => None,
        };
        self.talk.push(ConversationEntry::Answer(answer.clone()));
    }

    /// Whether the last answer continues the one before it.
    pub(crate) fn is_continued(&self) -> bool {
        self.joined.is_some()
    }

    pub(crate) fn turn(&self) -> u32 {
        match &self.state {
            StepState::Thinking { turn }
            | StepState::Acting { turn, .. }
            | StepState::Judging { turn }
            | StepState::Compacting { turn } => *turn,
            StepState::Waiting
            | StepState::Ready
            | StepState::Done
            | StepState::Failed(_)
            | StepState::Skipped { .. }
            | StepState::Cancelled
            | StepState::Dropped => 0,
        }
    }

    pub(crate) fn address(&self, turn: u32, kind: EffectKind) -> EffectAddress {
        EffectAddress::of(&self.spec.id, self.visit, turn, kind)
    }
}

/// An answer and its continuation, byte for byte.
fn join(first: &ModelAnswer, rest: &ModelAnswer) -> ModelAnswer {
    // Some models begin again instead: an object cannot go on with a whole object.
    let is_inside = serde_json::Deserializer::from_str(&first.text)
        .into_iter::<serde_json::Map<String, Value>>()
        .any(|object| object.is_err_and(|error| error.is_eof()));
    if is_inside && serde_json::from_str::<serde_json::Map<String, Value>>(&rest.text).is_ok() {
        return rest.clone();
    }
    ModelAnswer { text: format!("{}{}", first.text, rest.text), ..rest.clone() }
}
