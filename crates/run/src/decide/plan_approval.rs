//! Decides about a plan that a person wants to see first: approved, changed, or sent back to the planner.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effect::Effect;
use crate::event::{Event, Judgement, PlanReason};
use crate::graph::{Graph, GraphContext, GraphFault};
use crate::id::{EffectAddress, EffectKind};
use crate::origins::Origins;
use crate::reply::{Reply, Verdict};
use crate::requirement::Requirement;
use crate::state::Run;
use crate::step::{Step, StepRole};

impl Run {
    /// The question to a person about a new plan, if plans are shown first.
    pub(super) fn ask_about_plan(&self, planner: &Step, turn: u32, graph: &Graph) -> Option<Event> {
        let steps = match graph.steps.len() {
            1 => "one step".to_owned(),
            n => format!("{n} steps"),
        };
        let why = format!("the plan has {steps}; nothing of it begins before it is approved");
        let effect =
            Effect::Approval { why, origins: Origins::default(), always: Vec::new(), insists: true, like: None };
        let id = planner.address(turn, EffectKind::Approve);
        self.settings.plan_first.then_some(Event::Wanted { id, effect })
    }

    /// A verdict about calls, or about the plan. A plan that is refused goes back to the planner with the reason.
    pub(super) fn hear_verdict_or_plan(&self, id: Option<&EffectAddress>, verdict: &Verdict) -> Vec<Event> {
        let mut events = self.hear_verdict(id, verdict);
        let about_plan = |event: &Event| matches!(event, Event::Replied { id, .. } if Some(id) == self.plan_approval());
        if !verdict.allow && events.iter().any(about_plan) {
            // The refused steps are dropped, so that none of them begins while the planner is asked again.
            let graph = Arc::new(Graph::default());
            events.push(Event::Planned { graph, because: PlanReason::Revised, instead: None });
            let verdict = Judgement::Pivot { feedback: self.refusal_in_words(verdict.because.trim()) };
            let planner = self.plan.approval.iter().map(|id| id.step.clone());
            events.extend(planner.map(|step| Event::Judged { step, verdict: verdict.clone() }));
        }
        events
    }

    /// What the planner is told about a refused plan, with the plan itself.
    fn refusal_in_words(&self, because: &str) -> String {
        let because = if because.is_empty() { "no reason was given" } else { because };
        let is_planned = |step: &&Step| step.role == StepRole::Work && !step.has_begun() && !step.has_ended();
        let steps = self.steps().filter(is_planned).map(|step| (*step.spec).clone()).collect();
        let plan = serde_json::to_string(&Graph { steps }).unwrap_or_default();
        format!("the person refused the plan: {because}\nThe refused plan: {plan}")
    }

    /// A person gives the plan that waits for approval another form. A plan with faults changes nothing: the caller
    /// learns them from `edit_faults`.
    pub(super) fn edit_plan(
        &self,
        graph: &Arc<Graph>,
        models: &BTreeMap<String, String>,
        requirements: &[Requirement],
        by: &str,
    ) -> Vec<Event> {
        let Some((id, open)) = self.plan.approval.as_ref().and_then(|id| self.open.get_key_value(id)) else {
            return Vec::new();
        };
        let Ok(graph) = self.edited_plan(graph, models) else { return Vec::new() };
        let approved = Verdict { allow: true, by: by.to_owned(), ..Verdict::default() };
        let named = (!models.is_empty()).then(|| Event::Named { models: models.clone() });
        let planned = Event::Planned { graph: Arc::new(graph), because: PlanReason::Revised, instead: None };
        let attempt = open.attempt;
        let approved =
            Event::Replied { id: id.clone(), attempt, reply: Reply::Verdict(approved), prepared: Vec::new() };
        let required = (!requirements.is_empty()).then(|| Event::Required { requirements: requirements.to_vec() });
        named.into_iter().chain([planned]).chain(required).chain([approved]).collect()
    }

    /// What is wrong with a plan that is to replace the one that waits for approval.
    pub fn edit_faults(&self, graph: &Graph, models: &BTreeMap<String, String>) -> Vec<GraphFault> {
        self.edited_plan(graph, models).err().unwrap_or_default()
    }

    /// Such a plan with a step for each try.
    fn edited_plan(&self, graph: &Graph, models: &BTreeMap<String, String>) -> Result<Graph, Vec<GraphFault>> {
        let mut around: GraphContext<'_> = self.surroundings();
        around.models.get_or_insert_default().extend(models.keys().map(String::as_str));
        let faults = graph.faults_with_place(&around);
        if !faults.is_empty() {
            return Err(faults);
        }
        let may_change = |name: &str| self.may_change(name);
        let mut planner = self.try_planner(&may_change);
        planner.models.extend(models.keys().map(String::as_str));
        let with_tries = graph.clone().with_tries(&planner);
        with_tries.map_err(|faults| faults.into_iter().map(GraphFault::of_graph).collect())
    }
}
