//! Decides what follows from an input, and what follows from the state of the run itself.
//!
//! A decision is taken in small strides: `decide` gives the direct consequence of an input, `settle` the next thing
//! that follows from the current state. `advance` repeats `settle` until nothing more follows. All of it is pure.

mod calls;
mod calls_from_code;
mod citations;
mod conclude;
mod conclusion;
mod control;
mod failed_step;
mod findings;
mod finish;
mod guard;
mod incomplete_answer;
mod judge;
mod kept_result;
mod plan;
mod plan_approval;
mod prove;
mod repetition;
mod reservation;
mod review;
mod room;
mod server_questions;
mod small_model;
mod swarm;
mod turn;
mod window;

use crate::event::Event;
use crate::goal::BudgetLimit;
use crate::id::{EffectAddress, Timestamp};
use crate::input::{Input, Record};
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::{Run, RunPhase};
use crate::step::Step;

/// The reason why a model's answer broke off, if it did. The part that was written may be billed.
fn broke_off(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::InDoubt { evidence } => Some(evidence),
        Reply::Failed(why) if why.kind == FailureKind::InDoubt => Some(&why.message),
        Reply::Answer(_)
        | Reply::Output(_)
        | Reply::Said(_)
        | Reply::Verdict(_)
        | Reply::Failed(_)
        | Reply::TimedOut { .. }
        | Reply::Cancelled => None,
    }
}

impl Run {
    /// Takes one input: decides what follows and applies it, until nothing more follows.
    pub fn advance(&mut self, input: Input, now: Timestamp) -> Record {
        self.pass_time(&input, now);
        let mut events = self.decide(&input);
        for event in &events {
            self.apply(event);
        }
        loop {
            let more = self.settle();
            if more.is_empty() {
                return Record { at: now, input, events };
            }
            for event in &more {
                self.apply(event);
            }
            events.extend(more);
        }
    }

    /// Decides the direct consequence of an input. Changes nothing.
    pub fn decide(&self, input: &Input) -> Vec<Event> {
        if self.phase == RunPhase::New && !matches!(input, Input::Start(_)) {
            return Vec::new();
        }
        // A finished run can still be forked, or be recorded as imported.
        if self.is_over() && !matches!(input, Input::Fork { .. } | Input::Import) {
            return Vec::new();
        }
        match input {
            Input::Start(start) => self.begin(start),
            Input::Estimated { id, ceiling } => self.fund(id, *ceiling),
            Input::Begun { id, attempt, epoch, facts } if self.is_current(id, *attempt) && !self.has_begun(id) => {
                vec![match self.stale_approval(id) {
                    Some(why) => Event::Rejected { id: id.clone(), why },
                    None => Event::Begun { id: id.clone(), attempt: *attempt, epoch: *epoch, facts: facts.clone() },
                }]
            }
            Input::Noted { id, handle }
                if self.open.get(id).is_some_and(|open| open.handle.as_ref() != Some(handle)) =>
            {
                vec![Event::Noted { id: id.clone(), handle: handle.clone() }]
            }
            Input::Replied { id, attempt, reply: Reply::InDoubt { .. }, .. } if self.may_ask_again(id, *attempt) => {
                vec![Event::Interrupted { id: id.clone(), attempt: *attempt }]
            }
            Input::Replied { id, attempt, reply, .. } if self.is_asked(id, *attempt) && broke_off(reply).is_some() => {
                self.after_break(id, *attempt, reply)
            }
            Input::Replied { id, attempt, reply: Reply::TimedOut { limit }, .. } if self.is_asked(id, *attempt) => {
                self.after_timeout(id, *attempt, *limit)
            }
            Input::Replied { id, attempt, reply: Reply::Failed(why), .. }
                if self.is_for_lack_of_model(id, why) && self.is_current(id, *attempt) && self.can_halt(id) =>
            {
                self.halt(id, Failure { kind: FailureKind::Outage, ..why.clone() })
            }
            Input::Replied { id, attempt, reply, prepared } if self.is_current(id, *attempt) => {
                let prepared = self.prepared_per_call(id, reply, prepared);
                let mut events = self.close_inner(id, &[]);
                events.extend(self.hear_silence(id, reply));
                events.push(Event::Replied { id: id.clone(), attempt: *attempt, reply: reply.clone(), prepared });
                events
            }
            Input::Mark { files } if self.has_new_marks(files) => vec![Event::Marked { files: files.clone() }],
            Input::Wished { under, call, prepared } => self.decide_request(under, call, prepared),
            // Too late; or the time that passed is already counted, and `settle` checks it.
            Input::Begun { .. } | Input::Noted { .. } | Input::Replied { .. } | Input::Due | Input::Mark { .. } => {
                Vec::new()
            }
            Input::Tell { message } => vec![Event::Told { message: message.clone() }],
            Input::Answer { id, text } => self.hear_answer(id.as_ref(), text),
            Input::Decline { id, by, dismissed } => self.hear_decline(id.as_ref(), by, *dismissed),
            Input::Verdict { id, verdict } => self.hear_verdict_or_plan(id.as_ref(), verdict),
            Input::Pause => self.pause(),
            Input::Resume { budget, approvals } => self.resume(budget.as_ref(), *approvals),
            Input::ChangeModel { model } => self.change_model(model),
            Input::Cancel { by, step } => self.cancel(by, step.as_ref()),
            Input::Recovered { found } => self.recover(found),
            Input::BackgroundEnded { ended } => self.background_ended(ended),
            Input::Fork { from, at, change } => self.fork(from, *at, change),
            Input::Window { model, tokens, by } => self.hear_window(model, *tokens, *by),
            // The caller learns from `check_terms` why the run stays as it is.
            Input::GoOn { terms } => {
                self.check_terms(terms).map_or_else(|_| Vec::new(), |level| self.confine(level, terms.flags.as_ref()))
            }
            Input::Confine { level, flags } => self.confine(*level, flags.as_ref()),
            Input::Tighten { rules, deny, distrusts } => self.tighten(rules, deny, *distrusts),
            Input::Reload { roster, strange } => {
                vec![Event::Reloaded { roster: roster.clone(), strange: strange.clone() }]
            }
            Input::Import => vec![Event::Imported],
            Input::Adopt { settings } => self.adopt(settings),
            Input::EditPlan { graph, models, requirements, by } => self.edit_plan(graph, models, requirements, by),
        }
    }

    /// An answer broke off too often.
    fn after_break(&self, id: &EffectAddress, attempt: u32, reply: &Reply) -> Vec<Event> {
        let why = format!("{} (attempt {attempt})", broke_off(reply).unwrap_or_default());
        let mut events = vec![Event::Interrupted { id: id.clone(), attempt }];
        if matches!(reply, Reply::InDoubt { .. }) && self.can_halt(id) {
            events.extend(self.halt(id, Failure::new(FailureKind::Outage, why)));
        } else {
            events.push(self.give_up(id, attempt + 1, why));
        }
        events
    }

    /// Decides the next thing that follows from the current state. Returns nothing if the run is quiet. Changes
    /// nothing.
    ///
    /// This ends, because each stride leaves fewer to take: a step gets its turn, a step ends, or the run stops.
    pub fn settle(&self) -> Vec<Event> {
        match &self.phase {
            RunPhase::New | RunPhase::Paused | RunPhase::Exhausted(_) | RunPhase::Over { .. } => return Vec::new(),
            RunPhase::Cancelling { by } => return self.finish_cancelling(by),
            RunPhase::Running => {}
        }
        if crate::budget::time_is_up(&self.budget, self.worked) && self.unfinished > 0 {
            return vec![Event::Exhausted { which: BudgetLimit::Time }];
        }
        if let Some(step) = self.overdue() {
            let why = Failure::new(FailureKind::Budget, "the step has used up its time");
            return failed_step::fail(step, why);
        }
        if let Some(at) = self.attention.first() {
            return self.attend(*at);
        }
        if let Some(events) = self.interrupted_asks.first().and_then(|id| self.stop_at_turn_limit(self.step(&id.step)?))
        {
            return events;
        }
        if let Some(events) = self.settle_funds() {
            return events;
        }
        if let Some(at) = self.failed_unhandled.first().filter(|_| self.replanning.is_none()) {
            return self.after_failure(*at);
        }
        let may_enter =
            self.running < self.settings.parallel.max(1) && self.plan.approval.is_none() && !self.is_goal_checked();
        if let Some(at) = self.ready.iter().find(|at| may_enter && !self.waits_for_plan(**at)) {
            return self.keep(*at).unwrap_or_else(|| self.enter(*at));
        }
        if self.unfinished == 0 {
            return self.begin_proof().unwrap_or_else(|| self.finish());
        }
        if !self.open.is_empty() {
            return Vec::new();
        }
        // Every step that could continue without the halted ones has done so.
        if self.halted > 0 { vec![Event::Exhausted { which: self.limit_of_halted() }] } else { self.skip_stranded() }
    }

    /// The limit because of which steps cannot continue.
    fn limit_of_halted(&self) -> BudgetLimit {
        let halted_by = |kind| self.steps.iter().any(|step| step.halted.as_ref().is_some_and(|why| why.kind == kind));
        if halted_by(FailureKind::TooLong) {
            BudgetLimit::Window
        } else if halted_by(FailureKind::ModelBehavior) {
            BudgetLimit::Loop
        } else {
            BudgetLimit::Turns
        }
    }

    fn has_begun(&self, id: &crate::EffectAddress) -> bool {
        self.open.get(id).is_some_and(|open| open.begun.is_some())
    }

    /// A step at work whose time limit is reached.
    fn overdue(&self) -> Option<&Step> {
        let limit = self.settings.step_budget.time?;
        let busy = self.busy_steps().into_iter().map(|at| &self.steps[at]);
        busy.into_iter().find(|step| step.worked >= limit && step.is_at_work())
    }

    fn is_current(&self, id: &crate::EffectAddress, attempt: u32) -> bool {
        self.open.get(id).is_some_and(|open| open.attempt == attempt)
    }
}
