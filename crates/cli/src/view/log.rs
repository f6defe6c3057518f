//! Progress as plain lines on standard error, if nothing can be redrawn in place.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use updraft_engine::{RunWatcher, why_stopped};
use updraft_models::Delta;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, Graph, Judgement, PlanReason, Record, Reply, Run, RunId, StepId,
    Timestamp, argument_lines,
};

use super::call::{CallEnd, call_words};
use super::describe;
use crate::{out, time_format};

/// Prints a line for each event that a person wants to know of.
#[derive(Default)]
pub(crate) struct ProgressPrinter(Mutex<BTreeMap<StepId, Timestamp>>);

impl RunWatcher for ProgressPrinter {
    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        for event in &record.events {
            if let Event::Started(_) = event {
                out::note(&format!("run {id}"));
            }
            if is_reported_at_once(event, run) {
                continue;
            }
            if let Some(line) = self.line(record, event, run) {
                out::note(&out::readable(&out::harmless(&line)));
            }
        }
    }

    fn delta(&self, _: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        let line = match delta {
            Delta::Waiting(why) => format!("  {}: {}", at.step, out::short(why, 200)),
            Delta::Again(why) => format!("  {}: asking again: {}", at.step, out::short(why, 200)),
            _ => return,
        };
        out::note(&out::harmless(&line));
    }

    fn said(&self, _: &RunId, at: &EffectAddress, line: &str) {
        out::note(&out::harmless(&format!("  {}: | {line}", at.step)));
    }
}

/// Whether a person is asked or told this in full right after it: a line before that would say the same twice.
pub(crate) fn is_reported_at_once(event: &Event, run: &Run) -> bool {
    match event {
        Event::Halted { why, .. } => {
            run.is_at_rest() && why_stopped(run).is_some_and(|report| report.contains(&why.message))
        }
        Event::Wanted { effect: Effect::Question { inquiry: Some(_), .. }, .. } => true,
        Event::Wanted { effect: Effect::Question { .. } | Effect::Approval { .. }, .. } => run.is_at_rest(),
        _ => false,
    }
}

impl ProgressPrinter {
    /// What is said about an event, if anything.
    pub(crate) fn line(&self, record: &Record, event: &Event, run: &Run) -> Option<String> {
        if let Event::Started(_) = event {
            self.forget_steps();
        }
        let named = |step: &StepId| {
            let agent = run.step(step).map(|step| step.spec.agent.as_str()).unwrap_or_default();
            format!("{step} ({agent})")
        };
        Some(match event {
            Event::Planned { graph, because, instead } => return plan_line(graph, because, instead.as_deref()),
            Event::Required { requirements } => {
                let lines =
                    requirements.iter().map(|one| format!("requires {}: {}", out::short(&one.text, 200), one.how()));
                lines.collect::<Vec<_>>().join("\n")
            }
            Event::Wanted { id, effect: Effect::Ask | Effect::Prepare }
                if id.kind == EffectKind::Ask && id.turn == 0 =>
            {
                self.began().entry(id.step.clone()).or_insert(record.at);
                let what = run.step(&id.step).map(|step| out::short(&step.spec.description, 200)).unwrap_or_default();
                let colon = if what.is_empty() { "" } else { ": " };
                format!("→ {}{colon}{what}", named(&id.step))
            }
            Event::Wanted { id, effect: Effect::Call } => {
                format!("  {}: {}", id.step, said(id, run)?)
            }
            Event::Wanted { id, effect: Effect::Question { text, .. } } => {
                format!("? {} asks: {}", id.step, out::short(text, 200))
            }
            Event::Wanted { id, effect: Effect::Approval { why, .. } } => {
                let call = run.call_at(&id.sibling(EffectKind::Call, id.n));
                let arguments = call.map(|call| argument_lines(&call.args)).unwrap_or_default();
                let arguments: Vec<String> = arguments.iter().map(|line| format!("\n    {line}")).collect();
                let arguments = arguments.concat();
                format!("? {} needs approval: {}{arguments}", id.step, out::short(why, 200))
            }
            Event::Replied { id, reply: Reply::Failed(why), .. }
                if fails_step(record, &id.step, Some(&why.message)) =>
            {
                return None;
            }
            Event::Replied { id, reply: Reply::Failed(why), .. } if id.kind != EffectKind::Call => {
                format!("  {}: {}", id.step, out::short(&why.message, 200))
            }
            Event::Replied { id, reply: Reply::InDoubt { evidence }, .. } => {
                format!("  {}: outcome unknown: {}", id.step, out::short(evidence, 200))
            }
            Event::Replied { id, reply, .. } => return ended(id, &CallEnd::of(reply), run),
            Event::Rejected { id, why } => return ended(id, &CallEnd::rejected(why), run),
            Event::Judged { step, verdict: Judgement::Retry { feedback } | Judgement::Pivot { feedback } } => {
                format!("↻ {step} again: {}", out::short(feedback, 200))
            }
            Event::Judged { step, verdict: Judgement::Replan { .. } } if fails_step(record, step, None) => {
                format!("↻ planning again because {step} failed")
            }
            Event::Judged { step, verdict: Judgement::Replan { why } } => {
                format!("↻ planning again because of {step}: {}", out::short(why, 200))
            }
            Event::Told { message } => format!("you said: {}", out::short(message, 200)),
            Event::StepDone { step, kept_from: Some(run), .. } => format!("✓ {} kept from {run}", named(step)),
            Event::StepDone { step, best_effort, .. } => {
                let turns = run.step(step).map_or(0, |step| step.ledger.turns);
                let cut = if *best_effort { ", cut short" } else { "" };
                let took = self.took(step, record.at).map(|took| format!(", {took}")).unwrap_or_default();
                format!("✓ {} {}{took}{cut}", named(step), describe::count(turns, "turn"))
            }
            Event::Halted { step, why, .. } => format!("! {}: {}", named(step), out::short(&why.message, 300)),
            Event::StepFailed { step, why } => format!("✗ {}: {}", named(step), out::short(&why.message, 300)),
            Event::StepSkipped { step, because } => format!("- {step} skipped because of `{because}`"),
            Event::StepCancelled { step } => format!("- {step} cancelled"),
            Event::Paused => "paused".into(),
            Event::Resumed { .. } => "resumed".into(),
            Event::Marked { files } => out::harmless(&describe::marked(files)),
            Event::Confined { level, .. } => format!("sandbox level {level}"),
            Event::Tightened { rules, deny, distrusts } => out::harmless(&describe::tightened(rules, deny, *distrusts)),
            Event::Adopted { settings } => format!("taken over, in {}", settings.workspace),
            Event::Cancelled { by } => format!("cancelled by {by}"),
            _ => return None,
        })
    }

    /// A step of another run may have the same name.
    fn forget_steps(&self) {
        self.began().clear();
    }

    /// How long a step took, if its beginning was seen: a run that is resumed began it before.
    fn took(&self, step: &StepId, at: Timestamp) -> Option<String> {
        let began = self.began().get(step).copied()?;
        Some(time_format::length(at.since(began)))
    }

    fn began(&self) -> std::sync::MutexGuard<'_, BTreeMap<StepId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the step fails in the same moment, with these words: they are said then.
fn fails_step(record: &Record, step: &StepId, message: Option<&str>) -> bool {
    record.events.iter().any(|event| match event {
        Event::StepFailed { step: failed, why } => failed == step && message.is_none_or(|text| why.message == text),
        _ => false,
    })
}

/// The call at an address in words; a call made by code is marked.
fn said(id: &EffectAddress, run: &Run) -> Option<String> {
    let from = if id.inner.is_some() { "  ↳ " } else { "" };
    Some(format!("{from}{}", out::short(&call_words(&run.call_at(id)?), 200)))
}

/// How a call ended, if it failed.
fn ended(id: &EffectAddress, end: &CallEnd, run: &Run) -> Option<String> {
    let CallEnd::Bad(why) = end else { return None };
    let words = said(id, run).map(|words| format!("{words}: ")).unwrap_or_default();
    Some(format!("  {}: ✗ {words}{}", id.step, out::short(why, 200)))
}

/// What is said about a new plan.
fn plan_line(graph: &Graph, because: &PlanReason, instead: Option<&str>) -> Option<String> {
    let steps = describe::count(graph.steps.len() as u64, "step");
    Some(match (because, instead) {
        (PlanReason::First | PlanReason::Failed(_) | PlanReason::Revised, Some(why)) => {
            format!("planned one step instead of a plan: {}", out::short(why, 300))
        }
        (PlanReason::Revised, None) if graph.steps.is_empty() => "the plan was refused".to_owned(),
        (PlanReason::Revised, None) => format!("planned as you want it: {steps}"),
        (PlanReason::Failed(step), None) => format!("planned again because `{step}` failed: {steps}"),
        (PlanReason::First, None) => format!("planned: {steps}"),
        _ => return None,
    })
}
