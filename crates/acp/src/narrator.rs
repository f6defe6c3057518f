//! A run in the words of the protocol: everything that happened as updates of a session, each once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};
use updraft_run::{EffectAddress, Reply, Run, RunId, Status, StepId, StepRole};
use updraft_workbench::history::{AnswerEntry, CallEntry, EntryKind, HistoryEntry, QuestionEntry, RunHistory};
use updraft_workbench::service::{LiveRuns, LiveText, LiveTextKind};

use crate::{calls, plan};

const MESSAGE: &str = "agent_message_chunk";
const THOUGHT: &str = "agent_thought_chunk";

/// What the text of a step is to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepVoice {
    /// It is not meant for people: a plan, a check.
    Silent,
    /// Others build on it.
    Thought,
    /// It answers the user.
    Message,
}

/// What was told of an answer while it was written.
#[derive(Debug, Default)]
struct PartialAnswer {
    text: String,
    reasoning: String,
    /// How often it was begun anew.
    restarts: u32,
}

/// Tells one run.
pub(crate) struct RunNarrator {
    run: RunId,
    runs: LiveRuns,
    folder: PathBuf,
    /// The last event that was told.
    after: u64,
    /// What the editor itself has just sent: it is not told again.
    own: Option<String>,
    partial: BTreeMap<EffectAddress, PartialAnswer>,
    /// Answers that were told as a whole.
    told: BTreeSet<EffectAddress>,
    /// The answer that is told while it is written. Others wait until they are whole, so that texts are not mixed.
    floor: Option<EffectAddress>,
    voices: BTreeMap<StepId, StepVoice>,
    plan: Option<Value>,
    last_message: String,
}

impl RunNarrator {
    /// Tells a run after a position.
    pub(crate) fn new(runs: &LiveRuns, run: &RunId, folder: PathBuf, after: u64, own: Option<String>) -> Self {
        Self {
            run: run.clone(),
            runs: runs.clone(),
            folder,
            after,
            own,
            partial: BTreeMap::new(),
            told: BTreeSet::new(),
            floor: None,
            voices: BTreeMap::new(),
            plan: None,
            last_message: String::new(),
        }
    }

    /// What has happened since. Blocks on the disk.
    pub(crate) fn tell(&mut self, history: &RunHistory) -> Vec<Value> {
        let run = history.run();
        self.voices = run.steps().map(|step| (step.spec.id.clone(), voice(run, &step.spec.id))).collect();
        let mut told = Vec::new();
        let after = self.after;
        for entry in history.entries().iter().filter(|entry| entry.changed > after) {
            self.entry(entry, run.status() == Status::Cancelled, &mut told);
        }
        self.after = history.position();
        let plan = plan::plan(run);
        if plan.is_some() && plan != self.plan {
            // The plan is there before what its steps do.
            let first = told.iter().position(|update| update["sessionUpdate"] != "user_message_chunk");
            told.insert(first.unwrap_or(told.len()), plan.clone().unwrap_or_default());
            self.plan = plan;
        }
        told
    }

    fn entry(&mut self, entry: &HistoryEntry, is_cancelled: bool, told: &mut Vec<Value>) {
        match &entry.kind {
            EntryKind::Goal { text, .. } | EntryKind::Told { text } => self.user(entry.position, text, told),
            EntryKind::Answer(answer) => self.answer(answer, told),
            EntryKind::Call(call) => self.call(entry.position, call, told),
            EntryKind::Question(question) => self.question(entry, question, told),
            EntryKind::Finished { answer, failed } => {
                // Whoever cancelled a run knows it.
                let failed = failed.as_deref().filter(|_| !is_cancelled);
                self.finished(entry.position, answer, failed, told);
            }
            EntryKind::Forked { .. } | EntryKind::Planned(_) | EntryKind::StepEnded { .. } | EntryKind::Note { .. } => {
            }
        }
    }

    fn user(&mut self, position: u64, text: &str, told: &mut Vec<Value>) {
        if self.own.as_deref() == Some(text) {
            self.own = None;
        } else {
            told.push(chunk("user_message_chunk", &format!("{}:{position}", self.run), text));
        }
    }

    fn answer(&mut self, entry: &AnswerEntry, told: &mut Vec<Value>) {
        let Some(answer) = &entry.answer else { return };
        if !self.told.insert(entry.address.clone()) {
            return;
        }
        let mut partial = self.partial.remove(&entry.address).unwrap_or_default();
        if self.floor.as_ref() == Some(&entry.address) {
            self.floor = None;
        }
        let mut rest = |whole: &str, sent: &str| {
            let (whole, sent) = (whole.trim_end(), sent.trim_end());
            match whole.strip_prefix(sent) {
                Some(rest) => rest.to_owned(),
                // Calls that a model wrote as text were told, but do not belong to it.
                None if sent.starts_with(whole) => String::new(),
                None => {
                    partial.restarts += 1;
                    whole.to_owned()
                }
            }
        };
        let reasoning = rest(&answer.reasoning, &partial.reasoning.clone());
        let text = rest(&answer.text, &partial.text.clone());
        let voice = self.voices.get(&entry.address.step).copied().unwrap_or(StepVoice::Silent);
        let restarts = partial.restarts;
        if !reasoning.trim().is_empty() {
            told.push(chunk(THOUGHT, &self.name(&entry.address, restarts, "thought"), &reasoning));
        }
        if !text.trim().is_empty() && voice != StepVoice::Silent {
            told.push(chunk(kind_of(voice), &self.name(&entry.address, restarts, "text"), &text));
        }
        if voice == StepVoice::Message && !answer.text.trim().is_empty() {
            answer.text.trim().clone_into(&mut self.last_message);
        }
    }

    fn call(&self, position: u64, call: &CallEntry, told: &mut Vec<Value>) {
        let is_new = position > self.after;
        let diff = self.runs.diff_of(call);
        let mut update = calls::update(&self.call_id(&call.address), &self.folder, call, diff.as_deref());
        update["sessionUpdate"] = json!(if is_new { "tool_call" } else { "tool_call_update" });
        told.push(update);
    }

    fn question(&mut self, entry: &HistoryEntry, question: &QuestionEntry, told: &mut Vec<Value>) {
        if question.is_approval {
            return;
        }
        if entry.position > self.after {
            let choices = question.options.join(" / ");
            let text =
                if choices.is_empty() { question.text.clone() } else { format!("{} ({choices})", question.text) };
            told.push(chunk(MESSAGE, &self.name(&question.address, 0, "text"), &text));
        }
        if let Some(Reply::Said(text)) = &question.reply {
            self.user(entry.changed, text, told);
        }
    }

    fn finished(&mut self, position: u64, answer: &str, failed: Option<&str>, told: &mut Vec<Value>) {
        let mut parts = Vec::new();
        if !answer.trim().is_empty() && answer.trim() != self.last_message {
            parts.push(answer.to_owned());
        }
        if let Some(why) = failed {
            parts.push(format!("The run did not succeed: {why}"));
        }
        if !parts.is_empty() {
            told.push(chunk(MESSAGE, &format!("{}:{position}", self.run), &parts.join("\n\n")));
        }
    }

    /// A piece of an answer that is being written, if it is told now.
    pub(crate) fn piece(&mut self, piece: &LiveText) -> Option<Value> {
        let at = &piece.address;
        if self.told.contains(at) || self.floor.as_ref().is_some_and(|floor| floor != at) {
            return None;
        }
        let voice = self.voices.get(&at.step).copied().unwrap_or(StepVoice::Silent);
        let partial = self.partial.entry(at.clone()).or_default();
        let mut text = &*piece.text;
        let (kind, what) = match piece.kind {
            LiveTextKind::Whole => {
                match text.strip_prefix(partial.text.as_str()) {
                    // Some pieces were lost.
                    Some(rest) if !text.is_empty() => text = rest,
                    // The attempt failed, and another one begins.
                    _ => {
                        let restarts = partial.restarts + 1;
                        *partial = PartialAnswer { restarts, ..PartialAnswer::default() };
                    }
                }
                (kind_of(voice), "text")
            }
            LiveTextKind::Text => (kind_of(voice), "text"),
            LiveTextKind::Reasoning => (THOUGHT, "thought"),
            LiveTextKind::Status => return None,
        };
        if text.is_empty() || (what == "text" && voice == StepVoice::Silent) {
            return None;
        }
        let sent = if what == "text" { &mut partial.text } else { &mut partial.reasoning };
        sent.push_str(text);
        let restarts = partial.restarts;
        self.floor = Some(at.clone());
        Some(chunk(kind, &self.name(at, restarts, what), text))
    }

    /// The id of a call within the session.
    pub(crate) fn call_id(&self, address: &EffectAddress) -> String {
        format!("{}:{address}", self.run)
    }

    fn name(&self, address: &EffectAddress, restarts: u32, what: &str) -> String {
        let again = if restarts == 0 { String::new() } else { format!(":{restarts}") };
        format!("{}:{address}:{what}{again}", self.run)
    }
}

/// What the text of a step is: the answer, if it is the only one that no other step waits for.
fn voice(run: &Run, id: &StepId) -> StepVoice {
    let is_work = run.step(id).is_some_and(|step| step.role == StepRole::Work);
    if !is_work {
        return StepVoice::Silent;
    }
    let work = || run.steps().filter(|step| step.role == StepRole::Work);
    let mut last = work().filter(|step| !run.dependants(step).any(|next| next.role == StepRole::Work));
    match (last.next(), last.next()) {
        (Some(only), None) if only.spec.id == *id => StepVoice::Message,
        _ => StepVoice::Thought,
    }
}

fn kind_of(voice: StepVoice) -> &'static str {
    if voice == StepVoice::Message { MESSAGE } else { THOUGHT }
}

fn chunk(kind: &str, id: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "messageId": id, "content": { "type": "text", "text": text } })
}
