//! A message of another agent: what it says, and the files in it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::Deserialize;
use serde_json::Value;

use super::failure::{A2aErrorKind, A2aFailure, A2aResult};
use super::operations::whole_number;
use super::push::PushConfig;
use crate::page::uploads::safe_name;

/// What is sent with `SendMessage` and `SendStreamingMessage`.
#[derive(Deserialize)]
pub(super) struct SendRequest {
    /// The agent that is to work on it alone.
    #[serde(default)]
    pub(super) tenant: String,
    /// The message as it was sent.
    pub(super) message: Value,
    #[serde(default)]
    pub(super) configuration: SendConfiguration,
}

/// How a message is to be answered.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SendConfiguration {
    #[serde(deserialize_with = "whole_number")]
    pub(super) history_length: Option<i64>,
    pub(super) return_immediately: Option<bool>,
    pub(super) task_push_notification_config: Option<PushConfig>,
}

/// A message that was checked.
#[derive(Debug, PartialEq)]
pub(super) struct SentMessage {
    pub(super) id: String,
    /// The context it names; may be empty.
    pub(super) context: String,
    /// The task it continues; empty if it begins one.
    pub(super) task: String,
    /// Its words.
    pub(super) text: String,
    /// Its files: names and contents.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl SentMessage {
    /// Checks a message.
    pub(super) fn read(message: &Value) -> A2aResult<Self> {
        let field = |name: &str| match &message[name] {
            Value::Null => Ok(String::new()),
            Value::String(text) if text.len() <= 256 => Ok(text.clone()),
            _ => Err(A2aFailure::params(format!("`message.{name}` is a text of at most 256 bytes"))),
        };
        let (id, context, task) = (field("messageId")?, field("contextId")?, field("taskId")?);
        if id.is_empty() {
            return Err(A2aFailure::params("`message.messageId` is missing"));
        }
        if message["role"] != "ROLE_USER" {
            return Err(A2aFailure::params("`message.role` is `ROLE_USER`"));
        }
        let parts = message["parts"].as_array().filter(|parts| !parts.is_empty());
        let parts = parts.ok_or_else(|| A2aFailure::params("`message.parts` is a list with at least one part"))?;
        let (mut text, mut files) = (Vec::new(), Vec::new());
        for part in parts {
            match read_part(part)? {
                PartContent::Text(words) => text.push(words),
                PartContent::File(name, bytes) => files.push((name, bytes)),
            }
        }
        Ok(Self { id, context, task, text: text.join("\n\n"), files })
    }
}

/// What a part of a message is to us.
enum PartContent {
    Text(String),
    File(String, Vec<u8>),
}

fn read_part(part: &Value) -> A2aResult<PartContent> {
    let kinds = ["text", "raw", "url", "data"];
    let mut given = kinds.iter().filter(|kind| part.get(**kind).is_some());
    let (Some(kind), None) = (given.next(), given.next()) else {
        return Err(A2aFailure::params("a part has one of `text`, `raw`, `url` and `data`"));
    };
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    match *kind {
        "text" => {
            let words = part["text"].as_str().ok_or_else(|| A2aFailure::params("the `text` of a part is a text"))?;
            Ok(PartContent::Text(words.to_owned()))
        }
        "data" => Ok(PartContent::Text(format!("```json\n{:#}\n```", part["data"]))),
        "raw" => {
            let bytes = STANDARD.decode(text("raw")).or_else(|_| URL_SAFE.decode(text("raw")));
            let bytes = bytes.map_err(|_| A2aFailure::params("the `raw` of a part is not base64"))?;
            let name = safe_name(text("filename"));
            Ok(PartContent::File(if name.is_empty() { "file".to_owned() } else { name }, bytes))
        }
        _ => {
            let why = "files are not fetched from addresses; send them as `raw`, or name the address in a text";
            Err(A2aFailure::new(A2aErrorKind::ContentTypeNotSupported, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_its_words_and_its_files() {
        let parts = json!([{ "text": "Count." }, { "data": { "a": 1 } }, { "raw": "aGk=", "filename": "../x.txt" }]);
        let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": parts, "kind": "message" });
        let read = SentMessage::read(&message).unwrap();
        assert_eq!(read.text, "Count.\n\n```json\n{\n  \"a\": 1\n}\n```");
        assert_eq!(read.files, [("x.txt".to_owned(), b"hi".to_vec())]);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let part = json!([{ "text": "x" }]);
        let wrong = [
            json!({ "role": "ROLE_USER", "parts": part }),
            json!({ "messageId": "m", "parts": part }),
            json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": part }),
            json!({ "messageId": "m", "role": "ROLE_USER" }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{}] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x", "data": 1 }] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "raw": "?" }] }),
            json!({ "messageId": 7, "role": "ROLE_USER", "parts": part }),
        ];
        for message in wrong {
            assert_eq!(SentMessage::read(&message).unwrap_err().kind, A2aErrorKind::InvalidParams, "{message}");
        }
    }
}
