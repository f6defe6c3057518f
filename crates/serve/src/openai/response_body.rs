//! The JSON of a response and of the items in it.

use serde_json::{Value, json};
use updraft_run::TokenUsage;
use updraft_workbench::service::PendingQuestion;

use super::response_record::ResponseRecord;
use crate::wait_words::tool;

/// The name of the server in requests for approval.
const SERVER: &str = "updraft";

/// Where a response stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseState {
    /// It is in the background, and nothing was said yet.
    Queued,
    /// The run works.
    InProgress,
    /// The run needs somebody.
    Incomplete,
    /// The run has ended well.
    Completed,
    /// The run was cancelled.
    Cancelled,
    /// The run has ended otherwise.
    Failed,
}

impl ResponseState {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            ResponseState::Queued => "queued",
            ResponseState::InProgress => "in_progress",
            ResponseState::Incomplete => "incomplete",
            ResponseState::Completed => "completed",
            ResponseState::Cancelled => "cancelled",
            ResponseState::Failed => "failed",
        }
    }
}

/// What changes of a response while its run goes on.
#[derive(Clone, Debug)]
pub(super) struct ResponseProgress {
    pub(super) state: ResponseState,
    /// When it came to rest, in seconds.
    pub(super) completed: Option<i64>,
    /// Why it failed.
    pub(super) error: Option<String>,
    pub(super) output: Vec<Value>,
    pub(super) usage: TokenUsage,
}

/// A whole response.
pub(super) fn body(record: &ResponseRecord, progress: &ResponseProgress) -> Value {
    let ResponseProgress { state, completed, error, output, usage } = progress;
    let error = error.as_ref().map(|why| json!({ "code": "server_error", "message": why }));
    json!({
        "id": record.id(),
        "object": "response",
        "created_at": record.created,
        "completed_at": completed,
        "status": state.word(),
        "background": record.background,
        "error": error,
        "incomplete_details": null,
        "instructions": record.instructions,
        "max_output_tokens": null,
        "max_tool_calls": null,
        "metadata": record.metadata,
        "model": record.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": record.previous,
        "prompt_cache_key": null,
        "safety_identifier": null,
        "reasoning": { "effort": null, "summary": null },
        "service_tier": "default",
        // Every run is in the journal.
        "store": true,
        "temperature": 1.0,
        "text": { "format": record.format.clone().unwrap_or_else(|| json!({ "type": "text" })) },
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached, "cache_write_tokens": usage.stored },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input + usage.output,
        },
    })
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageEnd {
    /// It has just begun.
    Open,
    /// It is what the run answers or asks.
    Answer,
    /// It was said on the way.
    Remark,
    /// It broke off.
    Broken,
}

/// A message of the assistant.
pub(super) fn message(id: &str, text: &str, how: MessageEnd) -> Value {
    let status = match how {
        MessageEnd::Open => "in_progress",
        MessageEnd::Answer | MessageEnd::Remark => "completed",
        MessageEnd::Broken => "incomplete",
    };
    let content = if how == MessageEnd::Open { Vec::new() } else { vec![output_text(text)] };
    let mut item = json!({ "id": id, "type": "message", "role": "assistant", "status": status, "content": content });
    if how == MessageEnd::Remark {
        item["phase"] = "commentary".into();
    }
    item
}

/// The text of a message.
pub(super) fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// The progress of a run, as a summary of reasoning.
pub(super) fn reasoning(id: &str, status: &str, lines: &[String]) -> Value {
    let summary: Vec<Value> = lines.iter().map(|line| summary_text(line)).collect();
    json!({ "id": id, "type": "reasoning", "status": status, "summary": summary })
}

/// A line of a summary.
pub(super) fn summary_text(line: &str) -> Value {
    json!({ "type": "summary_text", "text": line })
}

/// A call that a person has to approve.
pub(super) fn approval(wait: &PendingQuestion) -> Value {
    json!({ "id": format!("mcpr_{}", wait.id), "type": "mcp_approval_request", "server_label": SERVER,
            "name": tool(wait), "arguments": wait.call["args"].to_string() })
}
