//! The JSON of chat completions and their chunks.

use serde_json::{Value, json};
use updraft_run::{RunId, TokenUsage};

use super::answer_form::AnswerForm;

/// What is the same in all chunks of a completion.
#[derive(Clone, Debug)]
pub(super) struct ChatHead {
    pub(super) run: RunId,
    /// When it was asked for, in seconds.
    pub(super) created: i64,
    /// The model that was named.
    pub(super) model: String,
    /// Whether chunks say something about usage: null in all but the last.
    pub(super) with_usage: bool,
    /// The form of its content.
    pub(super) form: AnswerForm,
}

impl ChatHead {
    fn frame(&self, object: &str, choices: &Value) -> Value {
        json!({ "id": format!("chatcmpl-{}", self.run), "object": object, "created": self.created,
                "model": self.model, "service_tier": "default", "choices": choices })
    }

    /// A whole completion.
    pub(super) fn whole(&self, content: &str, progress: &[String], used: &TokenUsage) -> Value {
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null, "annotations": [] });
        if !progress.is_empty() {
            message["reasoning_content"] = progress.join("\n").into();
        }
        let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
        let mut body = self.frame("chat.completion", &json!([choice]));
        body["usage"] = usage(used);
        body
    }

    /// A piece of a streamed completion; the last has a reason why it ends.
    pub(super) fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let mut body = self.frame("chat.completion.chunk", &json!([choice]));
        if self.with_usage {
            body["usage"] = Value::Null;
        }
        body
    }

    /// The chunk about usage, after all others.
    pub(super) fn usage_chunk(&self, used: &TokenUsage) -> Value {
        let mut body = self.frame("chat.completion.chunk", &json!([]));
        body["usage"] = usage(used);
        body
    }
}

fn usage(used: &TokenUsage) -> Value {
    json!({
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": { "cached_tokens": used.cached, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": used.reasoning, "audio_tokens": 0,
                                       "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0 },
    })
}
