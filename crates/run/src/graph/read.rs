//! Reads a plan in the forms that models, people and other tools write.

use serde_json::{Map, Value};

use super::{Graph, GraphContext, StepSpec, Tries};
use crate::id::StepId;

impl Graph {
    /// Reads a plan: our JSON, `plan_graph.nodes`, NetworkX node-link data, or a bare list of steps.
    ///
    /// All faults are named at once, in words the planner can act on. The result is not checked yet.
    pub fn read(plan: &Value) -> Result<Graph, Vec<String>> {
        let (graph, faults) = Graph::read_what_can_be(plan);
        if faults.is_empty() { Ok(graph) } else { Err(faults) }
    }

    /// Reads and checks a plan. Names everything that cannot be read and everything that is inconsistent at once.
    pub fn checked(plan: &Value, around: &GraphContext<'_>) -> Result<Graph, Vec<String>> {
        let (mut graph, mut faults) = Graph::read_what_can_be(plan);
        if nodes_of(plan).is_some_and(|(nodes, holder)| is_sequence(nodes, holder)) {
            graph.rename_beside(around);
        }
        if !graph.steps.is_empty() || faults.is_empty() {
            faults.extend(graph.faults(around));
        }
        if faults.is_empty() { Ok(graph) } else { Err(faults) }
    }

    /// Gives the steps of a sequence other names if an earlier sequence has used theirs.
    fn rename_beside(&mut self, around: &GraphContext<'_>) {
        let is_taken = |steps: &[StepSpec]| steps.iter().any(|step| around.begun.contains_key(&step.id));
        let first = self.steps.clone();
        let mut round = 0;
        while is_taken(&self.steps) {
            round += 1;
            let renamed = first.iter().map(|step| StepSpec {
                id: StepId::parse(&format!("{}.{round}", step.id)).unwrap_or_else(|_| step.id.clone()),
                reads: step.reads.iter().map(|name| format!("{name}.{round}")).collect(),
                writes: step.writes.iter().map(|name| format!("{name}.{round}")).collect(),
                ..step.clone()
            });
            self.steps = renamed.collect();
        }
    }

    /// Whether a value contains a list of steps, in any form that can be read.
    pub(crate) fn has_steps(plan: &Value) -> bool {
        nodes_of(plan).is_some()
    }

    /// The steps that can be read, and what is wrong with the others.
    pub fn read_what_can_be(plan: &Value) -> (Graph, Vec<String>) {
        let mut faults = Vec::new();
        let Some((nodes, holder)) = nodes_of(plan) else {
            let fault = "the plan has no steps: expected an object with a list `steps`, each with `id`, `agent`, `prompt`, \
                         `reads`, `writes`, `after`";
            return (Graph::default(), vec![fault.into()]);
        };
        let named;
        let nodes = if is_sequence(nodes, holder) {
            named = nodes.iter().enumerate().map(|(place, node)| in_sequence(place, node)).collect();
            &named
        } else {
            nodes
        };
        let mut steps = Vec::with_capacity(nodes.len());
        for (place, node) in nodes.iter().enumerate() {
            match step_of(node, place) {
                Ok(Some(step)) => steps.push(step),
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        }
        add_edges(holder, &mut steps, &mut faults);
        (Graph { steps }, faults)
    }
}

/// A list of steps, and the object that contains it.
type Nodes<'a> = (&'a Vec<Value>, Option<&'a Map<String, Value>>);

/// The list of steps, and the object that contains it (which may also contain edges).
fn nodes_of(plan: &Value) -> Option<Nodes<'_>> {
    match plan {
        Value::Array(nodes) => Some((nodes, None)),
        Value::Object(object) => {
            if let Some(nodes) = ["steps", "nodes"].iter().find_map(|key| object.get(*key)?.as_array()) {
                return Some((nodes, Some(object)));
            }
            ["plan_graph", "plan", "graph", "output", "dag"].iter().find_map(|key| nodes_of(object.get(*key)?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Whether the steps name neither themselves nor what they read, write or wait for: then their order is the plan.
fn is_sequence(nodes: &[Value], holder: Option<&Map<String, Value>>) -> bool {
    let has_edges = holder.is_some_and(|object| object.contains_key("edges") || object.contains_key("links"));
    let is_bare = |node: &Value| {
        let has = |keys: &[&str]| keys.iter().any(|key| node.get(*key).is_some());
        has(&AGENT) && has(&TASK) && ![&ID[..], &AFTER, &READS, &WRITES].into_iter().any(has)
    };
    !nodes.is_empty() && !has_edges && nodes.iter().all(is_bare)
}

/// A step of a sequence with its names: it reads what the step before it writes.
fn in_sequence(place: usize, node: &Value) -> Value {
    let mut node = node.clone();
    node["id"] = format!("step_{}", place + 1).into();
    node["writes"] = serde_json::json!([format!("result_{}", place + 1)]);
    if place > 0 {
        node["reads"] = serde_json::json!([format!("result_{place}")]);
    }
    node
}

/// The names by which plans of models, people and other tools call the parts of a step.
const ID: [&str; 3] = ["id", "step_id", "name"];
const AGENT: [&str; 3] = ["agent", "agent_name", "agent_type"];
const TASK: [&str; 4] = ["prompt", "agent_prompt", "instruction", "task"];
const AFTER: [&str; 3] = ["after", "depends_on", "dependencies"];
const READS: [&str; 2] = ["reads", "inputs"];
const WRITES: [&str; 2] = ["writes", "outputs"];

/// Returns `None` for the artificial root of node-link data.
fn step_of(node: &Value, place: usize) -> Result<Option<StepSpec>, String> {
    let Value::Object(node) = node else {
        return Err(format!("step {} is not an object", place + 1));
    };
    let id = text(node, &ID).ok_or_else(|| format!("step {} has no `id`", place + 1))?;
    if id == "ROOT" {
        return Ok(None);
    }
    let id = StepId::parse(&id).map_err(|bad| bad.to_string())?;
    let agent = text(node, &AGENT).ok_or_else(|| format!("step `{id}` names no `agent`"))?;
    let after = names(node, &AFTER, &id)?;
    let after = after.iter().filter(|name| *name != "ROOT").map(|name| StepId::parse(name));
    Ok(Some(StepSpec {
        agent: plain_agent(&agent),
        description: text(node, &["description"]).unwrap_or_default(),
        prompt: text(node, &TASK).unwrap_or_default(),
        reads: names(node, &READS, &id)?,
        writes: names(node, &WRITES, &id)?,
        model: text(node, &["model"]).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
        tries: tries_of(node, &id)?,
        after: after.collect::<Result<_, _>>().map_err(|bad| format!("step `{id}`: {bad}"))?,
        id,
    }))
}

/// How often a step is to be done: `candidates`, `models`, `tests`.
fn tries_of(node: &Map<String, Value>, id: &StepId) -> Result<Option<Box<Tries>>, String> {
    let count = match node.get("candidates") {
        None | Some(Value::Null) => 0,
        Some(count) => count.as_u64().and_then(|count| u32::try_from(count).ok()).ok_or_else(|| {
            format!("`candidates` of step `{id}` is {count}; expected how many times the step is done, such as 3")
        })?,
    };
    let models = names(node, &["models"], id)?;
    let tests = text(node, &["tests", "test"]).filter(|command| !command.trim().is_empty());
    if tests.is_some() && count.max(models.len() as u32) < 2 {
        return Err(format!("step `{id}` has `tests`, which choose among candidates; say how many with `candidates`"));
    }
    let wanted = Tries::Wanted { count, models, tests };
    let is_single = matches!(&wanted, Tries::Wanted { count: 0 | 1, models, .. } if models.is_empty());
    Ok((!is_single).then(|| Box::new(wanted)))
}

/// `ThinkerAgent` and `Thinker` become `thinker`; `travel-agent` stays as it is, because it is an agent's own name.
fn plain_agent(name: &str) -> String {
    let name = name.trim();
    let short = name.strip_suffix("Agent").map_or(name, |short| short.trim_end_matches(['_', '-', ' ']));
    if short.is_empty() { name.to_ascii_lowercase() } else { short.to_ascii_lowercase() }
}

fn text(node: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match node.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

fn names(node: &Map<String, Value>, keys: &[&str], id: &StepId) -> Result<Vec<String>, String> {
    let Some((key, value)) = keys.iter().find_map(|key| Some((*key, node.get(*key).filter(|value| !value.is_null())?)))
    else {
        return Ok(Vec::new());
    };
    let wrong = || format!("`{key}` of step `{id}` must be a list of names");
    let mut found: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let items = match value {
        Value::Null => return Ok(found),
        Value::String(_) | Value::Number(_) => std::slice::from_ref(value),
        Value::Array(items) => items.as_slice(),
        Value::Bool(_) | Value::Object(_) => return Err(wrong()),
    };
    for item in items {
        let name = match item {
            Value::String(name) => name.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(wrong()),
        };
        if seen.insert(name.clone()) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Adds `edges` or `links` with `source` and `target` to the steps' `after`.
fn add_edges(holder: Option<&Map<String, Value>>, steps: &mut [StepSpec], faults: &mut Vec<String>) {
    let list = |key| holder.and_then(|object| object.get(key)?.as_array()).into_iter().flatten();
    // NetworkX uses one name or the other, depending on its version; a file may contain both.
    let edges = list("edges").chain(list("links"));
    let places: std::collections::BTreeMap<StepId, usize> =
        steps.iter().enumerate().map(|(place, step)| (step.id.clone(), place)).collect();
    let mut known: Vec<std::collections::BTreeSet<StepId>> =
        steps.iter().map(|step| step.after.iter().cloned().collect()).collect();
    for edge in edges {
        let end = |keys: &[&str]| edge.as_object().and_then(|edge| text(edge, keys));
        let (Some(source), Some(target)) = (end(&["source", "from"]), end(&["target", "to"])) else {
            faults.push("an edge lacks `source` or `target`".into());
            continue;
        };
        if source == "ROOT" || target == "ROOT" {
            continue;
        }
        match (StepId::parse(&source), StepId::parse(&target).ok().and_then(|id| places.get(&id))) {
            (Ok(source), Some(place)) => {
                if known[*place].insert(source.clone()) {
                    steps[*place].after.push(source);
                }
            }
            (Ok(_) | Err(_), Some(_) | None) => {
                faults.push(format!("an edge goes from `{source}` to `{target}`, and there is no such step"));
            }
        }
    }
}
