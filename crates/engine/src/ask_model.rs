//! `ask_model`: a question to another model, asked and paid for like one to the agent's own model.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{Model, Prompt, RequestDraft, TaskBrief};
use updraft_run::{Ceiling, FinishReason, Message, ModelAnswer, Reply, ToolCall, ToolOutput, TraceParent};
use updraft_tools::CallResult;

use crate::effects::{DeltaListener, failed};
use crate::outage::{RenewableModel, renewed_after};

/// How many characters of an answer an agent is shown.
const LONGEST: usize = 64 * 1024;

/// The question that a call asks.
pub(crate) struct ConsultRequest {
    system: String,
    messages: Vec<Message>,
    /// Who asks, if it is not the agent.
    from: Option<String>,
    brief: TaskBrief,
    max_output: u64,
    attempt: u32,
    /// Its place in the run's trace.
    pub(crate) trace: Option<TraceParent>,
}

impl ConsultRequest {
    pub(crate) fn of(call: &ToolCall, from: Option<&str>, step: &str, max_output: u64, attempt: u32) -> Self {
        let text = |key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let question = text("question");
        let brief = TaskBrief {
            agent: updraft_tools::ASK_MODEL.into(),
            goal: question.clone(),
            task: question.clone(),
            step: step.into(),
            ..TaskBrief::default()
        };
        let from = from.map(str::to_owned);
        let most = call.args.get("max_tokens").and_then(Value::as_u64).unwrap_or(max_output);
        let max_output = most.clamp(1, max_output.max(1));
        let messages = match call.args.get("messages").and_then(Value::as_array).filter(|_| from.is_some()) {
            Some(said) => said.iter().map(message).collect(),
            None => vec![Message::User(question.into())],
        };
        Self { system: text("system"), messages, from, brief, max_output, attempt, trace: None }
    }

    fn prompt(&self) -> Prompt<'_> {
        Prompt {
            system: &self.system,
            messages: &self.messages,
            max_output: self.max_output,
            attempt: self.attempt,
            trace: self.trace,
            ..Prompt::empty(&self.brief)
        }
    }

    /// The most the question can use.
    pub(crate) fn ceiling(&self, model: &dyn Model) -> Ceiling {
        model.ceiling(&self.prompt())
    }

    /// Asks the model once, and a second time if its key was refused and has changed. Dropping this closes the
    /// connection.
    pub(crate) async fn put_to(&self, model: RenewableModel, mut hear: DeltaListener) -> CallResult {
        let RenewableModel { model, renewal } = model;
        let mut answer = model.ask(&self.prompt(), &mut RequestDraft::default(), &mut *hear).await;
        if let Some(renewed) = answer.as_ref().err().and_then(|error| renewed_after(error, &model, &renewal)) {
            answer = renewed.ask(&self.prompt(), &mut RequestDraft::default(), &mut *hear).await;
        }
        match answer {
            Ok(answer) => {
                let output = match &self.from {
                    Some(from) => sampled(answer, from, model.name()),
                    None => output(answer),
                };
                CallResult::of(Reply::Output(Arc::new(output)))
            }
            Err(error) => CallResult::of(failed(&error)),
        }
    }
}

fn message(said: &Value) -> Message {
    let text = said["text"].as_str().unwrap_or_default();
    if said["role"] == "assistant" {
        return Message::Assistant(Arc::new(ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() }));
    }
    Message::User(text.into())
}

/// The answer as the asking server receives it. It is derived from that server's own text, so it counts as coming from
/// there.
fn sampled(answer: ModelAnswer, from: &str, model: &str) -> ToolOutput {
    let (_, text) = updraft_lenient::split_reasoning(&answer.text);
    let stop = if answer.finish == FinishReason::Stop { "endTurn" } else { "maxTokens" };
    ToolOutput {
        text,
        value: Some(json!({ "model": model, "stopReason": stop })),
        untrusted: true,
        origins: vec![from.to_owned()],
        usage: Some(Box::new(answer.usage)),
        ..ToolOutput::default()
    }
}

/// The answer as the agent sees it.
fn output(answer: ModelAnswer) -> ToolOutput {
    let (_, mut text) = updraft_lenient::split_reasoning(&answer.text);
    let end = text.char_indices().nth(LONGEST).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    if end.is_some() || answer.finish != FinishReason::Stop {
        text.push_str("\n[the answer ends here; the rest is missing]");
    }
    let is_error = text.trim().is_empty();
    if is_error {
        text = "the model gave no answer".into();
    }
    ToolOutput { text, is_error, usage: Some(Box::new(answer.usage)), ..ToolOutput::default() }
}
