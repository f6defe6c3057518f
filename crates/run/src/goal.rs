//! What a run starts from: its goal, its agents, its settings and its budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confinement::Level;
use crate::earlier::EarlierConversation;
use crate::earlier_runs::EarlierRuns;
use crate::grants::CommandGrants;
use crate::guard::GuardedPoints;
use crate::id::{ContentHash, Cost, Millis, RunId, Timestamp};
use crate::message::is_false;
use crate::origins::Origins;
use crate::reply::PictureRef;
use crate::requirement::Requirement;
use crate::rights::NarrowedRights;
use crate::role::AgentRole;
use crate::rules::Rules;
use crate::think::ThinkingEffort;

/// When a schedule was due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueTime {
    /// The schedule's name.
    pub schedule: String,
    /// The time.
    pub at: Timestamp,
}

/// What someone wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The goal in the user's words.
    pub text: String,
    /// Files given with the goal; relative to the workspace if they are inside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Those of the files that are pictures, with the content they had then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// Shared variables to start with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// How the graph is made.
    #[serde(default)]
    pub mode: RunMode,
    /// The entry point the goal came in by, if it was not the command line. The run is continued by the same entry
    /// point.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub door: String,
    /// The schedule that began the run, and when it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueTime>,
    /// Where text in the goal came from if it is not the user's own, for example earlier answers.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
    /// Only what the user asked for, if `text` also contains the earlier conversation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// The run that this one follows up on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
    /// What must hold when the run ends. The planner may find more in the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// What was said in the conversation before. Agents get it as messages. (Older journals have it in `text`.)
    #[serde(default, skip_serializing_if = "EarlierConversation::is_empty")]
    pub earlier: EarlierConversation,
    /// JSON Schema of the answer, if a program asked for one. It holds for the agent that works alone, instead of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
}

impl Goal {
    /// What the user asked for, without the earlier conversation.
    pub fn own_words(&self) -> &str {
        if self.asked.is_empty() { &self.text } else { &self.asked }
    }
}

/// How the graph of a run is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// The planner makes it.
    #[default]
    Plan,
    /// One agent, one step.
    Agent(String),
    /// The router makes it from the swarm's workers.
    Swarm,
    /// The user gave it.
    Given,
}

/// How a step's result is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReflectionMode {
    /// By rules only: missing variables, schema, reported failures.
    #[default]
    Rule,
    /// By a model as well.
    Model,
}

impl ReflectionMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_rule(&self) -> bool {
        *self == ReflectionMode::Rule
    }
}

/// What the rules must know about an agent. The rest of the agent's file is in the roster's blob (`Roster::words`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// Names of the tools it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Names of tools that it may call as well, and finds by searching, because they are too many to be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findable: Vec<String>,
    /// Its model, if it is not the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much its model thinks, if it is not the run's choice.
    #[serde(default, skip_serializing_if = "ThinkingEffort::is_auto")]
    pub think: ThinkingEffort,
    /// How many turns it may take, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Its role. Absent in journals from before roles were recorded: read it with [`AgentCard::role`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AgentRole>,
    /// How its results are judged.
    #[serde(default, skip_serializing_if = "ReflectionMode::is_rule")]
    pub reflect: ReflectionMode,
    /// It may not change anything.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// How its rights are narrower than the run's.
    #[serde(default, skip_serializing_if = "NarrowedRights::is_empty")]
    pub narrowed: NarrowedRights,
    /// JSON Schema that each of its results must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Words in a goal that ask for it, for a swarm whose router makes no plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
}

/// The agents, prompts and tools a run began with, so that it continues with the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// The agents, in name order.
    pub agents: Vec<AgentCard>,
    /// The blob with the texts: every agent's prompt, the templates and the tool definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<ContentHash>,
}

impl Roster {
    /// Finds an agent by its name.
    pub fn agent(&self, name: &str) -> Option<&AgentCard> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}

/// Who decides about calls that reach beyond the workspace and the sandbox, from the least to the most strict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// All are allowed, except what a rule denies.
    Allow,
    /// A person is asked.
    #[default]
    Ask,
    /// Nobody can be asked: such calls are refused, and the agent is told.
    Refuse,
    /// Nothing may be changed at all.
    ReadOnly,
}

impl ApprovalMode {
    /// All of them.
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Allow, ApprovalMode::Ask, ApprovalMode::Refuse, ApprovalMode::ReadOnly];

    /// Its name in the settings.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalMode::Allow => "allow",
            ApprovalMode::Ask => "ask",
            ApprovalMode::Refuse => "refuse",
            ApprovalMode::ReadOnly => "read-only",
        }
    }

    /// Its name for people.
    pub fn mode(self) -> &'static str {
        match self {
            ApprovalMode::Allow => "full",
            ApprovalMode::Ask => "workspace",
            ApprovalMode::Refuse => "workspace, and nobody is asked",
            ApprovalMode::ReadOnly => "read-only",
        }
    }

    /// Parses a name from the settings.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|approvals| approvals.word() == word)
    }

    /// Parses a name for people: `read-only`, `workspace` or `full`.
    pub fn from_mode(mode: &str) -> Option<Self> {
        let modes = [ApprovalMode::ReadOnly, ApprovalMode::Ask, ApprovalMode::Allow];
        modes.into_iter().find(|approvals| approvals.mode() == mode)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

/// The rules and limits of a run. Every field has a default that works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The model, as `provider/name`.
    pub model: String,
    /// Agents' own models are ignored: every agent uses this one.
    #[serde(skip_serializing_if = "is_false")]
    pub same_model: bool,
    /// The folder the run may work in.
    pub workspace: String,
    /// How many questions a step may ask its model per visit.
    pub turns: u32,
    /// The same for a run with a single agent.
    pub query_turns: u32,
    /// The minimum number of turns for every step, whatever its agent's file says. Set by `--max-turns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_turns: Option<u32>,
    /// How many steps may be at work at once.
    pub parallel: u32,
    /// How many further visits a step may get by retry, pivot or `call_self`.
    pub revisits: u32,
    /// How many new plans may be made after failures.
    pub replans: u32,
    /// How many faulty plans in a row make planning fail.
    pub plan_attempts: u32,
    /// The number of turns in a row with the same calls and the same arguments at which the step fails.
    pub repeats: u32,
    /// How many steps a graph may have.
    pub max_steps: u32,
    /// Who decides about calls that reach beyond the workspace and the sandbox.
    pub approvals: ApprovalMode,
    /// Tools that are never called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Rules about calls. A call that one rule denies cannot be allowed by another.
    #[serde(skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// The user trusts the files of the workspace.
    #[serde(skip_serializing_if = "is_true")]
    pub workspace_trusted: bool,
    /// Tools whose definitions come from outside, with their origin. Every agent that may use such a tool has read its
    /// definition.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub strange_tools: BTreeMap<String, String>,
    /// The documents of a trusted workspace that every step is shown, by path. They count as the user's own text unless
    /// something else has written to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub documents: BTreeMap<String, String>,
    /// The blob with the context the run started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContentHash>,
    /// What each step may spend.
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub step_budget: Budget,
    /// Cap on the tokens of one answer, thinking not counted.
    pub max_output: u64,
    /// Whether the user chose that cap: otherwise a server of which nothing is known is sent none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub max_output_chosen: bool,
    /// How much the model should think.
    #[serde(skip_serializing_if = "ThinkingEffort::is_auto")]
    pub think: ThinkingEffort,
    /// How strictly commands are confined. Unknown in runs from before this was recorded.
    #[serde(skip_serializing_if = "Level::is_unknown")]
    pub sandbox: Level,
    /// What commands were granted when the run began. Absent in runs from before this was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<CommandGrants>,
    /// Nobody is asked questions: agents state what they assume instead.
    #[serde(skip_serializing_if = "is_false")]
    pub assume: bool,
    /// The points at which guardrails stand.
    #[serde(skip_serializing_if = "GuardedPoints::is_empty")]
    pub guards: GuardedPoints,
    /// The context window of the run's model in tokens, if its server or the table of models knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The models that steps may name: purposes and profiles of the user, with what each stands for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// A person approves each plan of the planner before its steps begin; until the first is approved, nothing may be
    /// changed.
    #[serde(skip_serializing_if = "is_false")]
    pub plan_first: bool,
    /// The folder outside of the workspace where candidates get their copies of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub copies: String,
}

/// A model that is used instead of the one a run began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenModel {
    /// The model, as in [`RunSettings::model`].
    pub model: String,
    /// Its context window in tokens, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// A model with a context window of at most this many tokens gets a short prompt, few tools and short results, and plans a
/// sequence.
pub const SMALL_WINDOW: u64 = 16_384;

impl RunSettings {
    /// Whether the run's model is small, so that it is asked briefly, with few tools, and for a simpler plan.
    pub fn has_small_window(&self) -> bool {
        self.window.is_some_and(|window| window <= SMALL_WINDOW)
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            model: "builtin".into(),
            same_model: false,
            workspace: String::new(),
            turns: 15,
            query_turns: 10,
            least_turns: None,
            parallel: 64,
            revisits: 3,
            replans: 2,
            plan_attempts: 3,
            repeats: 5,
            max_steps: 100_000,
            approvals: ApprovalMode::Ask,
            deny: Vec::new(),
            rules: Rules::default(),
            workspace_trusted: true,
            strange_tools: BTreeMap::new(),
            documents: BTreeMap::new(),
            context: None,
            step_budget: Budget::default(),
            max_output: 8_192,
            max_output_chosen: false,
            think: ThinkingEffort::Auto,
            sandbox: Level::Unknown,
            grants: None,
            assume: false,
            guards: GuardedPoints::default(),
            window: None,
            models: BTreeMap::new(),
            plan_first: false,
            copies: String::new(),
        }
    }
}

/// What may be spent. An absent limit means unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Tokens in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Working time; waiting for people, pauses and downtime do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Millis>,
    /// Questions to models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

impl Budget {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a model call must be estimated before it may begin.
    pub fn needs_estimates(&self) -> bool {
        self.cost.is_some() || self.tokens.is_some()
    }

    /// This budget, where each limit that `other` sets is replaced by the one in `other`.
    #[must_use]
    pub fn raised_by(&self, other: &Budget) -> Budget {
        Budget {
            cost: other.cost.or(self.cost),
            tokens: other.tokens.or(self.tokens),
            time: other.time.or(self.time),
            turns: other.turns.or(self.turns),
            calls: other.calls.or(self.calls),
        }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    /// Money.
    Cost,
    /// Tokens.
    Tokens,
    /// Working time.
    Time,
    /// Questions to models.
    Turns,
    /// Tool calls.
    Calls,
    /// The wait for a model that is not available.
    Model,
    /// The context window of a model.
    Window,
    /// A model that makes the same call again and again.
    Loop,
}

impl BudgetLimit {
    /// Its name for people, and the flag that raises it.
    pub fn flag(self) -> (&'static str, &'static str) {
        match self {
            BudgetLimit::Cost => ("cost", "--budget"),
            BudgetLimit::Tokens => ("tokens", "--max-tokens"),
            BudgetLimit::Time => ("time", "--max-time"),
            BudgetLimit::Turns => ("turns", "--max-turns"),
            BudgetLimit::Calls => ("tool calls", "--max-calls"),
            // No flag raises it: the run continues when the model is available again.
            BudgetLimit::Model => ("waiting for a model", ""),
            // A model with a larger window takes the conversation.
            BudgetLimit::Window => ("the context window", "--model"),
            BudgetLimit::Loop => ("going round in circles", ""),
        }
    }
}

/// The most a model call can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Input tokens, plus the cap on output tokens.
    pub tokens: u64,
    /// What those would cost; absent if the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// Everything a run starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// The goal.
    pub goal: Goal,
    /// The agents, prompts and tools.
    pub roster: Arc<Roster>,
    /// The rules and limits.
    pub settings: Arc<RunSettings>,
    /// What may be spent.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// The graph, if the user gave one; it has been checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<crate::graph::Graph>>,
    /// What is taken over from earlier runs.
    #[serde(default, skip_serializing_if = "EarlierRuns::is_empty")]
    pub earlier: EarlierRuns,
}
