//! What node-link data says about a run: its goal, its steps, and what each of them came to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use updraft_engine::Agents;
use updraft_run::{
    Answer, Cost, Failure, FailureKind, Goal, Graph, Mode, Reply, StepId, StepSpec, Surroundings, Timestamp, Usage,
};

use crate::fault::Fault;
use crate::moment;

/// A run as another tool, or another Updraft, wrote it down.
pub(super) struct Session {
    /// What stands beside the nodes: the goal, the variables, the run's name.
    about: Map<String, Value>,
    nodes: BTreeMap<StepId, Map<String, Value>>,
    /// Every step, with those that made the plan.
    graph: Graph,
}

/// How a step stands in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    Done,
    Failed,
    /// It was cancelled, or left out.
    Stopped,
    Open,
}

impl Session {
    pub(super) fn read(text: &str, shown: &str) -> Result<Self, Fault> {
        let no_graph = |why: &dyn std::fmt::Display| {
            Fault::usage(format!("`{shown}` is neither a run's journal nor a graph: {why}"))
                .hint("`updraft export --format jsonl` and `--format node-link` write what can be imported")
        };
        let mut data: Value = serde_json::from_str(text).map_err(|error| no_graph(&error))?;
        let graph = Graph::read(&data).map_err(updraft_engine::Error::Plan)?;
        let about = match data.get_mut("graph").map(Value::take) {
            Some(Value::Object(about)) => about,
            // Older NetworkX wrote a graph's attributes as pairs.
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
        Ok(Self { about, nodes: nodes.collect(), graph })
    }

    /// The run's name in the file.
    pub(super) fn name(&self) -> Option<&str> {
        self.about.get("session_id")?.as_str()
    }

    /// When it was made.
    pub(super) fn created(&self) -> Option<Timestamp> {
        moment::read(self.about.get("created_at")?.as_str()?)
    }

    /// Whether the run as a whole was cancelled.
    pub(super) fn was_cancelled(&self) -> bool {
        self.about.get("status").and_then(Value::as_str) == Some("cancelled")
    }

    /// How a step stands.
    pub(super) fn stands(&self, step: &StepId) -> Stands {
        match self.word(step) {
            "completed" | "complete" | "done" | "success" | "succeeded" => Stands::Done,
            "failed" | "error" | "failure" => Stands::Failed,
            "cancelled" | "canceled" | "skipped" | "stopped" => Stands::Stopped,
            _ => Stands::Open,
        }
    }

    /// The file's word for how a step stands.
    pub(super) fn word(&self, step: &StepId) -> &str {
        self.nodes.get(step).and_then(|node| node.get("status")?.as_str()).unwrap_or_default()
    }

    /// Whether something is left to do.
    pub(super) fn is_open(&self) -> bool {
        !self.was_cancelled() && self.open_steps() > 0
    }

    pub(super) fn open_steps(&self) -> usize {
        self.graph.steps.iter().filter(|step| self.stands(&step.id) == Stands::Open).count()
    }

    /// The agents it names.
    pub(super) fn agents(&self) -> impl Iterator<Item = &str> {
        self.graph.steps.iter().map(|step| step.agent.as_str())
    }

    /// The goal, and the graph to start with: none where a planner of the run made it.
    pub(super) fn start(&self) -> (Goal, Option<Graph>) {
        let root = StepId::parse("ROOT").ok().and_then(|root| self.nodes.get(&root));
        let said = [self.about.get("original_query"), root.and_then(|root| root.get("agent_prompt"))];
        let text = said.into_iter().flatten().map(plain).find(|text| !text.trim().is_empty());
        let files = self.about.get("file_manifest").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<String> =
            files.map(|file| plain(file.get("path").or_else(|| file.get("name")).unwrap_or(file))).collect();
        let written: BTreeSet<&String> = self.graph.steps.iter().flat_map(|step| &step.writes).collect();
        let given = self.globals().filter(|(name, _)| !written.contains(name));
        let variables = given.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mode = self.mode(!files.is_empty());
        let plan = (mode == Mode::Given).then(|| self.graph.clone());
        (Goal { text: text.unwrap_or_else(|| "An imported graph".into()), files, variables, mode }, plan)
    }

    /// Planned by a step of the run, as ours are, or given.
    fn mode(&self, has_files: bool) -> Mode {
        let agent = |id: &str| self.graph.steps.iter().find(|step| step.id.as_str() == id).map(|step| &*step.agent);
        match (agent("plan"), agent("distill") == Some("distiller")) {
            (Some("planner"), distills) if distills == has_files => Mode::Plan,
            (Some("router"), distills) if distills == has_files => Mode::Swarm,
            _ => Mode::Given,
        }
    }

    /// The steps that a planner of the run planned, or all.
    fn work(&self) -> Vec<&StepSpec> {
        let (goal, _) = self.start();
        let is_work = |step: &&StepSpec| goal.mode == Mode::Given || !matches!(step.id.as_str(), "plan" | "distill");
        self.graph.steps.iter().filter(is_work).collect()
    }

    /// Every fault of the graph. What is over may name agents and variables that are not known here.
    pub(super) fn check(&self, agents: &Agents, max_steps: u32) -> Result<(), Fault> {
        let over = || self.graph.steps.iter().filter(|step| self.stands(&step.id) != Stands::Open);
        let known = agents.iter().map(|agent| agent.name.as_str()).chain(over().map(|step| step.agent.as_str()));
        let mut variables: BTreeSet<&str> = self.globals().map(|(name, _)| name.as_str()).collect();
        variables.extend(over().flat_map(|step| &step.reads).map(String::as_str));
        let max_steps = max_steps as usize;
        let around = Surroundings { agents: known.collect(), variables, max_steps, ..Surroundings::default() };
        match self.graph.faults(&around) {
            faults if faults.is_empty() => Ok(()),
            faults => Err(updraft_engine::Error::Plan(faults).into()),
        }
    }

    /// When a step ended.
    pub(super) fn ended(&self, step: &StepId) -> Option<Timestamp> {
        moment::read(self.nodes.get(step)?.get("end_time")?.as_str()?)
    }

    /// What a step's model is taken to have said, so that the step comes to what the file says.
    pub(super) fn reply(&self, spec: &StepSpec, mode: &Mode) -> Option<Reply> {
        let node = self.nodes.get(&spec.id)?;
        let text = match (self.stands(&spec.id), spec.id.as_str()) {
            (Stands::Open | Stands::Stopped, _) => return None,
            (Stands::Failed, _) => {
                let why = node.get("error").map(plain).filter(|why| !why.is_empty());
                let why = why.unwrap_or_else(|| "the imported file says that it failed".into());
                return Some(Reply::Failed(Failure::new(FailureKind::Tool, why)));
            }
            (Stands::Done, "plan") if *mode != Mode::Given => self.plan_said(node),
            (Stands::Done, "distill") if *mode != Mode::Given => output(node),
            (Stands::Done, _) if spec.writes.is_empty() => said(output(node)),
            (Stands::Done, _) => {
                let values = spec.writes.iter().map(|name| (name.clone(), self.value(spec, node, name)));
                Value::Object(values.collect()).to_string()
            }
        };
        let number = |key: &str| node.get(key).and_then(Value::as_u64).unwrap_or_default();
        let cost = node.get("cost").and_then(Value::as_f64).map(|dollars| Cost((dollars * 1e9).round() as u64));
        let usage = Usage { input: number("input_tokens"), output: number("output_tokens"), cost, ..Usage::default() };
        Some(Reply::Answer(Arc::new(Answer { text, usage, ..Answer::default() })))
    }

    /// The plan in its planner's words, where those are what the file's graph was made from; or else the graph.
    fn plan_said(&self, node: &Map<String, Value>) -> String {
        let spoken = output(node);
        let work = self.work();
        let read = updraft_run::repair(&spoken).and_then(|plan| Graph::read(&plan.value).ok());
        let alike = |a: &StepSpec, b: &StepSpec| {
            StepSpec { after: Vec::new(), ..a.clone() } == StepSpec { after: Vec::new(), ..b.clone() }
        };
        match read {
            Some(read) if read.steps.len() == work.len() && read.steps.iter().zip(&work).all(|(a, b)| alike(a, b)) => {
                spoken
            }
            _ => json!({ "steps": work }).to_string(),
        }
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
        // One variable is written out as its text; the shared variables still know what kind of value it is.
        let text = plain(output);
        let typed = [global, parsed.as_ref()].into_iter().flatten().find(|value| plain(value) == text);
        typed.cloned().unwrap_or(if output.is_null() { global.cloned().unwrap_or_default() } else { output.clone() })
    }

    fn globals(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.about.get("globals_schema").and_then(Value::as_object).into_iter().flatten()
    }
}

/// An answer that comes to exactly this text: what might be read as something else is wrapped.
fn said(text: String) -> String {
    let is_plain = !text.contains(['{', '<']) && !text.is_empty() && text.trim() == text;
    if is_plain { text } else { json!({ "final_answer": text }).to_string() }
}

fn output(node: &Map<String, Value>) -> String {
    node.get("output").map(plain).unwrap_or_default()
}

/// A value as the export writes it: strings bare, the rest as JSON.
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
