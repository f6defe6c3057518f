//! The state of one step of a graph: its phase, its conversation, and how its calls ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::budget::Ledger;
use crate::citation::Citation;
use crate::conversation_size::ConversationSize;
use crate::effect::PreparedCall;
use crate::event::{Judgement, Note};
use crate::graph::StepSpec;
use crate::guard::GuardVerdict;
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::ModelAnswer;
use crate::origins::Origins;
use crate::reply::{AttachedDocument, Failure, Reply, Verdict};
use crate::shown::ShownPart;

/// One step of the graph, and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// As it was planned.
    pub spec: Arc<StepSpec>,
    /// What its result is for.
    pub role: StepRole,
    /// Its phase.
    pub state: StepState,
    /// How often it was entered before.
    pub visit: u32,
    /// What this visit is given from the one before, beyond the task.
    pub carried: Option<PriorVisit>,
    /// What this visit's first message is made of, frozen when it began.
    pub opening: Option<Arc<VisitOpening>>,
    /// The context this visit began with, if it is not the one the run started with.
    pub context: Option<crate::ContentHash>,
    /// The conversation of this visit.
    pub conversation: Vec<ConversationEntry>,
    /// What is kept of the turns that summaries have replaced in this visit.
    pub compacted: CompactedFacts,
    /// The outputs that its model is not shown whole, by their number.
    pub shown: BTreeMap<u32, ShownPart>,
    /// How often something that its model had been shown was replaced: its prompt then begins differently.
    pub rewrites: u32,
    /// How long its conversation was when its model last answered.
    pub(crate) size: Option<ConversationSize>,
    /// How often the present summary was asked for.
    pub(crate) summary_asks: u32,
    /// Bytes of the prompt that was sent last.
    pub(crate) asked_bytes: u64,
    /// What it used.
    pub ledger: Ledger,
    /// Working time. Counted only if steps have a time limit.
    pub worked: crate::Millis,
    /// Where the text from outside that it has read came from.
    pub origins: Origins,
    /// Its output, once it is done.
    pub output: Option<Arc<str>>,
    /// Why it cannot continue until the run is resumed.
    pub halted: Option<Failure>,
    /// The citations in its output.
    pub citations: Vec<Citation>,
    /// The calls it made, if any.
    pub actions: Option<Arc<crate::Actions>>,
    /// Its commands that run in the background.
    pub background: Vec<String>,
    /// One of its calls has changed something, or may have.
    pub(crate) has_acted: bool,
    /// A new plan replaces it, so its failure no longer fails the run.
    pub superseded: bool,
    /// The review that rejected its result for good.
    pub rejected_by: Option<StepId>,
    /// The step whose result this one has read and which is making that result again, while this step is at work.
    pub(crate) outdated_by: Option<StepId>,
    pub(crate) next: Vec<usize>,
    pub(crate) waits: u32,
    /// What is known about the calls of the last answer.
    pub(crate) prepared: Vec<PreparedCall>,
    /// What went wrong with the last ask.
    pub(crate) trouble: Option<Failure>,
    /// What the model will be told before its next turn.
    pub(crate) pending: Vec<Note>,
    /// The answer of the judge or summariser, until it is decided about.
    pub(crate) side_answer: Option<Arc<ModelAnswer>>,
    /// What the guardrails said about the last answer.
    pub(crate) guard: Option<GuardVerdict>,
    /// The last answer joined with the one that it continues.
    pub(crate) joined: Option<ConversationEntry>,
}

/// What is kept of turns that were replaced by a summary, whatever the summary says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactedFacts {
    /// The files that calls changed.
    pub changed: BTreeSet<String>,
    /// Other files that calls named.
    pub named: BTreeSet<String>,
    /// The questions that the person was asked and their answers, word for word.
    pub answers: Vec<String>,
    /// The calls that were refused and the reasons, word for word.
    pub refusals: Vec<String>,
    /// The commands that test something, and how each ended last.
    pub tests: BTreeMap<String, String>,
    /// The calls whose outcome is unknown, with the evidence there is.
    pub unknown: Vec<String>,
    /// The calls whose outputs can be read again, by their number: what was called, and how long the output is.
    pub outputs: BTreeMap<u32, String>,
}

/// What the first message of a visit is made of. It is frozen, so that the same message can be built again later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisitOpening {
    /// The variables it is given.
    pub inputs: Vec<(String, Arc<Value>)>,
    /// How many later messages of the user there were.
    pub told: usize,
    /// For a new plan: every step of the graph with its status.
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
    /// It checks the requirements when the work is done.
    Prove,
}

/// The phase of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
    /// A step it depends on is not done.
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
        /// The turn that gave the result.
        turn: u32,
    },
    /// Its older turns are being summarised.
    Compacting {
        /// The last turn.
        turn: u32,
    },
    /// It succeeded.
    Done,
    /// It failed.
    Failed(Failure),
    /// A step it depends on did not succeed.
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
    /// Nothing has been decided about it.
    Undecided,
    /// A person was asked: for approval, or the question that the call itself is.
    Asked,
    /// The person's decision.
    Decided(Verdict),
    /// It is wanted.
    Open,
    /// It has ended.
    Closed(ToolCallOutcome),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCallOutcome {
    /// It got a reply.
    Replied(Reply),
    /// It was not made.
    Rejected(Failure),
}

impl ToolCallOutcome {
    /// The documents shown with it.
    pub fn attached(&self) -> &[AttachedDocument] {
        match self {
            ToolCallOutcome::Replied(Reply::Output(output)) => &output.attached,
            ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => &[],
        }
    }

    /// Whether it succeeded.
    pub fn is_good(&self) -> bool {
        match self {
            ToolCallOutcome::Replied(Reply::Output(output)) => !output.is_error,
            ToolCallOutcome::Replied(Reply::Said(_)) => true,
            ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => false,
        }
    }
}

/// One entry of a conversation after its first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationEntry {
    /// The model answered.
    Answer(Arc<ModelAnswer>),
    /// Its calls ended.
    Results(TurnResults),
    /// It was told something.
    Note(Note),
    /// A summary that replaces earlier entries.
    Summary(Arc<str>),
}

/// How the calls of one turn ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnResults {
    /// The number of the first of them in the run; the others follow.
    pub first: u32,
    /// One outcome for each call.
    pub outcomes: Vec<ToolCallOutcome>,
}

/// What a later visit of a step is given from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorVisit {
    /// Why it was entered again.
    pub judgement: Judgement,
    /// What the step had said before.
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
                let busy = self.has_due_calls() || slots.contains(&CallSlot::Open);
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

    /// Whether it has begun or ended: its id cannot be used again, and a new plan leaves it as it is.
    pub fn has_begun(&self) -> bool {
        match self.state {
            // A step that is entered again already has effects at its addresses.
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

    /// The documents that results of calls in its conversation have shown it.
    pub fn documents_shown(&self) -> BTreeSet<&str> {
        let slots = if let StepState::Acting { slots, .. } = &self.state { slots.as_slice() } else { &[] };
        let open = slots.iter().filter_map(|slot| match slot {
            CallSlot::Closed(outcome) => Some(outcome),
            CallSlot::Undecided | CallSlot::Asked | CallSlot::Decided(_) | CallSlot::Open => None,
        });
        let told = self.conversation.iter().filter_map(|entry| match entry {
            ConversationEntry::Results(results) => Some(&results.outcomes),
            ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        });
        told.flatten().chain(open).flat_map(ToolCallOutcome::attached).map(|one| one.path.as_str()).collect()
    }

    /// The answer to the last separate question about it, as long as nothing was decided about that.
    pub fn side_answer(&self) -> Option<&Arc<ModelAnswer>> {
        self.side_answer.as_ref()
    }

    /// The last answer of its model; an answer and its continuation count as one.
    pub fn last_answer(&self) -> Option<&Arc<ModelAnswer>> {
        self.spoken().find_map(|entry| match entry {
            ConversationEntry::Answer(answer) => Some(answer),
            ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        })
    }

    /// The conversation from the newest entry back; the last answer and the one it continues count as one.
    pub(crate) fn spoken(&self) -> impl Iterator<Item = &ConversationEntry> {
        let mut joined = self.joined.as_ref();
        self.conversation.iter().rev().map(move |entry| match entry {
            ConversationEntry::Answer(_) => joined.take().unwrap_or(entry),
            ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => entry,
        })
    }

    /// Adds an answer, joined with the one it continues.
    pub(crate) fn hear(&mut self, answer: &Arc<ModelAnswer>) {
        let is_answer = |entry: &&ConversationEntry| matches!(entry, ConversationEntry::Answer(_));
        let since = self.conversation.iter().rev().take_while(|entry| !is_answer(entry));
        let continues = since.into_iter().any(|entry| matches!(entry, ConversationEntry::Note(Note::CutOff)));
        self.joined = match self.conversation.iter().rev().find(is_answer) {
            Some(ConversationEntry::Answer(first)) if continues => {
                Some(ConversationEntry::Answer(Arc::new(join(first, answer))))
            }
            _ => None,
        };
        self.conversation.push(ConversationEntry::Answer(answer.clone()));
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

/// Joins an answer and its continuation, byte for byte.
fn join(first: &ModelAnswer, rest: &ModelAnswer) -> ModelAnswer {
    // Some models start over instead of continuing: a whole object cannot continue an object.
    let is_inside = serde_json::Deserializer::from_str(&first.text)
        .into_iter::<serde_json::Map<String, Value>>()
        .any(|object| object.is_err_and(|error| error.is_eof()));
    if is_inside && serde_json::from_str::<serde_json::Map<String, Value>>(&rest.text).is_ok() {
        return rest.clone();
    }
    ModelAnswer { text: format!("{}{}", first.text, rest.text), ..rest.clone() }
}
