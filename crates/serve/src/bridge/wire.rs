//! The messages of the bridge: JSON-RPC 2.0.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum bytes of a message: the largest file that can be written, plus the rest of the message.
pub(super) const LARGEST: usize = 40 << 20;

/// The token is missing or wrong.
pub(super) const NOT_LET_IN: i64 = -32001;
/// The request could not be carried out.
pub(super) const REFUSED: i64 = -32000;
/// The message is not JSON.
const GARBAGE: i64 = -32700;
/// The message is not a request.
pub(super) const INVALID: i64 = -32600;
/// The method is not known.
pub(super) const UNKNOWN: i64 = -32601;

/// The parameters are not what the method needs.
pub(super) const UNFIT: i64 = -32602;

/// A message of either side.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BridgeMessage {
    /// The id of the request, also in its answer; null in a notification.
    pub(super) id: Value,
    /// The method; empty in an answer.
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) result: Value,
    pub(super) error: Option<BridgeFault>,
}

/// Why a request failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BridgeFault {
    pub(super) code: i64,
    pub(super) message: String,
    /// Details. For a file that cannot be read: whether something is there, as `exists`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) data: Value,
}

impl BridgeFault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }
}

impl BridgeMessage {
    /// Whether it needs an answer: other messages are notifications or answers.
    pub(super) fn is_request(&self) -> bool {
        !self.id.is_null() && !self.method.is_empty()
    }
}

/// A message that cannot be parsed, and the error to answer it with.
#[derive(Debug)]
pub(super) struct MalformedMessage {
    pub(super) id: Value,
    pub(super) fault: BridgeFault,
}

impl MalformedMessage {
    /// A fault of a message whose id is unknown.
    pub(super) fn alone(code: i64, why: &str) -> Self {
        Self { id: Value::Null, fault: BridgeFault::new(code, why) }
    }

    pub(super) fn answer(self) -> String {
        answer(&self.id, Err(self.fault))
    }
}

/// Parses a message of a client: one object that follows JSON-RPC strictly.
pub(super) fn read(text: &str) -> Result<BridgeMessage, MalformedMessage> {
    let given =
        serde_json::from_str(text).map_err(|error| MalformedMessage::alone(GARBAGE, &format!("not JSON: {error}")))?;
    let Value::Object(mut given) = given else {
        let why = "expected one object with `jsonrpc`, `id` and `method`; batches are not supported";
        return Err(MalformedMessage::alone(INVALID, why));
    };
    let id = given.remove("id");
    let has_bad_id = id.as_ref().is_some_and(|id| !id.is_string() && !id.is_number());
    let id = id.filter(|_| !has_bad_id).unwrap_or_default();
    let invalid = |why: &str| Err(MalformedMessage { id: id.clone(), fault: BridgeFault::new(INVALID, why) });
    if given.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    if !given.contains_key("method") && (given.contains_key("result") || given.contains_key("error")) {
        return Ok(BridgeMessage::default());
    }
    if has_bad_id {
        return invalid("`id` is a text or a number");
    }
    let Some(Value::String(method)) = given.remove("method").filter(|method| method != "") else {
        return invalid("`method` is missing, or not a text");
    };
    let params = given.remove("params").unwrap_or_default();
    match params {
        Value::Object(_) | Value::Null => Ok(BridgeMessage { id, method, params, ..BridgeMessage::default() }),
        _ => Err(MalformedMessage {
            id,
            fault: BridgeFault::new(UNFIT, "`params` is an object: parameters have names here"),
        }),
    }
}

/// Parses a message of a host, less strictly. `None` if it is not a message at all.
pub(super) fn read_leniently(text: &str) -> Option<BridgeMessage> {
    let given: Value = serde_json::from_str(text).ok()?;
    given.is_object().then(|| serde_json::from_value(given).ok()).flatten()
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A notification.
pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// An answer.
pub(super) fn answer(id: &Value, given: Result<Value, BridgeFault>) -> String {
    match given {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_of_json_rpc_are_read() {
        let told = |text: &str| match read(text) {
            Ok(message) => (message.id, message.method, 0),
            Err(unread) => (unread.id, String::new(), unread.fault.code),
        };
        let no = Value::Null;
        for (text, id, method, code) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, json!(7), "m", 0),
            (r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{}}"#, json!("a"), "m", 0),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, no.clone(), "m", 0),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, no.clone(), "", 0),
            (r#"[7,"fs/write",{"path":"x","content":"y"},null,null]"#, no.clone(), "", INVALID),
            (r#"[{"jsonrpc":"2.0","id":7,"method":"m"}]"#, no.clone(), "", INVALID),
            ("[]", no.clone(), "", INVALID),
            ("7", no.clone(), "", INVALID),
            ("{", no.clone(), "", GARBAGE),
            ("", no.clone(), "", GARBAGE),
            (r#"{"id":7,"method":"m"}"#, json!(7), "", INVALID),
            (r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, json!(7), "", INVALID),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), "", INVALID),
            (r#"{"jsonrpc":"2.0","id":7,"method":["m"]}"#, json!(7), "", INVALID),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, no.clone(), "", INVALID),
            (r#"{"jsonrpc":"2.0","id":[7],"method":"m"}"#, no.clone(), "", INVALID),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#, json!(7), "", UNFIT),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"p"}"#, json!(7), "", UNFIT),
        ] {
            assert_eq!(told(text), (id, method.to_owned(), code), "{text}");
        }
        assert!(read_leniently(r#"[7,"fs/changed",{}]"#).is_none());
    }
}
