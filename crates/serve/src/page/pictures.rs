//! A run's graph and timeline as plain data, for the crate that draws them.

use std::collections::BTreeMap;

use updraft_drawing::{GraphNode, SpanKind, StepGraph, Timeline, TimelineRow, TimelineSpan};
use updraft_run::{Step, StepId, Timestamp};
use updraft_workbench::history::{EntryKind, RunHistory, VisitTimes};

use super::relations::SubtreeSum;
use super::run_page::RunScene;
use super::{steps, waits, words};

/// The graph of a run.
pub(super) fn step_graph(scene: &RunScene<'_>) -> StepGraph {
    let (history, run) = (scene.history, scene.history.run());
    let (rounds, critical, relations) = (rounds(history), critical(scene, u64::MAX), scene.relations());
    let node = |step: &Step| {
        let spec = &step.spec;
        let cost = step.ledger.at_most();
        let time = steps::took(history, &spec.id).unwrap_or_default();
        GraphNode {
            id: spec.id.to_string(),
            element: format!("node-{}", words::step_key(&spec.id)),
            label: format!("{} {}", spec.id, spec.agent),
            detail: words::short(if spec.description.is_empty() { &spec.prompt } else { &spec.description }, 80),
            state: step.status().to_owned(),
            link: scene.step_address(&spec.id),
            own: if cost.0 > 0 { format!("{time}, {cost}") } else { time },
            round: rounds.get(&spec.id).copied().unwrap_or_default(),
            subtree: relations.subtree(&spec.id).map(SubtreeSum::in_words).unwrap_or_default(),
            critical: critical.contains(&spec.id),
        }
    };
    let nodes: Vec<GraphNode> = run.steps().map(node).collect();
    let edge = |before: &Step, step: &Step| (before.spec.id.to_string(), step.spec.id.to_string());
    // What a step will read is known before it is written: only those that wait for a step tell all edges.
    let waiting = run.steps().flat_map(|step| run.dependants(step).map(move |later| edge(step, later)));
    let read = run.steps().flat_map(|step| run.before(step).map(move |before| edge(before, step)));
    let edges = waiting.chain(read).collect();
    let selected = scene.step.as_ref().map(ToString::to_string);
    StepGraph { title: format!("Graph of {}", words::count(nodes.len() as u64, "step")), nodes, edges, selected }
}

/// Which plan brought each step: the first is 0, and so are the steps that every goal begins with.
fn rounds(history: &RunHistory) -> BTreeMap<StepId, u32> {
    let (mut rounds, mut round) = (BTreeMap::new(), 0);
    for entry in history.entries() {
        if let EntryKind::Planned(plan) = &entry.kind {
            for (step, _) in &plan.steps {
                rounds.entry(step.clone()).or_insert(round);
            }
            round += u32::from(!plan.is_opening);
        }
    }
    rounds
}

/// The steps without which the run would have been shorter: from the one that ended last, each time the one before it
/// that ended last.
///
/// Steps that something happened to after a position count as not ended: so it was then.
pub(super) fn critical(scene: &RunScene<'_>, until: u64) -> Vec<StepId> {
    let (history, relations) = (scene.history, scene.relations());
    let end = |step: &StepId| {
        let is_in_time = history.touched(step) <= until;
        history.times(step).filter(|_| is_in_time).and_then(|times| times.ended)
    };
    let mut path: Vec<StepId> = Vec::new();
    let steps = history.run().steps().map(|step| &step.spec.id);
    let mut at = steps.filter(|step| end(step).is_some()).max_by_key(|step| end(step));
    while let Some(step) = at.filter(|step| !path.contains(step)) {
        path.push(step.clone());
        at = relations.before(step).filter(|before| end(before).is_some()).max_by_key(|before| end(before));
    }
    path
}

/// When the steps of a run were at work, and what they waited for.
pub(super) fn step_times(scene: &RunScene<'_>) -> Timeline {
    let (history, run) = (scene.history, scene.history.run());
    let critical = critical(scene, u64::MAX);
    let millis = |at: Timestamp| u64::try_from(at.0).unwrap_or_default();
    let now = history.last();
    let row = |step: &Step| {
        let visits = history.times(&step.spec.id).map(|times| times.visits.as_slice()).unwrap_or_default();
        let span = |visit: &VisitTimes| {
            let n = visit.visit + 1;
            let kind = if visit.judgement.is_some() { SpanKind::FailedAttempt(n) } else { SpanKind::Attempt(n) };
            TimelineSpan { kind, from: millis(visit.began), to: millis(visit.ended.unwrap_or(now)) }
        };
        let mut spans: Vec<TimelineSpan> = visits.iter().map(span).collect();
        spans.extend(waits::of(scene, step).spans.into_iter().map(|(kind, from, to)| TimelineSpan {
            kind: kind.span(),
            from: millis(from),
            to: millis(to),
        }));
        TimelineRow {
            id: step.spec.id.to_string(),
            label: format!("{} {}", step.spec.id, step.spec.agent),
            state: step.status().to_owned(),
            link: scene.step_address(&step.spec.id),
            critical: critical.contains(&step.spec.id),
            spans,
        }
    };
    let rows: Vec<TimelineRow> = run.steps().map(row).collect();
    let title =
        format!("Timeline of {}, {}", words::count(rows.len() as u64, "step"), words::took(history.began(), now));
    let selected = scene.step.as_ref().map(ToString::to_string);
    Timeline { title, from: millis(history.began()), to: millis(now), rows, selected }
}
