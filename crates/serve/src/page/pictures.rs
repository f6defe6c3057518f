//! A run's graph and timeline as plain data, for the crate that draws them.

use std::collections::BTreeMap;

use updraft_drawing::{GraphNode, SpanKind, StepGraph, Timeline, TimelineRow, TimelineSpan};
use updraft_run::{Step, StepId, Timestamp};
use updraft_workbench::history::{EntryKind, HistoryEntry, RunHistory};

use super::run_page::RunScene;
use super::{steps, words};

/// The graph of a run.
pub(super) fn step_graph(scene: &RunScene<'_>) -> StepGraph {
    let (history, run) = (scene.history, scene.history.run());
    let (rounds, critical) = (rounds(history), critical(history, u64::MAX));
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
            critical: critical.contains(&spec.id),
            ..GraphNode::default()
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

/// The steps without which the run could not have been shorter: from the one that ended last, each time the one before
/// it that ended last.
///
/// Steps that something happened to after a position count as not ended: so it was then.
pub(super) fn critical(history: &RunHistory, until: u64) -> Vec<StepId> {
    let run = history.run();
    let end = |step: &Step| {
        let is_in_time = history.touched(&step.spec.id) <= until;
        history.times(&step.spec.id).filter(|_| is_in_time).and_then(|times| times.ended)
    };
    let mut path: Vec<StepId> = Vec::new();
    let mut at = run.steps().filter(|step| end(step).is_some()).max_by_key(|step| end(step));
    while let Some(step) = at.filter(|step| !path.contains(&step.spec.id)) {
        path.push(step.spec.id.clone());
        at = run.before(step).filter(|before| end(before).is_some()).max_by_key(|before| end(before));
    }
    path
}

/// When the steps of a run were at work.
pub(super) fn step_times(scene: &RunScene<'_>) -> Timeline {
    let (history, run) = (scene.history, scene.history.run());
    let (critical, questions) = (critical(history, u64::MAX), questions(history));
    let millis = |at: Timestamp| u64::try_from(at.0).unwrap_or_default();
    let now = history.last();
    let row = |step: &Step| {
        let visits = history.times(&step.spec.id).map(|times| times.visits.as_slice()).unwrap_or_default();
        let span = |visit: &updraft_workbench::history::VisitTimes| {
            let n = visit.visit + 1;
            let kind = if visit.judgement.is_some() { SpanKind::FailedAttempt(n) } else { SpanKind::Attempt(n) };
            TimelineSpan { kind, from: millis(visit.began), to: millis(visit.ended.unwrap_or(now)) }
        };
        let mut spans: Vec<TimelineSpan> = visits.iter().map(span).collect();
        spans.extend(questions.iter().filter(|(asker, ..)| **asker == step.spec.id).map(|(_, from, to)| {
            TimelineSpan { kind: SpanKind::Asking, from: millis(*from), to: millis(to.unwrap_or(now)) }
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

/// The steps that asked a person something, and when they waited for the answer.
fn questions(history: &RunHistory) -> Vec<(&StepId, Timestamp, Option<Timestamp>)> {
    let asked = |entry: &'_ HistoryEntry| match &entry.kind {
        EntryKind::Question(question) => Some((question.asked, question.ended)),
        _ => None,
    };
    let entries = history.entries().iter();
    entries.filter_map(|entry| asked(entry).and_then(|(from, to)| Some((entry.step.as_ref()?, from, to)))).collect()
}
