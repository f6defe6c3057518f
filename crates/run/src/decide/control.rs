//! Decides about inputs from people and processes: answer, approve, pause, resume, cancel, recover, fork.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effect::{Effect, EffectClass, HOOKS_PASSED, PreparedCall};
use crate::event::{Event, Judgement, Note};
use crate::goal::{ApprovalMode, Budget, BudgetLimit, ChosenModel, RunSettings};
use crate::id::{EffectAddress, EffectKind, Millis, RunId, StepId};
use crate::input::{ForkChange, RecoveryFinding, RecoveryOutcome};
use crate::open_effect::OpenEffect;
use crate::origins::Origins;
use crate::reply::{Failure, FailureKind, Reply, Verdict};
use crate::rules::{Rule, Rules};
use crate::state::{Run, RunPhase};
use crate::step::StepRole;

use super::calls_from_code::{called_so_far, may_all_repeat};

/// How many attempts at a model call may be cut off before the run stops: each may have been billed. Resuming the run
/// asks the model again.
const CUT_OFF_ASKS: u32 = 10;

/// How many answers may break off while our process is alive before the question fails.
const BROKEN_ANSWERS: u32 = 4;

impl Run {
    pub(super) fn hear_answer(&self, id: Option<&EffectAddress>, text: &str) -> Vec<Event> {
        let Some((at, open)) = self.addressed_effect(id) else { return Vec::new() };
        let Effect::Question { inquiry: Some(inquiry), .. } = &open.effect else {
            return vec![said(at, open, Reply::Said(text.to_owned()))];
        };
        // An unsuitable answer is ignored: the caller that received it reports that, and the question stays open.
        inquiry.read(text).map_or_else(|_| Vec::new(), |given| vec![said(at, open, Reply::Said(given))])
    }

    pub(super) fn hear_decline(&self, id: Option<&EffectAddress>, by: &str, dismissed: bool) -> Vec<Event> {
        let Some((at, open)) = self.addressed_effect(id) else { return Vec::new() };
        let because = "the person declined to answer this".to_owned();
        let declined = Verdict { by: by.to_owned(), because, ..Verdict::default() };
        vec![said(at, open, if dismissed { Reply::Cancelled } else { Reply::Verdict(declined) })]
    }

    /// The question that is meant. Without an id, there must be exactly one candidate.
    fn addressed_effect(&self, id: Option<&EffectAddress>) -> Option<(&EffectAddress, &OpenEffect)> {
        let is_question = |open: &OpenEffect| matches!(open.effect, Effect::Question { .. });
        let mut meant = self.open.iter().filter(|(at, open)| is_question(open) && id.is_none_or(|id| id == *at));
        meant.next().filter(|_| meant.next().is_none())
    }

    pub(super) fn hear_verdict(&self, id: Option<&EffectAddress>, verdict: &Verdict) -> Vec<Event> {
        let approvals = self.open.iter().filter(|(at, open)| {
            let meant = id.is_none_or(|id| id == *at || *at == &id.sibling(EffectKind::Approve, id.n));
            matches!(open.effect, Effect::Approval { .. }) && meant
        });
        approvals.map(|(at, open)| said(at, open, Reply::Verdict(given_for(&open.effect, verdict)))).collect()
    }

    pub(super) fn pause(&self) -> Vec<Event> {
        if self.phase == RunPhase::Running { vec![Event::Paused] } else { Vec::new() }
    }

    pub(super) fn resume(&self, budget: Option<&Budget>, approvals: Option<ApprovalMode>) -> Vec<Event> {
        if self.is_imported {
            return Vec::new();
        }
        let stopped = matches!(self.phase, RunPhase::Paused | RunPhase::Exhausted(_));
        if matches!(self.phase, RunPhase::Cancelling { .. }) || (!stopped && budget.is_none() && approvals.is_none()) {
            return Vec::new();
        }
        let mut budget = budget.cloned();
        if let Some(turns) = budget.as_mut().and_then(|budget| budget.turns.as_mut())
            && self.budget.turns.is_none()
            && *turns <= self.ledger.requests()
        {
            // There was no limit on turns before. If the given number is already used up, it means that many more.
            *turns += self.ledger.requests();
        }
        let mut events = vec![Event::Resumed { budget, approvals, model: None }];
        if approvals == Some(ApprovalMode::Allow) {
            let allowed = Verdict { allow: true, by: "--yes".into(), ..Verdict::default() };
            // Calls that text from outside could misuse are never allowed unseen, nor are questions that `--yes` does
            // not answer.
            let plain = |open: &OpenEffect| matches!(&open.effect, Effect::Approval { origins, insists: false, .. } if origins.is_empty());
            let seen = self.open.iter().filter(|(_, open)| plain(open)).map(|(at, _)| at);
            events.extend(seen.flat_map(|at| self.hear_verdict(Some(at), &allowed)));
        }
        events
    }

    /// The run continues with another model.
    pub(super) fn change_model(&self, model: &ChosenModel) -> Vec<Event> {
        let is_settled = self.is_imported || matches!(self.phase, RunPhase::Cancelling { .. });
        let resumed = Event::Resumed { budget: None, approvals: None, model: Some(model.clone()) };
        if is_settled { Vec::new() } else { vec![resumed] }
    }

    /// Someone adopts a run that was imported from a file. What its steps had asked for, and what the file says was
    /// allowed, is discarded: the steps start again, and all their calls are decided about here.
    pub(super) fn adopt(&self, settings: &Arc<RunSettings>) -> Vec<Event> {
        if !self.is_imported {
            return Vec::new();
        }
        let feedback = "the run was imported while this was being worked on; what had begun may have happened elsewhere, \
                        or not at all: look at what is there, and do what is still needed";
        let at_work = self.step_index.values().map(|at| &self.steps[*at]).filter(|step| step.is_at_work());
        let afresh = at_work.map(|step| Event::Judged {
            step: step.spec.id.clone(),
            verdict: Judgement::Retry { feedback: feedback.into() },
        });
        std::iter::once(Event::Adopted { settings: settings.clone() }).chain(afresh).collect()
    }

    /// Adds the rules that now ask or deny and did not when the run began. Nothing is loosened.
    pub(super) fn tighten(&self, rules: &Rules, deny: &[String], distrusts: bool) -> Vec<Event> {
        let is_known = |known: &[Rule], rule: &Rule| {
            known.iter().any(|one| (&one.tool, &one.pattern) == (&rule.tool, &rule.pattern))
        };
        let news = |known: &[Rule], rules: &[Rule]| -> Vec<Rule> {
            rules.iter().filter(|rule| !is_known(known, rule)).cloned().collect()
        };
        let known = &self.settings.rules;
        let rules =
            Rules { allow: Vec::new(), ask: news(&known.ask, &rules.ask), deny: news(&known.deny, &rules.deny) };
        let deny: Vec<String> = deny.iter().filter(|name| !self.settings.deny.contains(name)).cloned().collect();
        let distrusts = distrusts && self.settings.workspace_trusted;
        if rules.is_empty() && deny.is_empty() && !distrusts {
            return Vec::new();
        }
        vec![Event::Tightened { rules, deny, distrusts }]
    }

    pub(super) fn cancel(&self, by: &str, step: Option<&StepId>) -> Vec<Event> {
        match step {
            None if matches!(self.phase, RunPhase::Cancelling { .. }) => Vec::new(),
            None => vec![Event::Cancelled { by: by.to_owned() }],
            Some(id) => match self.step(id) {
                Some(step) if !step.has_ended() => vec![Event::StepCancelled { step: id.clone() }],
                Some(_) | None => Vec::new(),
            },
        }
    }

    /// A new process continues the run: each effect that was open when the old process ended is checked.
    pub(super) fn recover(&self, found: &[RecoveryFinding]) -> Vec<Event> {
        let mut events = Vec::new();
        for (id, open) in &self.open {
            // Calls made by code are handled together with the call that ran the code.
            if id.inner.is_none() && !self.has_surely_not_begun(id, open) {
                self.recover_one(id, open, found, &mut events);
            }
        }
        events
    }

    /// Tells steps that are at work which of their background commands are gone.
    pub(super) fn background_ended(&self, ended: &BTreeMap<StepId, Vec<String>>) -> Vec<Event> {
        let is_told = |step: &StepId| self.step(step).is_some_and(|step| !step.background.is_empty());
        let told = ended.iter().filter(|(step, _)| is_told(step));
        let told = told.map(|(step, names)| (step.clone(), Note::BackgroundEnded { names: names.clone() }));
        told.map(|(step, note)| Event::Advised { step, note }).collect()
    }

    fn recover_one(&self, id: &EffectAddress, open: &OpenEffect, found: &[RecoveryFinding], events: &mut Vec<Event>) {
        let stopped = matches!(self.phase, RunPhase::Paused | RunPhase::Exhausted(_));
        let interrupted = Event::Interrupted { id: id.clone(), attempt: open.attempt };
        let of_it = found.iter().find(|finding| finding.id == *id).map(|finding| &finding.found);
        // An effect with a handle can be found again, so it is continued, whatever its class.
        let finds = |handle: &String| !handle.is_empty() && !handle.starts_with(HOOKS_PASSED);
        let is_found_again = open.handle.as_ref().is_some_and(finds);
        let is_safe =
            is_found_again || self.class_of(id).is_repeatable() || matches!(of_it, Some(RecoveryOutcome::DidNotHappen));
        let may_repeat = is_safe && may_all_repeat(open);
        let goes_on = may_repeat && !matches!(self.phase, RunPhase::Cancelling { .. }) && !self.is_paid(id);
        let mut closing = self.close_inner(id, found);
        if goes_on {
            // It will ask the same question again, and an answer given in the meantime counts.
            closing.retain(|event| !matches!(event, Event::Replied { id, .. } if self.is_inquiry(id)));
        }
        match (&open.effect, of_it) {
            (Effect::Prepare | Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. }, _) => {}
            (_, Some(RecoveryOutcome::Happened(reply))) => {
                events.extend(closing);
                events.push(said(id, open, reply.clone()));
            }
            // While the run was stopped nothing was begun, so checking it repeatedly uses up no attempts.
            (Effect::Ask | Effect::Call, _) if stopped && open.begun.is_none() => events.extend(closing),
            // A repeated attempt is on disk before the model is asked. This one was never sent, so it does not count.
            (Effect::Ask | Effect::Call, _) if self.is_paid(id) && open.attempt > 1 && open.begun.is_none() => {}
            (Effect::Ask | Effect::Call, _) if self.is_paid(id) => {
                // The attempt may have been billed, whatever happens to the call.
                events.push(interrupted);
                if matches!(self.phase, RunPhase::Cancelling { .. }) {
                    events.push(said_next(id, open, Reply::Cancelled));
                } else if open.attempt >= CUT_OFF_ASKS {
                    let why = format!("the model call was cut off {} times", open.attempt);
                    if self.can_halt(id) {
                        let stopped = events.iter().any(|event| matches!(event, Event::Exhausted { .. }));
                        let halted = self.halt(id, Failure::new(FailureKind::Outage, why));
                        events.extend(halted.into_iter().take(if stopped { 1 } else { 2 }));
                    } else {
                        events.push(said_next(id, open, Reply::Failed(Failure::new(FailureKind::Model, why))));
                    }
                }
            }
            (Effect::Ask | Effect::Call, found) => {
                let evidence = match found {
                    Some(RecoveryOutcome::CannotTell(evidence)) => evidence.as_str(),
                    Some(RecoveryOutcome::Happened(_) | RecoveryOutcome::DidNotHappen) | None => {
                        "it had begun when the process ended, and left no trace"
                    }
                };
                let evidence = format!("{evidence}{}", called_so_far(open, &closing));
                events.extend(closing);
                events.push(match (may_repeat, &self.phase) {
                    (true, RunPhase::Cancelling { .. }) if is_found_again => {
                        said(id, open, Reply::InDoubt { evidence })
                    }
                    (true, RunPhase::Cancelling { .. }) => said(id, open, Reply::Cancelled),
                    (
                        true,
                        RunPhase::New
                        | RunPhase::Running
                        | RunPhase::Paused
                        | RunPhase::Exhausted(_)
                        | RunPhase::Over { .. },
                    ) => interrupted,
                    (false, _) => said(id, open, Reply::InDoubt { evidence }),
                });
            }
        }
    }

    /// Whether a model whose answer broke off is asked once more. The partial answer may be billed, so each attempt is
    /// counted separately.
    pub(super) fn may_ask_again(&self, id: &EffectAddress, attempt: u32) -> bool {
        let stopping = matches!(self.phase, RunPhase::Cancelling { .. });
        self.is_asked(id, attempt) && attempt < BROKEN_ANSWERS && !stopping
    }

    /// What follows if a model was asked and sent nothing for minutes: the run stops, and resuming it asks the model
    /// again. The attempt may have been billed.
    pub(super) fn after_timeout(&self, id: &EffectAddress, attempt: u32, limit: Millis) -> Vec<Event> {
        let mut events = vec![Event::Interrupted { id: id.clone(), attempt }];
        let (model, seconds) = (self.payee_of(id), limit.0.div_ceil(1000));
        let why = format!(
            "no response from `{model}` for {seconds} s; set a longer `silence` in the settings to wait longer"
        );
        if self.can_halt(id) {
            events.extend(self.halt(id, Failure::new(FailureKind::Outage, why)));
        } else {
            events.push(self.give_up(id, attempt + 1, why));
        }
        events
    }

    /// Whether a question failed because its model cannot be used. A request that is refused counts for those who plan:
    /// without them there is no run, and another model may take it. Elsewhere the planner goes around it.
    pub(super) fn is_for_lack_of_model(&self, id: &EffectAddress, why: &Failure) -> bool {
        let plans = || self.step(&id.step).is_some_and(|step| matches!(step.role, StepRole::Plan | StepRole::Distill));
        why.kind == FailureKind::Outage || why.kind == FailureKind::Config && plans()
    }

    /// Whether a question of a step can be asked again later. A question that one of the agent's own calls asks fails
    /// instead.
    pub(super) fn can_halt(&self, id: &EffectAddress) -> bool {
        let is_question = self.open.get(id).is_some_and(|open| open.effect == Effect::Ask);
        is_question && !matches!(self.phase, RunPhase::Cancelling { .. })
    }

    /// The model of a question is not available: the run stops, and the question is asked again when it is resumed.
    pub(super) fn halt(&self, id: &EffectAddress, why: Failure) -> Vec<Event> {
        let mut events = vec![Event::Halted { step: id.step.clone(), ask: Some(id.clone()), why }];
        if self.phase == RunPhase::Running {
            events.push(Event::Exhausted { which: BudgetLimit::Model });
        }
        events
    }

    /// Ends a question without another attempt.
    pub(super) fn give_up(&self, id: &EffectAddress, attempt: u32, why: String) -> Event {
        let reply = match self.phase {
            RunPhase::Cancelling { .. } => Reply::Cancelled,
            RunPhase::New | RunPhase::Running | RunPhase::Paused | RunPhase::Exhausted(_) | RunPhase::Over { .. } => {
                Reply::Failed(Failure::new(FailureKind::Model, why))
            }
        };
        Event::Replied { id: id.clone(), attempt, reply, prepared: Vec::new() }
    }

    /// Whether this is the current attempt at a question.
    pub(super) fn is_asked(&self, id: &EffectAddress, attempt: u32) -> bool {
        self.is_paid(id) && self.open.get(id).is_some_and(|open| open.attempt == attempt)
    }

    /// Whether the call at an address only reads, and has no effect outside this process.
    pub fn is_local_read(&self, id: &EffectAddress) -> bool {
        self.prepared_at(id).is_some_and(PreparedCall::is_plain)
    }

    /// Whether the call at an address may be repeated.
    pub fn class_of(&self, id: &EffectAddress) -> EffectClass {
        self.prepared_at(id).map_or(EffectClass::Opaque, |prepared| prepared.class)
    }

    pub(super) fn fork(&self, from: &RunId, at: u64, change: &ForkChange) -> Vec<Event> {
        let mut events = vec![Event::Forked {
            from: from.clone(),
            at,
            settings: change.settings.clone(),
            goal: change.goal.clone(),
        }];
        let origin = self.steps.first().map(|step| step.spec.id.clone());
        for (name, value) in &change.variables {
            let Some(step) = origin.clone() else { break };
            // An edited text may still contain what came from outside.
            let origins = self.variables.get(name).map(|old| old.origins.clone()).unwrap_or_default();
            let (name, value, untrusted) = (name.clone(), value.clone(), !origins.is_empty());
            events.push(Event::Wrote { step, name, value, untrusted, origins });
        }
        // The fork performs what was open in the original, except effects that may have happened there.
        events.extend(self.recover(&[]));
        events
    }
}

/// A reply that takes the place of the next attempt.
fn said_next(id: &EffectAddress, open: &OpenEffect, reply: Reply) -> Event {
    Event::Replied { id: id.clone(), attempt: open.attempt + 1, reply, prepared: Vec::new() }
}

/// A person's decision, with the origins that the question named.
fn given_for(effect: &Effect, verdict: &Verdict) -> Verdict {
    let origins = match effect {
        Effect::Approval { origins, .. } => origins.clone(),
        Effect::Ask | Effect::Call | Effect::Prepare | Effect::Question { .. } | Effect::Timer { .. } => {
            Origins::default()
        }
    };
    Verdict { origins, ..verdict.clone() }
}

fn said(id: &EffectAddress, open: &OpenEffect, reply: Reply) -> Event {
    Event::Replied { id: id.clone(), attempt: open.attempt, reply, prepared: Vec::new() }
}
