//! `ask_model`: a question to another model, asked and paid like one to the agent's own.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{Brief, Draft, Model, Prompt};
use updraft_run::{Answer, Ceiling, Finish, Message, Output, Reply, ToolCall};
use updraft_tools::Called;

use crate::effects::{Listener, failed};
use crate::outage::{RenewableModel, renewed_after};

/// Characters of an answer that an agent is shown.
const LONGEST: usize = 64 * 1024;

/// A question as a call puts it.
pub(crate) struct Question {
    system: String,
    messages: Vec<Message>,
    /// Who wants it, where it is not the agent.
    from: Option<String>,
    brief: Brief,
    max_output: u64,
    attempt: u32,
}

impl Question {
    pub(crate) fn of(call: &ToolCall, from: Option<&str>, step: &str, max_output: u64, attempt: u32) -> Self {
        let text = |key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let question = text("question");
        let brief = Brief {
            agent: updraft_tools::ASK_MODEL.into(),
            goal: question.clone(),
            task: question.clone(),
            step: step.into(),
            ..Brief::default()
        };
        let from = from.map(str::to_owned);
        let most = call.args.get("max_tokens").and_then(Value::as_u64).unwrap_or(max_output);
        let max_output = most.clamp(1, max_output.max(1));
        let messages = match call.args.get("messages").and_then(Value::as_array).filter(|_| from.is_some()) {
            Some(said) => said.iter().map(message).collect(),
            None => vec![Message::User(question.into())],
        };
        Self { system: text("system"), messages, from, brief, max_output, attempt }
    }

    fn prompt(&self) -> Prompt<'_> {
        Prompt {
            system: &self.system,
            messages: &self.messages,
            max_output: self.max_output,
            attempt: self.attempt,
            ..Prompt::empty(&self.brief)
        }
    }

    /// The most that it can use.
    pub(crate) fn ceiling(&self, model: &dyn Model) -> Ceiling {
        model.ceiling(&self.prompt())
    }

    /// Asks it once, or once more where its key is another one by now. Dropping this closes the connection.
    pub(crate) async fn put_to(&self, model: RenewableModel, mut hear: Listener) -> Called {
        let RenewableModel { model, renewal } = model;
        let mut answer = model.ask(&self.prompt(), &mut Draft::default(), &mut *hear).await;
        if let Some(renewed) = answer.as_ref().err().and_then(|error| renewed_after(error, &model, &renewal)) {
            answer = renewed.ask(&self.prompt(), &mut Draft::default(), &mut *hear).await;
        }
        match answer {
            Ok(answer) => {
                let output = match &self.from {
                    Some(from) => sampled(answer, from, model.name()),
                    None => output(answer),
                };
                Called::of(Reply::Output(Arc::new(output)))
            }
            Err(error) => Called::of(failed(&error)),
        }
    }
}

fn message(said: &Value) -> Message {
    let text = said["text"].as_str().unwrap_or_default();
    if said["role"] == "assistant" {
        return Message::Assistant(Arc::new(Answer { text: text.to_owned(), ..Answer::default() }));
    }
    Message::User(text.into())
}

/// What whoever is called is given of an answer. It is made of their words.
fn sampled(answer: Answer, from: &str, model: &str) -> Output {
    let (_, text) = updraft_lenient::split_reasoning(&answer.text);
    let stop = if answer.finish == Finish::Stop { "endTurn" } else { "maxTokens" };
    Output {
        text,
        value: Some(json!({ "model": model, "stopReason": stop })),
        untrusted: true,
        origins: vec![from.to_owned()],
        usage: Some(Box::new(answer.usage)),
        ..Output::default()
    }
}

/// What the agent is shown of an answer.
fn output(answer: Answer) -> Output {
    let (_, mut text) = updraft_lenient::split_reasoning(&answer.text);
    let end = text.char_indices().nth(LONGEST).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    if end.is_some() || answer.finish != Finish::Stop {
        text.push_str("\n[the answer ends here; the rest is missing]");
    }
    let is_error = text.trim().is_empty();
    if is_error {
        text = "the model gave no answer".into();
    }
    Output { text, is_error, usage: Some(Box::new(answer.usage)), ..Output::default() }
}
