//! The graph of a run as a plan of the protocol: a flat list, in the order in which steps were planned.

use serde_json::{Value, json};
use updraft_run::{Run, Step, StepRole};

/// The key under which the links and the exact status of steps are found.
const META: &str = "updraft.dev/step";

/// The plan, unless there is at most one step.
pub(crate) fn plan(run: &Run) -> Option<Value> {
    let steps: Vec<&Step> = run.steps().filter(|step| step.role == StepRole::Work).collect();
    (steps.len() > 1).then(|| {
        let entries: Vec<Value> = steps.iter().map(|step| entry(step)).collect();
        json!({ "sessionUpdate": "plan", "entries": entries })
    })
}

fn entry(step: &Step) -> Value {
    let spec = &step.spec;
    let content = [&spec.description, &spec.prompt].into_iter().find(|text| !text.is_empty());
    let content = content.map_or(spec.id.as_str(), |text| text.lines().next().unwrap_or_default());
    let status = match step.status() {
        "pending" | "ready" => "pending",
        "running" | "waiting" => "in_progress",
        _ => "completed",
    };
    let meta = json!({ "id": spec.id, "agent": spec.agent, "after": spec.after, "status": step.status() });
    json!({ "content": content, "priority": "medium", "status": status, "_meta": { META: meta } })
}
