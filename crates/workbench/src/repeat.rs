//! Repeating a run: which of its results are kept, and which steps are carried out again and why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use updraft_engine::{FinishedRun, FinishedStep};
use updraft_run::{
    Goal, Graph, GuardedPoints, RepeatedRun, Requirement, Run, RunId, RunMode, StepId, StepRole, StepSpec, StepState,
};

use crate::fault::Fault;
use crate::guardrails;
use crate::servers::WantedTools;
use crate::start::NewGoal;
use crate::workbench::Workbench;

/// What is to be different in the repetition.
#[derive(Clone, Debug, Default)]
pub struct RepeatChange {
    /// Another goal: the planner changes the plan.
    pub goal: Option<String>,
    /// Another plan, and what it requires.
    pub plan: Option<(Graph, Vec<Requirement>)>,
    /// Steps that are carried out again in any case.
    pub again: Vec<StepId>,
}

/// What becomes of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepVerdict {
    /// The step.
    pub step: StepId,
    /// Its agent.
    pub agent: String,
    /// Why it is carried out again; absent if its result is kept.
    pub again: Option<String>,
}

/// A repetition that can be started.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// What to start.
    pub new: NewGoal,
    /// What becomes of each step, in the order of the plan. With another goal, the plan may still change.
    pub verdicts: Vec<StepVerdict>,
}

impl Workbench {
    /// Looks at a run and finds out what a repetition would do. Starts nothing.
    pub async fn repeat(&self, id: &RunId, change: RepeatChange) -> Result<Repetition, Fault> {
        let kit = self.equipment(WantedTools::All).await?;
        let background = self.background(kit.engine.load(id)?.goal(), self.agents(kit)?);
        let finished = kit.engine.finished_steps(id, &background).await?;
        let run = &finished.run;
        let old = plan_of(run);
        if old.steps.is_empty() {
            return Err(Fault::usage(format!("run {id} has no plan; there is nothing to repeat"))
                .hint("`updraft run` starts afresh"));
        }
        let plan = change.plan.as_ref().map_or_else(|| old.clone(), |(plan, _)| plan.clone());
        let unknown = change.again.iter().find(|step| plan.steps.iter().all(|spec| spec.id != **step));
        if let Some(step) = unknown {
            let steps: Vec<&str> = plan.steps.iter().map(|spec| spec.id.as_str()).collect();
            return Err(Fault::usage(format!("the plan has no step `{step}`"))
                .hint(format!("its steps are {}", steps.join(", "))));
        }
        let own = self.reasons(&finished, &plan, &change).await?;
        // A step behind one that is made again keeps its result if it gets the same input.
        let kept = finished.steps.iter().filter(|step| !own.contains_key(&step.result.spec.id));
        let repeated = RepeatedRun {
            of: id.clone(),
            goal: run.goal().text.clone(),
            plan: Arc::new(old),
            results: kept.map(|step| step.result.clone()).collect(),
            variables: run.variables().iter().map(|(name, one)| (name.clone(), (*one.value).clone())).collect(),
        };
        let reasons = with_those_behind(&plan, own);
        let verdicts = plan.steps.iter().map(|spec| StepVerdict {
            step: spec.id.clone(),
            agent: spec.agent.clone(),
            again: reasons.get(&spec.id).cloned(),
        });
        let verdicts = verdicts.collect();
        let is_planned_again = change.goal.is_some() && change.plan.is_none();
        let mode = match &run.goal().mode {
            RunMode::Agent(name) => RunMode::Agent(name.clone()),
            RunMode::Swarm if is_planned_again => RunMode::Swarm,
            _ if is_planned_again => RunMode::Plan,
            _ => RunMode::Given,
        };
        let is_given = mode == RunMode::Given;
        let text = change.goal.unwrap_or_else(|| run.goal().text.clone());
        // With the same plan, what it required stays required.
        let is_same_plan = is_given && change.plan.is_none();
        let requirements = run.proof().requirements.iter().filter(|one| is_same_plan || !one.derived);
        let new_ones = change.plan.iter().flat_map(|(_, requirements)| requirements);
        let requirements = requirements.chain(new_ones).cloned().collect();
        let goal = Goal { text, mode, asked: String::new(), requirements, ..run.goal().clone() };
        let pictures = self.pictures(run)?;
        let new = NewGoal {
            models: run.settings().models.values().cloned().collect(),
            goal,
            pictures,
            plan: is_given.then_some(plan),
            plan_first: is_planned_again && run.settings().plan_first,
            repeated: Some(Arc::new(repeated)),
        };
        Ok(Repetition { new, verdicts })
    }

    /// Why steps of the plan are carried out again, for those that are by themselves.
    async fn reasons(
        &self,
        finished: &FinishedRun,
        plan: &Graph,
        change: &RepeatChange,
    ) -> Result<BTreeMap<StepId, String>, Fault> {
        let models: BTreeMap<StepId, String> =
            self.outlook(plan).await?.into_iter().map(|step| (step.step, step.model)).collect();
        let guardrails = guardrails::points(self.dispatcher().await?.registry().guardrails());
        let is_guarded = guardrails != GuardedPoints::default();
        let mut reasons: BTreeMap<StepId, String> = BTreeMap::new();
        for spec in &plan.steps {
            let known = finished.steps.iter().find(|step| step.result.spec.id == spec.id);
            let why = match known {
                _ if change.goal.as_ref().is_some_and(|goal| *goal != finished.run.goal().text) => {
                    Some("the goal has changed".to_owned())
                }
                _ if change.again.contains(&spec.id) => Some("you asked for it".to_owned()),
                None => Some(not_done(&finished.run, &spec.id)),
                Some(_) if is_guarded => Some("guardrails look at every result".to_owned()),
                Some(step) => self.changed_since(finished, step, spec, models.get(&spec.id))?,
            };
            reasons.extend(why.map(|why| (spec.id.clone(), why)));
        }
        Ok(reasons)
    }

    /// Why the result of a step that was done is not kept: the step, its agent, its model or its files have changed.
    fn changed_since(
        &self,
        finished: &FinishedRun,
        step: &FinishedStep,
        spec: &StepSpec,
        model: Option<&String>,
    ) -> Result<Option<String>, Fault> {
        if *spec != step.result.spec {
            return Ok(Some("the step has changed".to_owned()));
        }
        if finished.run.settings().workspace_trusted != self.settings.trust_state.is_trusted() {
            return Ok(Some("the trust in the workspace has changed".to_owned()));
        }
        let (agents, prompts) = self.agents_and_prompts()?;
        let old = finished.texts.as_ref();
        let old_prompt = old.and_then(|texts| texts.agents.get(&spec.agent)).map(|texts| &texts.prompt);
        if old_prompt != agents.get(&spec.agent).map(|agent| &agent.prompt) {
            return Ok(Some(format!("the prompt of `{}` has changed", spec.agent)));
        }
        let template = if matches!(finished.run.goal().mode, RunMode::Agent(_)) { "query" } else { "step" };
        if old.map(|texts| texts.prompts.get(template)) != Some(prompts.texts().get(template)) {
            return Ok(Some(format!("the prompt `{template}` has changed")));
        }
        if model.is_some_and(|model| *model != step.model) {
            return Ok(Some(format!("the model was {}", step.model)));
        }
        Ok(step.outdated.clone())
    }

    /// The bytes of the goal's pictures.
    fn pictures(&self, run: &Run) -> Result<Vec<Vec<u8>>, Fault> {
        let journal = self.journal()?;
        let bytes = run.goal().pictures.iter().map(|picture| journal.blob(&picture.blob.hash));
        Ok(bytes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// The same with the steps behind: they are carried out again unless they get the same input.
fn with_those_behind(plan: &Graph, mut reasons: BTreeMap<StepId, String>) -> BTreeMap<StepId, String> {
    let dependencies = plan.dependencies();
    loop {
        let known: BTreeSet<StepId> = reasons.keys().cloned().collect();
        for (spec, before) in plan.steps.iter().zip(&dependencies) {
            let first = before.iter().map(|at| &plan.steps[*at].id).find(|id| known.contains(*id));
            if let Some(first) = first.filter(|_| !known.contains(&spec.id)) {
                reasons.insert(spec.id.clone(), format!("`{first}` before it is made again, unless it gives the same"));
            }
        }
        if reasons.len() == known.len() {
            return reasons;
        }
    }
}

/// Why a step has no result that could be kept.
fn not_done(run: &Run, id: &StepId) -> String {
    match run.step(id) {
        Some(step) => format!("it was {}", step.status()),
        None => "it is new".to_owned(),
    }
}

/// The plan that a run ended with: without steps that a later plan replaced.
fn plan_of(run: &Run) -> Graph {
    let is_planned =
        |step: &&updraft_run::Step| step.role == StepRole::Work && !step.superseded && step.state != StepState::Dropped;
    let mut steps: Vec<StepSpec> = run.steps().filter(is_planned).map(|step| (*step.spec).clone()).collect();
    let ids: BTreeSet<StepId> = steps.iter().map(|step| step.id.clone()).collect();
    for step in &mut steps {
        step.after.retain(|id| ids.contains(id));
    }
    Graph { steps }
}
