//! Prints one JSON event per line on standard output, for scripts. The format is a stable contract, unlike the
//! journal's.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use updraft_engine::{RunWatcher, Statistics, failure_of, requirements, waiting_for, why_stopped};
use updraft_models::Delta;
use updraft_run::{
    BudgetLimit, Effect, EffectAddress, EffectKind, Event, Graph, PlanReason, Record, Reply, Run, RunId, RunPhase,
    StepRole, ToolCallOutcome, argument_lines, outcome_words,
};

use crate::fault::{CliError, CliExitCode};
use crate::{out, time_format};

/// The version of this format.
pub(crate) const SCHEMA: u32 = 1;

/// Prints every event as it is recorded.
#[derive(Default)]
pub(super) struct JsonPrinter {
    last: AtomicU64,
}

impl RunWatcher for JsonPrinter {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        let mut text = String::new();
        for (seq, event) in (first..).zip(&record.events) {
            self.last.store(seq, Ordering::Relaxed);
            for (name, fields) in lines(event, run) {
                let mut fields = fields;
                fields.insert("at".into(), time_format::iso(record.at).into());
                text.push_str(&spell(id, seq, name, fields));
            }
        }
        if !text.is_empty() {
            out::print(&text);
        }
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        let item = match delta {
            Delta::Text(text) => json!({ "id": at, "kind": "message", "step": at.step, "delta": text }),
            Delta::Reasoning(text) => json!({ "id": at, "kind": "reasoning", "step": at.step, "delta": text }),
            Delta::Call(name) => json!({ "id": at, "kind": "tool_call", "step": at.step, "tool": name }),
            Delta::Again(why) => json!({ "id": at, "kind": "message", "step": at.step, "again": why }),
            Delta::Waiting(why) => json!({ "id": at, "kind": "message", "step": at.step, "waiting": why }),
            _ => return,
        };
        let fields = Map::from_iter([("item".to_owned(), item)]);
        out::print(&spell(id, self.last.load(Ordering::Relaxed), "item.updated", fields));
    }

    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        let item = json!({ "id": at, "kind": "tool_call", "step": at.step, "log": line });
        let fields = Map::from_iter([("item".to_owned(), item)]);
        out::print(&spell(id, self.last.load(Ordering::Relaxed), "item.updated", fields));
    }
}

/// One line: the common fields first, then the event's own.
fn spell(id: &RunId, seq: u64, name: &str, fields: Map<String, Value>) -> String {
    let mut line = format!("{{\"schema\":{SCHEMA},\"run\":\"{id}\",\"seq\":{seq},\"type\":\"{name}\"");
    if fields.is_empty() {
        line.push('}');
    } else {
        line.push(',');
        line.push_str(&Value::Object(fields).to_string()[1..]);
    }
    line.push('\n');
    line
}

type JsonEvent = (&'static str, Map<String, Value>);

fn line(name: &'static str, fields: Value) -> JsonEvent {
    match fields {
        Value::Object(fields) => (name, fields),
        other => (name, Map::from_iter([("value".to_owned(), other)])),
    }
}

/// The lines for an event: none for internal events, several for an answer.
fn lines(event: &Event, run: &Run) -> Vec<JsonEvent> {
    let agent = |step| run.step(step).map(|step| step.spec.agent.clone());
    let one = |name, fields| vec![line(name, fields)];
    match event {
        Event::Started(start) => one(
            "run.started",
            json!({ "goal": start.goal.text, "files": start.goal.files, "mode": start.goal.mode, "model": start.settings.model, "requirements": start.goal.requirements,
                    "workspace": start.settings.workspace, "sandbox": start.settings.sandbox, "budget": start.budget }),
        ),
        Event::Forked { from, at, .. } => one("run.forked", json!({ "from": from, "at_event": at })),
        Event::Told { message } => one("run.told", json!({ "message": message })),
        Event::Planned { graph, because, instead } => planned(graph, because, instead.as_deref()),
        Event::Required { requirements } => one("run.required", json!({ "requirements": requirements })),
        Event::Wanted { id, effect } => wanted(id, effect, run),
        Event::Replied { id, reply, .. } => replied(id, reply, run),
        Event::Rejected { id, why } => {
            let item = json!({ "id": id, "kind": "tool_call", "step": id.step, "ok": false, "rejected": true,
                               "failure": why });
            one("item.completed", json!({ "item": made_by(id, item) }))
        }
        Event::Interrupted { id, attempt } => {
            one("item.updated", json!({ "item": { "id": id, "step": id.step, "interrupted": attempt } }))
        }
        Event::Wrote { step, name, value, untrusted, origins } => one(
            "variable.written",
            json!({ "step": step, "name": name, "value": value, "untrusted": untrusted, "origins": origins }),
        ),
        Event::Cited { step, citations } => one("step.cited", json!({ "step": step, "citations": citations })),
        Event::Judged { step, verdict } => one("step.judged", json!({ "step": step, "verdict": verdict })),
        Event::Proved { step, findings } => {
            one("run.proved", json!({ "step": step, "requirements": requirements(run), "findings": findings }))
        }
        Event::StepDone { step, best_effort, kept_from, .. } => {
            let found = run.step(step);
            let output = found.and_then(|step| step.output.as_deref());
            let turns = found.map_or(0, |step| step.ledger.requests());
            one(
                "step.completed",
                json!({ "step": step, "agent": agent(step), "output": output, "turns": turns, "best_effort": best_effort,
                        "kept_from": kept_from }),
            )
        }
        Event::Halted { step, why, .. } => {
            one("step.halted", json!({ "step": step, "agent": agent(step), "kind": why.kind, "message": why.message }))
        }
        Event::StepFailed { step, why } => {
            one("step.failed", json!({ "step": step, "agent": agent(step), "kind": why.kind, "message": why.message }))
        }
        Event::StepSkipped { step, because } => one("step.skipped", json!({ "step": step, "because": because })),
        Event::StepCancelled { step } => one("step.cancelled", json!({ "step": step })),
        Event::Paused => one("run.paused", json!({})),
        Event::Resumed { budget, model, .. } => {
            one("run.resumed", json!({ "budget": budget, "model": model.as_ref().map(|chosen| &chosen.model) }))
        }
        Event::Marked { files } => one("run.marked", json!({ "files": files })),
        Event::Confined { level, .. } => one("run.confined", json!({ "sandbox": level })),
        Event::Tightened { rules, deny, distrusts } => {
            one("run.tightened", json!({ "rules": rules, "deny": deny, "distrusts": distrusts }))
        }
        Event::Imported => one("run.imported", json!({})),
        Event::Adopted { settings } => {
            one("run.adopted", json!({ "workspace": settings.workspace, "approvals": settings.approvals }))
        }
        Event::Cancelled { by } => one("run.cancelled", json!({ "by": by })),
        Event::Exhausted { which } => one(
            "run.exhausted",
            json!({ "kind": if *which == BudgetLimit::Model { "outage" } else { "budget" }, "limit": which, "flag": which.flag().1,
                    "reason": why_stopped(run), "answer": run.answer(), "statistics": Statistics::of(run) }),
        ),
        Event::Finished { answer, .. } => one(
            "run.finished",
            json!({ "status": run.status_word(), "answer": answer, "failure": failure_of(run), "refused": refused(run),
                    "requirements": requirements(run), "assumptions": run.assumptions(), "statistics": Statistics::of(run) }),
        ),
        _ => Vec::new(),
    }
}

fn planned(graph: &Graph, because: &PlanReason, instead: Option<&str>) -> Vec<JsonEvent> {
    let one = |fields| vec![line("run.planned", fields)];
    match (because, instead) {
        (_, Some(why)) => one(json!({ "steps": graph.steps, "instead_of_a_plan": why })),
        (PlanReason::Goal, None) => Vec::new(),
        (PlanReason::Failed(step), None) => one(json!({ "steps": graph.steps, "because": step })),
        (_, None) => one(json!({ "steps": graph.steps })),
    }
}

/// Calls that were refused because nobody could be asked.
fn refused(run: &Run) -> Vec<Value> {
    run.unapproved().iter().map(|(step, what)| json!({ "step": step, "call": what })).collect()
}

fn wanted(id: &EffectAddress, effect: &Effect, run: &Run) -> Vec<JsonEvent> {
    let step = &id.step;
    let item = match effect {
        Effect::Ask | Effect::Prepare if id.kind == EffectKind::Ask && id.turn == 0 => {
            let spec = run.step(step).map(|step| step.spec.clone());
            let (agent, description) =
                spec.map(|spec| (spec.agent.clone(), spec.description.clone())).unwrap_or_default();
            return vec![line(
                "step.started",
                json!({ "step": step, "agent": agent, "description": description, "visit": id.visit }),
            )];
        }
        Effect::Call => {
            let call = run.call_at(id);
            let (tool, args) = call.map(|call| (call.name, call.args)).unwrap_or_default();
            made_by(id, json!({ "id": id, "kind": "tool_call", "step": step, "tool": tool, "arguments": args }))
        }
        Effect::Question { text, options, inquiry } => {
            let mut item = json!({ "id": id, "kind": "question", "step": step, "text": text, "options": options });
            if let Some(inquiry) = inquiry {
                item["from"] = json!(inquiry.from);
                item["form"] = json!(inquiry.form);
                item["visit"] = json!(inquiry.url);
            }
            item
        }
        Effect::Approval { why, origins, always, .. } => {
            let call = run.call_at(&id.sibling(EffectKind::Call, id.n));
            let arguments = call.as_ref().map(|call| argument_lines(&call.args)).unwrap_or_default();
            json!({ "id": id, "kind": "approval", "step": step, "text": why, "call": call, "arguments": arguments,
                    "origins": origins, "always": always })
        }
        _ => return Vec::new(),
    };
    vec![line("item.started", json!({ "item": item }))]
}

/// Adds the call whose code made this one.
fn made_by(id: &EffectAddress, mut item: Value) -> Value {
    if let Some(outer) = id.outer() {
        item["made_by"] = json!(outer);
    }
    item
}

fn replied(id: &EffectAddress, reply: &Reply, run: &Run) -> Vec<JsonEvent> {
    let step = &id.step;
    let completed = |item: Value| line("item.completed", json!({ "item": item }));
    match reply {
        // The calls that the run makes itself are reported one by one.
        Reply::Answer(_)
            if run.step(step).is_some_and(|step| step.role == StepRole::Prove) && id.kind == EffectKind::Ask =>
        {
            Vec::new()
        }
        Reply::Answer(answer) => {
            let mut all = Vec::new();
            if !answer.reasoning.is_empty() {
                all.push(completed(json!({ "id": id, "kind": "reasoning", "step": step, "text": answer.reasoning })));
            }
            if !answer.text.is_empty() {
                all.push(completed(json!({ "id": id, "kind": "message", "step": step, "text": answer.text })));
            }
            let agent = run.step(step).map(|step| step.spec.agent.clone());
            let cost = answer.usage.cost.map(|cost| cost.0 as f64 / 1e9);
            all.push(line(
                "turn.completed",
                json!({ "step": step, "agent": agent, "turn": id.turn, "usage": answer.usage, "cost": cost }),
            ));
            all
        }
        Reply::Said(text) => vec![completed(json!({ "id": id, "kind": "question", "step": step, "text": text }))],
        Reply::Verdict(verdict) => {
            vec![completed(json!({ "id": id, "kind": "approval", "step": step, "verdict": verdict }))]
        }
        Reply::Output(output) => {
            let changes = output.changes.iter().map(|change| {
                completed(json!({ "id": id, "kind": "file_change", "step": step, "path": change.path,
                                  "before": change.before, "after": change.after }))
            });
            let mut call =
                json!({ "id": id, "kind": "tool_call", "step": step, "ok": !output.is_error, "output": output.text });
            if let Some(usage) = &output.usage {
                call["usage"] = json!(usage);
            }
            let call = completed(made_by(id, call));
            changes.chain([call]).collect()
        }
        Reply::Failed(failure) if id.kind != EffectKind::Call => {
            vec![line("error", json!({ "step": step, "kind": failure.kind, "message": failure.message }))]
        }
        other => {
            let ended = ToolCallOutcome::Replied(other.clone());
            let text = outcome_words(&ended);
            let item =
                json!({ "id": id, "kind": "tool_call", "step": step, "ok": false, "failure": failure(other, &text) });
            vec![completed(made_by(id, item))]
        }
    }
}

fn failure(reply: &Reply, text: &str) -> Value {
    let kind = match reply {
        Reply::Failed(failure) => failure.kind.name(),
        Reply::TimedOut { .. } => "timeout",
        Reply::Cancelled => "cancelled",
        Reply::InDoubt { .. } => "in_doubt",
        _ => "tool",
    };
    json!({ "kind": kind, "message": text })
}

/// The last line of a run that stopped without being over.
pub(crate) fn at_rest(id: &RunId, run: &Run, was_stopped: bool) {
    let name = match run.phase() {
        _ if was_stopped => "run.interrupted",
        RunPhase::Running if !run.open().is_empty() => "run.waiting",
        _ => return,
    };
    let fields =
        [("waiting_for".to_owned(), waiting_for(run).into()), ("statistics".to_owned(), json!(Statistics::of(run)))];
    out::print(&spell(id, run.events(), name, Map::from_iter(fields)));
}

/// The line for a command that failed.
pub(crate) fn error(fault: &CliError) {
    let kind = match fault.code {
        CliExitCode::Config => "config",
        CliExitCode::Usage => "usage",
        CliExitCode::Exhausted => "budget",
        _ => "failed",
    };
    let line = json!({ "schema": SCHEMA, "run": null, "seq": 0, "type": "error", "kind": kind, "message": fault.message, "hints": fault.hints });
    out::json(&line);
}
