//! Progress as plain lines on standard error, where nothing can be drawn in place.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use updraft_engine::Watch;
use updraft_models::Delta;
use updraft_run::{
    Address, Because, Effect, Event, Judgement, Kind, Record, Reply, Run, RunId, StepId, Timestamp, argument_lines,
};

use super::words;
use crate::{moment, out};

/// Writes a line for what a person wants to know, and nothing else.
#[derive(Default)]
pub(super) struct Log(Mutex<BTreeMap<StepId, Timestamp>>);

impl Watch for Log {
    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        for event in &record.events {
            if let Event::Started(_) = event {
                out::note(&format!("run {id}"));
            }
            if let Some(line) = self.line(record, event, run) {
                out::note(&out::harmless(&line));
            }
        }
    }

    fn delta(&self, _: &RunId, at: &Address, delta: Delta<'_>) {
        let line = match delta {
            Delta::Waiting(why) => format!("  {}: {}", at.step, out::short(why, 200)),
            Delta::Again(why) => format!("  {}: asking again: {}", at.step, out::short(why, 200)),
            _ => return,
        };
        out::note(&out::harmless(&line));
    }

    fn said(&self, _: &RunId, at: &Address, line: &str) {
        out::note(&out::harmless(&format!("  {}: | {line}", at.step)));
    }
}

impl Log {
    fn line(&self, record: &Record, event: &Event, run: &Run) -> Option<String> {
        let named = |step: &StepId| {
            let agent = run.step(step).map(|step| step.spec.agent.as_str()).unwrap_or_default();
            format!("{step} ({agent})")
        };
        Some(match event {
            Event::Planned { graph, because } => {
                let steps = words::count(graph.steps.len() as u64, "step");
                match because {
                    Because::Failed(step) => format!("planned anew because `{step}` failed: {steps}"),
                    Because::First => format!("planned: {steps}"),
                    _ => return None,
                }
            }
            Event::Wanted { id, effect: Effect::Ask } if id.kind == Kind::Ask && id.turn == 0 => {
                self.began().entry(id.step.clone()).or_insert(record.at);
                format!("→ {}", named(&id.step))
            }
            Event::Wanted { id, effect: Effect::Call } => {
                let call = run.call_at(id)?;
                let from = if id.inner.is_some() { "  ↳ " } else { "" };
                format!("  {}: {from}{}({})", id.step, call.name, out::short(&words::arguments(&call.args), 100))
            }
            Event::Wanted { id, effect: Effect::Question { text, .. } } => {
                format!("? {} asks: {}", id.step, out::short(text, 200))
            }
            Event::Wanted { id, effect: Effect::Approval { why, .. } } => {
                let call = run.call_at(&id.sibling(Kind::Call, id.n));
                let arguments = call.map(|call| argument_lines(&call.args)).unwrap_or_default();
                let arguments: String = arguments.iter().map(|line| format!("\n    {line}")).collect();
                format!("? {} needs approval: {}{arguments}", id.step, out::short(why, 200))
            }
            Event::Replied { id, reply: Reply::Failed(why), .. } => {
                format!("  {}: {}", id.step, out::short(&why.message, 200))
            }
            Event::Replied { id, reply: Reply::InDoubt { evidence }, .. } => {
                format!("  {}: outcome unknown: {}", id.step, out::short(evidence, 200))
            }
            Event::Rejected { id, why } => format!("  {}: not called: {}", id.step, out::short(&why.message, 200)),
            Event::Judged { step, verdict: Judgement::Retry { feedback } | Judgement::Pivot { feedback } } => {
                format!("↻ {step} again: {}", out::short(feedback, 200))
            }
            Event::StepDone { step, best_effort, .. } => {
                let turns = run.step(step).map_or(0, |step| step.ledger.turns);
                let cut = if *best_effort { ", cut short" } else { "" };
                format!("✓ {} {}, {}{cut}", named(step), words::count(turns, "turn"), self.took(step, record.at))
            }
            Event::Halted { step, why, .. } => format!("! {}: {}", named(step), out::short(&why.message, 300)),
            Event::StepFailed { step, why } => format!("✗ {}: {}", named(step), out::short(&why.message, 300)),
            Event::StepSkipped { step, because } => format!("- {step} skipped because of `{because}`"),
            Event::StepCancelled { step } => format!("- {step} cancelled"),
            Event::Paused => "paused".into(),
            Event::Resumed { .. } => "resumed".into(),
            Event::Marked { files } => out::harmless(&words::marked(files)),
            Event::Confined { level } => format!("sandbox level {level}"),
            Event::Tightened { rules, deny, distrusts } => out::harmless(&words::tightened(rules, deny, *distrusts)),
            Event::Adopted { settings } => format!("taken over, in {}", settings.workspace),
            Event::Cancelled { by } => format!("cancelled by {by}"),
            _ => return None,
        })
    }

    fn took(&self, step: &StepId, at: Timestamp) -> String {
        let began = self.began().get(step).copied().unwrap_or(at);
        moment::length(at.since(began))
    }

    fn began(&self) -> std::sync::MutexGuard<'_, BTreeMap<StepId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
