//! A run as it stands: what you get by folding its events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::effect::{Effect, Facts, Prepared};
use crate::event::{Judgement, Note};
use crate::goal::{AgentCard, Budget, Ceiling, Goal, Limit, Mode, Roster, Settings};
use crate::graph::StepSpec;
use crate::id::{Address, Kind, Millis, StepId, Timestamp};
use crate::message::Answer;
use crate::budget::Ledger;
use crate::reply::{Failure, Reply, Verdict};

/// A run. Changed by `apply` alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub(crate) goal: Goal,
    pub(crate) roster: Arc<Roster>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) budget: Budget,
    pub(crate) phase: Phase,
    /// Every step there ever was, in the order they were planned.
    pub(crate) steps: Vec<Step>,
    /// Where the steps of the present graph stand.
    pub(crate) places: BTreeMap<StepId, usize>,
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Effects that were wanted and have not replied.
    pub(crate) open: BTreeMap<Address, Open>,
    /// How many of those wait for neither person nor clock.
    pub(crate) busy: u32,
    /// Steps whose dependencies are done.
    pub(crate) ready: BTreeSet<usize>,
    /// Steps about which something must be decided.
    pub(crate) attention: BTreeSet<usize>,
    /// Steps that did not end well, and whose dependants have not been told.
    pub(crate) fallen: BTreeSet<usize>,
    /// Steps at work.
    pub(crate) running: u32,
    /// Steps that have not ended.
    pub(crate) unfinished: u32,
    /// The step that makes the graph, where one does.
    pub(crate) planner: Option<usize>,
    /// Model calls that wait until others give money back.
    pub(crate) held: BTreeSet<Address>,
    pub(crate) replans: u32,
    /// The failed step for which a new plan is being made.
    pub(crate) replanning: Option<usize>,
    pub(crate) ledger: Ledger,
    pub(crate) told: Vec<String>,
    pub(crate) profile: Option<Arc<Value>>,
    /// When something last happened.
    pub(crate) clock: Timestamp,
    /// Time at work so far.
    pub(crate) worked: Millis,
    pub(crate) events: u64,
}

/// Where a run stands as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has happened yet.
    #[default]
    New,
    /// It is at work, or waits for people.
    Running,
    /// Someone paused it.
    Paused,
    /// A budget is used up.
    Exhausted(Limit),
    /// Someone cancelled it, and what had begun is being stopped.
    Cancelling {
        /// Who.
        by: String,
    },
    /// It is over.
    Over {
        /// What it came to.
        answer: Arc<str>,
        /// Why it counts as failed.
        failed: Option<Failure>,
    },
}

/// A shared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its value.
    pub value: Arc<Value>,
    /// Whether text from outside went into it.
    pub untrusted: bool,
    /// The step that wrote it; absent if it was given.
    pub by: Option<StepId>,
}

/// An effect that was wanted and has not replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// What is wanted.
    pub effect: Effect,
    /// Which attempt is the next or present one, from 1.
    pub attempt: u32,
    /// How far its money is settled.
    pub funds: Funds,
    /// The process that began it, and what it knew; absent if nobody has.
    pub begun: Option<(u64, Facts)>,
    /// Something to find it again by.
    pub handle: Option<String>,
}

/// How far the money of an effect is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funds {
    /// Nothing was asked for.
    None,
    /// It waits until others give something back.
    Held(Ceiling),
    /// It may spend this much.
    Reserved(Ceiling),
}

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
    /// Whether it has read text from outside.
    pub untrusted: bool,
    /// What it gave, once it is done.
    pub output: Option<Arc<str>>,
    /// A new plan stands in for it: its failure is no longer the run's.
    pub superseded: bool,
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

impl Run {
    /// What was asked for.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// The rules.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Everyone who takes part.
    pub fn roster(&self) -> &Arc<Roster> {
        &self.roster
    }

    /// What it may spend.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What it has spent.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where it stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Time at work so far.
    pub fn worked(&self) -> Millis {
        self.worked
    }

    /// Time at work when it is `now`, if nothing happens meanwhile.
    pub fn worked_at(&self, now: Timestamp) -> Millis {
        let more = if self.busy > 0 { now.since(self.clock).0 } else { 0 };
        Millis(self.worked.0 + more)
    }

    /// How many events it consists of.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The steps of the present graph and those that led to it, in the order they were planned.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.state != State::Dropped)
    }

    /// A step by its name.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.get(*self.places.get(id)?)
    }

    /// The steps that wait for this one.
    pub fn dependants<'a>(&'a self, step: &'a Step) -> impl Iterator<Item = &'a Step> {
        step.next.iter().filter_map(|at| self.steps.get(*at)).filter(|step| step.state != State::Dropped)
    }

    /// The shared variables.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// What the user said after the goal.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// What the distiller found in the files handed over.
    pub fn profile(&self) -> Option<&Arc<Value>> {
        self.profile.as_ref()
    }

    /// Effects that were wanted and have not replied.
    pub fn open(&self) -> &BTreeMap<Address, Open> {
        &self.open
    }

    /// Whether nothing more can happen.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    /// Whether it can go on only when a person or a clock does something: no process is needed meanwhile.
    pub fn is_at_rest(&self) -> bool {
        let is_stopping = |open: &Open| !open.effect.is_patient() && open.begun.is_some();
        match self.phase {
            Phase::Over { .. } => true,
            Phase::New | Phase::Cancelling { .. } => false,
            Phase::Running => self.busy == 0,
            // What has not begun will not: only what runs may still end.
            Phase::Paused | Phase::Exhausted(_) => !self.open.values().any(is_stopping),
        }
    }

    /// The status people see.
    pub fn status(&self) -> &'static str {
        match &self.phase {
            Phase::New => "new",
            Phase::Running if self.busy == 0 && !self.open.is_empty() => "waiting",
            Phase::Running => "running",
            Phase::Paused => "paused",
            Phase::Exhausted(_) => "exhausted",
            Phase::Cancelling { .. } => "cancelling",
            Phase::Over { failed: Some(failure), .. } if failure.kind == crate::FailureKind::Cancelled => "cancelled",
            Phase::Over { failed: Some(_), .. } => "failed",
            Phase::Over { failed: None, .. } => "done",
        }
    }

    /// Whether an effect may be begun now.
    pub fn may_begin(&self, id: &Address) -> bool {
        let Some(open) = self.open.get(id) else { return false };
        let funded = match open.effect {
            Effect::Ask => !self.needs_estimates() || matches!(open.funds, Funds::Reserved(_)),
            Effect::Call | Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
        };
        open.begun.is_none() && funded && self.phase == Phase::Running
    }

    /// Whether nobody can have begun an effect: its beginning, or its money, would be on record.
    pub(crate) fn has_surely_not_begun(&self, id: &Address, open: &Open) -> bool {
        if open.begun.is_some() {
            return false;
        }
        match open.effect {
            Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
            Effect::Call => !self.class_of(id).is_repeatable(),
            Effect::Ask => self.needs_estimates() && !matches!(open.funds, Funds::Reserved(_)),
        }
    }

    /// Whether model calls must be estimated before they may begin.
    pub fn needs_estimates(&self) -> bool {
        self.budget.needs_estimates() || self.settings.step_budget.needs_estimates()
    }

    pub(crate) fn card(&self, agent: &str) -> Option<&AgentCard> {
        self.roster.agent(agent)
    }

    /// Turns a visit of the step may take.
    pub fn turns_of(&self, step: &Step) -> u32 {
        let own = self.card(&step.spec.agent).and_then(|card| card.turns);
        let usual = match self.goal.mode {
            Mode::Agent(_) => self.settings.query_turns,
            Mode::Plan | Mode::Swarm | Mode::Given => self.settings.turns,
        };
        own.unwrap_or(usual).max(1)
    }
}

impl Step {
    /// The status people see.
    pub fn status(&self) -> &'static str {
        match &self.state {
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

    /// The last thing its model said.
    pub fn last_answer(&self) -> Option<&Arc<Answer>> {
        self.talk.iter().rev().find_map(|entry| match entry {
            Entry::Answer(answer) => Some(answer),
            Entry::Results(_) | Entry::Note(_) | Entry::Summary(_) => None,
        })
    }

    pub(crate) fn turn(&self) -> u32 {
        match &self.state {
            State::Thinking { turn } | State::Acting { turn, .. } | State::Judging { turn } | State::Compacting { turn } => *turn,
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
