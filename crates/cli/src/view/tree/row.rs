//! One step of the live tree: its description, what it is doing, and how its calls ended.

use std::collections::VecDeque;

use updraft_models::Delta;
use updraft_run::{EffectAddress, EffectKind, Judgement, Step, StepId, StepRole, Timestamp};

use super::super::call::CallEnd;
use super::super::describe;
use crate::out;

/// Most calls of a step that are kept: only the last are shown.
const CALLS: usize = 8;
/// Most lines of a running command that are kept.
const PRINTED: usize = 4;
/// Most bytes of a model's words that are kept: more than fits on a screen.
const SPEECH: usize = 2_000;

/// One step as it is drawn.
#[derive(Default)]
pub(super) struct StepRow {
    pub(super) agent: String,
    pub(super) description: String,
    /// The steps that it waits for.
    pub(super) after: Vec<StepId>,
    /// What it has cost so far, in words; empty if nothing.
    pub(super) cost: String,
    pub(super) spent: u64,
    pub(super) status: &'static str,
    pub(super) began: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) turns: u64,
    pub(super) visits: u32,
    /// The last calls, in the order they were requested.
    pub(super) calls: VecDeque<CallLine>,
    pub(super) made: u32,
    pub(super) failed: u32,
    /// What it waits for, or why it runs again.
    pub(super) note: String,
    /// Why it failed.
    pub(super) why: String,
    /// Why it stopped before it was done.
    pub(super) halted: String,
    /// Why it caused a new plan.
    pub(super) replanned: Option<String>,
    is_plan: bool,
    asked: Option<EffectKind>,
    speech: String,
    is_thinking: bool,
    drafted: Option<String>,
}

/// A call that is or was under way.
pub(super) struct CallLine {
    at: EffectAddress,
    pub(super) words: String,
    /// `None` while it is under way.
    pub(super) end: Option<CallEnd>,
    /// The last lines it printed.
    pub(super) printed: VecDeque<String>,
}

/// What a step's model is doing.
pub(super) enum ModelActivity<'a> {
    /// Written by us, because the model has said nothing yet, or nothing for people to read.
    About(String),
    /// In its own words.
    Own(&'a str),
}

impl StepRow {
    /// Updates the row from the step.
    pub(super) fn look(&mut self, step: &Step) {
        if self.agent.is_empty() {
            self.agent.clone_from(&step.spec.agent);
            self.description = out::short(&step.spec.description, 300);
            self.is_plan = step.role == StepRole::Plan;
        }
        self.status = step.status();
        self.turns = step.ledger.turns;
        self.spent = step.ledger.at_most().0;
        self.cost = if self.spent > 0 { describe::cost(&step.ledger) } else { String::new() };
        self.visits = step.visit + 1;
        self.halted = step.halted.as_ref().map(|why| why.message.clone()).unwrap_or_default();
        if step.has_ended() {
            self.note.clear();
            if let updraft_run::StepState::Failed(why) = &step.state {
                self.why.clone_from(&why.message);
            }
        }
    }

    /// A model request begins.
    pub(super) fn asks(&mut self, id: &EffectAddress, at: Timestamp) {
        self.began.get_or_insert(at);
        self.ended = None;
        self.asked = Some(id.kind);
        self.speech.clear();
        self.drafted = None;
    }

    /// The model, tool or person replied.
    pub(super) fn replied(&mut self, id: &EffectAddress, end: &CallEnd) {
        if id.kind != EffectKind::Call {
            self.asked = None;
            self.note.clear();
            return;
        }
        self.failed += u32::from(*end != CallEnd::Good);
        if let Some(call) = self.calls.iter_mut().find(|call| call.at == *id) {
            call.end = Some(end.clone());
            call.printed.clear();
        }
    }

    /// A call is requested, or refused before it is made.
    pub(super) fn calls(&mut self, id: &EffectAddress, words: String) {
        self.asked = None;
        if self.calls.iter().any(|call| call.at == *id) {
            return;
        }
        self.made += 1;
        self.calls.push_back(CallLine { at: id.clone(), words, end: None, printed: VecDeque::new() });
        if self.calls.len() > CALLS
            && let Some(oldest) = self.calls.iter().position(|call| call.end.is_some())
        {
            self.calls.remove(oldest);
        }
    }

    /// Why the last call failed, in words for a step of which none succeeded.
    pub(super) fn last_failure(&self) -> Option<String> {
        let why = self.calls.iter().rev().find_map(|call| match &call.end {
            Some(CallEnd::Bad(why)) => Some(why),
            _ => None,
        })?;
        let calls = if self.made == 1 { "its only call failed" } else { "every call failed, the last" };
        Some(format!("{calls}: {}", why.trim_start_matches("failed: ")))
    }

    /// The result was judged.
    pub(super) fn judged(&mut self, verdict: &Judgement) {
        match verdict {
            Judgement::Retry { feedback } => self.note = format!("↻ again: {feedback}"),
            Judgement::Pivot { feedback } => self.note = format!("↻ another way: {feedback}"),
            Judgement::Again { instruction } => self.note = format!("↻ runs again: {instruction}"),
            Judgement::Replan { why } => self.replanned = Some(why.clone()),
            _ => {}
        }
    }

    /// A part of an answer arrives.
    pub(super) fn hears(&mut self, delta: Delta<'_>) {
        let thinks = matches!(delta, Delta::Reasoning(_));
        match delta {
            Delta::Text(text) | Delta::Reasoning(text) => {
                if thinks != self.is_thinking {
                    self.speech.clear();
                }
                (self.is_thinking, self.drafted) = (thinks, None);
                self.note.clear();
                self.speech.push_str(text);
                if self.speech.len() > 2 * SPEECH {
                    let cut = self.speech.ceil_char_boundary(self.speech.len() - SPEECH);
                    self.speech.drain(..cut);
                }
            }
            Delta::Call(name) => self.drafted = Some(name.to_owned()),
            Delta::Again(why) => self.note = format!("asking again: {why}"),
            Delta::Waiting(why) => why.clone_into(&mut self.note),
            _ => {}
        }
    }

    /// A tool reports progress, or a command prints a line.
    pub(super) fn prints(&mut self, id: &EffectAddress, line: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.at == *id) {
            call.printed.push_back(line.to_owned());
            if call.printed.len() > PRINTED {
                call.printed.pop_front();
            }
        }
    }

    /// What the model is thinking, if it has not begun to speak.
    pub(super) fn thought(&self) -> Option<&str> {
        let said = self.speech.trim();
        (self.asked.is_some() && self.is_thinking && !said.is_empty()).then_some(said)
    }

    /// What the model is doing during a request. Plans and results are for the program, so their text is not shown.
    pub(super) fn speech(&self) -> Option<ModelActivity<'_>> {
        let about = |text: &str| Some(ModelActivity::About(text.to_owned()));
        let said = self.speech.trim();
        match self.asked? {
            EffectKind::Judge => return about("weighing the result"),
            EffectKind::Compact => return about("summarising older turns"),
            _ => {}
        }
        match &self.drafted {
            Some(name) => Some(ModelActivity::About(format!("preparing a call of {name}"))),
            None if said.is_empty() => about("waiting for the model"),
            None if self.is_plan && !self.is_thinking => about("writing the plan"),
            None if said.starts_with(['{', '[']) || said.starts_with("```json") => about("writing its result"),
            None => Some(ModelActivity::Own(said)),
        }
    }
}
