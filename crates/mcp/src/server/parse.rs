//! Parses what a client sends before the SDK sees it: an invalid message gets an error answer, with its id if it has
//! one, because the client waits for an answer.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, InitializeRequestParams};
use serde_json::{Map, Value, json};

use super::id_scanner::RequestScanner;

/// Maximum number of messages in one batch.
const MOST: usize = 1_000;
/// The only revision with batches.
pub(super) const BATCHES: &str = "2025-03-26";

/// The field in which a request of the era without sessions names its revision.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// A message that is answered with an error at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RejectedMessage {
    /// Its id; null if it is unknown or missing.
    id: Value,
    error: ErrorData,
}

impl RejectedMessage {
    pub(super) fn new(id: Value, code: ErrorCode, why: impl Into<String>) -> Self {
        Self { id, error: ErrorData::new(code, why.into(), None) }
    }

    fn alone(why: impl Into<String>) -> Self {
        Self::new(Value::Null, ErrorCode::INVALID_REQUEST, why)
    }

    /// The error answer. By the protocol, an unknown id is left out.
    pub(super) fn answer(&self) -> String {
        let mut answer = json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error });
        if let Some(answer) = answer.as_object_mut().filter(|_| self.id.is_null()) {
            answer.remove("id");
        }
        answer.to_string()
    }
}

/// The result of parsing one message.
pub(super) enum IncomingMessage {
    Message(Box<ClientJsonRpcMessage>),
    Refused(RejectedMessage),
    /// It needs no answer and can be ignored.
    Ignored,
}

/// The result of parsing one payload.
pub(super) enum IncomingPayload {
    One(IncomingMessage),
    Batch(Vec<Value>),
}

/// Parses a payload. Batches are accepted only if `takes_batches`.
pub(super) fn open(bytes: &[u8], takes_batches: bool) -> IncomingPayload {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let given = match serde_json::from_slice(bytes) {
        Ok(given) => given,
        Err(error) => return IncomingPayload::One(IncomingMessage::Refused(garbage(bytes, &error))),
    };
    let refused = |why: String| IncomingPayload::One(IncomingMessage::Refused(RejectedMessage::alone(why)));
    match given {
        Value::Array(_) if !takes_batches => {
            refused(format!("batches are part of revision {BATCHES} only; send each message by itself"))
        }
        Value::Array(all) if all.is_empty() => refused("there is nothing in this batch".to_owned()),
        Value::Array(all) if all.len() > MOST => refused(format!("a batch has at most {MOST} messages")),
        Value::Array(all) => IncomingPayload::Batch(all),
        one => IncomingPayload::One(open_one(one)),
    }
}

/// Parses a message of a batch.
pub(super) fn open_in_batch(given: Value) -> IncomingMessage {
    if given["method"] == "initialize" {
        let (id, why) = (given["id"].clone(), "`initialize` comes by itself, before any batch");
        return IncomingMessage::Refused(RejectedMessage::new(id, ErrorCode::INVALID_REQUEST, why));
    }
    open_one(given)
}

fn garbage(bytes: &[u8], error: &serde_json::Error) -> RejectedMessage {
    let mut scan = RequestScanner::default();
    scan.feed(bytes);
    let id = scan.request().and_then(|id| serde_json::to_value(id).ok()).unwrap_or_default();
    RejectedMessage::new(id, ErrorCode::PARSE_ERROR, format!("not JSON: {error}"))
}

fn open_one(given: Value) -> IncomingMessage {
    let Value::Object(mut given) = given else {
        return IncomingMessage::Refused(RejectedMessage::alone(
            "expected an object with `jsonrpc`, `id` and `method`",
        ));
    };
    let is_answer = !given.contains_key("method") && (given.contains_key("result") || given.contains_key("error"));
    // Some clients write this for "no parameters".
    if given.get("params").is_some_and(Value::is_null) {
        given.remove("params");
    }
    if !is_answer && let Err(refused) = check(&given) {
        return IncomingMessage::Refused(refused);
    }
    let id = given.get("id").cloned();
    match (serde_json::from_value(Value::Object(given)), id) {
        (Ok(message), _) => IncomingMessage::Message(Box::new(message)),
        (Err(error), Some(id)) if !is_answer => {
            IncomingMessage::Refused(RejectedMessage::new(id, ErrorCode::INVALID_REQUEST, error.to_string()))
        }
        _ => IncomingMessage::Ignored,
    }
}

/// Checks that it is a valid request or notification.
fn check(given: &Map<String, Value>) -> Result<(), RejectedMessage> {
    let id = given.get("id");
    let is_id = |id: &&Value| id.is_string() || id.is_number();
    let known = id.filter(is_id).cloned().unwrap_or_default();
    let refused = |code, why: &str| Err(RejectedMessage::new(known.clone(), code, why));
    if given.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return refused(ErrorCode::INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    }
    if id.is_some_and(|id| !id.is_string() && !id.is_i64()) {
        return refused(ErrorCode::INVALID_REQUEST, "`id` is a text or a whole number");
    }
    let Some(Value::String(method)) = given.get("method") else {
        return refused(ErrorCode::INVALID_REQUEST, "`method` is missing, or not a text");
    };
    if given.get("params").is_some_and(|params| !params.is_object()) {
        return refused(ErrorCode::INVALID_PARAMS, "`params` is an object");
    }
    if method == "initialize" && id.is_some() {
        let params = given.get("params").cloned().unwrap_or_else(|| json!({}));
        // A request that names its revision is of the era without `initialize`; the handler refuses it.
        let has_sessions = params["_meta"][REVISION].is_null();
        if has_sessions && let Err(error) = serde_json::from_value::<InitializeRequestParams>(params) {
            return refused(ErrorCode::INVALID_PARAMS, &format!("`initialize`: {error}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientRequest, JsonRpcMessage};

    use super::*;

    /// Whether it is a request that the SDK knows, with valid parameters.
    fn is_known(message: &ClientJsonRpcMessage) -> bool {
        matches!(message, JsonRpcMessage::Request(known) if !matches!(known.request, ClientRequest::CustomRequest(_)))
    }

    /// The answer to a text, or `None` if it is passed on or ignored.
    fn answered(text: &str) -> Option<Value> {
        match open(text.as_bytes(), false) {
            IncomingPayload::One(IncomingMessage::Refused(refused)) => {
                Some(serde_json::from_str(&refused.answer()).unwrap())
            }
            _ => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_its_id() {
        for (text, id, code) in [
            ("not json", Value::Null, -32700),
            ("{\"id\":3,\"method\":\"ping\"", Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"x":"\ud800"}}"#, json!(3), -32700),
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping",}"#, json!(3), -32700),
            ("5", Value::Null, -32600),
            ("[]", Value::Null, -32600),
            (r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#, Value::Null, -32600),
            ("{}", Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":3}"#, json!(3), -32600),
            (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, json!(3), -32600),
            (r#"{"id":"a","method":"ping"}"#, json!("a"), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, json!(u64::MAX), -32600),
            (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":5}"#, json!(3), -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#, json!(3), -32602),
        ] {
            let answer = answered(text).unwrap_or_else(|| panic!("{text} was not answered"));
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text}: {answer}");
        }
    }

    #[test]
    fn answers_notifications_and_requests_are_not_answered_here() {
        for text in [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
            r#"{"id":3,"result":5}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/of/someone/else"}"#,
        ] {
            assert_eq!(answered(text), None, "{text}");
        }
        for text in [
            r#"{"jsonrpc":"2.0","id":"","method":"ping","params":null}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"ping\"}",
        ] {
            let IncomingPayload::One(IncomingMessage::Message(message)) = open(text.as_bytes(), false) else {
                panic!("{text}")
            };
            assert!(is_known(&message), "{text}");
        }
    }
}
