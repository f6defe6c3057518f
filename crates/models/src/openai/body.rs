//! The request body: a beginning that only grows with the conversation, and a tail made anew for each ask.
//!
//! What was sent before is sent again byte for byte, so that the provider's cache of prompts finds it, and no message is
//! serialised twice.

use serde::{Serialize, Serializer};
use serde_json::Value;
use updraft_run::{Answer, Message, ToolCall, ToolSpec};

use crate::{Draft, Error, Prompt};

/// What the server calls the cap on the answer's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cap {
    /// The old name, which every other server understands.
    MaxTokens,
    /// The name OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

impl Cap {
    pub(super) fn understood_by(host: &str) -> Self {
        if host == "api.openai.com" { Cap::MaxCompletionTokens } else { Cap::MaxTokens }
    }

    fn field(self) -> &'static str {
        match self {
            Cap::MaxTokens => "max_tokens",
            Cap::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Brings the draft up to the prompt: appends the messages it lacks, or begins anew where the prompt holds fewer.
pub(super) fn extend(draft: &mut Draft, model: &str, prompt: &Prompt<'_>) -> Result<(), Error> {
    let missing = prompt.messages.get(draft.messages..);
    let written = match missing {
        Some(missing) if !draft.bytes.is_empty() => append(&mut draft.bytes, missing),
        _ => begin(&mut draft.bytes, model, prompt),
    };
    if let Err(why) = written {
        *draft = Draft::default();
        return Err(unwritable(&why));
    }
    draft.messages = prompt.messages.len();
    Ok(())
}

/// What closes the draft: all that may differ from one ask to the next.
pub(super) fn tail(cap: Cap, prompt: &Prompt<'_>) -> Result<Vec<u8>, Error> {
    let mut tail = b"]".to_vec();
    // llama.cpp refuses a schema beside tools, since both want to constrain what is written.
    if let Some(schema) = prompt.schema.filter(|_| prompt.tools.is_empty()) {
        tail.extend_from_slice(br#","response_format":"#);
        serde_json::to_writer(&mut tail, &Format::of(schema)).map_err(|why| unwritable(&why))?;
    }
    tail.extend_from_slice(format!(",\"{}\":{}}}", cap.field(), prompt.max_output).as_bytes());
    Ok(tail)
}

fn unwritable(why: &serde_json::Error) -> Error {
    Error::Config {
        what: format!("the prompt cannot be written as JSON: {why}"),
        hint: "this is a fault of ours; please report it".to_owned(),
    }
}

fn begin(bytes: &mut Vec<u8>, model: &str, prompt: &Prompt<'_>) -> serde_json::Result<()> {
    bytes.clear();
    bytes.extend_from_slice(br#"{"model":"#);
    serde_json::to_writer(&mut *bytes, model)?;
    bytes.extend_from_slice(br#","stream":true,"stream_options":{"include_usage":true}"#);
    if !prompt.tools.is_empty() {
        bytes.extend_from_slice(br#","tools":["#);
        for tool in prompt.tools {
            push(bytes, &Tool { kind: "function", function: tool })?;
        }
        bytes.push(b']');
    }
    bytes.extend_from_slice(br#","messages":["#);
    if !prompt.system.is_empty() {
        push(bytes, &Said { role: "system", content: prompt.system })?;
    }
    append(bytes, prompt.messages)
}

fn append(bytes: &mut Vec<u8>, messages: &[Message]) -> serde_json::Result<()> {
    for message in messages {
        match message {
            Message::User(text) => push(bytes, &Said { role: "user", content: text })?,
            Message::Assistant(answer) => push(bytes, &Answered::of(answer))?,
            Message::Results(results) => {
                for result in results {
                    push(bytes, &Gave { role: "tool", tool_call_id: &result.call, content: &result.text })?;
                }
            }
        }
    }
    Ok(())
}

/// Adds a member to the list that is open.
fn push(bytes: &mut Vec<u8>, member: &impl Serialize) -> serde_json::Result<()> {
    if bytes.last() != Some(&b'[') {
        bytes.push(b',');
    }
    serde_json::to_writer(bytes, member)
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Gave<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct Answered<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "is_empty", serialize_with = "calls")]
    tool_calls: &'a [ToolCall],
}

impl<'a> Answered<'a> {
    fn of(answer: &'a Answer) -> Self {
        // Nothing at all is said with an empty text: servers refuse a message that has neither content nor calls.
        let is_silent = answer.text.is_empty() && !answer.calls.is_empty();
        Self { role: "assistant", content: (!is_silent).then_some(&answer.text), tool_calls: &answer.calls }
    }
}

fn is_empty(calls: &&[ToolCall]) -> bool {
    calls.is_empty()
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.iter().map(|call| Call {
        id: &call.id,
        kind: "function",
        function: Function { name: &call.name, arguments: &call.args },
    }))
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(serialize_with = "as_text")]
    arguments: &'a Value,
}

/// Arguments travel as JSON inside a string; none at all are an empty object.
fn as_text<S: Serializer>(arguments: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if arguments.is_null() { serializer.serialize_str("{}") } else { serializer.collect_str(arguments) }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: &'a ToolSpec,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: Named<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'static str,
    schema: &'a Value,
}

impl<'a> Format<'a> {
    fn of(schema: &'a Value) -> Self {
        Self { kind: "json_schema", json_schema: Named { name: "answer", schema } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_itself_insists_on_the_new_name_of_the_cap() {
        assert_eq!(Cap::understood_by("api.openai.com").field(), "max_completion_tokens");
        assert_eq!(Cap::understood_by("127.0.0.1").field(), "max_tokens");
    }
}
