//! The binding to JSON-RPC: one address, one request at a time.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::failure::{A2aErrorKind, A2aFailure, A2aResult};
use super::operations::{self, A2aAnswer, A2aOperation};
use super::{A2aState, check_version, read_body};
use crate::bearer::ApiCaller;
use crate::event_stream;

/// Answers one request.
pub(super) async fn answer(
    State(state): State<Arc<A2aState>>,
    Extension(caller): Extension<ApiCaller>,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let version = check_version(&headers, request.uri().query());
    let sent = match read_body(request).await {
        Ok(bytes) => serde_json::from_slice::<Value>(&bytes)
            .map_err(|error| A2aFailure::new(A2aErrorKind::Parse, format!("the request is not JSON: {error}"))),
        Err(failure) => Err(failure),
    };
    let sent = match sent {
        Ok(sent) => sent,
        Err(failure) => return failed(&Value::Null, &failure),
    };
    let id = match &sent["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id.clone(),
        _ => Value::Null,
    };
    let made = match read(&sent).and_then(|operation| version.map(|()| operation)) {
        Ok(operation) => {
            let origin = state.origin(&headers);
            operations::perform(&state, &caller, &origin, operation, sent["params"].clone()).await
        }
        Err(failure) => Err(failure),
    };
    match made {
        Ok(A2aAnswer::Body(result)) => body(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Ok(A2aAnswer::Stream(stream)) => event_stream::response(stream.for_request(id)),
        Err(failure) => failed(&id, &failure),
    }
}

/// The operation that a request names.
fn read(sent: &Value) -> A2aResult<A2aOperation> {
    let wrong = |message: &str| Err(A2aFailure::new(A2aErrorKind::InvalidRequest, message));
    if !sent.is_object() {
        return wrong("a request is one JSON object; batches are not answered");
    }
    if sent["jsonrpc"] != "2.0" {
        return wrong("`jsonrpc` is \"2.0\"");
    }
    if !(sent["id"].is_string() || sent["id"].is_number()) {
        return wrong("`id` is a text or a number");
    }
    let Some(method) = sent["method"].as_str() else { return wrong("`method` is a text") };
    let unknown = || A2aFailure::new(A2aErrorKind::UnknownMethod, format!("there is no method `{method}`"));
    let operation = A2aOperation::named(method).ok_or_else(unknown)?;
    match &sent["params"] {
        Value::Null | Value::Object(_) => Ok(operation),
        _ => Err(A2aFailure::params("`params` is an object")),
    }
}

fn failed(id: &Value, failure: &A2aFailure) -> Response {
    body(&json!({ "jsonrpc": "2.0", "id": id, "error": failure.over_json_rpc() }))
}

fn body(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body.to_string()).into_response()
}
