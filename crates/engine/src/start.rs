//! Checks a goal and builds everything a run starts from.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use updraft_journal::Blob;
use updraft_run::{
    AgentRole, Budget, EarlierRuns, Goal, Graph, GraphContext, Roster, RunMode, RunSettings, RunStart,
    STRANGE_WORKSPACE, ToolSpec, TryPlanner, close_to, paths_meet,
};

use crate::Error;
use crate::agents::Agents;
use crate::context::{SkillEntry, WorkspaceContext};
use crate::drive::context_blob;
use crate::engine::EngineInner;
use crate::marks::MarkedFile;
use crate::prompt_texts::{PromptKit, RosterTexts, participants};
use crate::prompts::Prompts;
use crate::whereabouts::Whereabouts;

/// The longest goal, in bytes. A longer text belongs in a file.
pub const LONGEST_GOAL: usize = 256 * 1024;

/// A run to be started.
pub struct NewRun<'a> {
    /// The goal.
    pub goal: Goal,
    /// The rules and limits.
    pub settings: RunSettings,
    /// What may be spent.
    pub budget: Budget,
    /// The graph, if the user gives one.
    pub plan: Option<Graph>,
    /// The available agents.
    pub agents: &'a Agents,
    /// The templates.
    pub prompts: &'a Prompts,
    /// Resolves names and groups of tools to their definitions.
    pub tools: &'a (dyn Fn(&[String]) -> Vec<ToolSpec> + Sync),
    /// Whether a tool only reads: the others are not offered to read-only agents.
    pub only_reads: &'a (dyn Fn(&str) -> bool + Sync),
    /// Resolves the model named in an agent's file; `None` means the run's own model.
    pub models: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The bytes of the goal's pictures.
    pub pictures: Vec<Vec<u8>>,
}

/// What agents are told besides the goal and the workspace.
#[derive(Clone, Debug, Default)]
pub struct Background {
    /// What is remembered from earlier runs: see [`WorkspaceContext::memory`].
    pub memory: serde_json::Value,
    /// The skills that agents may use.
    pub skills: Vec<SkillEntry>,
    /// Time, system and repository.
    pub whereabouts: Whereabouts,
    /// What the run takes over from earlier runs.
    pub earlier: EarlierRuns,
    /// For each agent what its model is told of its tools. It stays so for the whole run.
    pub offers: BTreeMap<String, ToolOffer>,
}

/// What an agent's model is told of the tools that the agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOffer {
    /// The tools that it is not told of.
    pub untold: Vec<String>,
    /// The tools that it finds by searching.
    pub findable: Vec<String>,
}

pub(crate) struct PreparedRun {
    pub(crate) start: RunStart,
    /// The blob with the texts, unless a run of this process has already stored it.
    pub(crate) words: Option<Blob>,
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) context_blob: Blob,
    pub(crate) pictures: Vec<Blob>,
    pub(crate) kit: Arc<PromptKit>,
}

impl NewRun<'_> {
    /// Checks the goal, the agents and the plan, without starting anything.
    pub fn check(&self) -> Result<(), Error> {
        if self.goal.text.trim().is_empty() {
            return Err(Error::Goal("the goal is empty; say what you want done".into()));
        }
        if self.goal.text.len() > LONGEST_GOAL {
            return Err(Error::Goal(format!(
                "the goal is {} bytes long; the limit is {LONGEST_GOAL}. Put the text into a file and pass it with --file",
                self.goal.text.len()
            )));
        }
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        match &self.goal.mode {
            RunMode::Agent(name) => self.check_agent(name, &names)?,
            RunMode::Plan => self.check_role(AgentRole::Planner)?,
            RunMode::Swarm => self.check_role(AgentRole::Router)?,
            RunMode::Given => {}
        }
        if let Some(plan) = &self.plan {
            let variables = self.goal.variables.keys().map(String::as_str).collect();
            let max_steps = self.settings.max_steps as usize;
            // Before the start, the models are not known yet.
            let models = &self.settings.models;
            let models = (!models.is_empty()).then(|| models.keys().map(String::as_str).collect());
            let around = GraphContext { agents: names, variables, max_steps, models, ..GraphContext::default() };
            let faults = plan.faults(&around);
            if !faults.is_empty() {
                return Err(Error::Plan(faults));
            }
        }
        Ok(())
    }

    fn check_agent(&self, name: &str, names: &[&str]) -> Result<(), Error> {
        if self.agents.get(name).is_some() {
            return Ok(());
        }
        let left_out = self.agents.left_out().find(|(left_out, _)| *left_out == name);
        Err(match left_out {
            Some((_, why)) => Error::LeftOut { name: name.to_owned(), why: why.to_owned() },
            None if self.agents.is_distrusted(name) => Error::DistrustedAgent(name.to_owned()),
            None => Error::UnknownAgent { name: name.to_owned(), close: close_to(name, names) },
        })
    }

    fn check_role(&self, role: AgentRole) -> Result<(), Error> {
        let is_there = self.agents.in_role(role).is_some() || self.plan.is_some();
        if is_there { Ok(()) } else { Err(Error::NobodyInRole { role: role.word() }) }
    }

    pub(crate) fn prepare(self, engine: &EngineInner, background: Background) -> Result<PreparedRun, Error> {
        self.check()?;
        let (mut roster, mut words) = self.build_roster();
        for (name, offer) in background.offers {
            if let Some(own) = words.agents.get_mut(&name) {
                own.untold = offer.untold;
            }
            if let Some(card) = roster.agents.iter_mut().find(|card| card.name == name) {
                (card.findable, card.tools) = card.tools.drain(..).partition(|tool| offer.findable.contains(tool));
            }
        }
        self.check_models(engine, &roster)?;
        let words_blob = Blob::new(serde_json::to_vec(&words).unwrap_or_default());
        let kit = engine.kit(words_blob.hash(), &roster, || Ok(PromptKit::new(&roster, words)))?;
        let mut context = self.workspace_context(engine)?;
        let earlier = background.earlier;
        (context.memory, context.skills) = (background.memory, background.skills);
        context.whereabouts = background.whereabouts;
        let context_blob = context_blob(&context);
        let plan = self.plan_with_tries()?;
        let roster = Arc::new(Roster { words: Some(words_blob.hash()), ..roster });
        let documents = users_documents(&context);
        let settings = Arc::new(RunSettings { context: Some(context_blob.hash()), documents, ..self.settings });
        let start =
            RunStart { goal: self.goal, roster, settings, budget: self.budget, plan: plan.map(Arc::new), earlier };
        let pictures = self.pictures.into_iter().map(Blob::new).collect();
        Ok(PreparedRun { start, words: Some(words_blob), context: Arc::new(context), context_blob, pictures, kit })
    }

    /// The plan that was given, with a step for each try.
    fn plan_with_tries(&self) -> Result<Option<Graph>, Error> {
        let Some(plan) = self.plan.clone() else { return Ok(None) };
        let may_change =
            |name: &str| self.agents.get(name).is_some_and(|agent| !agent.read_only && !agent.tools.is_empty());
        let planner = TryPlanner {
            chooser: self.agents.in_role(AgentRole::Chooser).map(|agent| agent.name.as_str()),
            may_change: &may_change,
            models: self.settings.models.keys().map(String::as_str).collect(),
        };
        plan.with_tries(&planner).map(Some).map_err(Error::Plan)
    }

    /// The workspace as it is now. Its documents are the user's own text if it is trusted and no run has written text
    /// from outside to them.
    fn workspace_context(&self, engine: &EngineInner) -> Result<WorkspaceContext, Error> {
        let workspace = &self.settings.workspace;
        let marks = engine.marks().map(|marks| marks.book(workspace).all()).transpose()?.unwrap_or_default();
        let strange = |path: &str| {
            let is_strange = |mark: &MarkedFile| !mark.origins.without(STRANGE_WORKSPACE).is_empty();
            marks.iter().any(|mark| is_strange(mark) && paths_meet(&mark.path, path))
        };
        let is_own = |path: &str| self.settings.workspace_trusted && !strange(path);
        Ok(WorkspaceContext::look(Path::new(workspace), &is_own))
    }

    fn build_roster(&self) -> (Roster, RosterTexts) {
        let only = match &self.goal.mode {
            RunMode::Agent(name) => Some(name.as_str()),
            RunMode::Plan | RunMode::Swarm | RunMode::Given => None,
        };
        let (mut roster, mut words) =
            RosterTexts::gather(participants(self.agents, only), self.prompts, self.tools, self.only_reads);
        for card in &mut roster.agents {
            card.model =
                card.model.take().and_then(|name| (self.models)(&name)).filter(|own| *own != self.settings.model);
            let small = self.agents.get(&card.name).and_then(|agent| agent.small.as_ref());
            let uses_small_model = card.model.is_none() && self.settings.has_small_window();
            if let (Some(small), Some(own)) = (small.filter(|_| uses_small_model), words.agents.get_mut(&card.name)) {
                own.prompt.clone_from(small);
            }
            if uses_small_model {
                self.keep_few_tools(&mut card.tools);
            }
        }
        words.tools.retain(|spec| roster.agents.iter().any(|card| card.tools.contains(&spec.name)));
        (roster, words)
    }

    /// Leaves an agent that changes files only the tools that a small model can tell apart, and those that the user has added.
    fn keep_few_tools(&self, tools: &mut Vec<String>) {
        if !tools.iter().any(|tool| tool == "edit_file") {
            return;
        }
        let built_in = (self.tools)(&BUILT_IN.map(str::to_owned));
        tools.retain(|name| FEW_TOOLS.contains(&name.as_str()) || !built_in.iter().any(|spec| spec.name == *name));
    }

    /// Refuses a budget in money if a price is unknown, and pictures if no model can be shown them.
    fn check_models(&self, engine: &EngineInner, roster: &Roster) -> Result<(), Error> {
        let own = roster.agents.iter().filter_map(|card| card.model.as_deref());
        for name in std::iter::once(self.settings.model.as_str()).chain(own) {
            let model = engine.performer.model(name)?;
            let capped = self.budget.cost.is_some() || self.settings.step_budget.cost.is_some();
            if capped && model.price().is_none() {
                return Err(Error::UnknownPrice { model: model.name().to_owned() });
            }
            if let Some(picture) = self.goal.pictures.first().filter(|_| model.sees() == Some(false)) {
                return Err(Error::Blind { model: model.name().to_owned(), picture: picture.name.clone() });
            }
        }
        Ok(())
    }
}

/// The tools of a small model that changes files.
const FEW_TOOLS: [&str; 5] = ["read_file", "write_file", "edit_file", "search_files", "run_command"];

/// The groups of built-in tools.
const BUILT_IN: [&str; 6] = ["files", "apply_patch", "sandbox", "browser", "rag", "memory"];

/// How many bytes of documents count as the user's own text.
const USERS_DOCUMENTS: usize = 16 * 1024;

/// The documents of a trusted workspace, as far as they are stored with the run.
fn users_documents(context: &WorkspaceContext) -> BTreeMap<String, String> {
    let mut left = USERS_DOCUMENTS;
    let fits = |(_, text): &&(String, String)| {
        let fits = text.len() <= left;
        left = left.saturating_sub(text.len());
        fits
    };
    context.instructions.iter().take_while(fits).cloned().collect()
}
