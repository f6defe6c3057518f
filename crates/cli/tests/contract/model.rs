//! The model of a cell, in OpenAI's dialect: what it was asked, and what it says.

use serde_json::{Value, json};

use crate::server::Response;

/// A question to the model, as far as scripts look at it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The step whose prompt holds `[[step]]`; `plan` where none does.
    pub(crate) step: String,
    /// How often the model has spoken already.
    pub(crate) turn: usize,
    /// All that came after its last answer.
    pub(crate) told: String,
}

/// What the model does.
pub(crate) enum Turn {
    Say(String),
    Call(Vec<(&'static str, Value)>),
    /// It asks to be asked again in a second.
    Busy,
}

impl Asked {
    pub(crate) fn read(body: &Value) -> Self {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let is_own = |message: &Value| message["role"] == "assistant";
        let after = messages.iter().rposition(is_own).map_or(0, |at| at + 1);
        let text = |messages: &[Value]| -> String {
            let contents: Vec<String> = messages.iter().map(|message| message["content"].to_string()).collect();
            contents.join("\n")
        };
        let all = text(&messages);
        // Whoever plans anew is shown the prompts of the steps so far.
        let plans_anew = all.contains("met a failure");
        let step = all.split_once("[[").filter(|_| !plans_anew).and_then(|(_, rest)| rest.split_once("]]"));
        Self {
            step: step.map_or("plan", |(step, _)| step).to_owned(),
            turn: messages.iter().filter(|message| is_own(message)).count(),
            told: text(&messages[after..]),
        }
    }

    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.step, self.turn)
    }
}

/// A plan of these steps; each is `(id, agent, reads)` and writes a variable of its own name.
pub(crate) fn plan(steps: &[(&str, &str, &[&str])]) -> Value {
    let steps = steps.iter().map(|(id, agent, reads)| {
        json!({"id": id, "agent": agent, "prompt": format!("[[{id}]] do it"), "reads": reads, "writes": [id]})
    });
    json!({"steps": steps.collect::<Vec<_>>()})
}

/// The answer as a stream.
pub(crate) fn streamed(turn: &Turn) -> Response {
    let (delta, finish) = match turn {
        Turn::Say(text) => (json!({"content": text}), "stop"),
        Turn::Call(calls) => {
            let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"index": index, "id": format!("call{index}"), "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()}})
            });
            (json!({"tool_calls": calls.collect::<Vec<_>>()}), "tool_calls")
        }
        Turn::Busy => {
            let body = json!({"error": {"message": "Please try again in 1s."}}).to_string();
            return Response { status: "429 Too Many Requests\r\nretry-after: 1", content: "application/json", body };
        }
    };
    let parts = [
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}),
    ];
    let body = parts.iter().map(|part| format!("data: {part}\n\n")).chain(["data: [DONE]\n\n".to_owned()]).collect();
    Response { status: "200 OK", content: "text/event-stream", body }
}
