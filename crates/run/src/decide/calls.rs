//! Decides about the calls of a turn: repeated calls are stopped; each other call is allowed, asked about or refused.

use crate::answer_calls::ASK_USER;
use crate::assumption::Assumption;
use crate::call_order::{CallOrder, due_calls, has_unknown_outcome};
use crate::effect::{Effect, EffectClass, PreparedCall};
use crate::event::{Event, Note};
use crate::id::{EffectAddress, EffectKind};
use crate::message::{ModelAnswer, ToolCall};
use crate::permission::{ApprovalRequest, ConsideredCall, Permission, additive_call};
use crate::reply::{Failure, FailureKind, Reply, Verdict};
use crate::sentences;
use crate::state::Run;
use crate::step::{CallSlot, Step};
use crate::users_own_calls::ComparableCall;

use super::failed_step::fail;
use super::guard::after_stopped_call;
use super::turn::told_of_last_turn;

impl Run {
    /// Decides what follows from a model's answer: calls, or the end of the visit.
    pub(super) fn after_answer(&self, step: &Step, turn: u32, answer: &ModelAnswer) -> Vec<Event> {
        if let Some(events) = self.after_part(step, turn, answer) {
            return events;
        }
        let calls = self.calls_in(step, answer);
        if step.is_continued() && answer.calls.is_empty() {
            let Some(call) = calls.first() else { return self.conclude(step, turn, answer) };
            // A call that is complete only after joining two answers has not been prepared.
            let what = format!("the call of `{}` was cut off and not made; make it again with less content", call.name);
            let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
            return self.correct_once(step, turn, Note::Unfit { what }, otherwise);
        }
        if calls.is_empty() {
            if let Some(name) = self.call_among_text(step, answer).filter(|_| step.corrections() == 0)
                && turn + 1 < self.turns_of(step)
            {
                let what = format!(
                    "it calls `{name}` among other text, so nothing was called. To call a tool, answer with the call alone. \
                     If the text is your answer, give it again"
                );
                let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
                return self.correct(step, turn, Note::Unfit { what }, &otherwise);
            }
            return self.keep_at_it(step, turn).unwrap_or_else(|| self.conclude(step, turn, answer));
        }
        if turn + 1 >= self.turns_of(step) {
            return self.out_of_turns(step, "");
        }
        let decided = self.decide_calls(step, turn, &vec![CallSlot::Undecided; calls.len()], &calls);
        if let [Event::Exhausted { .. } | Event::StepFailed { .. }] = decided.as_slice() {
            return decided;
        }
        let mut events = Vec::with_capacity(calls.len() + 1);
        if told_of_last_turn(step.conversation.iter().rev().skip(1)) {
            events.push(Event::Advised { step: step.spec.id.clone(), note: Note::MoreTurns });
        }
        events.extend(decided);
        events
    }

    /// Decides about the calls of an answer whose turn it is, or stops if no more calls may be made. When the answer has
    /// just arrived, a person is asked about the later ones as well, so that all questions come together.
    pub(super) fn decide_calls(&self, step: &Step, turn: u32, slots: &[CallSlot], calls: &[ToolCall]) -> Vec<Event> {
        let due = due_calls(slots, &step.prepared);
        let is_new = slots.iter().all(|slot| *slot == CallSlot::Undecided);
        let unknown = has_unknown_outcome(slots);
        let may_write = |n: usize| step.prepared.get(n).is_none_or(|call| call.order != CallOrder::Reads);
        let decide = |(n, slot): (usize, &CallSlot)| {
            let (number, is_due) = (n as u32, due.contains(&n));
            match slot {
                CallSlot::Undecided | CallSlot::Decided(_) if is_due && unknown && may_write(n) => {
                    Some(behind_unknown(step, turn, number))
                }
                CallSlot::Undecided if is_due => Some(self.decide_call(step, turn, number, calls)),
                CallSlot::Undecided if is_new => {
                    Some(self.decide_call(step, turn, number, calls)).filter(is_request_for_approval)
                }
                CallSlot::Decided(verdict) if is_due => Some(self.after_verdict(step, turn, number, verdict, calls)),
                CallSlot::Undecided | CallSlot::Decided(_) | CallSlot::Asked | CallSlot::Open | CallSlot::Closed(_) => {
                    None
                }
            }
        };
        let decided: Vec<Event> = slots.iter().enumerate().filter_map(decide).collect();
        // While a person was deciding, other steps may have used up the remaining calls.
        self.stop_at_call_limit(step, &decided).unwrap_or(decided)
    }

    /// Calls of a turn have ended, or a person has decided about some: what follows for those whose turn it is now.
    pub(super) fn go_on_with_calls(&self, step: &Step, turn: u32, slots: &[CallSlot]) -> Vec<Event> {
        let ended = slots.iter().filter_map(|slot| match slot {
            CallSlot::Closed(outcome) => Some(outcome),
            CallSlot::Undecided | CallSlot::Asked | CallSlot::Decided(_) | CallSlot::Open => None,
        });
        if let Some(events) = after_stopped_call(step, ended).filter(|_| !slots.contains(&CallSlot::Open)) {
            return events;
        }
        let Some(answer) = step.last_answer() else { return Vec::new() };
        self.decide_calls(step, turn, slots, &self.calls_in(step, answer))
    }

    /// What follows if the run or the step may not make this many more calls. Returns `None` if it may.
    fn stop_at_call_limit(&self, step: &Step, decided: &[Event]) -> Option<Vec<Event>> {
        let is_call =
            |event: &&Event| matches!(event, Event::Wanted { effect: Effect::Call | Effect::Approval { .. }, .. });
        let wanted = decided.iter().filter(is_call).count() as u64;
        let asks_model = |event: &&Event| matches!(event, Event::Wanted { id, effect: Effect::Call } if self.consulted(id).is_some());
        let asks = decided.iter().filter(asks_model).count() as u64;
        if let Some(which) = self.ledger.count_limit_reached(&self.budget, asks, wanted).filter(|_| wanted > 0) {
            return Some(vec![Event::Exhausted { which }]);
        }
        let which = step.ledger.count_limit_reached(&self.settings.step_budget, asks, wanted).filter(|_| wanted > 0)?;
        Some(fail(step, Failure::new(FailureKind::Budget, format!("the step has used up its {}", which.flag().0))))
    }

    /// What is known about each call of an answer, exactly one entry per call; about those of a turn, if a call of it has
    /// ended and something is different for those behind it. A call that was not prepared counts as the worst case.
    pub(super) fn prepared_per_call(
        &self,
        id: &EffectAddress,
        reply: &Reply,
        prepared: &[PreparedCall],
    ) -> Vec<PreparedCall> {
        let Some(step) = self.step(&id.step) else { return Vec::new() };
        if id.kind == EffectKind::Call && id.inner.is_none() && prepared.len() == step.prepared.len() {
            let behind = id.n as usize + 1;
            let is_news = prepared.get(behind..) != step.prepared.get(behind..);
            return if is_news { prepared.to_vec() } else { Vec::new() };
        }
        let (EffectKind::Ask, Reply::Answer(answer)) = (id.kind, reply) else { return Vec::new() };
        let calls = self.calls_in(step, answer);
        let unknown = |call: &ToolCall| match call.name.as_str() {
            ASK_USER => PreparedCall::default(),
            _ => PreparedCall {
                class: EffectClass::Opaque,
                order: CallOrder::Alone,
                outside: true,
                sends: true,
                destroys: true,
                ..PreparedCall::default()
            },
        };
        let known = prepared.iter().cloned().map(Some).chain(std::iter::repeat(None));
        calls.iter().zip(known).map(|(call, known)| known.unwrap_or_else(|| unknown(call))).collect()
    }

    /// Decides about one call of an answer. It may repeat one of the calls before it.
    fn decide_call(&self, step: &Step, turn: u32, n: u32, calls: &[ToolCall]) -> Event {
        let (id, call) = (step.address(turn, EffectKind::Ask).sibling(EffectKind::Call, n), &calls[n as usize]);
        let plain = PreparedCall::default();
        let prepared = step.prepared.get(n as usize).unwrap_or(&plain);
        let before = calls.iter().zip(&step.prepared).take(n as usize);
        let beside: Vec<ComparableCall> = before.filter_map(|(call, prepared)| additive_call(call, prepared)).collect();
        if let Some(why) = self.overwrites_unseen(step, call, prepared) {
            return Event::Rejected { id, why };
        }
        match self.permission(step, &ConsideredCall { call, prepared, beside: &beside }) {
            Permission::Allowed if call.name == ASK_USER && self.settings.assume => {
                Event::Rejected { id, why: Assumption::instead_of_asking(call) }
            }
            Permission::Allowed if call.name == ASK_USER => Event::Wanted { id, effect: question(call) },
            Permission::Allowed => Event::Wanted { id, effect: Effect::Call },
            Permission::Asked(ApprovalRequest { why, origins, always, insists, like }) => {
                let effect = Effect::Approval { why, origins, always, insists, like };
                Event::Wanted { id: id.sibling(EffectKind::Approve, n), effect }
            }
            Permission::Denied(why) => Event::Rejected { id, why },
        }
    }

    /// Decides whether a call of a step's model is permitted.
    fn permission(&self, step: &Step, considered: &ConsideredCall<'_>) -> Permission {
        if let Some(own) = Self::own_card(step) {
            return self.permission_for(step, &own, considered);
        }
        let Some(agent) = self.card(&step.spec.agent) else { return Permission::Denied(missing_agent(step)) };
        self.permission_for(step, agent, considered)
    }

    /// A person has decided about a call, and its turn has come.
    fn after_verdict(&self, step: &Step, turn: u32, n: u32, verdict: &Verdict, calls: &[ToolCall]) -> Event {
        let id = step.address(turn, EffectKind::Call).sibling(EffectKind::Call, n);
        let rejected = |why: String| Event::Rejected { id: id.clone(), why: Failure::new(FailureKind::Security, why) };
        if !verdict.allow {
            return rejected(refusal(verdict));
        }
        // What the calls before it have done may have changed what it would do.
        let decided = self.decide_call(step, turn, n, calls);
        if let Event::Wanted { effect: Effect::Call, .. } | Event::Rejected { .. } = decided {
            return decided;
        }
        match self.unseen_origins(step, n, verdict) {
            None => Event::Wanted { id, effect: Effect::Call },
            Some(why) => rejected(why),
        }
    }

    /// Why an approval no longer holds: while the person was deciding, text from origins they were not told about
    /// entered the call's context.
    fn unseen_origins(&self, step: &Step, n: u32, verdict: &Verdict) -> Option<String> {
        let prepared = step.prepared.get(n as usize)?;
        let origins = self.origins_around(step, prepared);
        let unseen = origins.could_misuse(prepared) && !origins.are_within(verdict.origins.names());
        unseen.then(|| sentences::injection_since(&origins))
    }
}

/// The failure of a step whose agent no longer exists, so that its rights are unknown.
pub(super) fn missing_agent(step: &Step) -> Failure {
    Failure::new(FailureKind::Config, format!("the agent `{}` no longer exists", step.spec.agent))
}

/// A call that may change something is not made behind one of which nobody knows what it has done.
fn behind_unknown(step: &Step, turn: u32, n: u32) -> Event {
    let id = step.address(turn, EffectKind::Call).sibling(EffectKind::Call, n);
    let why = "the outcome of a call before it in this turn is unknown: look at what is there first";
    Event::Rejected { id, why: Failure::new(FailureKind::InDoubt, why) }
}

fn is_request_for_approval(event: &Event) -> bool {
    matches!(event, Event::Wanted { effect: Effect::Approval { .. }, .. })
}

fn question(call: &ToolCall) -> Effect {
    let text = |key: &str| call.args.get(key).and_then(serde_json::Value::as_str);
    let options = call.args.get("options").and_then(serde_json::Value::as_array);
    let options = options.into_iter().flatten().filter_map(|option| option.as_str().map(str::to_owned));
    Effect::Question {
        text: text("question").or_else(|| text("text")).unwrap_or_default().to_owned(),
        options: options.collect(),
        inquiry: None,
    }
}

fn refusal(verdict: &Verdict) -> String {
    let by = if verdict.by.is_empty() { "the user" } else { &verdict.by };
    if verdict.because.is_empty() {
        format!("refused by {by}")
    } else {
        format!("refused by {by}: {}", verdict.because)
    }
}
