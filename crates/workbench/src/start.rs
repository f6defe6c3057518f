//! Starting a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use updraft_engine::{Agent, AgentStats, Agents, Background, NewRun, RunHandle};
use updraft_models::{ModelChoice, is_purpose};
use updraft_run::{AgentRole, EarlierRuns, Goal, Graph, Level, RepeatedRun, RunId, RunMode, RunSettings};

use crate::fault::Fault;
use crate::model_access::agents_model;
use crate::notice::Notice;
use crate::servers::WantedTools;
use crate::service::ENTRY_POINT;
use crate::settings::RememberedRules;
use crate::workbench::{RunEquipment, Workbench};
use crate::{confinement, folders, guardrails, knowledge, memory, model_access, offer, skills, tools, whereabouts};

/// What a run is asked to do.
#[derive(Clone, Debug, Default)]
pub struct NewGoal {
    /// The goal.
    pub goal: Goal,
    /// The bytes of its pictures.
    pub pictures: Vec<Vec<u8>>,
    /// The plan, if there is one already.
    pub plan: Option<Graph>,
    /// A person approves the plan before its steps begin. The workbench must be held to reading until then.
    pub plan_first: bool,
    /// The run that this one repeats, if it repeats one.
    pub repeated: Option<Arc<RepeatedRun>>,
    /// Models that the user named for steps of the plan.
    pub models: Vec<String>,
}

impl Workbench {
    /// Starts a run. When this returns, the goal is on disk; the run proceeds when the handle is driven.
    pub async fn start(&self, id: RunId, new: NewGoal) -> Result<RunHandle, Fault> {
        let (known, prompts) = self.agents_and_prompts()?;
        let asked = self.asked_model()?;
        let chosen = self.model().await?;
        self.send_notices(asked, chosen);
        let level = self.level().await?;
        let equipment = self.equipment(wanted(known, &new.goal)).await?;
        knowledge::note_files(&self.folders, &self.folder, &self.settings, &new.goal.files);
        let mut agents = self.agents(equipment)?.clone();
        self.tell_left_out(&agents);
        agents.change_rules(|rules| tools::rules_in_full(&equipment.dispatcher, &equipment.servers, rules));
        if let (RunMode::Agent(name), Some(schema)) = (&new.goal.mode, &new.goal.answer_schema) {
            agents.set_schema(name, schema.clone());
        }
        offer::let_ask(&mut agents, &new.goal);
        let tools = |wanted: &[String]| equipment.dispatcher.registry().specs_for(wanted);
        let only_reads = |name: &str| tools::only_reads(&equipment.dispatcher, name);
        let models = |wanted: &str| model_access::agents_model(wanted, asked, &chosen.spec, &self.access);
        let mut goal = new.goal.clone();
        for own in self.settings.effective.working.requirements() {
            // A repeated run has them already.
            if !goal.requirements.contains(&own) {
                goal.requirements.push(own);
            }
        }
        let mut models_named = self.model_names(new.plan.as_ref()).await?;
        models_named.extend(self.models_for_steps(&new));
        let window = self.first_window(&agents, &new).await;
        let settings = self.run_settings(&id, &goal, &chosen.spec, level, equipment);
        let settings = RunSettings { models: models_named, window, plan_first: new.plan_first, ..settings };
        let earlier = EarlierRuns { agent_stats: self.agent_stats(&new.goal)?, repeated: new.repeated };
        let model = |agent: &Agent| {
            let own = agent.model.as_deref().and_then(models);
            own.unwrap_or_else(|| chosen.spec.clone())
        };
        let offers = self.offers(&new.goal, &agents, &model, equipment);
        let whereabouts = whereabouts::look(&self.folders, &self.folder, &self.settings).await;
        let background = Background { earlier, offers, whereabouts, ..self.background(&new.goal, &agents) };
        let run = NewRun {
            settings,
            goal,
            budget: self.settings.effective.budget(),
            plan: new.plan,
            agents: &agents,
            prompts,
            tools: &tools,
            only_reads: &only_reads,
            models: &models,
            pictures: new.pictures,
        };
        Ok(equipment.engine.start_with(id, run, background).await?)
    }

    /// What the agents of a run with this goal are told besides the goal and the workspace.
    pub(crate) fn background(&self, goal: &Goal, agents: &Agents) -> Background {
        let names: Vec<String> = match &goal.mode {
            RunMode::Agent(name) => vec![name.clone()],
            RunMode::Plan | RunMode::Swarm | RunMode::Given => agents.iter().map(|agent| agent.name.clone()).collect(),
        };
        let (memory, remark) = memory::recalled(&self.folders, &self.folder, &self.settings, goal, &names);
        if let Some(remark) = remark {
            self.tell(Notice::Memory(remark));
        }
        let skills = skills::usable(&skills::of(&self.folders, &self.folder, &self.settings));
        Background { memory, skills, ..Background::default() }
    }

    /// The context window of the model that is asked first, if it is known. A server on this machine is asked.
    async fn first_window(&self, agents: &Agents, new: &NewGoal) -> Option<u64> {
        let first = match &new.goal.mode {
            RunMode::Plan => agents.in_role(AgentRole::Planner),
            RunMode::Swarm => agents.in_role(AgentRole::Router),
            RunMode::Agent(name) => agents.get(name),
            RunMode::Given => None,
        };
        let first = first.filter(|_| new.plan.is_none())?;
        let (asked, chosen) = (self.asked_model().ok()?, self.model().await.ok()?);
        let own = first.model.as_ref().and_then(|name| agents_model(name, asked, &chosen.spec, &self.access));
        match own.filter(|own| *own != chosen.spec) {
            Some(own) => updraft_models::resolve(&own, &self.access).ok()?.window().await,
            None => chosen.model.window().await,
        }
    }

    /// How the agents did in earlier runs, for a run that is planned.
    fn agent_stats(&self, goal: &Goal) -> Result<BTreeMap<String, String>, Fault> {
        match goal.mode {
            RunMode::Plan | RunMode::Swarm => Ok(AgentStats::load(self.journal()?)?.lines()),
            RunMode::Agent(_) | RunMode::Given => Ok(BTreeMap::new()),
        }
    }

    /// The models that steps may name: the user's profiles, and those that the user named for this run.
    fn models_for_steps(&self, new: &NewGoal) -> BTreeMap<String, String> {
        let mut models = self.access.profiles.clone();
        let named = new.models.iter().filter(|name| !models.contains_key(*name)).cloned().collect::<Vec<_>>();
        models.extend(named.into_iter().map(|name| (name.clone(), name)));
        models
    }

    /// Reports every fault that can be found before anything is started; `faults` are those already found in the plan.
    pub fn check(&self, new: &NewGoal, mut faults: Vec<String>) -> Result<(), Fault> {
        let (agents, prompts) = self.agents_and_prompts()?;
        let run = NewRun {
            goal: new.goal.clone(),
            settings: self.settings.effective.run_settings(),
            budget: self.settings.effective.budget(),
            plan: new.plan.clone(),
            agents,
            prompts,
            tools: &|_| Vec::new(),
            only_reads: &|_| true,
            models: &|_| None,
            pictures: new.pictures.clone(),
        };
        match run.check() {
            Err(updraft_engine::Error::Plan(more)) => faults.extend(more),
            other => other?,
        }
        if faults.is_empty() { Ok(()) } else { Err(updraft_engine::Error::Plan(faults).into()) }
    }

    /// The settings of this machine for a run that begins here or is adopted. What depends on its plan is not among them.
    pub(crate) fn run_settings(
        &self,
        id: &RunId,
        goal: &Goal,
        model: &str,
        level: Level,
        equipment: &RunEquipment,
    ) -> RunSettings {
        let mut settings = self.settings.effective.run_settings();
        // A workbench that stays open was opened before some of them were given or forgotten.
        RememberedRules::renew(&mut settings.rules, &self.folders, &self.folder);
        model.clone_into(&mut settings.model);
        settings.workspace = self.folder.display().to_string();
        settings.workspace_trusted = self.settings.is_still_trusted(&self.folders, &self.folder);
        settings.approvals = self.approvals();
        settings.sandbox = level;
        settings.grants = Some(confinement::grants(&self.settings, &self.flags.confine));
        settings.strange_tools = equipment.dispatcher.registry().strange();
        settings.guards = guardrails::points(equipment.dispatcher.registry().guardrails());
        settings.copies = tools::copies_of(&self.folders, id);
        settings.query_turns = self.own_turns(goal);
        settings.least_turns = self.flags.budget.turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        tools::name_in_full(&equipment.dispatcher, &equipment.servers, &mut settings);
        settings
    }

    /// How many turns an agent that works alone has. A run that was started through MCP has its own limit, because a
    /// client waits for it.
    fn own_turns(&self, goal: &Goal) -> u32 {
        let meant = &self.settings.effective;
        let is_from_terminal = matches!(goal.mode, RunMode::Agent(_)) && goal.door != ENTRY_POINT;
        if is_from_terminal { meant.agent_turns.value } else { meant.query_turns.value }
    }

    /// Reports the model, and what is ignored.
    fn send_notices(&self, asked: &str, chosen: &ModelChoice) {
        let ModelChoice { spec, why, .. } = chosen;
        let why = match (asked, spec.as_str()) {
            ("auto", "builtin") => {
                Some("no key found; `updraft models` shows how to connect a language model".to_owned())
            }
            (asked, _) if asked == "auto" || is_purpose(asked) => {
                why.split_once(": ").map(|(_, reason)| reason.to_owned())
            }
            _ => None,
        };
        self.tell(Notice::Model { name: spec.clone(), why });
        if let Some(ignored) = self.settings.notice() {
            self.tell(Notice::Ignored(ignored));
        }
        if folders::home().and_then(|home| home.canonicalize().ok()).as_ref() == Some(&self.folder) {
            self.tell(Notice::HomeFolder);
        }
    }
}

/// The tools that the agents of a run may use. With a plan, the agents are not known before it is made, so these are
/// all tools.
fn wanted<'a>(agents: &'a Agents, goal: &Goal) -> WantedTools<'a> {
    match &goal.mode {
        RunMode::Agent(name) => agents.get(name).map_or(WantedTools::All, |agent| WantedTools::Of(&agent.tools)),
        RunMode::Plan | RunMode::Swarm | RunMode::Given => WantedTools::All,
    }
}
