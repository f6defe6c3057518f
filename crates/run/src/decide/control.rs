//! What people and processes do to a run from outside: answer, approve, pause, resume, cancel, take over, fork.

use crate::effect::{Class, Effect};
use crate::event::Event;
use crate::goal::{Approvals, Budget};
use crate::id::{Address, Kind, RunId, StepId};
use crate::input::{Finding, ForkChange, Found};
use crate::reply::{Failure, FailureKind, Reply, Verdict};
use crate::state::{Open, Phase, Run};

/// Attempts of a model call that may be cut off before it counts as failed: each may have been billed.
const CUT_OFF_ASKS: u32 = 3;

impl Run {
    pub(super) fn hear_answer(&self, id: Option<&Address>, text: &str) -> Vec<Event> {
        let question = self.open.iter().find(|(at, open)| {
            matches!(open.effect, Effect::Question { .. }) && id.is_none_or(|id| id == *at)
        });
        question.map(|(at, open)| said(at, open, Reply::Said(text.to_owned()))).into_iter().collect()
    }

    pub(super) fn hear_verdict(&self, id: Option<&Address>, verdict: &Verdict) -> Vec<Event> {
        let approvals = self.open.iter().filter(|(at, open)| {
            let meant = id.is_none_or(|id| id == *at || *at == &id.sibling(Kind::Approve, id.n));
            matches!(open.effect, Effect::Approval { .. }) && meant
        });
        approvals.map(|(at, open)| said(at, open, Reply::Verdict(verdict.clone()))).collect()
    }

    pub(super) fn pause(&self) -> Vec<Event> {
        if self.phase == Phase::Running { vec![Event::Paused] } else { Vec::new() }
    }

    pub(super) fn resume(&self, budget: Option<&Budget>, approvals: Option<Approvals>) -> Vec<Event> {
        let stopped = matches!(self.phase, Phase::Paused | Phase::Exhausted(_));
        if matches!(self.phase, Phase::Cancelling { .. }) || (!stopped && budget.is_none() && approvals.is_none()) {
            return Vec::new();
        }
        let mut events = vec![Event::Resumed { budget: budget.cloned(), approvals }];
        if approvals == Some(Approvals::Allow) {
            let allowed = Verdict { allow: true, by: "--yes".into(), because: String::new() };
            events.extend(self.hear_verdict(None, &allowed));
        }
        events
    }

    pub(super) fn cancel(&self, by: &str, step: Option<&StepId>) -> Vec<Event> {
        match step {
            None if matches!(self.phase, Phase::Cancelling { .. }) => Vec::new(),
            None => vec![Event::Cancelled { by: by.to_owned() }],
            Some(id) => match self.step(id) {
                Some(step) if !step.has_ended() => vec![Event::StepCancelled { step: id.clone() }],
                Some(_) | None => Vec::new(),
            },
        }
    }

    /// A new process goes on with the run: what was open when the old one ended is looked at, one by one.
    pub(super) fn recover(&self, found: &[Finding]) -> Vec<Event> {
        self.open.iter().filter_map(|(id, open)| self.recover_one(id, open, found)).collect()
    }

    fn recover_one(&self, id: &Address, open: &Open, found: &[Finding]) -> Option<Event> {
        let interrupted = Event::Interrupted { id: id.clone(), attempt: open.attempt };
        match &open.effect {
            Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => None,
            Effect::Ask if open.attempt >= CUT_OFF_ASKS => {
                let why = format!("the model call was cut off {CUT_OFF_ASKS} times");
                Some(said(id, open, Reply::Failed(Failure::new(FailureKind::Model, why))))
            }
            Effect::Ask => Some(interrupted),
            Effect::Call if self.class_of(id).is_repeatable() => Some(interrupted),
            // Its beginning is on disk before it touches the world, so this one never did.
            Effect::Call if open.begun.is_none() => None,
            Effect::Call => match found.iter().find(|finding| finding.id == *id).map(|finding| &finding.found) {
                Some(Found::Happened(reply)) => Some(said(id, open, reply.clone())),
                Some(Found::DidNotHappen) => Some(interrupted),
                Some(Found::CannotTell(evidence)) => Some(said(id, open, Reply::InDoubt { evidence: evidence.clone() })),
                None => {
                    let evidence = "it had begun when the process ended, and left no trace".to_owned();
                    Some(said(id, open, Reply::InDoubt { evidence }))
                }
            },
        }
    }

    /// Whether the call at an address may be done twice.
    pub fn class_of(&self, id: &Address) -> Class {
        let step = self.step(&id.step);
        step.and_then(|step| step.prepared.get(id.n as usize)).map_or(Class::Opaque, |prepared| prepared.class)
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
            events.push(Event::Wrote { step, name: name.clone(), value: value.clone(), untrusted: false });
        }
        // What was open in the original is this run's own to do, except what may have happened there.
        events.extend(self.recover(&[]));
        events
    }
}

fn said(id: &Address, open: &Open, reply: Reply) -> Event {
    Event::Replied { id: id.clone(), attempt: open.attempt, reply, prepared: Vec::new() }
}
