//! Reads a run from node-link data: its goal, its steps, and their results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use updraft_engine::Agents;
use updraft_run::{
    AgentRole, Cost, EffectAddress, EffectKind, Failure, FailureKind, Goal, Graph, GraphContext, ModelAnswer, Reply,
    Run, RunMode, StepId, StepSpec, Timestamp, TokenUsage,
};

use crate::fault::Fault;
use crate::time_format;

/// A run as another tool, or another Updraft, exported it.
pub(super) struct ImportedRun {
    /// The attributes of the graph: the goal, the variables, the run's name.
    about: Map<String, Value>,
    nodes: BTreeMap<StepId, Map<String, Value>>,
    /// Every step, including the planning steps.
    graph: Graph,
    files: Vec<String>,
    mode: RunMode,
}

/// The status of a step in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportedStatus {
    Done,
    Failed,
    /// It was cancelled, or skipped.
    Stopped,
    Open,
}

impl ImportedRun {
    pub(super) fn read(text: &str, shown: &str, agents: &Agents) -> Result<Self, Fault> {
        let no_graph = |why: &dyn std::fmt::Display| {
            Fault::usage(format!("`{shown}` is neither a run's journal nor a graph: {why}"))
                .hint("`updraft export --format jsonl` and `--format node-link` write what can be imported")
        };
        let mut data: Value = serde_json::from_str(text).map_err(|error| no_graph(&error))?;
        let graph = Graph::read(&data).map_err(updraft_engine::Error::Plan)?;
        let about = match data.get_mut("graph").map(Value::take) {
            Some(Value::Object(about)) => about,
            // Older NetworkX writes a graph's attributes as pairs.
            Some(Value::Array(pairs)) => pairs.iter().filter_map(pair).collect(),
            _ => Map::new(),
        };
        let Some(Value::Array(nodes)) = data.get_mut("nodes").map(Value::take) else {
            return Err(no_graph(&"it has no `nodes`"));
        };
        let nodes = nodes.into_iter().filter_map(|node| match node {
            Value::Object(node) => Some((StepId::parse(&plain(node.get("id")?)).ok()?, node)),
            _ => None,
        });
        let files = about.get("file_manifest").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<String> =
            files.map(|file| plain(file.get("path").or_else(|| file.get("name")).unwrap_or(file))).collect();
        let mode = mode_of(&graph, !files.is_empty(), agents);
        Ok(Self { nodes: nodes.collect(), about, graph, files, mode })
    }

    /// The run's name in the file.
    pub(super) fn name(&self) -> Option<&str> {
        self.about.get("session_id")?.as_str()
    }

    /// When it was created.
    pub(super) fn created(&self) -> Option<Timestamp> {
        time_format::read(self.about.get("created_at")?.as_str()?)
    }

    /// Whether the run as a whole was cancelled.
    pub(super) fn was_cancelled(&self) -> bool {
        self.about.get("status").and_then(Value::as_str) == Some("cancelled")
    }

    /// The status of a step.
    pub(super) fn stands(&self, step: &StepId) -> ImportedStatus {
        match self.word(step) {
            "completed" | "complete" | "done" | "success" | "succeeded" => ImportedStatus::Done,
            "failed" | "error" | "failure" => ImportedStatus::Failed,
            "cancelled" | "canceled" | "skipped" | "stopped" => ImportedStatus::Stopped,
            _ => ImportedStatus::Open,
        }
    }

    /// The file's word for the status of a step.
    pub(super) fn word(&self, step: &StepId) -> &str {
        self.nodes.get(step).and_then(|node| node.get("status")?.as_str()).unwrap_or_default()
    }

    /// Whether a step is unfinished.
    pub(super) fn is_open(&self) -> bool {
        !self.was_cancelled() && self.open_steps() > 0
    }

    pub(super) fn open_steps(&self) -> usize {
        self.graph.steps.iter().filter(|step| self.stands(&step.id) == ImportedStatus::Open).count()
    }

    /// The steps of the file that a run made from it does not have.
    pub(super) fn missing_in(&self, run: &Run) -> Vec<&StepId> {
        self.graph.steps.iter().map(|step| &step.id).filter(|id| run.step(id).is_none()).collect()
    }

    /// The agents it names.
    pub(super) fn agents(&self) -> impl Iterator<Item = &str> {
        self.graph.steps.iter().map(|step| step.agent.as_str())
    }

    /// The goal, and the graph to start with; `None` if a planning step of the run made it.
    pub(super) fn start(&self) -> (Goal, Option<Graph>) {
        let root = StepId::parse("ROOT").ok().and_then(|root| self.nodes.get(&root));
        let said = [self.about.get("original_query"), root.and_then(|root| root.get("agent_prompt"))];
        let text = said.into_iter().flatten().map(plain).find(|text| !text.trim().is_empty());
        let written: BTreeSet<&String> = self.graph.steps.iter().flat_map(|step| &step.writes).collect();
        let given = self.globals().filter(|(name, _)| !written.contains(name));
        let variables = given.map(|(name, value)| (name.clone(), value.clone())).collect();
        let goal = Goal {
            text: text.unwrap_or_else(|| "An imported graph".into()),
            files: self.files.clone(),
            variables,
            mode: self.mode.clone(),
            ..Goal::default()
        };
        (goal, (self.mode == RunMode::Given).then(|| self.graph.clone()))
    }

    /// The steps of each plan the run had: if a step failed and the run did not, the planner was asked again.
    fn plans(&self) -> Vec<Vec<&StepSpec>> {
        let mut plans = vec![Vec::new()];
        for step in self.graph.steps.iter().filter(|step| !matches!(step.id.as_str(), "plan" | "distill")) {
            if let Some(plan) = plans.last_mut() {
                plan.push(step);
            }
            if self.was_replaced(step) {
                plans.push(Vec::new());
            }
        }
        plans
    }

    /// How often the planner was asked again.
    pub(super) fn replans(&self) -> u32 {
        self.graph.steps.iter().filter(|step| self.was_replaced(step)).count() as u32
    }

    fn was_replaced(&self, step: &StepSpec) -> bool {
        let went_on = !matches!(self.about.get("status").and_then(Value::as_str), Some("failed" | "cancelled"));
        let is_work = !matches!(step.id.as_str(), "plan" | "distill");
        self.mode != RunMode::Given && went_on && is_work && self.stands(&step.id) == ImportedStatus::Failed
    }

    /// Reports every fault of the graph. Steps that are over may name agents and variables that are unknown here.
    pub(super) fn check(&self, agents: &Agents, max_steps: u32) -> Result<(), Fault> {
        let over = || self.graph.steps.iter().filter(|step| self.stands(&step.id) != ImportedStatus::Open);
        let known = agents.iter().map(|agent| agent.name.as_str()).chain(over().map(|step| step.agent.as_str()));
        let mut variables: BTreeSet<&str> = self.globals().map(|(name, _)| name.as_str()).collect();
        variables.extend(over().flat_map(|step| &step.reads).map(String::as_str));
        let max_steps = max_steps as usize;
        let around = GraphContext { agents: known.collect(), variables, max_steps, ..GraphContext::default() };
        // Steps that were replaced by a new plan may conflict with it.
        let valid = self.graph.steps.iter().filter(|step| !self.was_replaced(step)).cloned().collect();
        match (Graph { steps: valid }).faults(&around) {
            faults if faults.is_empty() => Ok(()),
            faults => Err(updraft_engine::Error::Plan(faults).into()),
        }
    }

    /// When a step ended.
    pub(super) fn ended(&self, step: &StepId) -> Option<Timestamp> {
        time_format::read(self.nodes.get(step)?.get("end_time")?.as_str()?)
    }

    /// Whether the file has the result of the first question to a step's model.
    pub(super) fn is_answered(&self, ask: &EffectAddress) -> bool {
        let is_over = matches!(self.stands(&ask.step), ImportedStatus::Done | ImportedStatus::Failed);
        let is_planner = self.mode != RunMode::Given && ask.step.as_str() == "plan";
        ask.kind == EffectKind::Ask
            && ask.turn == 0
            && if is_planner { is_over || ask.visit < self.replans() } else { is_over && ask.visit == 0 }
    }

    /// A model's answer that gives the step the result in the file.
    pub(super) fn reply(&self, spec: &StepSpec, visit: u32) -> Option<Reply> {
        let node = self.nodes.get(&spec.id)?;
        let is_planned = self.mode != RunMode::Given;
        let plan = || self.plans().get(visit as usize).map(|steps| json!({ "steps": steps }).to_string());
        let text = match (self.stands(&spec.id), spec.id.as_str()) {
            (_, "plan") if is_planned && visit < self.replans() => plan()?,
            (ImportedStatus::Open | ImportedStatus::Stopped, _) => return None,
            (ImportedStatus::Failed, _) => {
                let why = node.get("error").map(plain).filter(|why| !why.is_empty());
                let why = why.unwrap_or_else(|| "the imported file says that it failed".into());
                let used = Some(Box::new(usage(node))).filter(|used| used.tokens() > 0);
                return Some(Reply::Failed(Failure { usage: used, ..Failure::new(FailureKind::Tool, why) }));
            }
            (ImportedStatus::Done, "plan") if is_planned => plan()?,
            (ImportedStatus::Done, "distill") if is_planned => output(node),
            (ImportedStatus::Done, _) if spec.writes.is_empty() => said(output(node)),
            (ImportedStatus::Done, _) => {
                let values = spec.writes.iter().map(|name| (name.clone(), self.value(spec, node, name)));
                Value::Object(values.collect()).to_string()
            }
        };
        // The usage of a planner that was asked several times is the sum, so it is counted once.
        let usage = if visit == 0 { usage(node) } else { TokenUsage { cost: Some(Cost(0)), ..TokenUsage::default() } };
        Some(Reply::Answer(Arc::new(ModelAnswer { text, usage, ..ModelAnswer::default() })))
    }

    /// The value of a variable that a step wrote.
    fn value(&self, spec: &StepSpec, node: &Map<String, Value>, name: &str) -> Value {
        let output = node.get("output").unwrap_or(&Value::Null);
        let parsed = output.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let global = self.about.get("globals_schema").and_then(|globals| globals.get(name));
        let object = parsed.as_ref().unwrap_or(output);
        let nested = ["output", "result"].iter().find_map(|key| object.get(*key)?.get(name));
        let named = object.get(name).or(nested);
        if spec.writes.len() > 1 || output.is_object() {
            return named.or(global).cloned().unwrap_or(if spec.writes.len() > 1 {
                Value::Null
            } else {
                output.clone()
            });
        }
        // A single variable is exported as text; the shared variables still have its type.
        let text = plain(output);
        let typed = [global, parsed.as_ref()].into_iter().flatten().find(|value| plain(value) == text);
        typed.cloned().unwrap_or(if output.is_null() { global.cloned().unwrap_or_default() } else { output.clone() })
    }

    fn globals(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.about.get("globals_schema").and_then(Value::as_object).into_iter().flatten()
    }
}

/// The mode: planned, if a step of the run made the plan as in our exports; otherwise given.
fn mode_of(graph: &Graph, has_files: bool, agents: &Agents) -> RunMode {
    let step = |id: &str| graph.steps.iter().find(|step| step.id.as_str() == id);
    let is_by = |id: &str, role: AgentRole| {
        let is_ours = |name: &str| agents.in_role(role).is_some_and(|agent| agent.name == name);
        step(id).is_some_and(|step| is_ours(&step.agent) || AgentRole::by_old_name(&step.agent) == role)
    };
    let fits = is_by("distill", AgentRole::Distiller) == has_files;
    if fits && is_by("plan", AgentRole::Planner) {
        RunMode::Plan
    } else if fits && is_by("plan", AgentRole::Router) {
        RunMode::Swarm
    } else {
        RunMode::Given
    }
}

/// An answer that is read as exactly this text; wrapped if it could be read as something else.
fn said(text: String) -> String {
    let is_plain = !text.contains(['{', '<']) && !text.is_empty() && text.trim() == text;
    if is_plain { text } else { json!({ "final_answer": text }).to_string() }
}

/// A step's output as text: the export wraps it if the step writes no variables.
fn output(node: &Map<String, Value>) -> String {
    let Some(output) = node.get("output") else { return String::new() };
    let inside = output.as_object().filter(|object| object.len() == 1);
    let inside = inside.and_then(|object| object.get("final_answer").or_else(|| object.get("output")));
    plain(inside.unwrap_or(output))
}

/// What a step used. Other tools estimate tokens, as fractions.
fn usage(node: &Map<String, Value>) -> TokenUsage {
    let number = |key: &str| node.get(key).and_then(Value::as_f64).map_or(0, |number| number.max(0.0).round() as u64);
    let cost = node.get("cost").and_then(Value::as_f64).map(|dollars| Cost((dollars * 1e9).round() as u64));
    TokenUsage { input: number("input_tokens"), output: number("output_tokens"), cost, ..TokenUsage::default() }
}

/// A value as the export writes it: strings without quotes, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn pair(pair: &Value) -> Option<(String, Value)> {
    Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.clone()))
}
