//! The lines that each event adds to the logs of its run.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, Judgement, ModelAnswer, PlanReason, Record, Reply, Run, RunId, StepId,
    Verdict,
};

use super::log_line::{LogKind, LogLevel, LogLine};
use crate::fault::Fault;
use crate::history::{CallEntry, EntryKind, RunHistory};

/// Most bytes of one text.
const LONGEST_TEXT: usize = 64 << 10;

/// The lines that a record adds; `history` is the run after it.
pub(super) fn log_lines(history: &RunHistory, record: &Record) -> Vec<LogLine> {
    let lines = LineMaker { history, run: history.run(), record };
    record.events.iter().flat_map(|event| lines.general(event).into_iter().chain(lines.reasoning(event))).collect()
}

/// Makes a log of a run from its journal, line by line, until `take` has enough. Blocks on the disk.
pub fn read_log(
    journal: &Journal,
    id: &RunId,
    kind: LogKind,
    take: &mut dyn FnMut(&LogLine) -> ControlFlow<()>,
) -> Result<(), Fault> {
    let mut history = RunHistory::default();
    journal.read(id, 0, &mut |first, record: Record| {
        history.add(first, &record, u64::MAX);
        log_lines(&history, &record).iter().filter(|line| line.kind == kind).try_for_each(&mut *take)
    })?;
    Ok(())
}

struct LineMaker<'a> {
    history: &'a RunHistory,
    run: &'a Run,
    record: &'a Record,
}

impl LineMaker<'_> {
    fn info(&self, what: &'static str) -> LogLine {
        LogLine::general(self.record.at, LogLevel::Info, what)
    }

    fn warning(&self, what: &'static str) -> LogLine {
        LogLine::general(self.record.at, LogLevel::Warning, what)
    }

    fn error(&self, what: &'static str) -> LogLine {
        LogLine::general(self.record.at, LogLevel::Error, what)
    }

    fn agent(&self, id: &EffectAddress) -> String {
        self.run.step(&id.step).map(|step| step.spec.agent.clone()).unwrap_or_default()
    }

    fn tool(&self, id: &EffectAddress) -> String {
        self.run.call_at(id).map(|call| call.name).unwrap_or_default()
    }

    /// What happened.
    fn general(&self, event: &Event) -> Option<LogLine> {
        Some(match event {
            Event::Started(start) => {
                let settings = &start.settings;
                self.info("run started").with("model", &*settings.model).with("workspace", &*settings.workspace)
            }
            Event::Forked { from, at, .. } => self.info("run forked").with("from", from.as_str()).with("at", *at),
            Event::Told { .. } => self.info("the user sent a message"),
            Event::Planned { graph, because, .. } if *because != PlanReason::Goal => {
                self.info("planned").with("steps", graph.steps.len())
            }
            Event::Wanted { id, effect } => self.wanted(id, effect)?,
            Event::Replied { id, reply, .. } => self.replied(id, reply)?,
            Event::Interrupted { id, attempt } => {
                self.warning("interrupted, and made again").with("id", id.to_string()).with("attempt", *attempt)
            }
            Event::Rejected { id, why } => self
                .warning("call refused")
                .with("call", id.to_string())
                .with("tool", self.tool(id))
                .with("kind", why.kind.name())
                .with("why", &*why.message),
            Event::Judged { step, verdict } if *verdict != Judgement::Accept => {
                self.warning("result not accepted").with("step", step.as_str())
            }
            Event::StepDone { step, best_effort, .. } => {
                let turns = self.run.step(step).map_or(0, |step| step.ledger.turns);
                let line = self.info("step done").with("step", step.as_str()).with("turns", turns);
                if *best_effort { line.with("unfinished", true) } else { line }
            }
            Event::StepFailed { step, why } => self
                .error("step failed")
                .with("step", step.as_str())
                .with("kind", why.kind.name())
                .with("why", &*why.message),
            Event::StepSkipped { step, because } => {
                self.warning("step skipped").with("step", step.as_str()).with("because", because.as_str())
            }
            Event::StepCancelled { step } => self.info("step cancelled").with("step", step.as_str()),
            Event::Halted { step, why, .. } => {
                self.warning("step halted").with("step", step.as_str()).with("why", &*why.message)
            }
            Event::Compacted { step, upto, .. } => {
                self.info("older messages summarised").with("step", step.as_str()).with("messages", *upto)
            }
            Event::Paused => self.info("run paused"),
            Event::Resumed { .. } => self.info("run resumed"),
            Event::Cancelled { by } => self.info("run cancelled").with("by", &**by),
            Event::Exhausted { which } => self.warning("limit reached").with("limit", which.flag().0),
            Event::Finished { failed, .. } => self.finished(failed.as_ref()),
            _ => return None,
        })
    }

    fn wanted(&self, id: &EffectAddress, effect: &Effect) -> Option<LogLine> {
        Some(match effect {
            Effect::Ask if id.kind == EffectKind::Ask && id.turn == 0 => self
                .info("step started")
                .with("step", id.step.as_str())
                .with("agent", self.agent(id))
                .with("visit", id.visit),
            Effect::Call => self.info("call started").with("call", id.to_string()).with("tool", self.tool(id)),
            Effect::Question { .. } => self.info("waits for an answer").with("id", id.to_string()),
            Effect::Approval { .. } => self.info("waits for an approval").with("id", id.to_string()),
            Effect::Ask | Effect::Prepare | Effect::Timer { .. } => return None,
        })
    }

    fn replied(&self, id: &EffectAddress, reply: &Reply) -> Option<LogLine> {
        let entry = self.history.entry_at(id)?;
        match &entry.kind {
            EntryKind::Call(call) => Some(self.call_ended(call)),
            EntryKind::Answer(asked) => {
                let took = self.record.at.since(asked.asked_before(self.record.at)).0;
                let line = match reply {
                    Reply::Answer(answer) => self
                        .info("model answered")
                        .with("input", answer.usage.input)
                        .with("output", answer.usage.output),
                    _ => self.error("model did not answer").with("why", asked.failed.clone().unwrap_or_default()),
                };
                Some(line.with("id", id.to_string()).with("agent", &*asked.agent).with("ms", took))
            }
            EntryKind::Question(_) => Some(self.info("a person decided").with("id", id.to_string())),
            _ => None,
        }
    }

    fn call_ended(&self, call: &CallEntry) -> LogLine {
        let is_good = call.is_good().unwrap_or(true);
        let line = if is_good { self.info("call ended") } else { self.warning("call failed") };
        let took = self.record.at.since(call.begun.unwrap_or(call.wanted)).0;
        let line = line.with("call", call.address.to_string()).with("tool", &*call.name).with("ms", took);
        // What a call that succeeded returned is in the journal, and too much for a log.
        let why = call.result().filter(|_| !is_good).unwrap_or_default();
        if is_good { line } else { line.with("why", why.lines().next().map(|line| cut(line, 500)).unwrap_or_default()) }
    }

    fn finished(&self, failed: Option<&updraft_run::Failure>) -> LogLine {
        let usage = &self.run.ledger().usage;
        let line = match failed {
            None => self.info("run done"),
            Some(why) => self.error("run failed").with("kind", why.kind.name()).with("why", &*why.message),
        };
        line.with("status", self.run.status().as_str()).with("input", usage.input).with("output", usage.output)
    }

    /// Why it happened: what was said and decided.
    fn reasoning(&self, event: &Event) -> Vec<LogLine> {
        let at = self.record.at;
        let of = |line: LogLine, id: &EffectAddress| {
            line.with("step", id.step.as_str()).with("agent", self.agent(id)).with("turn", id.turn)
        };
        match event {
            Event::Started(start) => vec![LogLine::reasoning(at, "goal", cut(&start.goal.text, LONGEST_TEXT))],
            Event::Told { message } => vec![LogLine::reasoning(at, "the user says", cut(message, LONGEST_TEXT))],
            Event::Planned { graph, because, instead } if *because != PlanReason::Goal => {
                let steps = graph.steps.iter().map(|step| {
                    let after: Vec<&str> = step.after.iter().map(StepId::as_str).collect();
                    let after = if after.is_empty() { String::new() } else { format!(", after {}", after.join(", ")) };
                    let task = if step.description.is_empty() { &step.prompt } else { &step.description };
                    format!("{} ({}{after}): {}", step.id, step.agent, cut(task, 500))
                });
                let why = instead.iter().map(|why| format!("one step instead of a plan: {why}"));
                vec![LogLine::reasoning(at, "plan", why.chain(steps).collect::<Vec<_>>().join("\n"))]
            }
            Event::Replied { id, reply: Reply::Answer(answer), .. } => {
                answer_lines(at, answer).into_iter().map(|line| of(line, id)).collect()
            }
            Event::Replied { id, reply: Reply::Said(text), .. } => {
                vec![of(LogLine::reasoning(at, "the user answers", cut(text, LONGEST_TEXT)), id)]
            }
            Event::Replied { id, reply: Reply::Verdict(Verdict { allow, because, .. }), .. } => {
                let what = if *allow { "the user allows" } else { "the user refuses" };
                vec![of(LogLine::reasoning(at, what, &**because), id)]
            }
            Event::Judged { step, verdict } => {
                let (what, why) = judgement(verdict);
                vec![LogLine::reasoning(at, what, why).with("step", step.as_str())]
            }
            Event::Compacted { step, summary, .. } => {
                vec![LogLine::reasoning(at, "summary", cut(summary, LONGEST_TEXT)).with("step", step.as_str())]
            }
            Event::Finished { answer, .. } => vec![LogLine::reasoning(at, "result", cut(answer, LONGEST_TEXT))],
            _ => Vec::new(),
        }
    }
}

fn answer_lines(at: updraft_run::Timestamp, answer: &ModelAnswer) -> Vec<LogLine> {
    let mut lines = Vec::new();
    if !answer.reasoning.trim().is_empty() {
        lines.push(LogLine::reasoning(at, "reasons", cut(&answer.reasoning, LONGEST_TEXT)));
    }
    if !answer.text.trim().is_empty() {
        lines.push(LogLine::reasoning(at, "says", cut(&answer.text, LONGEST_TEXT)));
    }
    let call = |call: &updraft_run::ToolCall| {
        let args = call.args.to_string();
        LogLine::reasoning(at, "calls", "").with("tool", &*call.name).with("arguments", cut(&args, 2_000))
    };
    lines.extend(answer.calls.iter().map(call));
    lines
}

fn judgement(verdict: &Judgement) -> (&'static str, String) {
    match verdict {
        Judgement::Accept => ("accepted", String::new()),
        Judgement::Retry { feedback } => ("again", feedback.clone()),
        Judgement::Pivot { feedback } => ("another way", feedback.clone()),
        Judgement::Again { instruction } => ("runs again", instruction.clone()),
        Judgement::GiveUp => ("given up", String::new()),
        Judgement::Reject { by, why } => ("rejected by a review", format!("{by}: {why}")),
        Judgement::Renewed { by } => ("again, with a new result", by.to_string()),
        Judgement::Replan { why } => ("a new plan", why.clone()),
        _ => ("judged", String::new()),
    }
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
