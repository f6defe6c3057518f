//! What a run is asked to do, with whom, under which rules, and what it may spend.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confine::Level;
use crate::id::{ContentHash, Cost, Millis, RunId};
use crate::message::is_false;
use crate::origins::Origins;
use crate::reply::PictureRef;
use crate::rights::NarrowedRights;
use crate::role::AgentRole;
use crate::rules::Rules;
use crate::think::ThinkingEffort;

/// What someone wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// In their words.
    pub text: String,
    /// Files handed over with it, relative to the workspace where they lie inside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Those of the files that are pictures, as they were then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// Shared variables to start with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// How the graph comes about.
    #[serde(default)]
    pub mode: RunMode,
    /// The door it came in by, where that was not the command line: whoever keeps that door goes on with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub door: String,
    /// Where words in it came from that are not the user's own, as in what was answered before.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
    /// What was asked for alone, where `text` also tells what was said before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// The run that this one follows up on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
}

impl Goal {
    /// What the user asked for, without what was said before and is told with it.
    pub fn own_words(&self) -> &str {
        if self.asked.is_empty() { &self.text } else { &self.asked }
    }
}

/// How the graph of a run comes about.
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
    /// By rules alone: writes, schema, failure marks.
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

/// What the rules must know about an agent. The rest of its file is among the words of the roster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// Names of the tools it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Its model, where it is not the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it thinks, where that is not the run's choice.
    #[serde(default, skip_serializing_if = "ThinkingEffort::is_auto")]
    pub think: ThinkingEffort,
    /// Turns it may take, where not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// What it is for. Absent in journals from before roles were written down: read it with [`AgentCard::role`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AgentRole>,
    /// How its results are judged.
    #[serde(default, skip_serializing_if = "ReflectionMode::is_rule")]
    pub reflect: ReflectionMode,
    /// It may not change anything.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// What it may do less than the run.
    #[serde(default, skip_serializing_if = "NarrowedRights::is_empty")]
    pub narrowed: NarrowedRights,
    /// JSON Schema that each of its results must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// Everyone and everything a run began with, so that it goes on with the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// The agents, in name order.
    pub agents: Vec<AgentCard>,
    /// The blob with the words: every agent's prompt, the templates, the definitions of the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<ContentHash>,
}

impl Roster {
    /// Finds an agent by its name.
    pub fn agent(&self, name: &str) -> Option<&AgentCard> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}

/// Who decides about calls that reach beyond workspace and sandbox, from the laxest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// All are allowed, except what a rule denies.
    Allow,
    /// A person is asked.
    #[default]
    Ask,
    /// Nobody can be asked: such calls are refused and the agent is told.
    Refuse,
    /// Nothing may be changed at all.
    ReadOnly,
}

impl ApprovalMode {
    /// All of them.
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Allow, ApprovalMode::Ask, ApprovalMode::Refuse, ApprovalMode::ReadOnly];

    /// The word for it in settings.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalMode::Allow => "allow",
            ApprovalMode::Ask => "ask",
            ApprovalMode::Refuse => "refuse",
            ApprovalMode::ReadOnly => "read-only",
        }
    }

    /// The mode that people know it by.
    pub fn mode(self) -> &'static str {
        match self {
            ApprovalMode::Allow => "full",
            ApprovalMode::Ask => "workspace",
            ApprovalMode::Refuse => "workspace, and nobody is asked",
            ApprovalMode::ReadOnly => "read-only",
        }
    }

    /// What a word of the settings stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|approvals| approvals.word() == word)
    }

    /// What a mode stands for: `read-only`, `workspace` or `full`.
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
    /// Agents' own models do not count: everyone uses this one.
    #[serde(skip_serializing_if = "is_false")]
    pub same_model: bool,
    /// The folder it may work in.
    pub workspace: String,
    /// Questions to the model per visit of a step.
    pub turns: u32,
    /// The same for a run of one agent.
    pub query_turns: u32,
    /// Every step may take so many turns at least, whatever its agent's file says: what `--max-turns` gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_turns: Option<u32>,
    /// Steps at work at once.
    pub parallel: u32,
    /// Visits a step gets by retry, pivot or `call_self`, beyond the first.
    pub revisits: u32,
    /// New plans after a failure.
    pub replans: u32,
    /// Faulty plans in a row before planning fails.
    pub plan_attempts: u32,
    /// The same call with the same arguments, one turn after another, before the step ends.
    pub repeats: u32,
    /// Steps a graph may have.
    pub max_steps: u32,
    /// Tokens a conversation may reach before older turns are summarised.
    pub compact_at: u64,
    /// Turns that stay word for word when older ones are summarised.
    #[serde(skip_serializing_if = "is_usual_keep")]
    pub compact_keep: u32,
    /// Who decides about calls beyond workspace and sandbox.
    pub approvals: ApprovalMode,
    /// Tools that are never called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Rules about calls. What one denies, no other allows.
    #[serde(skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// The user trusts the files of the workspace.
    #[serde(skip_serializing_if = "is_true")]
    pub workspace_trusted: bool,
    /// Tools whose definitions are words from outside, each with the place they come from: whoever may use one has read
    /// them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub strange_tools: BTreeMap<String, String>,
    /// The documents of the workspace that every step is told, by path, where the user trusts it: they are the user's own
    /// words, as far as nothing else has written to them.
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
    /// How much the model shall think.
    #[serde(skip_serializing_if = "ThinkingEffort::is_auto")]
    pub think: ThinkingEffort,
    /// How far commands are confined. Unknown in runs from before this was kept.
    #[serde(skip_serializing_if = "Level::is_unknown")]
    pub sandbox: Level,
    /// What commands were granted when the run began. Absent in runs from before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<CommandGrants>,
}

/// What commands are granted beyond their workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandGrants {
    /// The network: `none`, `host`, or `allow:` and hosts.
    pub network: String,
    /// More that they may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// More that they may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// What of it was said on the command line: it holds for whoever goes on with the run, until they say otherwise.
    #[serde(skip_serializing_if = "GrantFlags::is_empty")]
    pub flags: GrantFlags,
}

/// What was said of commands' rights on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantFlags {
    /// `--network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// `--read`, as real paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// `--write`, as real paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// `--level`, or `none` for `--no-sandbox`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

impl CommandGrants {
    /// What is granted here and not there.
    #[must_use]
    pub fn beyond(&self, there: &CommandGrants) -> CommandGrants {
        let more = |ours: &[String], theirs: &[String]| -> Vec<String> {
            ours.iter().filter(|path| !theirs.contains(path)).cloned().collect()
        };
        let network = if reaches_more(&self.network, &there.network) { self.network.clone() } else { String::new() };
        let (read, write) = (more(&self.read, &there.read), more(&self.write, &there.write));
        CommandGrants { network, read, write, flags: GrantFlags::default() }
    }
}

/// Whether one network reaches something that another does not.
fn reaches_more(one: &str, other: &str) -> bool {
    let hosts = |network: &str| -> Vec<String> {
        network.strip_prefix("allow:").into_iter().flat_map(|hosts| hosts.split(',')).map(str::to_owned).collect()
    };
    match (one, other) {
        ("none" | "", _) | (_, "host") => false,
        ("host", _) => true,
        (one, other) => hosts(one).iter().any(|host| !hosts(other).contains(host)),
    }
}

impl GrantFlags {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Turns that are kept where nothing is said. Runs from before it was a setting have it.
const USUAL_KEEP: u32 = 4;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_usual_keep(keep: &u32) -> bool {
    *keep == USUAL_KEEP
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
            compact_at: 100_000,
            compact_keep: USUAL_KEEP,
            approvals: ApprovalMode::Ask,
            deny: Vec::new(),
            rules: Rules::default(),
            workspace_trusted: true,
            strange_tools: BTreeMap::new(),
            documents: BTreeMap::new(),
            context: None,
            step_budget: Budget::default(),
            max_output: 8_192,
            think: ThinkingEffort::Auto,
            sandbox: Level::Unknown,
            grants: None,
        }
    }
}

/// What may be spent. What is absent is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Tokens in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Time at work; waiting for people, pauses and downtime do not count.
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

    /// The same budget with the given limits put in the place of its own.
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
    /// Time at work.
    Time,
    /// Questions to models.
    Turns,
    /// Tool calls.
    Calls,
    /// The wait for a model that is not available.
    Model,
}

impl BudgetLimit {
    /// The word for people, and the flag that raises it.
    pub fn flag(self) -> (&'static str, &'static str) {
        match self {
            BudgetLimit::Cost => ("cost", "--budget"),
            BudgetLimit::Tokens => ("tokens", "--max-tokens"),
            BudgetLimit::Time => ("time", "--max-time"),
            BudgetLimit::Turns => ("turns", "--max-turns"),
            BudgetLimit::Calls => ("tool calls", "--max-calls"),
            // Nothing raises it: the run goes on when the model is there again.
            BudgetLimit::Model => ("waiting for a model", ""),
        }
    }
}

/// The most a model call can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Tokens in, and the cap on tokens out.
    pub tokens: u64,
    /// What those would cost; absent where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// All that a run starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// What to do.
    pub goal: Goal,
    /// With whom.
    pub roster: Arc<Roster>,
    /// Under which rules.
    pub settings: Arc<RunSettings>,
    /// For how much.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// The graph, where the user gave one; it has been checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<crate::graph::Graph>>,
}
