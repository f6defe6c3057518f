//! Repeating a run: which of its results are kept, and which steps are carried out again and why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use updraft_engine::{FinishedRun, FinishedStep, ResultState, WebResults};
use updraft_run::{
    Goal, Graph, GuardedPoints, RepeatedRun, Requirement, Run, RunId, RunMode, StepId, StepRole, StepSpec, StepState,
};

use crate::fault::Fault;
use crate::guardrails;
use crate::journal;
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
    /// What becomes of steps that asked the web or servers.
    pub web: WebResults,
}

/// What becomes of a step, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepVerdict {
    /// The step.
    pub step: StepId,
    /// Its agent.
    pub agent: String,
    /// What becomes of it.
    pub verdict: RepeatVerdict,
    /// Why.
    pub why: String,
}

/// What a repetition does with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatVerdict {
    /// Its result is used again.
    Kept,
    /// It is carried out again.
    Again,
    /// Its result is used again if the steps before it, or the new plan, allow it. That shows only in the run.
    Open,
}

/// A repetition that can be started.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// What to start.
    pub new: NewGoal,
    /// What becomes of each step, in the order of the plan. With another goal, the plan may still change.
    pub verdicts: Vec<StepVerdict>,
    /// Files of the workspace that were not there when the run began, and that it did not make.
    pub new_files: Vec<String>,
}

impl Workbench {
    /// Looks at a run and finds out what a repetition would do. Starts nothing.
    pub async fn repeat(&self, id: &RunId, change: RepeatChange) -> Result<Repetition, Fault> {
        let equipment = self.equipment(WantedTools::All).await?;
        let background = self.background(equipment.engine.load(id)?.goal(), self.agents(equipment)?);
        let finished = equipment.engine.finished_steps(id, &background, change.web).await?;
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
        let mut verdicts = self.own_verdicts(&finished, &plan, &change).await?;
        let is_again = |step: &StepId| verdicts.get(step).is_some_and(|(verdict, _)| *verdict == RepeatVerdict::Again);
        // A step behind one that is made again keeps its result if it gets the same input.
        let is_good = |step: &&FinishedStep| matches!(step.state, ResultState::Good(_));
        let kept = finished.steps.iter().filter(is_good).filter(|step| !is_again(&step.result.spec.id));
        let without_variables = finished.steps.iter().filter(|step| step.result.spec.writes.is_empty());
        let outputs =
            without_variables.filter_map(|step| Some((step.result.spec.id.clone(), step.result.output.clone()?)));
        let repeated = RepeatedRun {
            of: id.clone(),
            goal: run.goal().text.clone(),
            plan: Arc::new(old),
            results: kept.map(|step| step.result.clone()).collect(),
            variables: run.variables().iter().map(|(name, one)| (name.clone(), (*one.value).clone())).collect(),
            outputs: outputs.collect(),
        };
        open_those_behind(&plan, &mut verdicts);
        let is_planned_again = change.goal.is_some() && change.plan.is_none();
        let mode = match &run.goal().mode {
            RunMode::Agent(name) => RunMode::Agent(name.clone()),
            RunMode::Swarm if is_planned_again => RunMode::Swarm,
            _ if is_planned_again => RunMode::Plan,
            _ => RunMode::Given,
        };
        let is_given = mode == RunMode::Given;
        let other_goal = change.goal.filter(|goal| *goal != run.goal().text);
        if other_goal.is_some() || is_planned_again {
            open_to_another_goal(run, &plan, other_goal.is_some(), is_planned_again, &mut verdicts);
        }
        let verdicts = plan.steps.iter().filter_map(|spec| {
            let (verdict, why) = verdicts.remove(&spec.id)?;
            Some(StepVerdict { step: spec.id.clone(), agent: spec.agent.clone(), verdict, why })
        });
        let verdicts = verdicts.collect();
        let text = other_goal.unwrap_or_else(|| run.goal().text.clone());
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
            plan_first: is_planned_again && self.is_plan_first(run),
            repeated: Some(Arc::new(repeated)),
        };
        Ok(Repetition { new, verdicts, new_files: if is_planned_again { Vec::new() } else { finished.new_files } })
    }

    /// Whether the user wanted to see plans first, in this run or in the one that it repeats.
    pub fn is_plan_first(&self, run: &Run) -> bool {
        let repeated = run.earlier_runs().repeated.as_ref();
        let before = || journal::load(self.journal().ok()?, &repeated?.of).ok();
        run.settings().plan_first || before().is_some_and(|before| self.is_plan_first(&before))
    }

    /// What becomes of the steps of the plan, each by itself.
    async fn own_verdicts(
        &self,
        finished: &FinishedRun,
        plan: &Graph,
        change: &RepeatChange,
    ) -> Result<Verdicts, Fault> {
        let models: BTreeMap<StepId, String> =
            self.outlook(plan).await?.into_iter().map(|step| (step.step, step.model)).collect();
        let guardrails = guardrails::points(self.dispatcher().await?.registry().guardrails());
        let is_guarded = guardrails != GuardedPoints::default();
        let mut verdicts = Verdicts::new();
        for spec in &plan.steps {
            let known = finished.steps.iter().find(|step| step.result.spec.id == spec.id);
            let again = match known {
                _ if change.again.contains(&spec.id) => Some("you asked for it".to_owned()),
                None => Some(not_done(&finished.run, &spec.id)),
                Some(_) if is_guarded => Some("guardrails look at every result".to_owned()),
                Some(step) => self.changed_since(finished, step, spec, models.get(&spec.id))?,
            };
            let verdict = match (again, known.map(|step| &step.state)) {
                (Some(why), _) => (RepeatVerdict::Again, why),
                (None, Some(ResultState::Good(why))) => (RepeatVerdict::Kept, why.clone()),
                (None, Some(ResultState::Outdated(why))) => (RepeatVerdict::Again, why.clone()),
                (None, None) => continue,
            };
            verdicts.insert(spec.id.clone(), verdict);
        }
        Ok(verdicts)
    }

    /// Why the result of a step that was done is not kept: the step, its agent or its model has changed.
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
        if finished.run.settings().workspace_trusted != self.settings.is_still_trusted(&self.folders, &self.folder) {
            return Ok(Some("the trust in the workspace has changed".to_owned()));
        }
        let (agents, prompts) = self.agents_and_prompts()?;
        let (old, agent) = (finished.texts.as_ref(), agents.get(&spec.agent));
        let texts = old.and_then(|texts| texts.agents.get(&spec.agent));
        if texts.map(|texts| &texts.prompt) != agent.map(|agent| &agent.prompt) {
            return Ok(Some(format!("the prompt of `{}` has changed", spec.agent)));
        }
        let card = finished.run.roster().agent(&spec.agent);
        // What a program asked for takes the place of the agent's own schema, then and now.
        let is_alone = finished.run.goal().mode == RunMode::Agent(spec.agent.clone());
        let asked = finished.run.goal().answer_schema.as_ref().filter(|_| is_alone);
        let is_same = texts.map(|texts| &texts.wants) == agent.map(|agent| &agent.tools)
            && card.map(|card| (card.schema.as_ref(), card.read_only))
                == agent.map(|agent| (asked.or(agent.schema.as_ref()), agent.read_only));
        if !is_same {
            return Ok(Some(format!("the tools or the schema of `{}` have changed", spec.agent)));
        }
        let is_review = finished.run.step(&spec.id).is_some_and(|step| finished.run.is_review(step));
        let template = match &finished.run.goal().mode {
            RunMode::Agent(_) if finished.run.settings().has_small_window() => "query-small",
            RunMode::Agent(_) => "query",
            _ if is_review => "review",
            _ => "step",
        };
        if old.map(|texts| texts.prompts.get(template)) != Some(prompts.texts().get(template)) {
            return Ok(Some(format!("the prompt `{template}` has changed")));
        }
        Ok(model.filter(|model| **model != step.model).map(|_| format!("the model was {}", step.model)))
    }

    /// The bytes of the goal's pictures.
    fn pictures(&self, run: &Run) -> Result<Vec<Vec<u8>>, Fault> {
        let journal = self.journal()?;
        let bytes = run.goal().pictures.iter().map(|picture| journal.blob(&picture.blob.hash));
        Ok(bytes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// What becomes of each step, and why.
type Verdicts = BTreeMap<StepId, (RepeatVerdict, String)>;

/// Steps behind those that are carried out again keep their result only if they get the same input.
fn open_those_behind(plan: &Graph, verdicts: &mut Verdicts) {
    let dependencies = plan.dependencies();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for (spec, before) in plan.steps.iter().zip(&dependencies) {
            let is_kept = |id: &StepId| verdicts.get(id).is_some_and(|(verdict, _)| *verdict == RepeatVerdict::Kept);
            let first = before.iter().map(|at| &plan.steps[*at].id).find(|id| !is_kept(id));
            if let Some(first) = first.filter(|_| is_kept(&spec.id)) {
                let why = format!("kept if `{first}` before it gives the same and changes nothing that it read");
                verdicts.insert(spec.id.clone(), (RepeatVerdict::Open, why));
                has_changed = true;
            }
        }
    }
}

/// With another goal, the last steps are carried out again, and others keep their result if their task stays the same.
fn open_to_another_goal(run: &Run, plan: &Graph, is_other_goal: bool, is_planned_again: bool, verdicts: &mut Verdicts) {
    let dependencies = plan.dependencies();
    let is_review = |at: usize| run.step(&plan.steps[at].id).is_some_and(|step| run.is_review(step));
    for (at, spec) in plan.steps.iter().enumerate() {
        let mut next = dependencies.iter().enumerate().filter(|(_, before)| before.contains(&at));
        let is_last = next.all(|(next, _)| is_review(next));
        let is_without_task = spec.prompt.trim().is_empty() && spec.description.trim().is_empty();
        let Some(verdict) = verdicts.get_mut(&spec.id).filter(|(verdict, _)| *verdict != RepeatVerdict::Again) else {
            continue;
        };
        if is_other_goal && (is_last || is_without_task) {
            *verdict = (RepeatVerdict::Again, "the goal has changed, and it answers it".to_owned());
        } else if is_planned_again {
            *verdict = (RepeatVerdict::Open, "kept if the new plan has it with the same task".to_owned());
        }
    }
}

/// Why a step has no result that could be kept.
fn not_done(run: &Run, id: &StepId) -> String {
    match run.step(id) {
        Some(step) => format!("its state is `{}`", step.status()),
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
