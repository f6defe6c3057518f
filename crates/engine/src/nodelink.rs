//! A run's graph as NetworkX node-link data, with the names other graph agents use.

use serde_json::{Map, Value, json};
use updraft_run::{Run, Step, Timestamp};

use crate::report::{Report, StepReport, dollars};

/// The name of the list of edges: NetworkX read `links` by default until 3.5, and reads `edges` from 3.6 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeList {
    /// `edges`.
    Edges,
    /// `links`.
    Links,
    /// Under both names, so that every NetworkX loads it as it is.
    #[default]
    Both,
}

/// The whole run as `networkx.node_link_graph` loads it: a `ROOT` node, one node for each step, an edge for each dependency.
pub fn node_link(report: &Report, list: EdgeList) -> Value {
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
            "status": status(report.run.status()),
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

/// What a step gave, as an object: its variables by name, or else its text as the final answer.
fn output(step: &Step, run: &Run) -> Value {
    let Some(text) = step.output.as_deref() else { return Value::Null };
    let writes = &step.spec.writes;
    if writes.is_empty() {
        return json!({ "final_answer": text });
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let value = |name: &String| {
        let own = run.variables().get(name).filter(|variable| variable.by.as_ref() == Some(&step.spec.id));
        // Another step has written it since: what this one gave is in its text.
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

/// An edge from each step to those that wait for it, and from the root to those that wait for none.
fn edges(report: &Report) -> Vec<Value> {
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
        "done" => "completed",
        other => other,
    }
}

/// A moment as other tools read it: ISO 8601 in UTC.
fn time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| Value::String(iso(at)))
}

/// Days and seconds by the proleptic Gregorian calendar.
pub(crate) fn iso(at: Timestamp) -> String {
    let (days, millis) = (at.0.div_euclid(86_400_000), at.0.rem_euclid(86_400_000));
    // Howard Hinnant's civil-from-days: eras of 400 years beginning in March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let seconds = millis / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", millis % 1000)
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
