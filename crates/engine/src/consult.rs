//! `ask_model`: a question to another model, asked and paid like one to the agent's own.

use std::sync::Arc;

use updraft_models::{Brief, Draft, Model, Prompt};
use updraft_run::{Answer, Ceiling, Finish, Message, Output, Reply, ToolCall};
use updraft_tools::Called;

use crate::effects::{Listener, failed};

/// Characters of an answer that an agent is shown.
const LONGEST: usize = 64 * 1024;

/// A question as a call puts it.
pub(crate) struct Question {
    system: String,
    messages: [Message; 1],
    brief: Brief,
    max_output: u64,
    attempt: u32,
}

impl Question {
    pub(crate) fn of(call: &ToolCall, step: &str, max_output: u64, attempt: u32) -> Self {
        let text = |key: &str| call.args.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let question = text("question");
        let brief = Brief {
            agent: updraft_tools::ASK_MODEL.into(),
            goal: question.clone(),
            task: question.clone(),
            step: step.into(),
            ..Brief::default()
        };
        Self { system: text("system"), messages: [Message::User(question.into())], brief, max_output, attempt }
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

    /// Asks it once. Dropping this closes the connection.
    pub(crate) async fn put_to(&self, model: &Arc<dyn Model>, mut hear: Listener) -> Called {
        match model.ask(&self.prompt(), &mut Draft::default(), &mut *hear).await {
            Ok(answer) => Called::of(Reply::Output(Arc::new(output(answer)))),
            Err(error) => Called::of(failed(&error)),
        }
    }
}

/// What the agent is shown of an answer.
fn output(answer: Answer) -> Output {
    let (_, mut text) = updraft_run::split_reasoning(&answer.text);
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
