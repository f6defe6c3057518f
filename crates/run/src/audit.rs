//! Recomputes the counters of a run and compares them: for tests, and for checking a suspicious journal.

use std::collections::BTreeSet;

use crate::open_effect::Funds;
use crate::state::{Run, RunPhase};
use crate::step::{Step, StepState};

impl Run {
    /// Lists every inconsistency. The list is empty unless there is a bug here or a gap in the journal.
    pub fn audit(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut same = |what: &str, kept: u64, counted: usize| {
            if kept != counted as u64 {
                faults.push(format!("{what}: {kept} kept, {counted} counted"));
            }
        };
        same("busy", self.busy.into(), self.open.iter().filter(|(id, open)| self.is_busy(id, &open.effect)).count());
        same("running", self.running.into(), self.steps.iter().filter(|step| step.is_at_work()).count());
        same("halted", self.halted.into(), self.steps.iter().filter(|step| step.halted.is_some()).count());
        same("unfinished", self.unfinished.into(), self.steps.iter().filter(|step| !step.has_ended()).count());
        let reserved = self.open.values().filter_map(|open| match open.funds {
            Funds::Reserved(ceiling) => Some(ceiling.tokens),
            Funds::None | Funds::Held(_) => None,
        });
        if !self.is_over() {
            same("reservations", self.ledger.reservations.into(), reserved.clone().count());
            same("reserved tokens", self.ledger.reserved.tokens, reserved.sum::<u64>() as usize);
        }
        self.audit_sets(&mut faults);
        self.audit_order(&mut faults);
        faults
    }

    fn audit_sets(&self, faults: &mut Vec<String>) {
        let ready: BTreeSet<usize> =
            (0..self.steps.len()).filter(|at| self.steps[*at].state == StepState::Ready).collect();
        if ready != self.ready {
            faults.push(format!("ready: {:?} kept, {ready:?} counted", self.ready));
        }
        let held = self.open.iter().filter(|(_, open)| matches!(open.funds, Funds::Held(_))).map(|(id, _)| id);
        if !held.eq(&self.held) {
            faults.push(format!("held: {:?} kept", self.held));
        }
        for (at, step) in self.steps.iter().enumerate().filter(|(_, step)| step.state != StepState::Dropped) {
            if self.step_index.get(&step.spec.id) != Some(&at) {
                faults.push(format!("step `{}` is not found by its name", step.spec.id));
            }
        }
        // The planner has ended when a person is asked about its plan.
        for id in self.open.keys().filter(|id| Some(*id) != self.plan.approval.as_ref()) {
            if !self.step(&id.step).is_some_and(|step| step.is_at_work() && step.visit == id.visit) {
                faults.push(format!("{id} is open, and its step is not at work on it"));
            }
        }
        if self.phase == RunPhase::Running {
            self.audit_rest(faults);
        }
    }

    /// A quiet run must be waiting for something, and so must every step at work.
    fn audit_rest(&self, faults: &mut Vec<String>) {
        if !self.settle().is_empty() {
            return;
        }
        if self.open.is_empty() {
            faults.push("it is quiet, not over, and nothing is open".into());
        }
        if !self.attention.is_empty() {
            faults.push(format!("quiet, and a decision is due about {:?}", self.attention));
        }
        let busy: BTreeSet<_> = self.open.keys().map(|id| &id.step).collect();
        let waits = |step: &&Step| step.is_at_work() && step.halted.is_none();
        for step in self.steps.iter().filter(waits).filter(|step| !busy.contains(&step.spec.id)) {
            faults.push(format!("step `{}` is at work and waits for nothing", step.spec.id));
        }
    }

    /// No step may be at work or done before the steps it depends on.
    fn audit_order(&self, faults: &mut Vec<String>) {
        // A step that has not ended counts as a dependency. A failed step counts only for steps planned before it
        // failed.
        let (mut least, mut most) = (vec![0; self.steps.len()], vec![0; self.steps.len()]);
        for step in self.steps.iter().filter(|step| step.state != StepState::Done) {
            for next in &step.next {
                least[*next] += u32::from(!step.has_ended());
                most[*next] += 1;
            }
        }
        for (step, (least, most)) in self.steps.iter().zip(least.into_iter().zip(most)) {
            let id = &step.spec.id;
            match step.state {
                StepState::Waiting if step.waits < least || step.waits > most => {
                    faults.push(format!("step `{id}` waits for {} kept, {least} to {most} counted", step.waits));
                }
                StepState::Waiting if most == 0 => faults.push(format!("step `{id}` waits for nothing")),
                // A step at work may have an input that is being made again; the step is entered again afterwards.
                StepState::Ready | StepState::Done if least > 0 => {
                    faults.push(format!("step `{id}` is {} before {least} steps it waits for", step.status()));
                }
                StepState::Waiting
                | StepState::Ready
                | StepState::Thinking { .. }
                | StepState::Acting { .. }
                | StepState::Judging { .. }
                | StepState::Compacting { .. }
                | StepState::Done
                | StepState::Failed(_)
                | StepState::Skipped { .. }
                | StepState::Cancelled
                | StepState::Dropped => {}
            }
        }
    }
}
