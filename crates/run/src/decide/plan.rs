//! Decides the graph of a run: given by the user, made of one agent, or made by a planner and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use updraft_lenient::{repair_with, whole_object};

use crate::event::{Event, Judgement, Note, PlanReason};
use crate::goal::{RunMode, RunStart};
use crate::graph::{Graph, GraphContext, StepSpec, TryPlanner};
use crate::id::StepId;
use crate::message::{FinishReason, ModelAnswer};
use crate::reply::{Failure, FailureKind};
use crate::requirement::Requirement;
use crate::role::AgentRole;
use crate::state::{Run, RunPhase};
use crate::step::{ConversationEntry, PriorVisit, Step, StepRole, StepState};

use super::failed_step::fail;

impl Run {
    /// Starts a run with the graph that was given, or with the steps that make one.
    pub(super) fn begin(&self, start: &RunStart) -> Vec<Event> {
        if self.phase != RunPhase::New {
            return Vec::new();
        }
        let mut events = vec![Event::Started(Box::new(start.clone()))];
        let (graph, because) = match (&start.goal.mode, &start.plan) {
            (_, Some(plan)) => (plan.clone(), PlanReason::First),
            (RunMode::Agent(name), None) => (Arc::new(single(name, &start.goal.text)), PlanReason::First),
            (RunMode::Swarm, None) => (Arc::new(first_steps(AgentRole::Router, start)), PlanReason::Goal),
            (RunMode::Plan | RunMode::Given, None) => {
                (Arc::new(first_steps(AgentRole::Planner, start)), PlanReason::Goal)
            }
        };
        events.push(Event::Planned { graph, because, instead: None });
        events
    }

    /// The planner has answered: the plan is checked, and accepted or sent back with its faults. A planner that gives no
    /// plan that can be carried out is replaced by a single step.
    pub(super) fn conclude_plan(&self, step: &Step, turn: u32, answer: &ModelAnswer) -> Vec<Event> {
        let checked = plan_in(&answer.text).and_then(|plan| Graph::checked(&plan, &self.surroundings()));
        match checked.and_then(|graph| graph.with_tries(&self.try_planner(&|name| self.may_change(name)))) {
            Ok(graph) => {
                let requirements = plan_in(&answer.text).map(|plan| Requirement::all_in(&plan)).unwrap_or_default();
                let required = (!requirements.is_empty()).then_some(Event::Required { requirements });
                let graph = self.with_synthesis(graph);
                self.accept_plan(step, turn, graph, None).into_iter().chain(required).collect()
            }
            Err(faults) => {
                // A planner that has answered in prose twice will not write a plan the third time.
                let is_prose = prose_answers(step) > 1;
                let is_last = is_prose
                    || step.corrections() + 1 >= self.settings.plan_attempts
                    || turn + 1 >= self.turns_of(step);
                let faults = the_first(faults);
                let why = Failure::new(FailureKind::Json, format!("the plan has faults: {}", faults.join("; ")));
                if !is_last {
                    return self.correct(step, turn, Note::PlanFaults { faults }, &why);
                }
                // Words that are no plan may already be the answer, so the one step is given them.
                let words = Some(answer.text.trim()).filter(|text| !text.is_empty() && plan_in(text).is_err());
                self.plan_one_step(step, turn, words, &why).unwrap_or_else(|| fail(step, why))
            }
        }
    }

    /// The planner's model failed. The first plan becomes a single step; a later one leaves what had failed as it was.
    pub(super) fn after_planner_failed(&self, step: &Step, why: &Failure) -> Option<Vec<Event>> {
        let is_first = self.replanning.is_none() && step.role == StepRole::Plan;
        if !is_first || why.kind != FailureKind::Model {
            return None;
        }
        self.plan_one_step(step, step.turn(), None, why)
    }

    /// Ends the planner's visit with its plan.
    fn accept_plan(&self, step: &Step, turn: u32, graph: Graph, instead: Option<String>) -> Vec<Event> {
        let is_revised = matches!(&step.carried, Some(PriorVisit { judgement: Judgement::Pivot { .. }, .. }));
        let because = match self.replanning {
            Some(failed) => PlanReason::Failed(self.steps[failed].spec.id.clone()),
            None if is_revised => PlanReason::Revised,
            None => PlanReason::First,
        };
        let id = step.spec.id.clone();
        let done = Event::StepDone { step: id, best_effort: false, output: None, kept_from: None };
        let asks = self.ask_about_plan(step, turn, &graph);
        let planned = Event::Planned { graph: Arc::new(graph), because, instead };
        [done, planned].into_iter().chain(asks).collect()
    }

    /// A plan with one step, for a planner that gives no plan that can be carried out.
    fn plan_one_step(&self, planner: &Step, turn: u32, words: Option<&str>, why: &Failure) -> Option<Vec<Event>> {
        let instead = format!("`{}` gave no plan that can be carried out ({why})", planner.spec.agent);
        if let Some(graph) = self.delegated_by_keywords(planner) {
            return Some(self.accept_plan(planner, turn, graph, Some(instead)));
        }
        let agent = self.roster.in_role(AgentRole::Generalist).or_else(|| self.roster.in_role(AgentRole::Thinker))?;
        let id = if planner.visit == 0 { named("answer") } else { named(&format!("answer.{}", planner.visit)) };
        let mut step = StepSpec::new(id, &agent.name);
        step.description = "Answer the goal in one step".into();
        step.prompt.clone_from(&self.goal.text);
        let mut events = Vec::new();
        if let Some(words) = words {
            step.reads = vec![PLANNER_WORDS.into()];
            events.push(Event::Wrote {
                step: planner.spec.id.clone(),
                name: PLANNER_WORDS.into(),
                value: serde_json::Value::String(words.to_owned()),
                untrusted: planner.is_untrusted(),
                origins: planner.origins.clone(),
            });
        }
        events.extend(self.accept_plan(planner, turn, Graph { steps: vec![step] }, Some(instead)));
        Some(events)
    }

    /// What must be known to plan several tries of a step.
    pub(super) fn try_planner<'a>(&'a self, may_change: &'a dyn Fn(&str) -> bool) -> TryPlanner<'a> {
        let chooser = self.roster.in_role(AgentRole::Chooser).map(|card| card.name.as_str());
        TryPlanner { chooser, may_change, models: self.settings.models.keys().map(String::as_str).collect() }
    }

    /// Whether an agent has tools that could change the workspace.
    pub(super) fn may_change(&self, agent: &str) -> bool {
        self.card(agent).is_some_and(|card| !card.read_only && !card.tools.is_empty())
    }

    /// What a plan is checked against in the current state.
    pub fn surroundings(&self) -> GraphContext<'_> {
        let mut variables: BTreeSet<&str> = self.variables.keys().map(String::as_str).collect();
        let mut begun = BTreeMap::new();
        for step in self.steps() {
            if step.role != StepRole::Work || step.has_begun() {
                let failed =
                    matches!(step.state, StepState::Failed(_) | StepState::Skipped { .. } | StepState::Cancelled)
                        && step.rejected_by.is_none();
                begun.insert(&step.spec.id, !failed);
                if !step.has_ended() {
                    variables.extend(step.spec.writes.iter().map(String::as_str));
                }
            }
        }
        let agents = self.roster.agents.iter().map(|agent| agent.name.as_str()).collect();
        let models = Some(self.settings.models.keys().map(String::as_str).collect());
        GraphContext { agents, variables, begun, max_steps: self.settings.max_steps as usize, models }
    }
}

/// The variable that holds the planner's answer if it was not a plan.
const PLANNER_WORDS: &str = "planner_answer";

/// The distiller's profile of the files, as JSON or as text.
pub(super) fn conclude_profile(step: &Step, answer: &ModelAnswer) -> Vec<Event> {
    let files = whole_object(&answer.text)
        .map_or_else(|| serde_json::Value::String(answer.text.trim().to_owned()), serde_json::Value::Object);
    let output = Some(answer.text.trim().to_owned());
    let done = Event::StepDone { step: step.spec.id.clone(), best_effort: false, output, kept_from: None };
    vec![Event::Profiled { files }, done]
}

/// How often a planner has answered without a plan.
fn prose_answers(step: &Step) -> usize {
    // Part of an answer is neither a plan nor prose.
    let is_part = |at: usize| at > 0 && matches!(&step.conversation[at - 1], ConversationEntry::Note(Note::CutOff));
    let is_prose = |(at, entry): &(usize, &ConversationEntry)| match entry {
        ConversationEntry::Answer(answer) => {
            let is_whole = answer.finish == FinishReason::Stop && !is_part(*at);
            is_whole && answer.calls.is_empty() && plan_in(&answer.text).is_err()
        }
        ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => false,
    };
    step.conversation.iter().enumerate().filter(is_prose).count()
}

/// How many faults a planner is told at once: a broken plan of thousands of steps repeats itself.
const MOST_FAULTS: usize = 50;

fn the_first(mut faults: Vec<String>) -> Vec<String> {
    let more = faults.len().saturating_sub(MOST_FAULTS);
    if more > 0 {
        faults.truncate(MOST_FAULTS);
        faults.push(format!("and {more} more like these"));
    }
    faults
}

/// Reads a plan from a model's text: the whole text, or an object in it that contains a list of steps.
fn plan_in(text: &str) -> Result<serde_json::Value, Vec<String>> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let schema = serde_json::json!({ "type": "object", "required": ["steps"] });
    let repaired = repair_with(text, Some(&schema)).map(|repaired| repaired.value);
    let plan = repaired.filter(|value| whole_object(text).is_some() || Graph::has_steps(value));
    plan.ok_or_else(|| vec!["the answer contains no plan; answer with the plan as one JSON object".into()])
}

/// Makes a step id from an agent's name.
pub(super) fn named(text: &str) -> StepId {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = text.chars().filter(|c| fits(*c)).take(64).collect();
    StepId::parse(&plain).unwrap_or_else(|_| StepId::known("step"))
}

fn single(agent: &str, goal: &str) -> Graph {
    let mut step = StepSpec::new(named(agent), agent);
    goal.clone_into(&mut step.prompt);
    Graph { steps: vec![step] }
}

/// The steps every planned run begins with: the given files are profiled, then the graph is planned.
fn first_steps(planner: AgentRole, start: &RunStart) -> Graph {
    let agent = start.roster.in_role(planner).map_or(planner.word(), |card| &card.name);
    let mut plan = StepSpec::new(StepId::known("plan"), agent);
    plan.description = "Plan the work".into();
    let mut steps = Vec::new();
    let distiller = start.roster.in_role(AgentRole::Distiller).filter(|_| !start.goal.files.is_empty());
    if let Some(distiller) = distiller {
        let mut distill = StepSpec::new(StepId::known("distill"), &distiller.name);
        distill.description = "Profile the files handed over".into();
        plan.after.push(distill.id.clone());
        steps.push(distill);
    }
    steps.push(plan);
    Graph { steps }
}
