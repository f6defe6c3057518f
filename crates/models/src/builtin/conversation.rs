//! Helpers to read the conversation (earlier calls and their results) and to build the next answer.

use serde_json::{Map, Value};
use updraft_run::{Message, ModelAnswer, ToolCall, ToolResult, ToolSpec};

use crate::{Prompt, TaskBrief};

/// A call and its result.
pub(super) struct ToolExchange<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) result: &'a ToolResult,
}

/// Every answered call of a tool, in the order of the calls.
pub(super) fn exchanges<'a>(messages: &'a [Message], tool: &str) -> Vec<ToolExchange<'a>> {
    let mut found = Vec::new();
    let mut asked: &[ToolCall] = &[];
    for message in messages {
        match message {
            Message::User(_) | Message::Pictures(_) => {}
            Message::Assistant(answer) => asked = &answer.calls,
            Message::Results(results) => {
                let pairs = asked.iter().filter(|call| call.name == tool).filter_map(|call| {
                    let result = results.iter().find(|result| result.call == call.id)?;
                    Some(ToolExchange { call, result })
                });
                found.extend(pairs);
            }
        }
    }
    found
}

/// Whether a tool has been called before, and answered.
pub(super) fn has_called(messages: &[Message], tool: &str) -> bool {
    let has_it =
        |message: &Message| matches!(message, Message::Results(results) if results.iter().any(|r| r.name == tool));
    messages.iter().any(has_it)
}

/// The last message to the model.
pub(super) fn last_told(messages: &[Message]) -> &str {
    messages
        .iter()
        .rev()
        .find_map(|message| if let Message::User(text) = message { Some(&**text) } else { None })
        .unwrap_or_default()
}

/// The beginning of a text, where our own prompts say what they ask for; later text may be quoted from anywhere.
pub(super) fn opening(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Whether further calls would not be made.
pub(super) fn must_answer(messages: &[Message]) -> bool {
    let told = opening(last_told(messages), 60).to_lowercase();
    told.contains("last turn") || told.contains("budget")
}

/// The available tools, by name.
pub(super) struct Toolbox<'a>(pub(super) &'a [ToolSpec]);

impl Toolbox<'_> {
    pub(super) fn has(&self, tool: &str) -> bool {
        self.0.iter().any(|spec| spec.name == tool)
    }

    fn property(&self, tool: &str, names: &[&'static str]) -> Option<(&'static str, &Value)> {
        let spec = self.0.iter().find(|spec| spec.name == tool)?;
        let properties = spec.parameters.get("properties")?;
        names.iter().find_map(|name| properties.get(name).map(|schema| (*name, schema)))
    }
}

/// Builds a call: arguments are set only if the tool's schema contains them.
pub(super) struct CallBuilder<'a> {
    tools: &'a Toolbox<'a>,
    tool: &'static str,
    args: Map<String, Value>,
}

impl<'a> CallBuilder<'a> {
    pub(super) fn of(tools: &'a Toolbox<'a>, tool: &'static str) -> Self {
        Self { tools, tool, args: Map::new() }
    }

    /// Sets the first of these arguments that the tool has; if its schema names none, the first.
    pub(super) fn must(mut self, names: &[&'static str], value: impl Into<Value>) -> Self {
        let name = self.tools.property(self.tool, names).map(|(name, _)| name).or(names.first().copied());
        if let Some(name) = name {
            self.args.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Sets the first of these arguments that the tool has to a number, limited to the schema's maximum.
    pub(super) fn may_count(mut self, names: &[&'static str], value: u64) -> Self {
        if let Some((name, schema)) = self.tools.property(self.tool, names) {
            let most = schema.get("maximum").and_then(Value::as_u64).unwrap_or(value);
            self.args.insert(name.to_owned(), value.min(most).into());
        }
        self
    }

    pub(super) fn done(self) -> (String, Value) {
        (self.tool.to_owned(), Value::Object(self.args))
    }
}

/// An answer that calls tools. Ids are numbered by turn and position, so that they are unique.
pub(super) fn calling(prompt: &Prompt<'_>, calls: Vec<(String, Value)>) -> ModelAnswer {
    let turn = prompt.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
    let calls = calls
        .into_iter()
        .enumerate()
        .map(|(at, (name, args))| ToolCall { id: format!("builtin-{turn}-{at}"), name, args, fault: None })
        .collect();
    ModelAnswer { calls, ..ModelAnswer::default() }
}

/// An answer with text.
pub(super) fn saying(text: impl Into<String>) -> ModelAnswer {
    ModelAnswer { text: text.into(), ..ModelAnswer::default() }
}

/// An answer that sets every variable of the step to this value; the bare value if the step writes none.
pub(super) fn giving(brief: &TaskBrief, value: &Value) -> ModelAnswer {
    match (brief.writes.as_slice(), value) {
        ([] | [_], Value::String(text)) => saying(text.clone()),
        ([], other) => saying(other.to_string()),
        (names, value) => {
            let object: Map<String, Value> = names.iter().map(|name| (name.clone(), value.clone())).collect();
            saying(Value::Object(object).to_string())
        }
    }
}

/// The inputs whose names begin with `prefix`, unwrapped: a step's answer may be stored as text or inside an object.
pub(super) fn inputs(brief: &TaskBrief, prefix: &str) -> Vec<Value> {
    brief
        .inputs
        .iter()
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| unwrapped(name, value))
        .collect()
}

fn unwrapped(name: &str, value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let value = parsed.as_ref().unwrap_or(value);
    value.get(name).unwrap_or(value).clone()
}
