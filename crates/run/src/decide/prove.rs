//! Decides about the proof at the end of a run: which checks are made, whether the work is sent back, and what was found.
//!
//! When the work is done, a step of its own makes the checks. It asks no model, except about requirements in free text:
//! its calls are the run's own, and they are decided about, made and recorded like an agent's.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_lenient::whole_object;

use crate::effect::Effect;
use crate::event::{Event, Judgement, PlanReason};
use crate::goal::AgentCard;
use crate::graph::{Graph, StepSpec};
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::ToolCall;
use crate::proof::{ProofFinding, ProofState};
use crate::reply::{Failure, FailureKind, Reply};
use crate::requirement::{Check, Requirement};
use crate::role::AgentRole;
use crate::state::Run;
use crate::step::{CallSlot, ConversationEntry, Step, StepRole, StepState, ToolCallOutcome};

/// The tool that runs a command named as proof.
const RUN_COMMAND: &str = "run_command";
/// The tool that looks at a file, and checks it or a value against a schema.
pub(crate) const CHECK_RESULT: &str = "check_result";
/// How long a command named as proof may take, in seconds.
const COMMAND_TIME: u64 = 600;
/// How often the work is sent back because of the same check.
const MOST_SENT_BACK: u32 = 2;
/// How often one check is made in one visit, if its outcome is unknown or other checks make it stale.
const MOST_RUNS: usize = 3;

/// One time a check was made: its address and its outcome.
pub(super) type CheckRun<'a> = (EffectAddress, &'a ToolCallOutcome);

impl Run {
    /// Begins the check of the requirements, unless there are none, they have been checked, or the work has failed.
    pub(super) fn begin_proof(&self) -> Option<Vec<Event>> {
        if !self.proof.is_wanted() || self.proving_step().is_some() || self.failure().is_some() {
            return None;
        }
        let is_done = |step: &&Step| step.role == StepRole::Work && step.state == StepState::Done && !step.superseded;
        let is_last = |step: &&Step| !self.dependants(step).any(|next| is_done(&next));
        let last: Vec<&Step> = self.steps().filter(is_done).filter(is_last).collect();
        let judge = self.roster.in_role(AgentRole::Judge).map(|card| card.name.as_str());
        let agent = judge.or_else(|| Some(last.first()?.spec.agent.as_str()))?;
        let taken = |id: &StepId| self.steps.iter().any(|step| step.spec.id == *id);
        let numbered = (1..).filter_map(|n| StepId::parse(&format!("proof.{n}")).ok());
        let id = std::iter::once(StepId::known("proof")).chain(numbered).find(|id| !taken(id))?;
        let mut spec = StepSpec::new(id, agent);
        spec.description = "Check the requirements".into();
        spec.after = last.iter().map(|step| step.spec.id.clone()).collect();
        let graph = Arc::new(Graph { steps: vec![spec] });
        Some(vec![Event::Planned { graph, because: PlanReason::Proof, instead: None }])
    }

    /// The calls that the run makes itself at an address where `Effect::Prepare` is wanted.
    pub fn own_calls(&self, id: &EffectAddress) -> Vec<ToolCall> {
        self.step(&id.step).map(|step| self.next_checks(step)).unwrap_or_default()
    }

    /// The rights of the calls that the run makes itself: those of the run, for these tools only.
    pub(super) fn own_card(step: &Step) -> Option<AgentCard> {
        let tools = vec![CHECK_RESULT.to_owned(), RUN_COMMAND.to_owned()];
        let name = step.spec.id.to_string();
        (step.role == StepRole::Prove).then(|| AgentCard { name, tools, ..AgentCard::default() })
    }

    /// Begins a visit of the step that checks the requirements, or its next turn.
    pub(super) fn prepare_checks(step: &Step, turn: u32) -> Vec<Event> {
        vec![Event::Wanted { id: step.address(turn, EffectKind::Ask), effect: Effect::Prepare }]
    }

    /// Decides about the step that checks the requirements, when something happened to it.
    pub(super) fn attend_proof(&self, step: &Step) -> Vec<Event> {
        if step.trouble.is_some() {
            return self.conclude_proof(step);
        }
        match &step.state {
            StepState::Thinking { turn } => match step.spoken().next() {
                Some(ConversationEntry::Answer(answer)) if !answer.calls.is_empty() => {
                    self.decide_calls(step, *turn, &vec![CallSlot::Undecided; answer.calls.len()], &answer.calls)
                }
                Some(_) | None => self.go_on_proving(step, *turn),
            },
            StepState::Acting { turn, slots } if slots.is_empty() => self.go_on_proving(step, *turn),
            StepState::Acting { turn, slots } => self.go_on_with_calls(step, *turn, slots),
            StepState::Judging { .. } => self.conclude_proof(step),
            StepState::Compacting { .. }
            | StepState::Waiting
            | StepState::Ready
            | StepState::Done
            | StepState::Failed(_)
            | StepState::Skipped { .. }
            | StepState::Cancelled
            | StepState::Dropped => Vec::new(),
        }
    }

    /// The next check; a question about the requirements in free text; or the conclusion.
    fn go_on_proving(&self, step: &Step, turn: u32) -> Vec<Event> {
        if !self.next_checks(step).is_empty() {
            return Self::prepare_checks(step, turn + 1);
        }
        if !self.asked_of_model().is_empty() {
            let ask = vec![Event::Wanted { id: step.address(turn, EffectKind::Judge), effect: Effect::Ask }];
            return match self.stop_at_turn_limit(step) {
                Some(stopped) if matches!(stopped.first(), Some(Event::Exhausted { .. })) => stopped,
                Some(_) => self.conclude_proof(step),
                None => ask,
            };
        }
        self.conclude_proof(step)
    }

    /// The calls to make next: one command, or everything else together. Commands come first and one by one, because
    /// they may write the files that are looked at afterwards.
    fn next_checks(&self, step: &Step) -> Vec<ToolCall> {
        let due = |n: &usize| self.is_due(step, *n);
        let is_command = |n: &usize| matches!(self.proof.requirements[*n].check, Check::Command { .. });
        let all = 0..self.proof.requirements.len();
        if let Some(n) = all.clone().filter(is_command).find(due) {
            return self.check_call(n).into_iter().collect();
        }
        all.filter(due).filter_map(|n| self.check_call(n)).collect()
    }

    /// Whether a check must be made in this visit: it was not made yet, its outcome is unknown, or it is stale.
    fn is_due(&self, step: &Step, n: usize) -> bool {
        let runs = runs_of(step, n);
        let Some((at, outcome)) = runs.last() else { return !self.is_still_proved(n) };
        let is_open = match outcome {
            ToolCallOutcome::Replied(Reply::InDoubt { .. } | Reply::Cancelled) => true,
            ToolCallOutcome::Replied(Reply::Output(output)) => !output.is_error && self.changed_since(at).is_some(),
            ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => false,
        };
        is_open && runs.len() < MOST_RUNS
    }

    /// Whether an earlier check found a requirement met, and nothing has changed since.
    pub(super) fn is_still_proved(&self, n: usize) -> bool {
        let holds_on = match self.proof.requirements[n].check {
            // Answers and variables change without any file.
            Check::Answer { .. } | Check::Variable { .. } | Check::Citations => false,
            Check::Command { .. } | Check::File { .. } | Check::FreeText => true,
        };
        let found = self.proof.findings.get(n).filter(|found| holds_on && found.state == ProofState::Proved);
        found.is_some_and(|found| found.evidence.iter().all(|one| self.stale(one).is_none()))
    }

    /// The call that checks a requirement; `None` if no call does.
    fn check_call(&self, n: usize) -> Option<ToolCall> {
        let (name, args) = match &self.proof.requirements[n].check {
            Check::Command { command } => (RUN_COMMAND, json!({ "command": command, "seconds": COMMAND_TIME })),
            Check::File { path, schema: None } => (CHECK_RESULT, json!({ "path": path })),
            Check::File { path, schema: Some(schema) } => (CHECK_RESULT, json!({ "path": path, "schema": schema })),
            Check::Answer { schema } => (CHECK_RESULT, json!({ "value": as_data(&self.answer()), "schema": schema })),
            Check::Variable { name, schema } => {
                let value = &*self.variables.get(name)?.value;
                (CHECK_RESULT, json!({ "value": value, "schema": schema }))
            }
            Check::Citations | Check::FreeText => return None,
        };
        Some(ToolCall { id: call_id(n), name: name.to_owned(), args, fault: None })
    }

    /// Records what was found. If something is not met and the work can be done again, it is sent back.
    fn conclude_proof(&self, step: &Step) -> Vec<Event> {
        if let Some(events) = self.after_renewal(step) {
            return events;
        }
        let id = step.spec.id.clone();
        let findings = self.findings_of(step);
        let unmet: Vec<(&Requirement, &ProofFinding)> = self.proof.requirements.iter().zip(&findings).collect();
        let unmet: Vec<_> = unmet.into_iter().filter(|(_, found)| found.state == ProofState::Failed).collect();
        let makers = if step.visit < MOST_SENT_BACK { self.makers_of(&unmet) } else { Vec::new() };
        let feedback = in_words(&unmet);
        let mut events = vec![Event::Proved { step: id.clone(), findings: findings.clone() }];
        let Some(first) = makers.first() else {
            events.push(Event::StepDone { step: id, best_effort: false, output: None, kept_from: None });
            return events;
        };
        let back = |maker: &&Step| Event::Judged {
            step: maker.spec.id.clone(),
            verdict: Judgement::Retry { feedback: feedback.clone() },
        };
        events.extend(makers.iter().map(back));
        events.push(Event::Judged { step: id, verdict: Judgement::Renewed { by: first.spec.id.clone() } });
        events
    }

    /// The steps to which unmet requirements are sent back: for commands and files the step that changed a file last,
    /// otherwise those that gave the answer.
    fn makers_of(&self, unmet: &[(&Requirement, &ProofFinding)]) -> Vec<&Step> {
        if unmet.is_empty() {
            return Vec::new();
        }
        let can_redo = |step: &&Step| step.state == StepState::Done && !step.superseded && self.may_re_enter(step);
        let is_of_files = |(one, _): &(&Requirement, &ProofFinding)| {
            matches!(one.check, Check::Command { .. } | Check::File { .. } | Check::FreeText)
        };
        let by_work = self.proof.changes.values().filter(|fact| !self.is_check(&fact.by));
        let changer = by_work.max_by_key(|fact| fact.at).and_then(|fact| self.step(&fact.by.step)).filter(can_redo);
        let changer = changer.filter(|_| unmet.iter().any(is_of_files));
        let is_answer_at_fault = changer.is_none() || !unmet.iter().all(is_of_files);
        // What follows from the changed step is done again with it.
        let is_apart = |step: &&Step| {
            changer.is_none_or(|first| first.spec.id != step.spec.id && !self.leads_to(first, &step.spec.id))
        };
        let answering = self.answering_steps().into_iter().filter(|step| !self.is_review(step));
        let answering = answering.filter(can_redo).filter(is_apart).filter(|_| is_answer_at_fault);
        changer.into_iter().chain(answering).collect()
    }

    /// Why the run is not done although all its steps are: requirements that are not met.
    pub(super) fn unmet(&self) -> Option<Failure> {
        let all = self.proof.requirements.len();
        let failed: Vec<String> = self.proof.failed().map(|(one, found)| reason(one, found)).collect();
        let what = if all == 1 { "requirement" } else { "requirements" };
        let are = if failed.len() == 1 { "is" } else { "are" };
        let why = || format!("{} of {all} {what} {are} not met: {}", failed.len(), failed.join("; "));
        (!failed.is_empty()).then(|| Failure::new(FailureKind::NotDone, why()))
    }
}

/// Every time a check was made in this visit.
pub(super) fn runs_of(step: &Step, n: usize) -> Vec<CheckRun<'_>> {
    let key = call_id(n);
    let (mut turn, mut calls, mut found): (u32, &[ToolCall], Vec<CheckRun<'_>>) = (0, &[], Vec::new());
    for entry in &step.conversation {
        match entry {
            ConversationEntry::Answer(answer) => (turn, calls) = (turn + 1, answer.calls.as_slice()),
            ConversationEntry::Results(results) => {
                let own = calls.iter().zip(&results.outcomes).zip(0..).filter(|((call, _), _)| call.id == key);
                let address = step.address(turn.saturating_sub(1), EffectKind::Call);
                found.extend(own.map(|((_, outcome), at)| (address.sibling(EffectKind::Call, at), outcome)));
            }
            ConversationEntry::Note(_) | ConversationEntry::Summary(_) => {}
        }
    }
    found
}

/// The id of the call that checks a requirement.
fn call_id(n: usize) -> String {
    format!("requirement.{}", n + 1)
}

/// An answer as data: JSON if it is JSON, otherwise a text.
fn as_data(answer: &str) -> Value {
    let object = || whole_object(answer).map(Value::Object);
    serde_json::from_str(answer.trim()).ok().or_else(object).unwrap_or_else(|| Value::String(answer.to_owned()))
}

/// The unmet requirements, for the agent that does the work again.
fn in_words(unmet: &[(&Requirement, &ProofFinding)]) -> String {
    let lines: Vec<String> = unmet.iter().map(|(one, found)| format!("- {}: {}", one.text, found.why)).collect();
    lines.join("\n")
}

/// A requirement that is not met, and the first line of why.
fn reason(one: &Requirement, found: &ProofFinding) -> String {
    let why = found.why.lines().next().unwrap_or_default();
    format!("{} ({why})", one.text)
}
