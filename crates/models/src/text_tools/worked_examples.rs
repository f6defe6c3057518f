//! Worked examples: a task for each tool and its call, as lines of the prompt or as turns of a conversation.
//!
//! Lines are sufficient for a model with a large context window. A small model copies the names and values of examples,
//! unless it has seen itself take them from the task: it gets turns.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer, ToolCall, ToolResult, ToolSpec};

use super::example::example_of;
use crate::features::written_in_order;
use crate::member_order::in_order;

/// The result of a tool in the example, and also the answer to it. Some models repeat it: it must not look like a real
/// answer.
const RESULT: &str = "This is the text of the example.";

/// An example call of one tool, with its task.
pub(super) struct WorkedExample {
    name: String,
    task: String,
    args: Value,
    parameters: Value,
}

impl WorkedExample {
    pub(super) fn of(tool: &ToolSpec, parameters: &Value) -> Self {
        let args = example_of(parameters);
        let task = format!("{}{}.", first_sentence(&tool.description), in_words(&args, parameters));
        Self { name: tool.name.clone(), task, args, parameters: parameters.clone() }
    }

    /// The example as lines of the prompt.
    pub(super) fn lines(&self) -> String {
        format!("\nTask: {}\nAnswer: {}", self.task, written_in_order(&self.name, &self.args, &self.parameters))
    }
}

/// The examples as turns of a conversation. One result with its answer is among them, but a call comes last, because a
/// small model is most likely to repeat the last turn.
pub(super) fn turns(all: &[WorkedExample], answer: &Value) -> Vec<Message> {
    let answered_at = all.len().checked_sub(2).map(|last| last.min(all.len() / 2));
    let mut turns = Vec::with_capacity(2 * all.len() + 2);
    for (at, WorkedExample { name, task, args, .. }) in all.iter().enumerate() {
        let call = ToolCall { id: format!("e{at}"), name: name.clone(), args: args.clone(), fault: None };
        let result = ToolResult { call: call.id.clone(), name: name.clone(), text: RESULT.to_owned(), is_error: false };
        turns.push(Message::User(task.as_str().into()));
        turns.push(Message::Assistant(Arc::new(ModelAnswer { calls: vec![call], ..ModelAnswer::default() })));
        if answered_at == Some(at) {
            turns.push(Message::Results(vec![result]));
            let text = answer_to_result(answer).to_string();
            turns.push(Message::Assistant(Arc::new(ModelAnswer { text, ..ModelAnswer::default() })));
        }
    }
    turns
}

/// The answer after the result, in the required form.
fn answer_to_result(schema: &Value) -> Value {
    let said = if schema["type"] == "string" { json!(RESULT) } else { example_of(schema) };
    json!({ "answer": said })
}

pub(super) fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    text.split(". ").next().unwrap_or(text).trim_end_matches('.')
}

/// Arguments in the words of a task.
fn in_words(example: &Value, schema: &Value) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    };
    let all: Vec<String> = example.as_object().into_iter().flat_map(|args| in_order(args, schema)).map(one).collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(count: usize) -> Vec<Message> {
        let one =
            |at| WorkedExample { name: format!("t{at}"), task: "Do.".into(), args: json!({}), parameters: json!({}) };
        turns(&(0..count).map(one).collect::<Vec<_>>(), &json!({ "type": "string" }))
    }

    #[test]
    fn an_answer_is_shown_but_never_last() {
        assert_eq!(shown(0).len(), 0);
        assert_eq!(shown(1).len(), 2, "a single tool is shown as called");
        for count in [2, 3, 6] {
            let turns = shown(count);
            let answers = turns.iter().filter(|turn| matches!(turn, Message::Assistant(said) if said.calls.is_empty()));
            assert_eq!((turns.len(), answers.count()), (2 * count + 2, 1));
            let last_calls = matches!(turns.last(), Some(Message::Assistant(said)) if !said.calls.is_empty());
            assert!(last_calls, "{turns:?}");
        }
    }
}
