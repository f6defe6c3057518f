//! The messages between the user and the agents of a run, as a view of its journal: tasks, results, feedback, questions.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde::Serialize;
use updraft_journal::Journal;
use updraft_run::{
    Effect, EffectKind, Event, Judgement, PlanReason, Record, Reply, Run, RunId, RunMode, Step, StepId, Timestamp,
};

use crate::Error;

/// The name of the user among the senders and receivers.
const USER: &str = "user";

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BusMessage {
    /// The agent that sent it, or `user`.
    pub from: String,
    /// The agent that receives it, `user`, or `all`.
    pub to: String,
    /// The kind of message.
    #[serde(rename = "type")]
    pub kind: MessageKind,
    /// What it says.
    pub content: String,
    /// When it was sent.
    pub timestamp: Timestamp,
    /// The step that it belongs to: the receiver's for a task, otherwise the sender's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// What the user wants.
    Goal,
    /// A later message of the user.
    Message,
    /// A step for a worker.
    Task,
    /// A worker's result, for those who use it.
    Result,
    /// What a review or a check found wrong.
    Feedback,
    /// Why a step failed.
    Failure,
    /// A question to the user.
    Question,
    /// The user's answer.
    Answer,
}

impl MessageKind {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            MessageKind::Goal => "goal",
            MessageKind::Message => "message",
            MessageKind::Task => "task",
            MessageKind::Result => "result",
            MessageKind::Feedback => "feedback",
            MessageKind::Failure => "failure",
            MessageKind::Question => "question",
            MessageKind::Answer => "answer",
        }
    }
}

/// All messages of a run, in the order they were sent.
pub fn bus(journal: &Journal, id: &RunId) -> Result<Vec<BusMessage>, Error> {
    let mut builder = BusBuilder { run: Run::default(), messages: Vec::new() };
    journal.read(id, 0, &mut |_, record: Record| {
        builder.take(&record);
        ControlFlow::Continue(())
    })?;
    Ok(builder.messages)
}

struct BusBuilder {
    run: Run,
    messages: Vec<BusMessage>,
}

impl BusBuilder {
    fn take(&mut self, record: &Record) {
        for event in &record.events {
            self.run.apply(event);
            let first = self.messages.len();
            self.describe(event, &record.events);
            self.messages[first..].iter_mut().for_each(|message| message.timestamp = record.at);
        }
    }

    fn describe(&mut self, event: &Event, beside: &[Event]) {
        match event {
            Event::Planned { graph, because, .. } => {
                let is_first = self.messages.is_empty();
                if is_first {
                    let first = graph.steps.first().filter(|_| self.run.goal().mode != RunMode::Given);
                    let to = first.map_or("all", |step| step.agent.as_str()).to_owned();
                    let goal = self.run.goal().own_words().to_owned();
                    self.send(MessageKind::Goal, USER.to_owned(), to, goal, None);
                }
                if *because != PlanReason::Goal && !matches!(self.run.goal().mode, RunMode::Agent(_)) {
                    let from = self.planner();
                    for step in &graph.steps {
                        let task = if step.prompt.is_empty() { &step.description } else { &step.prompt };
                        self.send(MessageKind::Task, from.clone(), step.agent.clone(), task.clone(), Some(&step.id));
                    }
                }
            }
            Event::Told { message } => {
                self.send(MessageKind::Message, USER.to_owned(), "all".to_owned(), message.clone(), None);
            }
            Event::StepDone { step, .. } => self.result(step),
            Event::StepFailed { step, why } => {
                let (from, to) = (self.agent(step), self.planner());
                self.send(MessageKind::Failure, from, to, why.message.clone(), Some(step));
            }
            Event::Judged { step, verdict } => self.judged(step, verdict, beside),
            Event::Wanted { id, effect: Effect::Question { text, .. } } => {
                let from = self.agent(&id.step);
                self.send(MessageKind::Question, from, USER.to_owned(), text.clone(), Some(&id.step));
            }
            Event::Replied { id, reply: Reply::Said(said), .. } if id.kind == EffectKind::Call => {
                let to = self.agent(&id.step);
                self.send(MessageKind::Answer, USER.to_owned(), to, said.clone(), Some(&id.step));
            }
            _ => {}
        }
    }

    /// A result goes to everyone who uses it, or to the user.
    fn result(&mut self, id: &StepId) {
        let Some(step) = self.run.step(id) else { return };
        let output = step.output.as_deref().unwrap_or_default().to_owned();
        if output.is_empty() {
            return;
        }
        let users: BTreeSet<String> = self.run.dependants(step).map(|next: &Step| next.spec.agent.clone()).collect();
        let from = step.spec.agent.clone();
        let users = if users.is_empty() { BTreeSet::from([USER.to_owned()]) } else { users };
        for to in users {
            self.send(MessageKind::Result, from.clone(), to, output.clone(), Some(id));
        }
    }

    /// What was found wrong goes to whoever made it. The review that found it waits for the new result, which the same
    /// record says.
    fn judged(&mut self, step: &StepId, verdict: &Judgement, beside: &[Event]) {
        let feedback = match verdict {
            Judgement::Retry { feedback } | Judgement::Pivot { feedback } => feedback,
            Judgement::Reject { why, .. } | Judgement::Replan { why } => why,
            _ => return,
        };
        let waits = beside.iter().find_map(|event| match event {
            Event::Judged { step: review, verdict: Judgement::Renewed { .. } } => Some(review),
            _ => None,
        });
        let by = match verdict {
            Judgement::Reject { by, .. } => Some(by),
            _ => waits,
        };
        let from = by.map_or_else(|| "check".to_owned(), |review| self.agent(review));
        let to = self.agent(step);
        self.send(MessageKind::Feedback, from, to, feedback.clone(), Some(step));
    }

    fn agent(&self, step: &StepId) -> String {
        self.run.step(step).map_or_else(|| step.to_string(), |step| step.spec.agent.clone())
    }

    /// Who hands out the tasks: the planner or router, or the user with a plan of their own.
    fn planner(&self) -> String {
        let planner = self.run.steps().find(|step| step.role == updraft_run::StepRole::Plan);
        planner.map_or_else(|| USER.to_owned(), |step| step.spec.agent.clone())
    }

    fn send(&mut self, kind: MessageKind, from: String, to: String, content: String, step: Option<&StepId>) {
        let timestamp = Timestamp::default();
        self.messages.push(BusMessage { from, to, kind, content, timestamp, step: step.cloned() });
    }
}
