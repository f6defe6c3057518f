//! The messages of the bridge: JSON-RPC 2.0.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The largest message: a file of the largest size that is written, and what is around it.
pub(super) const LARGEST: usize = 40 << 20;

/// The token is missing or wrong.
pub(super) const NOT_LET_IN: i64 = -32001;
/// What was asked could not be done.
pub(super) const REFUSED: i64 = -32000;
/// The message is not a request.
pub(super) const INVALID: i64 = -32600;
/// The method is not known.
pub(super) const UNKNOWN: i64 = -32601;

/// A message of either side.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    /// Which request it is, or answers; null in a notification.
    pub(super) id: Value,
    /// What is asked or told; empty in an answer.
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) result: Value,
    pub(super) error: Option<Fault>,
}

/// Why something was not done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
    /// More about it. Of a file that cannot be read: whether anything is there, as `exists`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) data: Value,
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Something told to everyone.
pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// An answer.
pub(super) fn answer(id: &Value, given: Result<Value, Fault>) -> String {
    match given {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string(),
    }
}
