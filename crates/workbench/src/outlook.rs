//! What the steps of a plan will use: the model, its price, and what the agent may do. Shown before anything begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use updraft_engine::Agent;
use updraft_models::Model;
use updraft_run::{ApprovalMode, Cost, Graph, Run, StepId, StepSpec, TokenUsage};

use crate::fault::Fault;
use crate::model_access::agents_model;
use crate::workbench::Workbench;

/// The names by which plans and agents ask for a kind of model.
const PURPOSES: [&str; 4] = ["fast", "strong", "cheap", "vision"];

/// A short step: one question with a short prompt and a short answer, in tokens.
const SHORT_TURN: (u64, u64) = (2_000, 300);
/// A long turn. A long step takes all the turns it may take, each like this.
const LONG_TURN: (u64, u64) = (10_000, 1_000);

/// What a step will use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepOutlook {
    /// The step.
    pub step: StepId,
    /// The model it will use.
    pub model: String,
    /// Who chose the model: the plan, the agent's file, or the run.
    pub chosen_by: &'static str,
    /// What a short and a long step of this kind cost; absent if the price is unknown.
    pub price: Option<(Cost, Cost)>,
    /// What its agent may do.
    pub rights: String,
}

impl StepOutlook {
    /// "$0.0004 to $0.02", "free" or "unknown".
    pub fn price_in_words(&self) -> String {
        match self.price {
            None => "unknown".to_owned(),
            Some((_, most)) if most.0 == 0 => "free".to_owned(),
            Some((least, most)) => format!("{least} to {most}"),
        }
    }
}

impl Workbench {
    /// What each step of a plan will use.
    pub async fn outlook(&self, plan: &Graph) -> Result<Vec<StepOutlook>, Fault> {
        let names = self.model_names(Some(plan)).await?;
        let (asked, chosen) = (self.asked_model()?, &self.model().await?.spec);
        let (agents, _) = self.agents_and_prompts()?;
        let turns = self.settings.effective.run_settings().turns;
        let outlook = |spec: &StepSpec| {
            let agent = agents.get(&spec.agent);
            let named = spec.model.as_ref().and_then(|name| names.get(name)).cloned();
            let own = || agents_model(agent?.model.as_ref()?, asked, chosen, &self.access);
            let (model, chosen_by) = match (named, own()) {
                (Some(model), _) => (model, "plan"),
                (None, Some(model)) if model != *chosen => (model, "agent"),
                (None, _) => (chosen.clone(), "run"),
            };
            let turns = agent.and_then(|agent| agent.turns).unwrap_or(turns);
            let price =
                updraft_models::resolve(&model, &self.access).ok().and_then(|model| price_range(&*model, turns));
            let rights = agent.map(|agent| rights_of(agent, self.approvals())).unwrap_or_default();
            StepOutlook { step: spec.id.clone(), model, chosen_by, price, rights }
        };
        Ok(plan.steps.iter().map(outlook).collect())
    }

    /// The same for a plan that a run has made: its models are known, and nothing is looked for.
    pub(crate) fn outlook_in(&self, run: &Run, plan: &Graph) -> Result<Vec<StepOutlook>, Fault> {
        let ((agents, _), settings) = (self.agents_and_prompts()?, run.settings());
        let mut known: BTreeMap<String, Option<Arc<dyn Model>>> = BTreeMap::new();
        let outlook = |spec: &StepSpec| {
            let agent = agents.get(&spec.agent);
            let model = run.model_for(spec).to_owned();
            let chosen_by = match spec.model {
                Some(_) => "plan",
                None if model != settings.model => "agent",
                None => "run",
            };
            let turns = agent.and_then(|agent| agent.turns).unwrap_or(settings.turns);
            let found =
                known.entry(model.clone()).or_insert_with(|| updraft_models::resolve(&model, &self.access).ok());
            let price = found.as_ref().and_then(|model| price_range(&**model, turns));
            let rights = agent.map(|agent| rights_of(agent, settings.approvals)).unwrap_or_default();
            StepOutlook { step: spec.id.clone(), model, chosen_by, price, rights }
        };
        Ok(plan.steps.iter().map(outlook).collect())
    }

    /// The names that steps may use for models, with what each stands for: purposes, the user's profiles, and models
    /// that the plan names in full. If the user chose one model for everything, every purpose means that one.
    pub(crate) async fn model_names(&self, plan: Option<&Graph>) -> Result<BTreeMap<String, String>, Fault> {
        let (asked, chosen) = (self.asked_model()?, &self.model().await?.spec);
        let purpose = |name: &&str| {
            let model = agents_model(name, asked, chosen, &self.access).unwrap_or_else(|| chosen.clone());
            ((*name).to_owned(), model)
        };
        let mut names: BTreeMap<String, String> = PURPOSES.iter().map(purpose).collect();
        names.extend(self.access.profiles.clone());
        let named: BTreeMap<String, String> = plan.map(|plan| self.named_in_full(plan)).unwrap_or_default();
        names.extend(named);
        Ok(names)
    }

    /// The models that a plan of the user's names in full, as far as they can be used here.
    pub fn named_in_full(&self, plan: &Graph) -> BTreeMap<String, String> {
        let names: BTreeSet<&String> = plan.steps.iter().filter_map(|step| step.model.as_ref()).collect();
        let in_full = names.into_iter().filter(|name| name.contains('/') && !self.access.profiles.contains_key(*name));
        let usable = in_full.filter(|name| updraft_models::resolve(name, &self.access).is_ok());
        usable.map(|name| (name.clone(), name.clone())).collect()
    }
}

/// What an agent may do, in a few words.
fn rights_of(agent: &Agent, approvals: ApprovalMode) -> String {
    let wants = |names: &[&str]| agent.tools.iter().any(|tool| names.contains(&tool.as_str()));
    let only_reads =
        agent.read_only || agent.narrowed.mode == Some(ApprovalMode::ReadOnly) || approvals == ApprovalMode::ReadOnly;
    let mut rights = Vec::new();
    if only_reads && !agent.tools.is_empty() {
        rights.push("reads only");
    } else if wants(&["files", "write_file", "edit_file", "append_line"]) {
        rights.push("changes files");
    }
    if !only_reads && wants(&["sandbox", "run_command", "run_python"]) {
        rights.push("runs commands");
    }
    if wants(&["browser", "page", "web_fetch", "web_search"]) {
        rights.push("web");
    }
    if wants(&["mcp"]) {
        rights.push("MCP servers");
    }
    if wants(&["ask_user"]) {
        rights.push("asks you");
    }
    if rights.is_empty() { "no tools that change anything".to_owned() } else { rights.join(", ") }
}

/// What a short and a long step cost with a model.
fn price_range(model: &dyn Model, turns: u32) -> Option<(Cost, Cost)> {
    let price = model.price()?;
    let cost = |(input, output): (u64, u64), times: u64| {
        price.of(&TokenUsage { input: input * times, output: output * times, ..TokenUsage::default() })
    };
    Some((cost(SHORT_TURN, 1), cost(LONG_TURN, u64::from(turns.max(1)))))
}
