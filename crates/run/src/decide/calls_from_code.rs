//! Decides about calls that running code asks for: by the same rules as an agent's own calls, but no person is asked.

use crate::answer_calls::{ASK_USER, RUN_PYTHON};
use crate::effect::{Effect, PreparedCall};
use crate::event::Event;
use crate::id::EffectAddress;
use crate::input::{RecoveryFinding, RecoveryOutcome};
use crate::message::ToolCall;
use crate::open_effect::{InnerCall, OpenEffect};
use crate::permission::{ApprovalRequest, ConsideredCall, Permission};
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::{Run, RunPhase};
use crate::step::Step;

use super::calls::missing_agent;

/// How many calls one piece of code may ask for.
const MOST: usize = 1_000;

/// How many calls are named in the evidence about code that was cut off.
const MOST_NAMED: usize = 20;

impl Run {
    /// Decides about a call that code asks for.
    pub(super) fn decide_request(&self, under: &EffectAddress, call: &ToolCall, prepared: &PreparedCall) -> Vec<Event> {
        let open = self.open.get(under).filter(|open| open.effect == Effect::Call && open.inner.len() <= MOST);
        let (Some(open), Some(step)) = (open, self.step(&under.step)) else { return Vec::new() };
        if under.inner.is_some() || matches!(self.phase, RunPhase::Cancelling { .. }) {
            return Vec::new();
        }
        if let Some(inquiry) = &prepared.inquiry {
            return self.inquire(under, open, call, inquiry, prepared);
        }
        let id = under.within(open.inner.len() as u32);
        let decided = match self.refusal(step, open, call, prepared) {
            Some(why) => Event::Rejected { id: id.clone(), why },
            None => Event::Wanted { id: id.clone(), effect: Effect::Call },
        };
        vec![Event::Wished { id, call: call.clone(), prepared: Box::new(prepared.clone()) }, decided]
    }

    /// The reply to code whose request was not even recorded.
    pub fn unheard(&self, under: &EffectAddress) -> Reply {
        match self.open.get(under) {
            Some(_) if under.inner.is_some() => {
                let why = "what was called from code cannot call tools itself: call them one after another";
                Reply::Failed(Failure::new(FailureKind::Security, why))
            }
            Some(open) if open.inner.len() > MOST => Reply::Failed(too_many()),
            Some(_) | None => Reply::Cancelled,
        }
    }

    fn refusal(&self, step: &Step, open: &OpenEffect, call: &ToolCall, prepared: &PreparedCall) -> Option<Failure> {
        let name = &call.name;
        let security = |why: String| Some(Failure::new(FailureKind::Security, why));
        if open.inner.len() == MOST {
            return Some(too_many());
        }
        if matches!(self.phase, RunPhase::Exhausted(_)) {
            return Some(Failure::new(FailureKind::Budget, "the run has used up its budget"));
        }
        if name == ASK_USER || name == RUN_PYTHON {
            return security(format!("`{name}` cannot be called from code: {}", outside_of_code(name)));
        }
        let Some(agent) = self.card(&step.spec.agent) else { return Some(missing_agent(step)) };
        if let Some(fault) = prepared.fault.as_ref().filter(|_| prepared.on_behalf_of.is_some()) {
            return Some(fault.clone());
        }
        if prepared.on_behalf_of.is_none() {
            let considered = ConsideredCall { call, prepared, beside: &[] };
            match self.permission_with(&self.rights(agent).code(), step, agent, &considered) {
                Permission::Denied(why) => return Some(why),
                Permission::Asked(ApprovalRequest { why, .. }) => return security(why),
                Permission::Allowed => {}
            }
        }
        let asks = u64::from(prepared.model.is_some());
        let of_step = || step.ledger.count_limit_reached(&self.settings.step_budget, asks, 1);
        let broken = self.ledger.count_limit_reached(&self.budget, asks, 1).map(|which| ("run", which));
        let (whose, which) = broken.or_else(|| of_step().map(|which| ("step", which)))?;
        Some(Failure::new(FailureKind::Budget, format!("the {whose} has used up its {}", which.flag().0)))
    }

    /// Closes the calls that code still had open when the call that ran it ends. No one waits for them any more, so
    /// none is repeated: calls that certainly have not begun are cancelled, the others are in doubt.
    pub(super) fn close_inner(&self, outer: &EffectAddress, found: &[RecoveryFinding]) -> Vec<Event> {
        if self.open.get(outer).is_none_or(|open| open.inner.is_empty()) {
            return Vec::new();
        }
        let mine = self.open.range(outer.within(0)..).take_while(|(id, _)| id.is_within(outer));
        let events = mine.map(|(id, open)| {
            let found = found.iter().find(|finding| finding.id == *id).map(|finding| &finding.found);
            let may_repeat = self.class_of(id).is_repeatable() && self.consulted(id).is_none();
            let reply = match found {
                Some(RecoveryOutcome::Happened(reply)) => reply.clone(),
                Some(RecoveryOutcome::DidNotHappen) => Reply::Cancelled,
                _ if may_repeat || self.has_surely_not_begun(id, open) => Reply::Cancelled,
                Some(RecoveryOutcome::CannotTell(evidence)) => Reply::InDoubt { evidence: evidence.clone() },
                None => Reply::InDoubt { evidence: "the code that called it ended first".into() },
            };
            Event::Replied { id: id.clone(), attempt: open.attempt, reply, prepared: Vec::new() }
        });
        events.collect()
    }
}

/// Whether every call that the code has made so far may be repeated.
pub(super) fn may_all_repeat(open: &OpenEffect) -> bool {
    open.inner.iter().all(|inner| inner.class.is_repeatable())
}

/// Lists what code had called when it was cut off, as evidence of what happened. `closing` ends the calls that were
/// open.
pub(super) fn called_so_far(open: &OpenEffect, closing: &[Event]) -> String {
    if open.inner.is_empty() {
        return String::new();
    }
    let closed = |k: usize| {
        closing.iter().find_map(|event| {
            let Event::Replied { id, reply, .. } = event else { return None };
            (id.inner == Some(k as u32)).then(|| InnerCall::end_of(reply))
        })
    };
    let words = open.inner.iter().enumerate().take(MOST_NAMED).map(|(k, inner)| {
        let end = inner.ended.or_else(|| closed(k)).unwrap_or("not made");
        format!("`{}` ({end})", inner.name)
    });
    let words: Vec<String> = words.collect();
    let more = open.inner.len() - words.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; until then it had called {}{more}", words.join(", "))
}

fn outside_of_code(name: &str) -> String {
    format!("call `{name}` directly, outside of code")
}

fn too_many() -> Failure {
    Failure::new(FailureKind::Budget, format!("one piece of code may make {MOST} calls; split the work"))
}
