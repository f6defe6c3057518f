//! A model that repeats the answers of an earlier run, to repeat that run without a provider.
//!
//! Like a script it has no memory. An answer is found by its place, and the place depends only on the prompt, so that a
//! process that resumes a run gets the same answers. If the run takes another course than the earlier one, nothing is
//! invented: the error says what is missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use updraft_run::{EffectKind, Message, ModelAnswer};

use crate::scripted::{tell, turn_of};
use crate::{DeltaCallback, Error, Model, ModelFuture, Price, Prompt, RequestDraft, tokens};

/// Maximum number of names in an error message.
const MOST_NAMES: usize = 8;

/// The place of an answer in a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AnswerPlace {
    /// The agent that asked.
    pub agent: String,
    /// The step's id.
    pub step: String,
    /// How many times the step was entered before.
    pub visit: u32,
    /// The number of the model's earlier answers in the prompt.
    pub turn: usize,
    /// What was requested: a turn, a judgement or a summary.
    pub kind: EffectKind,
}

impl AnswerPlace {
    /// The place of a prompt.
    pub fn of(prompt: &Prompt<'_>) -> Self {
        Self {
            agent: prompt.brief.agent.clone(),
            step: prompt.brief.step.clone(),
            visit: prompt.brief.visit,
            turn: turn_of(prompt.own_messages()),
            kind: prompt.brief.side_question.unwrap_or(EffectKind::Ask),
        }
    }
}

impl fmt::Display for AnswerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, step, visit, turn, kind } = self;
        match kind {
            EffectKind::Judge => f.write_str("the judgement")?,
            EffectKind::Compact => write!(f, "the summary at turn {turn}")?,
            EffectKind::Ask | EffectKind::Call | EffectKind::Approve | EffectKind::Guard => write!(f, "turn {turn}")?,
        }
        write!(f, " of agent `{agent}`, step `{step}`")?;
        if *visit > 0 { write!(f, ", visit {visit}") } else { Ok(()) }
    }
}

/// A model that repeats the answers of an earlier run.
#[derive(Debug)]
pub struct RecordedModel {
    name: String,
    answers: HashMap<AnswerPlace, Vec<RecordedAnswer>>,
}

/// An answer, and the summary that replaced older turns when it was given.
#[derive(Debug)]
struct RecordedAnswer {
    answer: ModelAnswer,
    after: Option<String>,
}

impl RecordedModel {
    /// Takes the answers of a run, in the order in which they were received.
    ///
    /// A summary removes the model's own messages from a conversation, so the count of turns starts again after it.
    /// Answers that have the same place because of this are distinguished by the summary.
    pub fn new(name: &str, answers: Vec<(AnswerPlace, ModelAnswer)>) -> Self {
        let mut all: HashMap<AnswerPlace, Vec<RecordedAnswer>> = HashMap::new();
        let mut summaries: BTreeMap<(String, u32), String> = BTreeMap::new();
        for (place, answer) in answers {
            let visit = (place.step.clone(), place.visit);
            let after = summaries.get(&visit).cloned();
            if place.kind == EffectKind::Compact {
                summaries.insert(visit, answer.text.trim().to_owned());
            }
            all.entry(place).or_default().push(RecordedAnswer { answer, after });
        }
        Self { name: format!("recorded/{name}"), answers: all }
    }

    fn answer(&self, prompt: &Prompt<'_>) -> Result<ModelAnswer, Error> {
        let place = AnswerPlace::of(prompt);
        let Some(heard) = self.answers.get(&place) else {
            let message = self.instead_of(&place);
            return Err(Error::Unheard { model: self.name.clone(), place: place.to_string(), message });
        };
        let is_told =
            |heard: &&RecordedAnswer| heard.after.as_deref().is_some_and(|summary| tells(prompt.messages, summary));
        let found = heard.iter().rev().find(is_told).or_else(|| heard.first());
        let answer = found.map(|heard| heard.answer.clone()).unwrap_or_default();
        Ok(ModelAnswer { usage: tokens::none(), ..answer })
    }

    /// A description of what exists if an answer is missing.
    fn instead_of(&self, place: &AnswerPlace) -> String {
        let there: Vec<&AnswerPlace> =
            self.answers.keys().filter(|other| (&other.agent, &other.step) == (&place.agent, &place.step)).collect();
        if there.is_empty() {
            let steps: BTreeSet<String> =
                self.answers.keys().map(|other| format!("`{}` of `{}`", other.step, other.agent)).collect();
            let named: Vec<String> = steps.iter().take(MOST_NAMES).cloned().collect();
            let more = if steps.len() > MOST_NAMES { " and others" } else { "" };
            return format!("the earlier run heard answers at {}{more}", named.join(", "));
        }
        let turns = there.iter().filter(|other| (other.visit, other.kind) == (place.visit, place.kind)).count();
        match turns {
            0 => "the earlier run did not ask for it".to_owned(),
            turns => format!("the earlier run ended there after {turns} answers"),
        }
    }
}

/// Whether the messages to the model contain this text.
fn tells(messages: &[Message], text: &str) -> bool {
    messages.iter().any(|message| match message {
        Message::User(said) => said.contains(text),
        Message::Assistant(_) | Message::Results(_) | Message::Pictures(_) => false,
    })
}

impl Model for RecordedModel {
    fn name(&self) -> &str {
        &self.name
    }

    /// Zero: the earlier run has paid.
    fn price(&self) -> Option<Price> {
        Some(Price::default())
    }

    fn sees(&self) -> Option<bool> {
        Some(true)
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        _draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let answer = self.answer(prompt)?;
            tell(&answer, hear);
            Ok(answer)
        })
    }
}
