//! Applies one event to the state of a run. It decides nothing and never fails, so every journal ever written still
//! folds.

mod compacted;
mod effect;
mod graph;
mod proof;
mod shown;
mod slots;
mod step;
mod taint;

pub use proof::is_in_cache;
pub(crate) use proof::tail;
pub use taint::{DOCUMENTS, paths_meet};

use std::sync::Arc;

use crate::confinement::Level;
use crate::event::{Event, Judgement};
use crate::goal::{ApprovalMode, Budget, ChosenModel, RunSettings, RunStart};
use crate::grants::GrantFlags;
use crate::id::Timestamp;
use crate::input::{Input, Record};
use crate::origins::Origins;
use crate::state::{Run, RunPhase, Variable};
use crate::step::StepState;

impl Run {
    /// Folds a whole journal.
    pub fn fold(records: impl IntoIterator<Item = Record>) -> Run {
        let mut run = Run::default();
        for record in records {
            run.record(&record);
        }
        run
    }

    /// Counts the time up to a record without applying its events, for callers that apply the events one by one.
    pub fn pass(&mut self, record: &Record) {
        self.pass_time(&record.input, record.at);
    }

    /// Applies one record: the time that passed, and its events.
    pub fn record(&mut self, record: &Record) {
        self.pass(record);
        for event in &record.events {
            self.apply(event);
        }
    }

    /// Counts the time since the last input as working time, unless the run was idle: waiting for people, pauses,
    /// used-up budgets and downtime do not count.
    pub(crate) fn pass_time(&mut self, input: &Input, now: Timestamp) {
        let idle = matches!(input, Input::Start(_) | Input::Recovered { .. } | Input::Fork { .. });
        let at_work = match self.phase {
            RunPhase::Running | RunPhase::Cancelling { .. } => self.busy > 0,
            RunPhase::New | RunPhase::Paused | RunPhase::Exhausted(_) | RunPhase::Over { .. } => false,
        };
        if !at_work || idle {
            // Another process may use another clock, so counting starts again here.
            self.clock = now;
            return;
        }
        let passed = now.since(self.clock).0;
        self.worked.0 += passed;
        // Time per step is needed only if steps have a time limit.
        if self.settings.step_budget.time.is_some() {
            for at in self.busy_steps() {
                self.steps[at].worked.0 += passed;
            }
        }
        self.clock = self.clock.max(now);
    }

    /// Applies one event.
    pub fn apply(&mut self, event: &Event) {
        self.events += 1;
        match event {
            Event::Started(start) => self.started(start),
            Event::Forked { settings, goal, .. } => self.forked(settings.as_ref(), goal.as_ref()),
            Event::Told { message } => self.was_told(message),
            Event::Profiled { files } => self.profile = Some(Arc::new(files.clone())),
            Event::Planned { graph, because, instead } => self.planned(graph, because, instead.as_deref()),
            Event::Required { requirements } => self.required(requirements),
            Event::Wanted { id, effect } => self.wanted(id, effect),
            Event::Reserved { id, ceiling } => self.reserved(id, *ceiling),
            Event::Held { id, ceiling } => self.held(id, *ceiling),
            Event::Begun { id, attempt, epoch, facts } => self.begun(id, *attempt, *epoch, facts),
            Event::Noted { id, handle } => self.noted(id, handle),
            Event::Replied { id, reply, prepared, .. } => self.replied(id, reply, prepared),
            Event::Interrupted { id, .. } => self.interrupted(id),
            Event::Wished { id, call, prepared } => self.wished(id, call, prepared),
            Event::Awaited { id } => self.awaited(id),
            Event::Rejected { id, why } => self.rejected(id, why),
            Event::Advised { step, note } => self.advised(step, note),
            Event::Wrote { step, name, value, untrusted, origins } => {
                let by = Some(step.clone());
                let origins = taint::named(*untrusted, origins);
                self.variables.insert(name.clone(), Variable { value: Arc::new(value.clone()), origins, by });
            }
            Event::Cited { step, citations } => self.with_step(step, |step| step.citations.clone_from(citations)),
            Event::Judged { step, verdict } => self.judged(step, verdict),
            Event::Proved { findings, .. } => self.proof.findings.clone_from(findings),
            Event::StepDone { step, output, kept_from, .. } => {
                if kept_from.is_some() {
                    self.take_kept_result(step);
                }
                self.step_done(step, output.as_deref());
            }
            Event::Halted { step, ask, why } => self.step_halted(step, ask.as_ref(), why),
            Event::StepFailed { step, why } => self.step_ended(step, StepState::Failed(why.clone())),
            Event::StepSkipped { step, because } => {
                self.step_ended(step, StepState::Skipped { because: because.clone() });
            }
            Event::StepCancelled { step } => self.step_ended(step, StepState::Cancelled),
            Event::Shortened { step, because, outputs } => self.shortened(step, *because, outputs),
            Event::WindowLearnt { model, tokens, .. } => self.window_learnt(model, *tokens),
            Event::Compacted { step, upto, summary } => self.compacted(step, *upto, summary),
            Event::Paused => self.phase = RunPhase::Paused,
            Event::Resumed { budget, approvals, model } => self.resumed(budget.as_ref(), *approvals, model.as_ref()),
            Event::Marked { files } => self.add_marks(files),
            Event::Confined { level, flags } => self.confined(*level, flags.as_ref()),
            Event::Tightened { rules, deny, distrusts } => {
                let settings = Arc::make_mut(&mut self.settings);
                settings.rules.ask.extend(rules.ask.iter().cloned());
                settings.rules.deny.extend(rules.deny.iter().cloned());
                settings.deny.extend(deny.iter().cloned());
                settings.workspace_trusted &= !distrusts;
            }
            Event::Reloaded { roster, strange } => self.reloaded(roster, strange.as_ref()),
            Event::Imported => self.imported(),
            Event::Adopted { settings } => {
                self.settings = settings.clone();
                self.remembered.clear();
                self.agreed.clear();
                // The guardrails of this machine have not seen the goal.
                self.input_guard = None;
                self.is_imported = false;
            }
            Event::Cancelled { by } => self.cancelled(by),
            Event::Named { models } => Arc::make_mut(&mut self.settings).models.extend(models.clone()),
            Event::Exhausted { which } => self.phase = RunPhase::Exhausted(*which),
            Event::Finished { answer, failed } => {
                self.phase = RunPhase::Over { answer: answer.as_str().into(), failed: failed.clone() };
                self.open.clear();
                self.plan.approval = None;
                self.held.clear();
                self.interrupted_asks.clear();
                self.busy = 0;
            }
        }
    }

    fn started(&mut self, start: &RunStart) {
        self.goal = start.goal.clone();
        self.proof.requirements.clone_from(&start.goal.requirements);
        // If the goal quotes earlier answers, only the part in `asked` is the user's own text.
        if self.goal.origins.is_empty() || !self.goal.asked.is_empty() {
            self.users_words.push(self.goal.own_words().to_owned());
        }
        self.roster = start.roster.clone();
        self.settings = start.settings.clone();
        self.budget = start.budget.clone();
        self.plan.earlier = start.earlier.clone();
        for (name, value) in &start.goal.variables {
            let variable = Variable { value: Arc::new(value.clone()), origins: Origins::default(), by: None };
            self.variables.insert(name.clone(), variable);
        }
        self.phase = RunPhase::Running;
    }

    fn forked(&mut self, settings: Option<&Arc<RunSettings>>, goal: Option<&String>) {
        if let Some(settings) = settings {
            self.settings = settings.clone();
        }
        if let Some(goal) = goal {
            self.goal.text.clone_from(goal);
            self.goal.asked.clear();
            self.users_words = vec![goal.clone()];
            // The guardrails have not seen this one.
            self.input_guard = None;
        }
    }

    /// A step has the result of an earlier run, and with it the origins of what was read for it.
    fn take_kept_result(&mut self, id: &crate::StepId) {
        self.plan.kept.insert(id.clone());
        let Some(repeated) = self.plan.earlier.repeated.clone() else { return };
        self.with_step(id, |step| {
            let kept = repeated.results.iter().find(|kept| kept.spec == *step.spec);
            if let Some(kept) = kept {
                step.origins.merge(&kept.origins);
            }
        });
    }

    fn resumed(&mut self, budget: Option<&Budget>, approvals: Option<ApprovalMode>, model: Option<&ChosenModel>) {
        if let Some(budget) = budget {
            self.budget = self.budget.raised_by(budget);
            self.raise_turns(budget.turns);
        }
        if let Some(approvals) = approvals {
            Arc::make_mut(&mut self.settings).approvals = approvals;
        }
        if let Some(ChosenModel { model, window }) = model {
            let settings = Arc::make_mut(&mut self.settings);
            (settings.model, settings.same_model, settings.window) = (model.clone(), true, *window);
            // Another model counts differently.
            self.steps.iter_mut().for_each(|step| step.size = None);
        }
        self.let_go_on();
        self.phase = RunPhase::Running;
    }

    fn confined(&mut self, level: Level, flags: Option<&GrantFlags>) {
        let settings = Arc::make_mut(&mut self.settings);
        settings.sandbox = level;
        let Some(grants) = &mut settings.grants else { return };
        if let Some(flags) = flags {
            grants.flags = flags.clone();
            if let Some(network) = &flags.network {
                grants.network.clone_from(network);
            }
        } else if let Some(said) = &mut grants.flags.level {
            // A level given later replaces the one in the flags. `Unavailable` and `Unknown` are findings that nobody
            // asks for on the command line.
            if matches!(level, Level::None | Level::Landlock | Level::Full) {
                *said = level;
            }
        }
    }

    fn judged(&mut self, step: &crate::StepId, verdict: &Judgement) {
        match verdict {
            Judgement::Accept => {}
            Judgement::GiveUp => {
                if let Some(at) = self.step_index.get(step) {
                    self.failed_unhandled.remove(at);
                }
            }
            Judgement::Retry { .. } | Judgement::Pivot { .. } | Judgement::Again { .. } | Judgement::Renewed { .. } => {
                self.re_enter(step, verdict);
            }
            Judgement::Reject { by, why } => self.reject(step, by, why),
            Judgement::Replan { .. } => self.replan(step, verdict),
        }
    }
}
