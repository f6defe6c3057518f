//! The state of a run: the result of folding its events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::arguments::CallMatcher;
use crate::assumption::Assumption;
use crate::budget::Ledger;
use crate::citation::ReadingLog;
use crate::effect::{Effect, PreparedCall};
use crate::expected_cost::Bills;
use crate::goal::{AgentCard, Budget, BudgetLimit, Goal, Roster, RunSettings};
use crate::guard::GuardVerdict;
use crate::id::{EffectAddress, Millis, StepId, Timestamp};
use crate::open_effect::{Funds, InnerCall, OpenEffect};
use crate::origins::Origins;
use crate::plan_status::PlanStatus;
use crate::proof::Proof;
use crate::reply::Failure;
use crate::rules::Rule;
use crate::step::{Step, StepState};
use crate::users_own_calls::ComparableCall;

/// A run. Only `apply` changes it, and `pass_time` for the working time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub(crate) goal: Goal,
    pub(crate) roster: Arc<Roster>,
    pub(crate) settings: Arc<RunSettings>,
    pub(crate) budget: Budget,
    pub(crate) phase: RunPhase,
    /// Every step there ever was, in the order they were planned.
    pub(crate) steps: Vec<Step>,
    /// The index in `steps` of each step of the present graph.
    pub(crate) step_index: BTreeMap<StepId, usize>,
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Effects that were wanted and have not replied.
    pub(crate) open: BTreeMap<EffectAddress, OpenEffect>,
    /// How many of those wait for neither a person nor a clock.
    pub(crate) busy: u32,
    /// Steps whose dependencies are done.
    pub(crate) ready: BTreeSet<usize>,
    /// Steps about which something must be decided.
    pub(crate) attention: BTreeSet<usize>,
    /// Steps that did not succeed and whose dependants have not been dealt with.
    pub(crate) failed_unhandled: BTreeSet<usize>,
    /// Steps at work.
    pub(crate) running: u32,
    /// Steps that have not ended.
    pub(crate) unfinished: u32,
    /// Steps at work that cannot continue until the run is resumed.
    pub(crate) halted: u32,
    /// The step that makes the graph, if there is one.
    pub(crate) planner: Option<usize>,
    /// Model calls that wait until other calls return some of what they reserved.
    pub(crate) held: BTreeSet<EffectAddress>,
    /// Questions whose last attempt was cut off and whose next attempt has not begun.
    pub(crate) interrupted_asks: BTreeSet<EffectAddress>,
    pub(crate) replans: u32,
    /// The failed step for which a new plan is being made.
    pub(crate) replanning: Option<usize>,
    pub(crate) ledger: Ledger,
    /// What each model is expected to bill.
    pub(crate) bills: Bills,
    pub(crate) told: Vec<String>,
    /// Calls that were refused because nobody could be asked: the step, and a description.
    pub(crate) unapproved: Vec<(StepId, String)>,
    pub(crate) profile: Option<Arc<Value>>,
    /// Rules that a person gave with "always".
    pub(crate) remembered: Vec<Rule>,
    /// The user's own text: the goal, answers and later messages.
    pub(crate) users_words: Vec<String>,
    /// The calls made so far that only add or send something.
    pub(crate) additive_calls: Vec<ComparableCall>,
    /// Calls that a person allowed for the rest of the run, each with the origins that were in the context.
    pub(crate) agreed: Vec<(CallMatcher, Origins)>,
    /// Files that text from outside was written to, by path; `.` is the whole workspace.
    pub(crate) tainted: BTreeMap<String, Origins>,
    /// Running calls that may write any file and will list their changes, with the origins in their context.
    pub(crate) unlisted_writers: BTreeMap<EffectAddress, Origins>,
    /// Files that other runs wrote text from outside to, by path.
    pub(crate) marked: BTreeMap<String, Origins>,
    /// What could not be passed on to models.
    pub(crate) omitted: BTreeSet<String>,
    /// It was imported from a file, and nobody has adopted it.
    pub(crate) is_imported: bool,
    /// What tools returned: citations are checked against it.
    pub(crate) readings: ReadingLog,
    /// What agents assumed because nobody could be asked.
    pub(crate) assumptions: Vec<Assumption>,
    /// What the guardrails said about the goal.
    pub(crate) input_guard: Option<GuardVerdict>,
    /// The requirements, and what is known about them.
    pub(crate) proof: Proof,
    /// When something last happened.
    pub(crate) clock: Timestamp,
    /// Working time so far.
    pub(crate) worked: Millis,
    pub(crate) events: u64,
    pub(crate) plan: PlanStatus,
    /// The context windows of models, in tokens, as far as they were told or learnt.
    pub(crate) windows: BTreeMap<String, u64>,
    /// The calls that have ended, in the order of their numbers.
    pub(crate) numbered_calls: Vec<EffectAddress>,
}

/// The phase of a run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunPhase {
    /// Nothing has happened yet.
    #[default]
    New,
    /// It is working, or waits for people.
    Running,
    /// Someone paused it.
    Paused,
    /// A limit was reached, or a model is not available.
    Exhausted(BudgetLimit),
    /// Someone cancelled it, and effects that have begun are being stopped.
    Cancelling {
        /// Who.
        by: String,
    },
    /// It is over.
    Over {
        /// The final answer.
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
    /// Where the text from outside that went into it came from.
    pub origins: Origins,
    /// The step that wrote it; absent if it was given with the goal.
    pub by: Option<StepId>,
}

impl Variable {
    /// Whether text from outside went into it.
    pub fn is_untrusted(&self) -> bool {
        !self.origins.is_empty()
    }
}

impl Run {
    /// The goal.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// The rules and limits.
    pub fn settings(&self) -> &Arc<RunSettings> {
        &self.settings
    }

    /// The agents, prompts and tools.
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

    /// Its phase.
    pub fn phase(&self) -> &RunPhase {
        &self.phase
    }

    /// Working time so far.
    pub fn worked(&self) -> Millis {
        self.worked
    }

    /// Working time at `now`, if nothing happens until then.
    pub fn worked_at(&self, now: Timestamp) -> Millis {
        let more = if self.busy > 0 { now.since(self.clock).0 } else { 0 };
        Millis(self.worked.0 + more)
    }

    /// How long it may still work from `now` on until its time limit, or that of one of its steps, is reached.
    pub fn time_left(&self, now: Timestamp) -> Option<Millis> {
        let passed = self.worked_at(now).0 - self.worked.0;
        let of_run = self.budget.time.map(|limit| limit.0.saturating_sub(self.worked.0 + passed));
        let of_steps = self.settings.step_budget.time.and_then(|limit| {
            let left = |at: usize| limit.0.saturating_sub(self.steps[at].worked.0 + passed);
            self.busy_steps().into_iter().map(left).min()
        });
        [of_run, of_steps].into_iter().flatten().min().map(Millis)
    }

    /// The steps that have an open effect which waits for neither a person nor a clock.
    pub(crate) fn busy_steps(&self) -> BTreeSet<usize> {
        let busy = self.open.iter().filter(|(id, open)| self.is_busy(id, &open.effect));
        busy.filter_map(|(id, _)| self.step_index.get(&id.step)).copied().collect()
    }

    /// Whether an effect waits for neither a person nor a clock. A call with an open question waits for a person.
    pub(crate) fn is_busy(&self, id: &EffectAddress, effect: &Effect) -> bool {
        !effect.is_patient() && !self.asks_a_person(id)
    }

    /// Whether a call needs a person's answer before it can continue.
    pub(crate) fn asks_a_person(&self, outer: &EffectAddress) -> bool {
        let Some(open) = self.open.get(outer).filter(|open| open.inner.iter().any(|inner| inner.inquiry.is_some()))
        else {
            return false;
        };
        (0..open.inner.len()).any(|k| self.is_inquiry(&outer.within(k as u32)))
    }

    /// Whether the effect at this address is an open question to a person from a tool or server that is being called.
    pub(crate) fn is_inquiry(&self, id: &EffectAddress) -> bool {
        let is_question = |open: &OpenEffect| matches!(open.effect, Effect::Question { .. });
        id.inner.is_some() && self.open.get(id).is_some_and(is_question)
    }

    /// How many events it has.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The steps of the present graph and those that led to it, in the order they were planned.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.state != StepState::Dropped)
    }

    /// A step by its name.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.get(*self.step_index.get(id)?)
    }

    /// The steps that wait for this one.
    pub fn dependants<'a>(&'a self, step: &'a Step) -> impl Iterator<Item = &'a Step> {
        step.next.iter().filter_map(|at| self.steps.get(*at)).filter(|step| step.state != StepState::Dropped)
    }

    /// The steps before this one: those that it waited for, and those that wrote what it reads.
    pub fn before<'a>(&'a self, step: &'a Step) -> impl Iterator<Item = &'a Step> {
        let writer = |name: &String| self.variables.get(name)?.by.as_ref();
        let writers = step.spec.reads.iter().filter_map(writer);
        let all: std::collections::BTreeSet<usize> =
            step.spec.after.iter().chain(writers).filter_map(|id| self.step_index.get(id).copied()).collect();
        all.into_iter().map(|at| &self.steps[at]).filter(|before| before.spec.id != step.spec.id)
    }

    /// The shared variables.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// The messages the user sent after the goal.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// Calls that were refused because nobody could be asked: the step, and a description.
    pub fn unapproved(&self) -> &[(StepId, String)] {
        &self.unapproved
    }

    /// What the distiller found in the files handed over.
    pub fn profile(&self) -> Option<&Arc<Value>> {
        self.profile.as_ref()
    }

    /// Rules that a person gave with "always" while it ran.
    pub fn remembered(&self) -> &[Rule] {
        &self.remembered
    }

    /// Files that text from outside was written to during the run, by path; `.` is the whole workspace.
    pub fn tainted(&self) -> &BTreeMap<String, Origins> {
        &self.tainted
    }

    /// The origins of text that running calls may be writing to any file. They will list their changes when they end.
    pub fn unlisted_origins(&self) -> Origins {
        let mut origins = Origins::default();
        self.unlisted_writers.values().for_each(|around| origins.merge(around));
        origins
    }

    /// Files that other runs wrote text from outside to, as far as this run knows; `.` is the whole workspace.
    pub fn marked(&self) -> &BTreeMap<String, Origins> {
        &self.marked
    }

    /// What could not be passed on to models, for the user to know.
    pub fn omitted(&self) -> impl Iterator<Item = &str> {
        self.omitted.iter().map(String::as_str)
    }

    /// Effects that were wanted and have not replied.
    pub fn open(&self) -> &BTreeMap<EffectAddress, OpenEffect> {
        &self.open
    }

    /// Whether it was imported from a file and nobody has adopted it. Until then it does not continue.
    pub fn is_imported(&self) -> bool {
        self.is_imported
    }

    /// Whether nothing more can happen.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, RunPhase::Over { .. })
    }

    /// Whether it can continue only when a person or a clock does something. No process is needed until then.
    pub fn is_at_rest(&self) -> bool {
        let is_stopping = |open: &OpenEffect| !open.effect.is_patient() && open.begun.is_some();
        match self.phase {
            RunPhase::Over { .. } => true,
            RunPhase::New | RunPhase::Cancelling { .. } => false,
            RunPhase::Running => self.busy == 0,
            // Effects that have not begun will not begin now; only those that have begun may still end.
            RunPhase::Paused | RunPhase::Exhausted(_) => !self.open.values().any(is_stopping),
        }
    }

    /// Whether an effect may be begun now.
    pub fn may_begin(&self, id: &EffectAddress) -> bool {
        let Some(open) = self.open.get(id) else { return false };
        let is_funded = !self.is_paid(id) || !self.needs_estimates() || matches!(open.funds, Funds::Reserved(_));
        open.begun.is_none() && is_funded && self.phase_allows(id)
    }

    /// Whether something new may begin. Calls made by running code may begin during a pause, so that the code can end.
    pub fn phase_allows(&self, id: &EffectAddress) -> bool {
        self.phase == RunPhase::Running || (id.inner.is_some() && self.phase == RunPhase::Paused)
    }

    /// Whether an effect is a question to a model, which costs money.
    pub fn is_paid(&self, id: &EffectAddress) -> bool {
        let effect = self.open.get(id).map(|open| &open.effect);
        effect == Some(&Effect::Ask) || (effect == Some(&Effect::Call) && self.consulted(id).is_some())
    }

    /// The model that the call at an address asks, if it asks one.
    pub fn consulted(&self, id: &EffectAddress) -> Option<&str> {
        self.prepared_at(id)?.model.as_deref()
    }

    /// Who wants the call at an address, if it is neither the agent nor its code.
    pub fn on_behalf_of(&self, id: &EffectAddress) -> Option<&str> {
        self.prepared_at(id)?.on_behalf_of.as_deref()
    }

    /// The model that bills an effect.
    pub(crate) fn payee_of(&self, id: &EffectAddress) -> &str {
        self.consulted(id).filter(|_| id.kind == crate::EffectKind::Call).unwrap_or_else(|| self.model_of(&id.step))
    }

    /// What was known about a call when it was decided about.
    pub fn prepared(&self, id: &EffectAddress) -> Option<&PreparedCall> {
        self.prepared_at(id)
    }

    pub(crate) fn prepared_at(&self, id: &EffectAddress) -> Option<&PreparedCall> {
        match id.inner {
            None if id.kind == crate::EffectKind::Guard => Some(Self::guard_prepared()),
            Some(_) => self.inner_at(id)?.requested.as_ref().map(|(_, prepared)| prepared),
            None => self.step(&id.step)?.prepared.get(id.n as usize),
        }
    }

    /// A call that code asked for, while the call that runs the code is open.
    pub(crate) fn inner_at(&self, id: &EffectAddress) -> Option<&InnerCall> {
        self.open.get(&id.outer()?)?.inner.get(id.inner? as usize)
    }

    /// Whether an effect certainly has not begun: otherwise its beginning or its reservation would be on record.
    pub(crate) fn has_surely_not_begun(&self, id: &EffectAddress, open: &OpenEffect) -> bool {
        if open.begun.is_some() {
            return false;
        }
        match open.effect {
            Effect::Prepare | Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
            Effect::Call if !self.is_paid(id) => !self.class_of(id).is_repeatable(),
            Effect::Ask | Effect::Call => self.needs_estimates() && !matches!(open.funds, Funds::Reserved(_)),
        }
    }

    /// Whether model calls must be estimated before they may begin.
    pub fn needs_estimates(&self) -> bool {
        self.budget.needs_estimates() || self.settings.step_budget.needs_estimates()
    }

    pub(crate) fn card(&self, agent: &str) -> Option<&AgentCard> {
        self.roster.agent(agent)
    }
}
