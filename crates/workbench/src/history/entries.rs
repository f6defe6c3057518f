//! The entries of a history: questions to models, calls, questions to people, and short notes.

use serde_json::Value;
use std::sync::Arc;

use updraft_run::{
    EffectAddress, Event, Failure, Graph, Inquiry, Judgement, ModelAnswer, Note, Origins, PlanReason, Reply, RunId,
    Shortening, StepId, Timestamp, ToolCall, ToolCallOutcome, outcome_words,
};

/// Something that happened, as one entry in the chat.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// The event that it began with.
    pub position: u64,
    /// The last event that changed it.
    pub changed: u64,
    /// When it began.
    pub at: Timestamp,
    /// The step that it belongs to.
    pub step: Option<StepId>,
    /// What happened.
    pub kind: EntryKind,
}

/// What an entry is about.
#[derive(Clone, Debug)]
pub enum EntryKind {
    /// The goal.
    Goal {
        /// In the user's words.
        text: String,
        /// The files given with it.
        files: Vec<String>,
    },
    /// The user said something later.
    Told {
        /// In their words.
        text: String,
    },
    /// The run is a copy of another run's first events.
    Forked {
        /// The other run.
        from: RunId,
        /// How many events were copied.
        at: u64,
    },
    /// There is a new plan.
    Planned(PlanEntry),
    /// A model was asked.
    Answer(Arc<AnswerEntry>),
    /// A tool was called.
    Call(Arc<CallEntry>),
    /// A person was asked.
    Question(Arc<QuestionEntry>),
    /// A step ended.
    StepEnded {
        /// The status people see.
        status: &'static str,
        /// Why, if it did not succeed.
        why: Option<String>,
    },
    /// Something else that people should know.
    Note {
        /// In a few words.
        text: String,
        /// Whether something went wrong.
        is_bad: bool,
    },
    /// The run is over.
    Finished {
        /// Its answer.
        answer: String,
        /// Why it failed, if it did.
        failed: Option<String>,
    },
}

/// A plan.
#[derive(Clone, Debug)]
pub struct PlanEntry {
    /// Its steps with their agents.
    pub steps: Vec<(StepId, String)>,
    /// Why there is a new plan, in words; empty for the first.
    pub why: String,
    /// Whether these are only the steps that every goal begins with.
    pub is_opening: bool,
}

impl PlanEntry {
    pub(super) fn of(graph: &Graph, because: &PlanReason, instead: Option<&str>) -> Self {
        let why = match (because, instead) {
            (_, Some(why)) => format!("one step instead of a plan: {why}"),
            (PlanReason::Failed(step), None) => format!("`{step}` failed"),
            (PlanReason::Revised, None) => "changed by a person".to_owned(),
            (PlanReason::Proof, None) => "to check the requirements".to_owned(),
            (_, None) => String::new(),
        };
        let steps = graph.steps.iter().map(|step| (step.id.clone(), step.agent.clone())).collect();
        Self { steps, why, is_opening: *because == PlanReason::Goal }
    }
}

/// A question to a model, and its answer once it is there.
#[derive(Clone, Debug)]
pub struct AnswerEntry {
    /// Its address.
    pub address: EffectAddress,
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// When it was wanted.
    pub wanted: Timestamp,
    /// From when to when it waited for something to spend.
    pub held: Option<(Timestamp, Option<Timestamp>)>,
    /// When the beginning of the last attempt was written down, which may be later than it was.
    pub begun: Option<Timestamp>,
    /// How many attempts there were.
    pub attempts: u32,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The answer.
    pub answer: Option<Arc<ModelAnswer>>,
    /// Why there is none.
    pub failed: Option<String>,
}

impl AnswerEntry {
    pub(super) fn asked(id: &EffectAddress, agent: String, model: String, at: Timestamp) -> Self {
        Self {
            address: id.clone(),
            agent,
            model,
            wanted: at,
            held: None,
            begun: None,
            attempts: 0,
            ended: None,
            answer: None,
            failed: None,
        }
    }

    /// When the model was asked, for an attempt that ended at this time. If its beginning was written down together with its
    /// end, the time when it was wanted is nearer.
    pub fn asked_before(&self, ended: Timestamp) -> Timestamp {
        self.begun.filter(|begun| *begun < ended).unwrap_or(self.wanted)
    }
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallEntry {
    /// Its address.
    pub address: EffectAddress,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub args: Value,
    /// When it was wanted.
    pub wanted: Timestamp,
    /// When its last attempt began.
    pub begun: Option<Timestamp>,
    /// How many attempts there were.
    pub attempts: u32,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The reply.
    pub reply: Option<Reply>,
    /// Why it was not made.
    pub rejected: Option<Failure>,
}

impl CallEntry {
    pub(super) fn wanted(id: &EffectAddress, call: Option<ToolCall>, at: Timestamp) -> Self {
        let (name, args) = call.map_or_else(|| ("?".to_owned(), Value::Null), |call| (call.name, call.args));
        Self {
            address: id.clone(),
            name,
            args,
            wanted: at,
            begun: None,
            attempts: 0,
            ended: None,
            reply: None,
            rejected: None,
        }
    }

    /// Whether it succeeded; `None` while it is open.
    pub fn is_good(&self) -> Option<bool> {
        match (&self.reply, &self.rejected) {
            (Some(reply), _) => Some(ToolCallOutcome::Replied(reply.clone()).is_good()),
            (None, Some(_)) => Some(false),
            (None, None) => None,
        }
    }

    /// Its result in words, once it has ended.
    pub fn result(&self) -> Option<String> {
        match (&self.reply, &self.rejected) {
            (Some(Reply::Output(output)), _) => Some(output.text.clone()),
            (Some(reply), _) => Some(outcome_words(&ToolCallOutcome::Replied(reply.clone())).into_owned()),
            (None, Some(why)) => Some(why.message.clone()),
            (None, None) => None,
        }
    }
}

/// A question or an approval.
#[derive(Clone, Debug)]
pub struct QuestionEntry {
    /// Its address.
    pub address: EffectAddress,
    /// Whether a call or a plan is to be approved.
    pub is_approval: bool,
    /// Whether the plan is to be approved.
    pub is_plan: bool,
    /// What is asked, or why approval is needed.
    pub text: String,
    /// Answers to choose from.
    pub options: Vec<String>,
    /// Who asks, if it is not the agent.
    pub from: Option<String>,
    /// The form to be filled in.
    pub form: Option<Value>,
    /// The URL that the person is asked to open.
    pub url: Option<String>,
    /// The call that is to be approved.
    pub call: Option<ToolCall>,
    /// Where the text came from that could misuse the call.
    pub origins: Origins,
    /// The rules that "always" would remember.
    pub always: Vec<String>,
    /// What "always" would allow in this run.
    pub always_in_run: Option<String>,
    /// When it was asked.
    pub asked: Timestamp,
    /// The reply.
    pub reply: Option<Reply>,
    /// When it came.
    pub ended: Option<Timestamp>,
}

impl QuestionEntry {
    fn new(id: &EffectAddress, text: &str, at: Timestamp) -> Self {
        Self {
            address: id.clone(),
            is_approval: false,
            is_plan: false,
            text: text.to_owned(),
            options: Vec::new(),
            from: None,
            form: None,
            url: None,
            call: None,
            origins: Origins::default(),
            always: Vec::new(),
            always_in_run: None,
            asked: at,
            reply: None,
            ended: None,
        }
    }

    pub(super) fn question(
        id: &EffectAddress,
        text: &str,
        options: &[String],
        inquiry: Option<&Inquiry>,
        at: Timestamp,
    ) -> Self {
        Self {
            options: options.to_vec(),
            from: inquiry.map(|inquiry| inquiry.from.clone()),
            form: inquiry.and_then(|inquiry| inquiry.form.clone()),
            url: inquiry.and_then(|inquiry| inquiry.url.clone()),
            ..Self::new(id, text, at)
        }
    }

    pub(super) fn approval(
        id: &EffectAddress,
        why: &str,
        origins: &Origins,
        call: Option<ToolCall>,
        at: Timestamp,
    ) -> Self {
        Self { is_approval: true, call, origins: origins.clone(), ..Self::new(id, why, at) }
    }
}

impl HistoryEntry {
    pub(super) fn wanted(&mut self, at: Timestamp) {
        if let EntryKind::Call(call) = &mut self.kind {
            Arc::make_mut(call).wanted = at;
        }
    }

    pub(super) fn held(&mut self, at: Timestamp) {
        if let EntryKind::Answer(answer) = &mut self.kind {
            Arc::make_mut(answer).held.get_or_insert((at, None));
        }
    }

    pub(super) fn reserved(&mut self, at: Timestamp) {
        if let EntryKind::Answer(answer) = &mut self.kind
            && let Some((_, until)) = &mut Arc::make_mut(answer).held
        {
            until.get_or_insert(at);
        }
    }

    pub(super) fn begun(&mut self, attempt: u32, at: Timestamp) {
        match &mut self.kind {
            EntryKind::Answer(answer) => {
                let answer = Arc::make_mut(answer);
                (answer.attempts, answer.begun) = (attempt, Some(at));
            }
            EntryKind::Call(call) => {
                let call = Arc::make_mut(call);
                (call.attempts, call.begun) = (attempt, Some(at));
            }
            _ => {}
        }
    }

    pub(super) fn replied(&mut self, reply: &Reply, at: Timestamp) {
        match &mut self.kind {
            EntryKind::Answer(entry) => {
                let entry = Arc::make_mut(entry);
                entry.ended = Some(at);
                match reply {
                    Reply::Answer(answer) => entry.answer = Some(Arc::clone(answer)),
                    other => {
                        let words = outcome_words(&ToolCallOutcome::Replied(other.clone())).into_owned();
                        entry.failed = Some(words);
                    }
                }
            }
            EntryKind::Call(call) => {
                let call = Arc::make_mut(call);
                (call.reply, call.ended) = (Some(reply.clone()), Some(at));
            }
            EntryKind::Question(question) => {
                let question = Arc::make_mut(question);
                (question.reply, question.ended) = (Some(reply.clone()), Some(at));
            }
            _ => {}
        }
    }

    pub(super) fn rejected(&mut self, why: &Failure, at: Timestamp) {
        if let EntryKind::Call(call) = &mut self.kind {
            let call = Arc::make_mut(call);
            call.rejected.get_or_insert_with(|| why.clone());
            call.ended.get_or_insert(at);
        }
    }
}

/// When a step was at work.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    /// Its visits, in order.
    pub visits: Vec<VisitTimes>,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// When one visit of a step was at work.
#[derive(Clone, Debug)]
pub struct VisitTimes {
    /// Which visit, from 0.
    pub visit: u32,
    /// When its first question was wanted.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Why the step was entered again afterwards.
    pub judgement: Option<String>,
    /// How often the step ended with it: a result that a review sent back may be kept after all.
    pub(crate) endings: u32,
}

impl StepTimes {
    /// When it first began.
    pub fn began(&self) -> Option<Timestamp> {
        self.visits.first().map(|visit| visit.began)
    }

    pub(super) fn entered(&mut self, visit: u32, at: Timestamp) {
        if self.visits.last().is_none_or(|last| last.visit != visit) {
            if let Some(last) = self.visits.last_mut() {
                last.ended.get_or_insert(at);
            }
            self.ended = None;
            self.visits.push(VisitTimes { visit, began: at, ended: None, judgement: None, endings: 0 });
        }
    }

    pub(super) fn judged(&mut self, verdict: &Judgement, at: Timestamp) {
        if let (Some(words), Some(last)) = (judgement(verdict), self.visits.last_mut()) {
            last.judgement = Some(words);
            last.ended = Some(at);
        }
    }

    pub(super) fn ended(&mut self, at: Timestamp) {
        self.ended = Some(at);
        if let Some(last) = self.visits.last_mut() {
            last.ended = Some(at);
            last.endings += 1;
        }
    }
}

/// A judgement in words, unless the result was accepted.
pub(super) fn judgement(verdict: &Judgement) -> Option<String> {
    match verdict {
        Judgement::Accept => None,
        Judgement::Retry { feedback } => Some(format!("again: {feedback}")),
        Judgement::Pivot { feedback } => Some(format!("another way: {feedback}")),
        Judgement::Again { instruction } => Some(format!("runs again: {instruction}")),
        Judgement::GiveUp => Some("given up".to_owned()),
        Judgement::Reject { by, why } => Some(format!("rejected by the review `{by}`: {why}")),
        Judgement::Renewed { by } => Some(format!("again, with the new result of `{by}`")),
        Judgement::Replan { why } => Some(format!("a new plan: {why}")),
        _ => None,
    }
}

/// An event that is only a note in the chat, in words, and whether something went wrong.
pub(super) fn note(event: &Event) -> Option<(String, bool)> {
    match event {
        Event::Paused => Some(("paused".to_owned(), false)),
        Event::Resumed { .. } => Some(("continues".to_owned(), false)),
        Event::Cancelled { by } => Some((format!("cancelled by {by}"), true)),
        Event::Exhausted { which } => Some((format!("the limit on {} is reached", which.flag().0), true)),
        Event::Halted { why, .. } => Some((why.message.clone(), true)),
        Event::Interrupted { .. } => Some(("the attempt was interrupted".to_owned(), true)),
        Event::Shortened { outputs, because, .. } if *because != Shortening::Turn => {
            Some((format!("{} older outputs are no longer shown to the model", outputs.len()), false))
        }
        Event::Compacted { upto, .. } => Some((format!("{upto} older messages are summarised"), false)),
        Event::Imported => Some(("imported from a file".to_owned(), false)),
        Event::Adopted { .. } => Some(("taken over on this machine".to_owned(), false)),
        Event::Advised { note: Note::Unfinished { what }, .. } => {
            Some((format!("not done: {}", what.lines().next().unwrap_or_default()), true))
        }
        Event::Advised { note: Note::Unfit { what }, .. } => Some((format!("does not fit: {what}"), true)),
        Event::Advised { note: Note::MissingOutput { names }, .. } => {
            Some((format!("missing in the result: {}", names.join(", ")), true))
        }
        _ => None,
    }
}
