//! Applies the events of an effect: wanted, begun, replied, closed.

use std::sync::Arc;

use crate::assumption::Assumption;
use crate::effect::{Effect, EffectFacts, PreparedCall};
use crate::event::Judgement;
use crate::goal::{ApprovalMode, Ceiling, RunMode};
use crate::guard::{GuardVerdict, is_before_work};
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::{ModelAnswer, ToolCall};
use crate::open_effect::{Funds, InnerCall, OpenEffect};
use crate::origins::Origins;
use crate::reply::{Failure, FailureKind, Reply, Verdict};
use crate::state::{Run, RunPhase};
use crate::step::{CallSlot, ConversationEntry, Step, StepRole, StepState, ToolCallOutcome, VisitOpening};

impl Run {
    pub(super) fn wanted(&mut self, id: &EffectAddress, effect: &Effect) {
        let open = OpenEffect {
            effect: effect.clone(),
            attempt: 1,
            funds: Funds::None,
            begun: None,
            payee: None,
            handle: None,
            allowed_with: self.allowed_with(id),
            inner: Vec::new(),
        };
        let before = self.outer_is_busy(id);
        self.open.insert(id.clone(), open);
        self.busy += u32::from(self.is_busy(id, effect));
        self.count_outer(id, before);
        let Some(at) = self.step_index.get(&id.step).copied() else { return };
        match id.kind {
            EffectKind::Ask => self.turn_begins(at, id.turn, *effect != Effect::Prepare),
            EffectKind::Call => {
                let is_call = matches!(effect, Effect::Call);
                if is_call {
                    self.additive_call_begins(id);
                    self.call_may_write(at, id);
                    self.call_is_wanted(id);
                }
                self.fill_slot(at, id, if is_call { CallSlot::Open } else { CallSlot::Asked });
                if self.is_paid(id) {
                    self.count_turn(at);
                }
                self.ledger.calls += u64::from(is_call);
                self.steps[at].ledger.calls += u64::from(is_call);
            }
            // No call can be asked about there: it is the plan.
            EffectKind::Approve if self.steps[at].role == StepRole::Plan && self.steps[at].has_ended() => {
                self.plan.approval = Some(id.clone());
            }
            EffectKind::Approve => self.fill_slot(at, id, CallSlot::Asked),
            EffectKind::Judge => self.side_question_begins(at, StepState::Judging { turn: id.turn }),
            EffectKind::Compact => {
                self.steps[at].summary_asks = id.n + 1;
                self.side_question_begins(at, StepState::Compacting { turn: id.turn });
            }
            EffectKind::Guard => self.guard_begins(at, id.turn),
        }
    }

    /// The origins that were named to the person who allowed a call.
    fn allowed_with(&self, id: &EffectAddress) -> Origins {
        let StepState::Acting { slots, .. } = self.step(&id.step).map_or(&StepState::Ready, |step| &step.state) else {
            return Origins::default();
        };
        match slots.get(id.n as usize).filter(|_| id.kind == EffectKind::Call && id.inner.is_none()) {
            Some(CallSlot::Decided(verdict)) => verdict.origins.clone(),
            Some(CallSlot::Undecided | CallSlot::Asked | CallSlot::Open | CallSlot::Closed(_)) | None => {
                Origins::default()
            }
        }
    }

    fn turn_begins(&mut self, at: usize, turn: u32, is_question: bool) {
        if is_question {
            self.count_turn(at);
        }
        if turn == 0 {
            self.steps[at].opening = Some(Arc::new(self.opening_of(&self.steps[at])));
        }
        if turn == 0 {
            self.opening_is_read(at);
        }
        let step = &mut self.steps[at];
        if !step.is_at_work() {
            self.running += 1;
            self.ready.remove(&at);
        }
        step.state = StepState::Thinking { turn };
        step.guard = None;
        step.trouble = None;
        let pending = std::mem::take(&mut step.pending);
        step.conversation.extend(pending.into_iter().map(ConversationEntry::Note));
        self.attention.remove(&at);
    }

    /// Records what the first message of a visit is made of.
    fn opening_of(&self, step: &Step) -> VisitOpening {
        let value = |name: &String| Some((name.clone(), self.variables.get(name)?.value.clone()));
        let all = matches!(self.goal.mode, RunMode::Agent(_)) || step.role == StepRole::Plan;
        let inputs = if all {
            self.variables.keys().filter_map(value).collect()
        } else {
            step.spec.reads.iter().filter_map(value).collect()
        };
        let replans = step.carried.as_ref().is_some_and(|c| matches!(c.judgement, Judgement::Replan { .. }));
        // Only a planner is shown all steps. Showing them to every step would make the cost of a graph quadratic.
        let outline = if replans { self.outline() } else { Vec::new() };
        VisitOpening { inputs, told: self.told.len(), outline }
    }

    fn outline(&self) -> Vec<(StepId, &'static str)> {
        let work = self.steps().filter(|step| step.role == StepRole::Work);
        work.map(|step| (step.spec.id.clone(), step.status())).collect()
    }

    fn side_question_begins(&mut self, at: usize, state: StepState) {
        self.count_turn(at);
        self.steps[at].state = state;
        self.steps[at].trouble = None;
        self.attention.remove(&at);
    }

    /// The guardrails are asked: about the goal before the step begins, or about its answer.
    fn guard_begins(&mut self, at: usize, turn: u32) {
        if !self.steps[at].is_at_work() {
            self.running += 1;
            self.ready.remove(&at);
        }
        self.steps[at].state = StepState::Judging { turn };
        self.attention.remove(&at);
    }

    /// The guardrails have answered, or a person instead.
    fn guard_has_replied(&mut self, at: usize, reply: &Reply) {
        let (verdict, step) = (GuardVerdict::of(reply), &mut self.steps[at]);
        if is_before_work(step) {
            self.input_guard = Some(verdict);
        } else {
            step.guard = Some(verdict);
        }
        self.attention.insert(at);
    }

    fn count_turn(&mut self, at: usize) {
        self.ledger.turns += 1;
        self.steps[at].ledger.turns += 1;
    }

    pub(super) fn wished(&mut self, id: &EffectAddress, call: &ToolCall, prepared: &PreparedCall) {
        let Some(open) = id.outer().and_then(|outer| self.open.get_mut(&outer)) else { return };
        let requested = Some((call.clone(), prepared.clone()));
        let inquiry = prepared.inquiry.clone().map(|inquiry| (inquiry, None));
        let (class, attempt) = (prepared.class, open.attempt);
        let earlier_asks = prepared.inquiry.as_ref().map_or(0, |inquiry| open.asked_already(inquiry));
        let mut is_beside = false;
        for other in &mut open.inner {
            if other.attempt == attempt
                && other.ended.is_none()
                && prepared.inquiry.as_ref().is_some_and(|own| other.asks(own))
            {
                (other.was_concurrent, is_beside) = (true, true);
            }
        }
        let name = call.name.clone();
        open.inner.push(InnerCall {
            name,
            class,
            requested,
            ended: None,
            attempt,
            earlier_asks,
            was_concurrent: is_beside,
            inquiry,
        });
    }

    /// A question from an earlier attempt now belongs to the current attempt.
    pub(super) fn awaited(&mut self, id: &EffectAddress) {
        let Some((outer, k)) = id.outer().zip(id.inner) else { return };
        let Some(open) = self.open.get_mut(&outer) else { return };
        let asked = open.inner.get(k as usize).and_then(|inner| inner.inquiry.as_ref()).map(|(asked, _)| asked.clone());
        let Some(asked) = asked else { return };
        let (attempt, earlier_asks) = (open.attempt, open.asked_already(&asked));
        if let Some(inner) = open.inner.get_mut(k as usize) {
            (inner.attempt, inner.earlier_asks) = (attempt, earlier_asks);
        }
    }

    pub(super) fn reserved(&mut self, id: &EffectAddress, ceiling: Ceiling) {
        let payee: Arc<str> = self.payee_of(id).into();
        let Some(open) = self.open.get_mut(id) else { return };
        self.bills.reserve(&payee, &ceiling);
        open.funds = Funds::Reserved(ceiling);
        open.payee = Some(payee);
        self.held.remove(id);
        self.ledger.reserve(&ceiling);
        if let Some(at) = self.step_index.get(&id.step) {
            self.steps[*at].ledger.reserve(&ceiling);
        }
    }

    pub(super) fn held(&mut self, id: &EffectAddress, ceiling: Ceiling) {
        if let Some(open) = self.open.get_mut(id) {
            open.funds = Funds::Held(ceiling);
            self.held.insert(id.clone());
        }
    }

    pub(super) fn noted(&mut self, id: &EffectAddress, handle: &str) {
        if let Some(open) = self.open.get_mut(id) {
            open.handle = Some(handle.to_owned());
        }
    }

    pub(super) fn begun(&mut self, id: &EffectAddress, attempt: u32, epoch: u64, facts: &EffectFacts) {
        if let Some(ceiling) = facts.ceiling
            && self.open.get(id).is_some_and(|open| !matches!(open.funds, Funds::Reserved(_)))
        {
            // No budget required a reservation; if the call is cut off, this is what it may have cost.
            self.reserved(id, ceiling);
        }
        if let Some(open) = self.open.get_mut(id) {
            open.begun = Some((epoch, facts.clone()));
        }
        if attempt > 1
            && self.interrupted_asks.remove(id)
            && let Some(at) = self.step_index.get(&id.step).copied()
        {
            self.ledger.repeats += 1;
            self.steps[at].ledger.repeats += 1;
        }
        if id.kind == EffectKind::Ask
            && facts.context.is_some()
            && let Some(at) = self.step_index.get(&id.step)
        {
            self.steps[*at].context = facts.context;
        }
        if matches!(id.kind, EffectKind::Ask | EffectKind::Compact)
            && let Some(at) = self.step_index.get(&id.step)
        {
            self.steps[*at].asked_bytes = facts.bytes;
        }
        if id.kind == EffectKind::Ask && id.turn == 0 {
            self.context_is_read(id, facts.documents);
        }
    }

    /// Removes an effect from the open ones and settles its cost.
    pub(super) fn close(&mut self, id: &EffectAddress, was_cut_off: bool) -> Option<OpenEffect> {
        let before = self.outer_is_busy(id);
        let was_busy = self.open.get(id).is_some_and(|open| self.is_busy(id, &open.effect));
        let open = self.open.remove(id)?;
        self.held.remove(id);
        self.interrupted_asks.remove(id);
        self.plan.approval = self.plan.approval.take().filter(|asked| asked != id);
        self.busy = self.busy.saturating_sub(u32::from(was_busy));
        self.count_outer(id, before);
        if let Funds::Reserved(ceiling) = open.funds {
            let payee = open.payee.as_deref().unwrap_or_default();
            self.ledger.free(&ceiling);
            self.bills.free(payee, &ceiling);
            let step = self.step_index.get(&id.step).map(|at| &mut self.steps[*at].ledger);
            if let Some(ledger) = step {
                ledger.free(&ceiling);
                if was_cut_off {
                    ledger.doubt(&ceiling);
                }
            }
            if was_cut_off {
                self.ledger.doubt(&ceiling);
                self.bills.doubt(payee, &ceiling);
            }
        }
        Some(open)
    }

    pub(super) fn interrupted(&mut self, id: &EffectAddress) {
        let is_paid = self.is_paid(id);
        let Some(open) = self.close(id, true) else { return };
        let again = OpenEffect { attempt: open.attempt + 1, funds: Funds::None, begun: None, payee: None, ..open };
        let effect = again.effect.clone();
        self.open.insert(id.clone(), again);
        if is_paid {
            self.interrupted_asks.insert(id.clone());
        }
        self.busy += u32::from(self.is_busy(id, &effect));
    }

    fn outer_is_busy(&self, id: &EffectAddress) -> bool {
        let outer = id.outer().and_then(|outer| Some((self.open.get(&outer)?, outer)));
        outer.is_some_and(|(open, outer)| self.is_busy(&outer, &open.effect))
    }

    /// Updates `busy` when a call starts or stops waiting for a person.
    fn count_outer(&mut self, id: &EffectAddress, before: bool) {
        match (before, self.outer_is_busy(id)) {
            (true, false) => self.busy = self.busy.saturating_sub(1),
            (false, true) => self.busy += 1,
            (true, true) | (false, false) => {}
        }
    }

    /// Notes that a call of a step has changed something, or may have.
    fn note_change(&mut self, id: &EffectAddress, reply: &Reply) {
        self.note_background(id, reply);
        let has_changes = match reply {
            Reply::Output(output) => !output.changes.is_empty() || output.unlisted.is_some() || output.more.is_some(),
            Reply::Said(_) | Reply::Verdict(_) | Reply::Answer(_) => return,
            Reply::Failed(_) | Reply::TimedOut { .. } | Reply::Cancelled | Reply::InDoubt { .. } => true,
        };
        let prepared = self.prepared_at(id).filter(|_| id.kind == EffectKind::Call);
        if prepared.is_some_and(|prepared| prepared.changes() && (has_changes || !prepared.lists_changes)) {
            self.with_step(&id.step, |step| step.has_acted = true);
        }
    }

    pub(super) fn replied(&mut self, id: &EffectAddress, reply: &Reply, prepared: &[PreparedCall]) {
        let begun = self.open.get(id).is_some_and(|open| open.begun.is_some());
        let is_paid = self.is_paid(id);
        self.call_has_replied(id, reply);
        self.note_change(id, reply);
        let was_cut_off = match reply {
            Reply::InDoubt { .. } | Reply::TimedOut { .. } => true,
            // We stopped it, but the provider may bill what it had written.
            Reply::Cancelled => begun,
            // An answer that broke off may have been billed; a question that was refused, or never began, was not.
            Reply::Failed(why) => begun && why.kind == FailureKind::InDoubt,
            Reply::Answer(_) | Reply::Output(_) | Reply::Said(_) | Reply::Verdict(_) => false,
        };
        if self.plan.approval.as_ref() == Some(id) {
            self.plan.is_approved |= matches!(reply, Reply::Verdict(verdict) if verdict.allow);
        }
        let Some(open) = self.close(id, was_cut_off) else { return };
        let Some(at) = self.step_index.get(&id.step).copied() else { return };
        let usage = match reply {
            Reply::Answer(answer) => Some(&answer.usage).filter(|_| open.effect != Effect::Prepare),
            Reply::Output(output) => output.usage.as_deref().filter(|_| is_paid),
            Reply::Failed(why) => why.usage.as_deref(),
            Reply::Said(_) | Reply::Verdict(_) | Reply::TimedOut { .. } | Reply::Cancelled | Reply::InDoubt { .. } => {
                None
            }
        };
        if let Some(usage) = usage {
            if let Funds::Reserved(ceiling) = open.funds {
                self.bills.learn(open.payee.as_deref().unwrap_or_default(), &ceiling, usage);
            }
            self.ledger.spend(usage);
            self.steps[at].ledger.spend(usage);
        }
        if let (Effect::Question { inquiry: None, .. }, Reply::Said(text)) = (&open.effect, reply) {
            self.users_words.push(text.clone());
        }
        if let Reply::Answer(answer) = reply {
            self.ledger.reasoning_steps += u64::from(!answer.reasoning.is_empty());
            self.omitted.extend(answer.omitted.iter().cloned());
        }
        if id.kind == EffectKind::Call {
            self.reply_is_read(at, id, reply);
        }
        if self.steps[at].has_ended() || matches!(self.phase, RunPhase::Cancelling { .. }) {
            return;
        }
        match id.kind {
            EffectKind::Ask => {
                self.step_has_answered(id);
                let step = &mut self.steps[at];
                match answered(reply) {
                    Ok(answer) => step.take_answer(answer),
                    Err(why) => step.trouble = Some(why),
                }
                step.prepared = prepared.to_vec();
                self.attention.insert(at);
            }
            EffectKind::Call => {
                self.look_again(at, prepared);
                self.fill_slot(at, id, CallSlot::Closed(ToolCallOutcome::Replied(reply.clone())));
            }
            EffectKind::Approve => {
                let verdict = verdict_of(reply);
                self.remember(&open.effect, &verdict);
                self.fill_slot(at, id, CallSlot::Decided(verdict));
            }
            EffectKind::Guard => self.guard_has_replied(at, reply),
            EffectKind::Judge | EffectKind::Compact => {
                let step = &mut self.steps[at];
                match answered(reply) {
                    Ok(answer) => step.side_answer = Some(answer.clone()),
                    Err(why) => step.trouble = Some(why),
                }
                self.attention.insert(at);
            }
        }
    }

    pub(super) fn rejected(&mut self, id: &EffectAddress, why: &Failure) {
        self.close(id, false);
        if why.kind == FailureKind::Unapproved && self.settings.approvals == ApprovalMode::Refuse {
            self.unapproved.push((id.step.clone(), why.message.clone()));
        }
        if why.kind == FailureKind::Assumed {
            let made = self.call_at(id).and_then(|call| Assumption::of(&id.step, &call));
            self.assumptions.extend(made);
        }
        if let Some(at) = self.step_index.get(&id.step).copied() {
            self.fill_slot(at, id, CallSlot::Closed(ToolCallOutcome::Rejected(why.clone())));
        }
    }

    pub(super) fn cancelled(&mut self, by: &str) {
        self.phase = RunPhase::Cancelling { by: by.to_owned() };
        // Effects that certainly have not begun are closed; those that may have begun get a reply, or are given up.
        let idle = self.open.iter().filter(|(id, open)| self.has_surely_not_begun(id, open));
        let idle: Vec<EffectAddress> = idle.map(|(id, _)| id.clone()).collect();
        for id in idle {
            self.close(&id, false);
        }
    }
}

/// A model's answer, or why there is none.
fn answered(reply: &Reply) -> Result<&Arc<ModelAnswer>, Failure> {
    Err(match reply {
        Reply::Answer(answer) => return Ok(answer),
        Reply::Failed(failure) => failure.clone(),
        Reply::TimedOut { limit } => {
            Failure::new(FailureKind::Timeout, format!("the model did not answer within {} s", limit.0 / 1000))
        }
        Reply::Cancelled => Failure::new(FailureKind::Cancelled, "the question was cancelled"),
        Reply::InDoubt { evidence } => Failure::new(FailureKind::InDoubt, evidence.clone()),
        Reply::Output(_) | Reply::Said(_) | Reply::Verdict(_) => {
            Failure::new(FailureKind::Model, "the model call got a reply of another kind")
        }
    })
}

/// What a person has decided. Everything except an explicit permission is a refusal.
fn verdict_of(reply: &Reply) -> Verdict {
    if let Reply::Verdict(verdict) = reply {
        return verdict.clone();
    }
    let because = crate::answer_calls::outcome_words(&ToolCallOutcome::Replied(reply.clone())).into_owned();
    Verdict { because, ..Verdict::default() }
}
