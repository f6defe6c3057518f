//! Parses what a server sent into messages: batches, answers that are almost valid, and answers that are not JSON. If
//! an answer cannot be used, the caller that waits for it gets an error at once.

use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use serde_json::{Value, json};

use super::stdio::unusable;

/// The messages in a text; empty if it is garbage. `is_open` says whether a request still waits for its answer.
pub(super) fn messages(text: &[u8], is_open: impl Fn(&RequestId) -> bool) -> Vec<ServerJsonRpcMessage> {
    if let Ok(message) = serde_json::from_slice(text) {
        return vec![mended(message)];
    }
    match serde_json::from_slice(text) {
        // Only one revision of the protocol has batches.
        Ok(Value::Array(batch)) => batch.into_iter().filter_map(|one| one_of(one, &is_open)).collect(),
        Ok(one @ Value::Object(_)) => one_of(one, &is_open).into_iter().collect(),
        Ok(_) => Vec::new(),
        Err(error) => {
            let what = format!("its answer is not JSON: {error}");
            broken_answer_to(text, is_open).map(|id| unusable(what, id)).into_iter().collect()
        }
    }
}

fn one_of(value: Value, is_open: impl Fn(&RequestId) -> bool) -> Option<ServerJsonRpcMessage> {
    let id = match &value["id"] {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    };
    let is_answer = value.get("method").is_none();
    match serde_json::from_value(value) {
        Ok(message) => Some(mended(message)),
        Err(error) => {
            let id = id.filter(|id| is_answer && is_open(id))?;
            Some(unusable(format!("its answer is malformed: {error}"), id))
        }
    }
}

/// Accepts an `initialize` result in which the server's name is missing.
fn mended(message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    let JsonRpcMessage::Response(mut response) = message else { return message };
    if let ServerResult::CustomResult(custom) = &response.result
        && custom.0["protocolVersion"].is_string()
    {
        let mut greeting = custom.0.clone();
        if !greeting["capabilities"].is_object() {
            greeting["capabilities"] = json!({});
        }
        if let Some(info) = greeting["serverInfo"].as_object_mut() {
            info.retain(|name, value| ["name", "version"].contains(&name.as_str()) && value.is_string());
            info.entry("name").or_insert_with(|| json!(""));
            info.entry("version").or_insert_with(|| json!(""));
        } else {
            greeting["serverInfo"] = json!({"name": "", "version": ""});
        }
        if let Ok(result @ ServerResult::InitializeResult(_)) = serde_json::from_value(greeting) {
            response.result = result;
        }
    }
    JsonRpcMessage::Response(response)
}

/// The id of the request that an unreadable text seems to answer: the text looks like an answer and contains the id of
/// an open request. Request ids cannot be guessed, so they do not occur in a text by chance.
pub(super) fn broken_answer_to(text: &[u8], is_open: impl Fn(&RequestId) -> bool) -> Option<RequestId> {
    let has = |what: &[u8]| memchr::memmem::find(text, what).is_some();
    let is_answer =
        text.first().is_some_and(|first| b"{[".contains(first)) && (has(b"\"result\"") || has(b"\"error\""));
    is_answer.then(|| ids_in(text).find(|id| is_open(id))).flatten()
}

/// The numbers that follow an `"id"`, written as numbers or as strings.
pub(super) fn ids_in(text: &[u8]) -> impl Iterator<Item = RequestId> {
    let after = |at: usize| {
        let rest = text[at + 4..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok().map(RequestId::Number)
    };
    memchr::memmem::find_iter(text, b"\"id\"").filter_map(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &[u8]) -> Vec<String> {
        let open = RequestId::Number(7);
        messages(text, |id| *id == open).iter().map(|message| serde_json::to_string(message).unwrap()).collect()
    }

    #[test]
    fn who_waits_for_an_answer_that_is_no_json_is_told() {
        for text in [
            &br#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"x":NaN}}}"#[..],
            br#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"\ud800"}]}, "id" : "7"}"#,
            b"{\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}",
            br#"{"id":7,"error":{'code':1}}"#,
        ] {
            let told = told(text);
            assert!(told.len() == 1 && told[0].contains("its answer is not JSON"), "{told:?}");
        }
    }

    #[test]
    fn what_only_speaks_of_a_request_is_no_answer_to_it() {
        for text in [
            &br#"got {"jsonrpc":"2.0","id":7,"result":{}} x"#[..],
            br#"{"id":7,"method":"tools/call", oh}"#,
            br#"{"id":8,"result":NaN}"#,
            b"hello",
            b"[]",
        ] {
            assert!(told(text).is_empty(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn batches_are_taken_apart_and_greetings_without_a_name_are_greetings() {
        let batch =
            br#"[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":7,"result":{}}]"#;
        assert_eq!(told(batch).len(), 2);
        let greeting =
            br#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#;
        let message = messages(greeting, |_| true).remove(0);
        let JsonRpcMessage::Response(response) = message else { panic!("it is an answer") };
        assert!(matches!(response.result, ServerResult::InitializeResult(_)));
    }
}
