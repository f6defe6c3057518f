//! Reports about a run: what each step did, when, and what it cost.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::{Value, json};
use updraft_journal::{Journal, RunSummary};
use updraft_run::{
    Cost, Effect, Event, Ledger, ProofFinding, ProofState, Record, Reply, Requirement, Run, RunId, RunPhase, Step,
    StepId, StepState, Timestamp, ToolCallOutcome, argument_lines,
};

use crate::Error;
use crate::context::WorkspaceContext;
use crate::history::PastStep;
use crate::tool_counts::ToolCallCount;

/// A run with its history, finished or not.
#[derive(Debug)]
pub struct RunReport {
    /// What the journal's list says about it, without reading its records.
    pub head: RunSummary,
    /// The run's state.
    pub run: Run,
    /// Its steps, in the order they were planned.
    pub steps: Vec<StepReport>,
    /// When its last record was made.
    pub ended: Timestamp,
}

/// One step with its history.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The step in its last state.
    pub step: Step,
    /// When it first began.
    pub began: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The tools it called, in the order of their first calls.
    pub tools: Vec<ToolCallCount>,
}

impl RunReport {
    /// Loads a run and its history.
    pub fn of(journal: &Journal, id: &RunId) -> Result<Self, Error> {
        let head = journal.head(id)?;
        let mut run = Run::default();
        let mut began: BTreeMap<StepId, Timestamp> = BTreeMap::new();
        let mut over: BTreeMap<StepId, Timestamp> = BTreeMap::new();
        let mut tools: BTreeMap<StepId, Vec<ToolCallCount>> = BTreeMap::new();
        let mut ended = head.created;
        journal.read(id, 0, &mut |_, record: Record| {
            ended = record.at;
            for event in &record.events {
                match event {
                    Event::Wanted { id, effect: Effect::Ask | Effect::Prepare } => {
                        began.entry(id.step.clone()).or_insert(record.at);
                    }
                    Event::StepDone { step, .. }
                    | Event::StepFailed { step, .. }
                    | Event::StepSkipped { step, .. }
                    | Event::StepCancelled { step } => {
                        over.insert(step.clone(), record.at);
                    }
                    _ => {}
                }
            }
            run.record(&record);
            for event in &record.events {
                if let Event::Wanted { id, effect: Effect::Call } = event {
                    ToolCallCount::count(tools.entry(id.step.clone()).or_default(), &run, id);
                }
            }
            ControlFlow::Continue(())
        })?;
        let steps = run.steps().map(|step| StepReport {
            began: began.get(&step.spec.id).copied(),
            ended: over.get(&step.spec.id).copied(),
            tools: tools.remove(&step.spec.id).unwrap_or_default(),
            step: step.clone(),
        });
        let steps = steps.collect();
        Ok(Self { head, run, steps, ended })
    }

    /// The answer of the run, or what there is of it so far.
    pub fn answer(&self) -> String {
        match self.run.phase() {
            RunPhase::Over { answer, .. } => answer.to_string(),
            _ => self.run.answer(),
        }
    }

    /// What the run's agents are told about their workspace and the work so far: intent, workspace, history, memory.
    pub fn context(&self, journal: &Journal) -> Result<Value, Error> {
        let stored = self.run.settings().context.map(|hash| journal.blob(&hash)).transpose()?.flatten();
        let context: WorkspaceContext =
            stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let ended = self.steps.iter().filter(|step| step.step.has_ended());
        let history: Vec<PastStep> = ended.map(|step| PastStep::of(&step.step)).collect();
        Ok(context.to_json(&self.run.goal().text, &history))
    }

    /// The statistics of the whole run.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(&self.run)
    }

    /// The run as JSON, for scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "run": self.head.id,
            "goal": self.run.goal().text,
            "status": self.run.status_word(),
            "workspace": self.head.workspace,
            "model": self.head.model,
            "created": self.head.created,
            "updated": self.ended,
            "parent": self.head.parent,
            "events": self.run.events(),
            "answer": self.answer(),
            "failure": failure_of(&self.run),
            "requirements": requirements(&self.run),
            "assumptions": self.run.assumptions(),
            "stopped": crate::why_stopped(&self.run),
            "statistics": self.statistics(),
            "variables": self.run.variables().iter().map(|(name, v)| (name.clone(), (*v.value).clone())).collect::<serde_json::Map<_, _>>(),
            "waiting_for": waiting_for(&self.run),
            "planned_instead": self.run.planned_instead(),
            "schedule": self.run.goal().due,
            "repeats": self.run.earlier_runs().repeated.as_ref().map(|repeated| &repeated.of),
            "omitted": self.run.omitted().collect::<Vec<_>>(),
            "steps": self.steps.iter().map(|step| step.to_json(&self.run)).collect::<Vec<_>>(),
        })
    }
}

/// The requirements of a run and what was found about each, as JSON.
pub fn requirements(run: &Run) -> Vec<Value> {
    let one = |(one, found): (&Requirement, Option<&ProofFinding>)| {
        json!({ "requirement": one.text, "check": one.how(), "from_goal": one.derived,
                "state": found.map_or(ProofState::Unproved, |found| found.state),
                "why": found.map(|found| found.why.as_str()) })
    };
    run.proof().findings().map(one).collect()
}

impl StepReport {
    /// Why it failed, was skipped, or cannot continue for now.
    pub fn error(&self) -> Option<String> {
        match &self.step.state {
            _ if self.step.halted.is_some() => self.step.halted.as_ref().map(|why| why.message.clone()),
            StepState::Failed(why) => Some(why.message.clone()),
            StepState::Skipped { because } => Some(format!("skipped because `{because}` did not succeed")),
            _ => None,
        }
    }

    fn to_json(&self, run: &Run) -> Value {
        let spec = &self.step.spec;
        let ledger = &self.step.ledger;
        json!({
            "id": spec.id, "agent": spec.agent, "description": spec.description, "prompt": spec.prompt,
            "reads": spec.reads, "writes": spec.writes, "after": spec.after,
            "model": run.model_for(spec), "kept": run.is_kept(&spec.id),
            "status": self.step.status(), "output": self.step.output.as_deref(), "error": self.error(),
            "visits": self.step.visit + u32::from(self.began.is_some()),
            "turns": ledger.requests(), "calls": ledger.calls, "tools": self.tools,
            "input_tokens": ledger.usage.input, "output_tokens": ledger.usage.output,
            "cached_tokens": ledger.usage.cached, "reasoning_tokens": ledger.usage.reasoning,
            "cache_hits": ledger.cache_hits, "cache_misses": ledger.answers - ledger.cache_hits,
            "estimated": ledger.usage.estimated,
            "cost": dollars(ledger), "doubtful": in_dollars(ledger.outstanding().cost.unwrap_or_default()),
            "began": self.began, "ended": self.ended,
        })
    }
}

/// The statistics of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Questions to models, including those asked again because the answer was cut off.
    pub turns: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Answers that showed reasoning.
    pub reasoning_steps: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Input tokens from the provider's cache.
    pub cached_tokens: u64,
    /// Answers for which the provider used its prompt cache.
    pub cache_hits: u64,
    /// Answers for which it did not.
    pub cache_misses: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// Some numbers are estimates, because a provider reported none.
    pub estimated: bool,
    /// Dollars, including cut-off calls; absent if a price is unknown.
    pub cost: Option<f64>,
    /// The part of `cost` that may have been billed for calls that were cut off or have not answered yet.
    pub doubtful: f64,
    /// How many calls `doubtful` covers.
    pub doubtful_calls: u64,
    /// Working time in milliseconds.
    pub time_ms: u64,
}

impl Statistics {
    /// The statistics of a run in its current state.
    pub fn of(run: &Run) -> Self {
        let ledger = run.ledger();
        Self {
            turns: ledger.requests(),
            tool_calls: ledger.calls,
            reasoning_steps: ledger.reasoning_steps,
            input_tokens: ledger.usage.input,
            cached_tokens: ledger.usage.cached,
            cache_hits: ledger.cache_hits,
            cache_misses: ledger.answers - ledger.cache_hits,
            output_tokens: ledger.usage.output,
            reasoning_tokens: ledger.usage.reasoning,
            estimated: ledger.usage.estimated,
            cost: dollars(ledger),
            doubtful: in_dollars(ledger.outstanding().cost.unwrap_or_default()),
            doubtful_calls: ledger.cut_off + u64::from(ledger.reservations),
            time_ms: run.worked().0,
        }
    }
}

/// The cost in dollars; `None` if some calls have no price.
pub fn dollars(ledger: &Ledger) -> Option<f64> {
    (ledger.unpriced == 0).then(|| in_dollars(ledger.at_most()))
}

fn in_dollars(cost: Cost) -> f64 {
    cost.0 as f64 / 1e9
}

/// Why a run counts as failed.
pub fn failure_of(run: &Run) -> Option<&updraft_run::Failure> {
    match run.phase() {
        RunPhase::Over { failed, .. } => failed.as_ref(),
        _ => None,
    }
}

/// The questions and approvals a run waits for.
pub fn waiting_for(run: &Run) -> Vec<Value> {
    let asked = run.open().iter().filter_map(|(id, open)| match &open.effect {
        Effect::Question { text, options, inquiry } => {
            let mut wait = json!({ "id": id, "kind": "question", "text": text, "options": options });
            if let Some(inquiry) = inquiry {
                wait["from"] = json!(inquiry.from);
                wait["form"] = json!(inquiry.form);
                wait["visit"] = json!(inquiry.url);
            }
            Some(wait)
        }
        Effect::Approval { why, origins, always, like, .. } => {
            let call = run.call_at(&id.sibling(updraft_run::EffectKind::Call, id.n));
            let arguments = call.as_ref().map(|call| argument_lines(&call.args)).unwrap_or_default();
            let mut wait = json!({ "id": id, "kind": "approval", "text": why, "call": call, "arguments": arguments,
                                   "origins": origins, "always": always });
            if let Some(like) = like {
                wait["always_in_this_run"] = json!(like.to_string());
            }
            Some(wait)
        }
        _ => None,
    });
    asked.collect()
}

/// The message history of a run in order: the goal, what each model and person said, and each tool's output.
pub fn messages(journal: &Journal, id: &RunId) -> Result<Vec<Value>, Error> {
    let mut messages = Vec::new();
    journal.read(id, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Started(start) => {
                    messages.push(json!({ "at": record.at, "role": "user", "text": start.goal.text }));
                }
                Event::Forked { goal: Some(goal), .. } => {
                    messages.push(json!({ "at": record.at, "role": "user", "text": goal }));
                }
                Event::Replied { id, reply: Reply::Answer(answer), .. } => messages.push(json!({
                    "at": record.at, "step": id.step, "address": id, "role": "assistant",
                    "text": answer.text, "reasoning": answer.reasoning, "calls": answer.calls, "usage": answer.usage,
                })),
                Event::Replied { id, reply: Reply::Said(text), .. } => messages.push(json!({
                    "at": record.at, "step": id.step, "address": id, "role": "user", "text": text,
                })),
                Event::Replied { id, reply, .. } => messages.push(json!({
                    "at": record.at, "step": id.step, "address": id, "role": "tool",
                    "text": updraft_run::outcome_words(&ToolCallOutcome::Replied(reply.clone())),
                })),
                Event::Rejected { id, why } => messages.push(json!({
                    "at": record.at, "step": id.step, "address": id, "role": "tool", "text": why.message, "rejected": true,
                })),
                Event::Told { message } => {
                    messages.push(json!({ "at": record.at, "role": "user", "text": message }));
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(messages)
}
