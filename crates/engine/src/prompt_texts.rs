//! The texts of a run's prompts. They come from files: agents, prompt templates and tool definitions. They are frozen
//! when a run begins, except for tools that change.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use updraft_run::{AgentCard, AgentRole, ReflectionMode, Roster, ToolSpec};
use updraft_tools::{FINDERS, Registry};

use crate::agents::{self, Agent, Agents};
use crate::plan_prompt::{carries_out_steps, works_in_sequence};
use crate::prompts::{self, Prompts};

/// The texts of a roster, as they are stored in one blob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RosterTexts {
    /// The prompt and purpose of each agent.
    pub agents: BTreeMap<String, AgentTexts>,
    /// The templates.
    pub prompts: BTreeMap<String, String>,
    /// The tools that any of the agents may call, in name order.
    pub tools: Vec<ToolSpec>,
}

/// One agent's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTexts {
    /// A sentence for the planner that says what the agent is for.
    pub purpose: String,
    /// Its prompt.
    pub prompt: String,
    /// The tools and groups that its file asks for, so that tools added later can be matched. Empty in runs from before
    /// this was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
    /// The tools among its own that its model is not told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
}

impl RosterTexts {
    /// Collects the texts and cards of these agents. `tools` resolves names and groups to definitions; read-only agents
    /// get only the tools for which `only_reads` is true.
    pub fn gather<'a>(
        agents: impl IntoIterator<Item = &'a Agent>,
        prompts: &Prompts,
        tools: &dyn Fn(&[String]) -> Vec<ToolSpec>,
        only_reads: &dyn Fn(&str) -> bool,
    ) -> (Roster, RosterTexts) {
        let mut words = RosterTexts { prompts: prompts.texts().clone(), ..RosterTexts::default() };
        let mut roster = Roster::default();
        let mut known: BTreeMap<String, ToolSpec> = BTreeMap::new();
        let agents: Vec<&Agent> = agents.into_iter().collect();
        for agent in &agents {
            let mut specs = tools(&agent.tools);
            specs.retain(|spec| !agent.read_only || only_reads(&spec.name));
            let tools = specs.iter().map(|spec| spec.name.clone()).collect();
            roster.agents.push(AgentCard { role: Some(role_of(agent, &agents)), ..card_of(agent, tools) });
            let own = AgentTexts {
                purpose: agent.purpose.clone(),
                prompt: agent.prompt.clone(),
                wants: agent.tools.clone(),
                untold: FINDERS.map(str::to_owned).to_vec(),
            };
            words.agents.insert(agent.name.clone(), own);
            known.extend(specs.into_iter().map(|spec| (spec.name.clone(), spec)));
        }
        roster.agents.sort_by(|a, b| a.name.cmp(&b.name));
        words.tools = known.into_values().collect();
        (roster, words)
    }

    /// The same texts with the current tools, for tools that may change. The others stay as they were when the run
    /// began.
    pub(crate) fn renewed(mut self, roster: &Roster, registry: &Registry) -> (Roster, RosterTexts) {
        let mut roster = roster.clone();
        let mut known: BTreeMap<String, ToolSpec> =
            self.tools.drain(..).map(|spec| (spec.name.clone(), spec)).collect();
        for card in &mut roster.agents {
            let Some(own) = self.agents.get_mut(&card.name).filter(|own| !own.wants.is_empty()) else { continue };
            let mut specs = registry.specs_for(&own.wants);
            specs.retain(|spec| !registry.is_fixed(&spec.name));
            specs.retain(|spec| !card.read_only || registry.only_reads(&spec.name));
            let many = registry.findable(&own.wants);
            card.tools.retain(|name| registry.is_fixed(name));
            card.findable.retain(|name| registry.is_fixed(name));
            for ToolSpec { name, .. } in &specs {
                let list = if many.contains(name) { &mut card.findable } else { &mut card.tools };
                list.push(name.clone());
            }
            card.tools.sort();
            card.findable.sort();
            own.untold.retain(|name| !FINDERS.contains(&name.as_str()));
            if card.findable.is_empty() {
                own.untold.extend(FINDERS.map(str::to_owned));
            }
            known.extend(specs.into_iter().map(|spec| (spec.name.clone(), spec)));
        }
        known.retain(|name, _| roster.agents.iter().any(|card| can_call(card, name)));
        self.tools = known.into_values().collect();
        (roster, self)
    }
}

fn card_of(agent: &Agent, tools: Vec<String>) -> AgentCard {
    AgentCard {
        name: agent.name.clone(),
        tools,
        findable: Vec::new(),
        model: agent.model.clone(),
        think: agent.think,
        turns: agent.turns,
        role: agent.role,
        reflect: if agent.reflect_by_model { ReflectionMode::Model } else { ReflectionMode::Rule },
        read_only: agent.read_only,
        narrowed: agent.narrowed.clone(),
        schema: agent.schema.clone(),
        keywords: agent.keywords.clone(),
    }
}

fn can_call(card: &AgentCard, tool: &String) -> bool {
    card.tools.contains(tool) || card.findable.contains(tool)
}

/// The role of an agent among these: if only one agent may have a role, it is the nearest one, and the others work.
fn role_of(agent: &Agent, agents: &[&Agent]) -> AgentRole {
    let role = agent.role.unwrap_or_default();
    let holder = agents::in_role(agents.iter().copied(), role).filter(|_| role.is_for_one());
    if holder.is_some_and(|holder| holder.name != agent.name) { AgentRole::Work } else { role }
}

/// The agents a run needs: one, or all.
pub(crate) fn participants<'a>(agents: &'a Agents, only: Option<&str>) -> Vec<&'a Agent> {
    match only {
        Some(name) => agents.get(name).into_iter().collect(),
        None => agents.iter().collect(),
    }
}

/// The texts of a run, ready for use: each agent's system prompt and tools are built once and shared.
#[derive(Debug)]
pub(crate) struct PromptKit {
    /// The templates.
    pub prompts: BTreeMap<String, String>,
    /// The system prompt of a planner whose model is small.
    pub small_planner: Arc<str>,
    agents: BTreeMap<String, AgentPreamble>,
}

/// The beginning of every prompt to one agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentPreamble {
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools that its model is told of, in a fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// The tools it may call: those, and some that only code needs or that are of no use to most runs.
    pub callable: Arc<[ToolSpec]>,
}

impl PromptKit {
    /// Builds the kit of a roster from its texts.
    pub(crate) fn new(roster: &Roster, words: RosterTexts) -> Self {
        let purposes: Vec<String> =
            words.agents.iter().map(|(name, agent)| format!("- `{name}`: {}", agent.purpose)).collect();
        let purposes = purposes.join("\n");
        let with_tools = listed(roster, &words, carries_out_steps, |_, own| {
            let tools = if own.wants.is_empty() { "none".to_owned() } else { own.wants.join(", ") };
            format!("{} Tools: {tools}.", own.purpose)
        });
        let agents = roster.agents.iter().filter_map(|card| {
            let own = words.agents.get(&card.name)?;
            let system = prompts::fill(&own.prompt, &[("agents", &purposes), ("agents_with_tools", &with_tools)]);
            let callable: Vec<ToolSpec> =
                words.tools.iter().filter(|spec| can_call(card, &spec.name)).cloned().collect();
            let is_told = |name: &String| card.tools.contains(name) && !own.untold.contains(name);
            let tools = callable.iter().filter(|spec| is_told(&spec.name)).cloned().collect();
            Some((card.name.clone(), AgentPreamble { system: system.into(), tools, callable: callable.into() }))
        });
        let agents = agents.collect();
        let mut kit = Self { agents, small_planner: Arc::from(""), prompts: BTreeMap::new() };
        let briefly = listed(roster, &words, works_in_sequence, |_, own| brief_purpose(own));
        kit.prompts = words.prompts;
        kit.small_planner = kit.say("planner-small", &[("agents", &briefly)]).into();
        kit
    }

    /// The beginning of every prompt to this agent.
    pub(crate) fn agent(&self, name: &str) -> Option<&AgentPreamble> {
        self.agents.get(name)
    }

    /// A template with its placeholders filled. A template that an older run lacks is taken from the program.
    pub(crate) fn say(&self, template: &str, values: &[(&str, &str)]) -> String {
        let text = self.prompts.get(template).map(String::as_str).or_else(|| prompts::compiled_in(template));
        text.map(|text| prompts::fill(&prompts::without_empty(text, values), values)).unwrap_or_default()
    }
}

/// A line for each agent of such a role.
fn listed(
    roster: &Roster,
    words: &RosterTexts,
    is_one: fn(AgentRole) -> bool,
    line: fn(&AgentCard, &AgentTexts) -> String,
) -> String {
    let cards = roster.agents.iter().filter(|card| is_one(card.role()));
    let own = cards.filter_map(|card| Some((card, words.agents.get(&card.name)?)));
    let lines: Vec<String> = own.map(|(card, own)| format!("- `{}`: {}", card.name, line(card, own))).collect();
    lines.join("\n")
}

/// How many characters of an agent's purpose a small planner is shown.
const BRIEF_PURPOSE: usize = 90;
/// How many of its tools or groups are named to a small planner.
const BRIEF_TOOLS: usize = 3;

/// An agent's purpose and tools, for a planner whose model is small.
fn brief_purpose(own: &AgentTexts) -> String {
    let purpose = own.purpose.trim().trim_end_matches('.');
    let end = purpose.floor_char_boundary(BRIEF_PURPOSE);
    let purpose =
        if end < purpose.len() { purpose[..end].rsplit_once(' ').map_or(purpose, |(words, _)| words) } else { purpose };
    let tools: Vec<&str> = own.wants.iter().map(String::as_str).take(BRIEF_TOOLS).collect();
    if tools.is_empty() { purpose.to_owned() } else { format!("{purpose} ({})", tools.join(", ")) }
}
