//! Providers in five dialects: the shortest answer each can give, with a bill.

use serde_json::{Value, json};

use crate::server::{Request, Response};

/// A provider's dialect, by the name it has in `speaks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fake {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

/// What the model does.
pub(crate) enum Turn {
    /// Calls a tool, each time another way.
    Call(usize),
    Say(&'static str),
}

/// What a provider says that it counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) input: u64,
    /// Without what is reported beside it.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) total: u64,
}

impl Fake {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fake::Chat => "openai",
            Fake::Responses => "responses",
            Fake::Anthropic => "anthropic",
            Fake::Gemini => "gemini",
            Fake::Ollama => "ollama",
        }
    }

    /// What follows the server's address in its base.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Fake::Chat | Fake::Responses | Fake::Anthropic => "/v1",
            Fake::Gemini => "/v1beta",
            Fake::Ollama => "",
        }
    }

    /// Whether this asks the model something; anything else asks about it.
    pub(crate) fn is_asked(self, request: &Request) -> bool {
        request.path.contains(match self {
            Fake::Chat => "/chat/completions",
            Fake::Responses => "/responses",
            Fake::Anthropic => "/messages",
            Fake::Gemini => ":streamGenerateContent",
            Fake::Ollama => "/api/chat",
        })
    }

    /// What it says about itself.
    pub(crate) fn about(self, request: &Request) -> Response {
        if self == Fake::Ollama && request.path == "/api/show" {
            let body = json!({ "capabilities": ["completion", "tools", "thinking"], "model_info": {} }).to_string();
            return Response { status: "200 OK", content: "application/json", body };
        }
        Response::nothing_here()
    }

    /// The cap on the answer, as the request sets it.
    pub(crate) fn cap(self, body: &Value) -> u64 {
        let cap = match self {
            Fake::Chat => body.get("max_tokens").unwrap_or(&body["max_completion_tokens"]),
            Fake::Responses => &body["max_output_tokens"],
            Fake::Anthropic => &body["max_tokens"],
            Fake::Gemini => &body["generationConfig"]["maxOutputTokens"],
            Fake::Ollama => &body["options"]["num_predict"],
        };
        cap.as_u64().unwrap_or_else(|| panic!("no cap in {body}"))
    }

    pub(crate) fn answer(self, turn: &Turn, counted: &Counted) -> Response {
        let parts = match self {
            Fake::Chat => chat(turn, counted),
            Fake::Responses => responses(turn, counted),
            Fake::Anthropic => anthropic(turn, counted),
            Fake::Gemini => gemini(turn, counted),
            Fake::Ollama => ollama(turn, counted),
        };
        let (content, before, after) = match self {
            Fake::Ollama => ("application/x-ndjson", "", "\n"),
            Fake::Chat | Fake::Responses | Fake::Anthropic | Fake::Gemini => ("text/event-stream", "data: ", "\n\n"),
        };
        let body = parts.iter().flat_map(|part| [before.to_owned(), part.to_string(), after.to_owned()]).collect();
        Response { status: "200 OK", content, body }
    }
}

const TOOL: &str = "list_files";

fn arguments(number: usize) -> Value {
    json!({ "path": ".", "limit": number + 1 })
}

fn chat(turn: &Turn, counted: &Counted) -> Vec<Value> {
    let (delta, finish) = match turn {
        Turn::Call(number) => {
            let function = json!({ "name": TOOL, "arguments": arguments(*number).to_string() });
            let call = json!({ "index": 0, "id": format!("call{number}"), "type": "function", "function": function });
            (json!({ "tool_calls": [call] }), "tool_calls")
        }
        Turn::Say(text) => (json!({ "content": text }), "stop"),
    };
    let Counted { input, output, reasoning, total } = counted;
    vec![
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }),
        json!({ "choices": [], "usage": {
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": total,
            "completion_tokens_details": { "reasoning_tokens": reasoning } } }),
    ]
}

fn responses(turn: &Turn, counted: &Counted) -> Vec<Value> {
    let item = match turn {
        Turn::Call(number) => json!({ "type": "function_call", "id": format!("fc{number}"), "name": TOOL,
            "call_id": format!("call{number}"), "arguments": arguments(*number).to_string(), "status": "completed" }),
        Turn::Say(text) => json!({ "type": "message", "id": "msg", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }] }),
    };
    let Counted { input, output, reasoning, total } = counted;
    let usage = json!({ "input_tokens": input, "output_tokens": output, "total_tokens": total,
        "output_tokens_details": { "reasoning_tokens": reasoning } });
    let response = json!({ "object": "response", "status": "completed", "output": [item], "usage": usage });
    vec![
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response }),
    ]
}

fn anthropic(turn: &Turn, counted: &Counted) -> Vec<Value> {
    let (block, delta, reason) = match turn {
        Turn::Call(number) => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": TOOL, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": arguments(*number).to_string() }),
            "tool_use",
        ),
        Turn::Say(text) => {
            (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }), "end_turn")
        }
    };
    vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": counted.input, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": counted.output } }),
        json!({ "type": "message_stop" }),
    ]
}

fn gemini(turn: &Turn, counted: &Counted) -> Vec<Value> {
    let part = match turn {
        Turn::Call(number) => json!({ "functionCall": { "name": TOOL, "args": arguments(*number) } }),
        Turn::Say(text) => json!({ "text": text }),
    };
    let Counted { input, output, reasoning, total } = counted;
    vec![json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": input, "candidatesTokenCount": output, "thoughtsTokenCount": reasoning,
            "totalTokenCount": total },
    })]
}

fn ollama(turn: &Turn, counted: &Counted) -> Vec<Value> {
    let message = match turn {
        Turn::Call(number) => json!({ "role": "assistant", "content": "",
            "tool_calls": [{ "function": { "name": TOOL, "arguments": arguments(*number) } }] }),
        Turn::Say(text) => json!({ "role": "assistant", "content": text }),
    };
    vec![
        json!({ "message": message, "done": false }),
        json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
            "prompt_eval_count": counted.input, "eval_count": counted.output }),
    ]
}
