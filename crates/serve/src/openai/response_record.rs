//! What is kept of a request for a response: the journal has the run, this is what only OpenAI's API knows.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use updraft_run::RunId;
use updraft_workbench::service::LiveRuns;

use super::answer_form::AnswerForm;
use super::failure::OpenAiFailure;

/// The name under which records are kept.
const FACE: &str = "openai";
/// How long an address of a picture may be to be kept. The run has the picture itself.
const LONGEST_PICTURE: usize = 64 << 10;

/// The request that a response answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ResponseRecord {
    /// The run.
    pub(super) run: RunId,
    /// The response begins after this event: 0, or where an answer continued the run.
    pub(super) after: u64,
    /// When it was asked for, in seconds.
    pub(super) created: i64,
    /// The model that was named.
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) previous: Option<String>,
    /// Whether it outlives its client.
    pub(super) background: bool,
    pub(super) metadata: Map<String, Value>,
    /// The items of the input, with ids.
    pub(super) input: Vec<Value>,
    /// The form of the answer, as it was sent; absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<Value>,
}

impl ResponseRecord {
    /// The id of the response.
    pub(super) fn id(&self) -> String {
        match self.after {
            0 => format!("resp_{}", self.run),
            after => format!("resp_{}_{after}", self.run),
        }
    }

    /// The form of the answer.
    pub(super) fn form(&self) -> AnswerForm {
        // It was read when the request came.
        self.format.as_ref().and_then(|format| AnswerForm::of_response(format).ok()).unwrap_or_default()
    }

    /// Keeps it. When this returns, it is on disk.
    pub(super) async fn keep(&self, runs: &LiveRuns) -> Result<(), OpenAiFailure> {
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(runs.keep_note(FACE, &self.id(), text).await?)
    }

    /// The record of a response whose run is in the journal.
    pub(super) fn find(runs: &LiveRuns, id: &str) -> Result<Self, OpenAiFailure> {
        let missing = || OpenAiFailure::missing("response_not_found", format!("there is no response `{id}`"));
        let text = runs.note(FACE, id)?.ok_or_else(missing)?;
        let record: Self = serde_json::from_str(&text).map_err(|_| missing())?;
        // The run may have been removed from the journal.
        runs.feed(record.run.as_str()).map_err(|_| missing())?;
        Ok(record)
    }

    /// Forgets the response; the run stays in the journal.
    pub(super) async fn forget(runs: &LiveRuns, id: &str) -> Result<(), OpenAiFailure> {
        if runs.drop_note(FACE, id).await? {
            return Ok(());
        }
        Err(OpenAiFailure::missing("response_not_found", format!("there is no response `{id}`")))
    }
}

/// An item of the input as it is kept and shown again: with an id, and complete.
pub(super) fn kept_item(item: &Value, id: String) -> Value {
    let mut item = item.clone();
    if item["type"].is_null() {
        item["type"] = Value::from("message");
    }
    item["id"] = Value::from(id);
    if item["type"] == "message" {
        item["status"] = Value::from("completed");
        let is_answer = item["role"] == "assistant";
        let content = match item["content"].take() {
            Value::String(text) => vec![serde_json::json!({ "type": "input_text", "text": text })],
            Value::Array(parts) => parts,
            _ => Vec::new(),
        };
        item["content"] = content.into_iter().map(|part| kept_part(part, is_answer)).collect();
    }
    item
}

fn kept_part(mut part: Value, is_answer: bool) -> Value {
    if part["type"] == "input_image" {
        if part["image_url"].as_str().is_some_and(|address| address.len() > LONGEST_PICTURE) {
            part["image_url"] = Value::Null;
        }
        if part["detail"].is_null() {
            part["detail"] = Value::from("auto");
        }
        return part;
    }
    if part["type"] == "refusal" {
        return part;
    }
    if is_answer {
        return serde_json::json!({ "type": "output_text", "text": part["text"], "annotations": [], "logprobs": [] });
    }
    serde_json::json!({ "type": "input_text", "text": part["text"] })
}
