//! Exports a run's graph as NetworkX node-link data, with the names that other graph agents use.

use serde_json::{Map, Value, json};
use updraft_run::{Run, Step, Timestamp};

use crate::report::{RunReport, StepReport, dollars};

/// The name of the list of edges: NetworkX read `links` by default until 3.5, and reads `edges` from 3.6 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeList {
    /// `edges`.
    Edges,
    /// `links`.
    Links,
    /// Under both names, so that every version of NetworkX loads it unchanged.
    #[default]
    Both,
}

/// The whole run as `networkx.node_link_graph` loads it: a `ROOT` node, one node for each step, an edge for each dependency.
pub fn node_link(report: &RunReport, list: EdgeList) -> Value {
    let root = json!({
        "id": "ROOT", "agent": "System", "status": "completed", "description": "Initial Query",
        "agent_prompt": report.run.goal().text, "reads": [], "writes": [], "output": null, "error": null,
        "cost": 0.0, "input_tokens": 0, "output_tokens": 0,
        "start_time": time(Some(report.head.created)), "end_time": time(Some(report.head.created)), "execution_time": 0.0,
    });
    let nodes: Vec<Value> =
        std::iter::once(root).chain(report.steps.iter().map(|step| node(step, &report.run))).collect();
    let globals: Map<String, Value> =
        report.run.variables().iter().map(|(name, variable)| (name.clone(), (*variable.value).clone())).collect();
    let mut whole = json!({
        "directed": true,
        "multigraph": false,
        "graph": {
            "session_id": report.head.id,
            "original_query": report.run.goal().text,
            "file_manifest": report.run.goal().files,
            "created_at": time(Some(report.head.created)),
            "status": status(report.run.status_word()),
            "globals_schema": globals,
        },
        "nodes": nodes,
    });
    let edges = Value::Array(edges(report));
    if list != EdgeList::Edges {
        whole["links"] = edges.clone();
    }
    if list != EdgeList::Links {
        whole["edges"] = edges;
    }
    whole
}

/// The output of a step as an object: its variables by name, or otherwise its text as the final answer.
fn output(step: &Step, run: &Run) -> Value {
    let Some(text) = step.output.as_deref() else { return Value::Null };
    let writes = &step.spec.writes;
    if writes.is_empty() {
        return json!({ "final_answer": text });
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let value = |name: &String| {
        let own = run.variables().get(name).filter(|variable| variable.by.as_ref() == Some(&step.spec.id));
        // Another step has overwritten the variable since: this step's value is in its text.
        let earlier = || match (writes.len(), &parsed) {
            (1, None) => Value::String(text.to_owned()),
            (1, Some(value)) => value.clone(),
            (_, parsed) => parsed.as_ref().and_then(|all| all.get(name)).cloned().unwrap_or_default(),
        };
        (name.clone(), own.map_or_else(earlier, |variable| (*variable.value).clone()))
    };
    Value::Object(writes.iter().map(value).collect())
}

fn node(report: &StepReport, run: &Run) -> Value {
    let spec = &report.step.spec;
    let ledger = &report.step.ledger;
    let took = report.began.zip(report.ended).map(|(began, ended)| ended.since(began).0 as f64 / 1000.0);
    json!({
        "id": spec.id,
        "agent": spec.agent,
        "status": report.step.status(),
        "description": spec.description,
        "agent_prompt": spec.prompt,
        "reads": spec.reads,
        "writes": spec.writes,
        "output": output(&report.step, run),
        "error": report.error(),
        "cost": dollars(ledger),
        "input_tokens": ledger.usage.input,
        "output_tokens": ledger.usage.output,
        "start_time": time(report.began),
        "end_time": time(report.ended),
        "execution_time": took,
    })
}

/// An edge from each step to its dependants, and from the root to the steps without dependencies.
fn edges(report: &RunReport) -> Vec<Value> {
    let mut edges = Vec::new();
    let mut waits = std::collections::BTreeSet::new();
    for step in &report.steps {
        for later in report.run.dependants(&step.step) {
            waits.insert(later.spec.id.clone());
            edges.push(json!({ "source": step.step.spec.id, "target": later.spec.id }));
        }
    }
    let first = report.steps.iter().map(|step| &step.step.spec.id).filter(|id| !waits.contains(*id));
    let from_root = first.map(|id| json!({ "source": "ROOT", "target": id }));
    from_root.chain(edges).collect()
}

fn status(own: &str) -> &str {
    match own {
        "done" | "unproved" => "completed",
        "not_done" => "failed",
        other => other,
    }
}

/// A time as other tools read it: ISO 8601 in UTC.
fn time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| Value::String(iso(at)))
}

pub(crate) fn iso(at: Timestamp) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        assert_eq!(iso(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(Timestamp(951_782_400_123)), "2000-02-29T00:00:00.123Z");
        assert_eq!(iso(Timestamp(1_794_700_799_999)), "2026-11-14T23:59:59.999Z");
        assert_eq!(iso(Timestamp(-1)), "1969-12-31T23:59:59.999Z");
    }
}
