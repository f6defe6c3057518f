//! The parts of an answer, folded into one as they arrive.

use serde_json::{Map, Value};
use updraft_run::{Answer, Finish, ToolCall, Usage, repair};

use super::refusal;
use super::wire::{CallPart, Chunk, Part, Text, Used};
use crate::retry::Trouble;
use crate::{Delta, Hear, Price, Prompt, tokens};

/// What has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Fold {
    text: String,
    reasoning: String,
    calls: Vec<Written>,
    /// Absent until the server has said why the model stopped.
    finish: Option<Finish>,
    usage: Option<Usage>,
    /// The server has said that nothing more comes.
    done: bool,
}

/// A call as far as it has been written.
#[derive(Debug, Default)]
struct Written {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl Fold {
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the data of one event.
    pub(super) fn take(&mut self, data: &[u8], hear: Hear<'_>) -> Result<(), Trouble> {
        if data == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|why| {
            Trouble::Garbled(format!("{why} in `{}`", refusal::shorten(&String::from_utf8_lossy(data))))
        })?;
        if let Some(error) = chunk.error.filter(|raw| raw.get() != "null") {
            return Err(refusal::in_stream(error.get()));
        }
        if let Some(used) = chunk.usage {
            self.usage = Some(usage_of(&used));
        }
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            for part in [&choice.delta, &choice.message].into_iter().flatten() {
                self.add(part, hear);
            }
            match choice.finish_reason.as_str() {
                "" => {}
                "length" => self.finish = Some(Finish::Length),
                "content_filter" => self.finish = Some(Finish::Filtered),
                "error" => return Err(Trouble::Cut("the server stopped with an error".to_owned())),
                _ => self.finish = Some(Finish::Stop),
            }
        }
        Ok(())
    }

    fn add(&mut self, part: &Part<'_>, hear: Hear<'_>) {
        // A few servers fill both fields with the same words.
        let thought = [&part.reasoning_content, &part.reasoning].map(Text::as_str);
        if let Some(thought) = thought.into_iter().find(|text| !text.is_empty()) {
            self.reasoning.push_str(thought);
            hear(Delta::Reasoning(thought));
        }
        for said in [part.content.as_str(), part.refusal.as_str()] {
            if !said.is_empty() {
                self.text.push_str(said);
                hear(Delta::Text(said));
            }
        }
        for call in part.tool_calls.iter().flatten() {
            self.add_call(call, hear);
        }
    }

    fn add_call(&mut self, part: &CallPart<'_>, hear: Hear<'_>) {
        let call = self.call_of(part);
        if call.id.is_empty() {
            call.id.push_str(part.id.as_str());
        }
        let Some(function) = &part.function else { return };
        let name = function.name.as_str();
        if call.name.is_empty() && !name.is_empty() {
            call.name.push_str(name);
            hear(Delta::Call(name));
        }
        call.arguments.push_str(function.arguments.as_str());
    }

    /// The call that a part continues: by its index; without one, the last, unless an id says that a new one begins.
    fn call_of(&mut self, part: &CallPart<'_>) -> &mut Written {
        let id = part.id.as_str();
        let continues = |call: &Written| id.is_empty() || call.id.is_empty() || call.id == id;
        let last = self.calls.len().saturating_sub(1);
        let found = match part.index {
            // From the end: servers that give every call the index 0 begin each with an id of its own.
            Some(index) => self.calls.iter().rposition(|call| call.index == index),
            None => (!self.calls.is_empty()).then_some(last),
        };
        let at = match found {
            Some(at) if continues(&self.calls[at]) => at,
            _ => {
                let index = part.index.unwrap_or(self.calls.len());
                self.calls.push(Written { index, ..Written::default() });
                self.calls.len() - 1
            }
        };
        &mut self.calls[at]
    }

    /// The whole answer; a stream that ended before its end is none.
    pub(super) fn into_answer(self, prompt: &Prompt<'_>, sent: usize, price: Option<Price>) -> Result<Answer, Trouble> {
        if self.finish.is_none() && !self.done {
            return Err(Trouble::Cut("the stream ended before the answer did".to_owned()));
        }
        let finish = self.finish.unwrap_or_default();
        let mut answer = Answer { text: self.text, reasoning: self.reasoning, finish, ..Answer::default() };
        for (at, written) in self.calls.into_iter().enumerate() {
            let mut call = written.into_call(finish);
            // Results are matched by id, so each needs one of its own; this one is the same when asked again.
            if call.id.is_empty() || answer.calls.iter().any(|other| other.id == call.id) {
                call.id = format!("c{}.{at}", prompt.messages.len());
            }
            answer.calls.push(call);
        }
        answer.usage = self.usage.unwrap_or_else(|| tokens::estimate(sent, &answer));
        answer.usage.cost = price.map(|price| price.of(&answer.usage));
        Ok(answer)
    }
}

impl Written {
    fn into_call(self, finish: Finish) -> ToolCall {
        let (args, fault) = match finish {
            Finish::Length => (empty(), Some("the answer was cut off at the limit on output".to_owned())),
            Finish::Filtered => (empty(), Some("the provider withheld the rest of the answer".to_owned())),
            _ => match read_arguments(&self.arguments) {
                Ok(args) => (args, None),
                Err(fault) => (empty(), Some(fault)),
            },
        };
        ToolCall { id: self.id, name: self.name, args, fault }
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// Reads the arguments, repaired where that is safe. Where a repair had to guess, the model is told what was wrong
/// instead: a call that was never meant is worse than one more turn.
fn read_arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(empty());
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(why) => match repair(text) {
            Some(repaired) if !repaired.is_risky() => repaired.value,
            _ => return Err(format!("the arguments are not JSON: {why}")),
        },
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(empty()),
        // Some models write the object as a string within the string.
        Value::String(inner) if inner.trim_start().starts_with('{') => read_arguments(&inner),
        _ => Err(format!("the arguments are not an object: `{}`", refusal::shorten(text))),
    }
}

fn usage_of(used: &Used) -> Usage {
    Usage {
        input: used.prompt_tokens.unwrap_or(0),
        output: used.completion_tokens.unwrap_or(0),
        cached: used.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens).unwrap_or(0),
        reasoning: used.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens).unwrap_or(0),
        ..Usage::default()
    }
}
