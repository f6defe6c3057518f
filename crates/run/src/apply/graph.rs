//! Applies a plan: adds its steps to the run, and replaces the steps that had not begun.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::Ledger;
use crate::event::PlanReason;
use crate::graph::{Graph, StepSpec};
use crate::state::Run;
use crate::step::{Step, StepRole, StepState};

impl Run {
    pub(super) fn planned(&mut self, graph: &Arc<Graph>, because: &PlanReason, instead: Option<&str>) {
        self.plan.instead = instead.map(str::to_owned);
        let role = |spec: &StepSpec| match because {
            PlanReason::Goal if spec.id.as_str() == "plan" => StepRole::Plan,
            PlanReason::Goal if spec.id.as_str() == "distill" => StepRole::Distill,
            PlanReason::Proof => StepRole::Prove,
            PlanReason::Goal | PlanReason::First | PlanReason::Failed(_) | PlanReason::Revised => StepRole::Work,
        };
        if let PlanReason::Failed(_) | PlanReason::Revised = because {
            self.drop_what_has_not_begun();
        }
        if *because == PlanReason::Revised {
            self.drop_derived();
        }
        let first = self.steps.len();
        // The steps' tasks were written by the planner, so they carry the origins that the planner has read.
        let words_of = self.planner.map(|at| self.steps[at].origins.clone()).unwrap_or_default();
        for spec in &graph.steps {
            if role(spec) == StepRole::Plan {
                self.planner = Some(self.steps.len());
            }
            self.step_index.insert(spec.id.clone(), self.steps.len());
            let step = Step { origins: words_of.clone(), ..fresh(spec, role(spec)) };
            self.steps.push(step);
        }
        self.unfinished += graph.steps.len() as u32;
        self.connect(graph, first);
    }

    fn drop_what_has_not_begun(&mut self) {
        let failed = self.replanning.take();
        let because = failed.map(|at| self.steps[at].spec.id.clone());
        let waits_for_failed = failed.map(|at| self.waiting_below(at)).unwrap_or_default();
        let is_rejected = |step: &Step| because.is_some() && step.rejected_by == because;
        let rejected = (0..self.steps.len()).filter(|at| is_rejected(&self.steps[*at]));
        let rejected: BTreeSet<usize> = rejected.flat_map(|at| self.built_on(at)).collect();
        for (at, step) in self.steps.iter_mut().enumerate() {
            step.superseded |= Some(at) == failed || rejected.contains(&at);
            if !matches!(step.role, StepRole::Work | StepRole::Prove) || step.has_ended() {
                continue;
            }
            if !step.has_begun() {
                step.state = StepState::Dropped;
                self.step_index.remove(&step.spec.id);
            } else if let (StepState::Waiting, Some(because), true) =
                (&step.state, &because, waits_for_failed.contains(&at))
            {
                // It was entered before, so its id stays taken.
                step.state = StepState::Skipped { because: because.clone() };
            } else {
                continue;
            }
            self.ready.remove(&at);
            self.unfinished = self.unfinished.saturating_sub(1);
        }
    }

    /// A step, and all steps that depend on it directly or indirectly.
    fn built_on(&self, at: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([at]);
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            todo.extend(self.steps[at].next.iter().copied().filter(|next| found.insert(*next)));
        }
        found
    }

    /// Links the new steps to the steps they depend on, new and old, and finds those that may begin.
    fn connect(&mut self, graph: &Graph, first: usize) {
        let read: BTreeSet<&str> = graph.steps.iter().flat_map(|step| step.reads.iter().map(String::as_str)).collect();
        let mut writers: BTreeMap<String, usize> = BTreeMap::new();
        // The writer of a variable may be an earlier step: one that is done, or one at work that will still write.
        for name in &read {
            let by = self.variables.get(*name).and_then(|variable| variable.by.as_ref());
            if let Some(at) = by.and_then(|by| self.step_index.get(by)).filter(|at| **at < first) {
                writers.insert((*name).to_owned(), *at);
            }
        }
        for (at, step) in self.steps[..first].iter().enumerate().filter(|(_, step)| !step.has_ended()) {
            let names = step.spec.writes.iter().filter(|name| read.contains(name.as_str()));
            writers.extend(names.map(|name| (name.clone(), at)));
        }
        for (place, mut waits_for) in graph.dependencies().into_iter().enumerate() {
            for at in &mut waits_for {
                *at += first;
            }
            let spec = &graph.steps[place];
            let earlier = spec.after.iter().filter_map(|id| self.step_index.get(id).copied()).filter(|at| *at < first);
            waits_for.extend(earlier);
            waits_for.extend(spec.reads.iter().filter_map(|name| writers.get(name.as_str()).copied()));
            waits_for.sort_unstable();
            waits_for.dedup();
            let mut waits = 0;
            // The planner is entered several times; no step waits for its later plans.
            for at in waits_for.into_iter().filter(|at| Some(*at) != self.planner) {
                self.steps[at].next.push(first + place);
                // What a step wrote before it was sent back can still be read, even if it has failed since.
                waits += u32::from(!self.steps[at].has_ended());
            }
            let step = &mut self.steps[first + place];
            step.waits = waits;
            if waits == 0 {
                step.state = StepState::Ready;
                self.ready.insert(first + place);
            }
        }
    }
}

fn fresh(spec: &StepSpec, role: StepRole) -> Step {
    Step {
        spec: Arc::new(spec.clone()),
        role,
        state: StepState::Waiting,
        visit: 0,
        carried: None,
        opening: None,
        context: None,
        conversation: Vec::new(),
        compacted: crate::step::CompactedFacts::default(),
        shown: std::collections::BTreeMap::new(),
        rewrites: 0,
        size: None,
        summary_asks: 0,
        asked_bytes: 0,
        ledger: Ledger::default(),
        worked: crate::Millis::default(),
        origins: crate::Origins::default(),
        output: None,
        halted: None,
        citations: Vec::new(),
        actions: None,
        background: Vec::new(),
        has_acted: false,
        superseded: false,
        rejected_by: None,
        outdated_by: None,
        next: Vec::new(),
        waits: 0,
        prepared: Vec::new(),
        trouble: None,
        pending: Vec::new(),
        side_answer: None,
        guard: None,
        joined: None,
    }
}
