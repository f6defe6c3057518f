//! JSON-RPC 2.0 as the protocol uses it: one message a line, no batches.

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};
use updraft_workbench::{Fault, Kind};

/// The longest line that is read. Pictures come inside of messages.
const LONGEST: usize = 64 << 20;

/// A message from the editor.
#[derive(Debug, PartialEq)]
pub(crate) enum RpcMessage {
    /// It wants an answer.
    Request { id: Value, method: String, params: Value },
    /// It wants none.
    Notification { method: String, params: Value },
    /// It answers a request of ours.
    Reply { id: Value, outcome: Result<Value, RpcFailure> },
}

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcFailure {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl RpcFailure {
    fn new(code: i64, message: impl Into<String>) -> Self {
        let message: String = message.into();
        // The protocol asks for a single line.
        Self { code, message: message.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    /// The request does not follow the protocol.
    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// There is no such method.
    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("there is no method `{method}`"))
    }

    /// What was sent with the request cannot be used.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// It failed on our side.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// What the request is about does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(-32002, message)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }

    fn from_json(error: &Value) -> Self {
        let code = error["code"].as_i64().unwrap_or(-32603);
        Self::new(code, error["message"].as_str().unwrap_or("the editor gave no reason"))
    }
}

impl From<Fault> for RpcFailure {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            Kind::Usage => Self::invalid_params(fault.in_one_line()),
            _ => Self::internal(fault.in_one_line()),
        }
    }
}

/// Reads a message. If that is not possible, the failure says so to the sender, with the id that it is about.
pub(crate) fn read(line: &[u8]) -> Result<RpcMessage, (Value, RpcFailure)> {
    let message: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, RpcFailure::new(-32700, format!("this line is not JSON: {error}"))))?;
    let Value::Object(mut fields) = message else {
        let why = "a message is an object; batches are not used here";
        return Err((Value::Null, RpcFailure::invalid_request(why)));
    };
    let id = fields.remove("id");
    let params = fields.remove("params").unwrap_or_default();
    if let Some(method) = fields.get("method") {
        let named = method.as_str().map(str::to_owned);
        let method = named
            .ok_or_else(|| (id.clone().unwrap_or_default(), RpcFailure::invalid_request("`method` is not a text")))?;
        return match id {
            None => Ok(RpcMessage::Notification { method, params }),
            Some(id) if id.is_string() || id.is_number() || id.is_null() => {
                Ok(RpcMessage::Request { id, method, params })
            }
            Some(_) => Err((Value::Null, RpcFailure::invalid_request("`id` is neither a text nor a number"))),
        };
    }
    match (id, fields.remove("result"), fields.remove("error")) {
        (Some(id), _, Some(error)) => Ok(RpcMessage::Reply { id, outcome: Err(RpcFailure::from_json(&error)) }),
        (Some(id), Some(result), None) => Ok(RpcMessage::Reply { id, outcome: Ok(result) }),
        (id, _, _) => {
            let why = "a message has a `method`, or an `id` with a `result` or an `error`";
            Err((id.unwrap_or_default(), RpcFailure::invalid_request(why)))
        }
    }
}

/// Reads lines. Dropping the future of `next` loses nothing.
pub(crate) struct LineReader<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new() }
    }

    /// The next line that is not empty; `None` at the end, or if it is too long or cannot be read.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let chunk = self.input.fill_buf().await.ok()?;
            if chunk.is_empty() || self.line.len() > LONGEST {
                return None;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            self.line.extend_from_slice(&chunk[..end.unwrap_or(taken)]);
            self.input.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !line.trim_ascii().is_empty() {
                    return Some(line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_request_a_notification_or_a_reply() {
        let message = |text: &str| read(text.as_bytes()).unwrap();
        let (method, params) = ("m".to_owned(), json!({ "a": 1 }));
        assert_eq!(
            message(r#"{"jsonrpc": "2.0", "id": "x", "method": "m", "params": {"a": 1}}"#),
            RpcMessage::Request { id: json!("x"), method: method.clone(), params: params.clone() }
        );
        assert_eq!(message(r#"{"method": "m", "params": {"a": 1}}"#), RpcMessage::Notification { method, params });
        let outcome = Err(RpcFailure { code: -32601, message: "no such thing".into() });
        assert_eq!(
            message(r#"{"id": 3, "error": {"code": -32601, "message": "no\nsuch thing"}}"#),
            RpcMessage::Reply { id: json!(3), outcome }
        );
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_code_for_it() {
        let code = |text: &str| read(text.as_bytes()).unwrap_err().1.code;
        assert_eq!(code("{no"), -32700);
        for text in ["[]", "7", "{}", r#"{"foo": "bar"}"#, r#"{"id": {}, "method": "m"}"#, r#"{"id": 1, "method": 2}"#]
        {
            assert_eq!(code(text), -32600, "{text}");
        }
    }
}
