//! Errors in OpenAI's form, and bodies that are read up to a limit.

use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use updraft_workbench::{Fault, Kind};

/// Most bytes of a request: pictures of 15 MB as text, and a long conversation.
const MOST_BYTES: usize = 32 << 20;
/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a request is not answered as it was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenAiFailure {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// The field of the request that is wrong.
    pub(super) param: Option<String>,
    pub(super) code: &'static str,
}

impl OpenAiFailure {
    /// The request is wrong.
    pub(super) fn invalid(param: &str, message: impl Into<String>) -> Self {
        let param = (!param.is_empty()).then(|| param.to_owned());
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), param, code: "invalid_value" }
    }

    /// The request asks for something that agents do not do.
    pub(super) fn unsupported(param: &str, message: impl Into<String>) -> Self {
        Self { code: "unsupported_parameter", ..Self::invalid(param, message) }
    }

    pub(super) fn missing(code: &'static str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into(), param: None, code }
    }

    /// The run has ended without a result.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.into(), param: None, code: "run_failed" }
    }

    /// The error as a body.
    pub(super) fn body(&self) -> Value {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }
}

impl From<Fault> for OpenAiFailure {
    fn from(fault: Fault) -> Self {
        let message = fault.in_one_line();
        match fault.kind {
            Kind::Usage => Self::invalid("", message),
            _ => Self { code: "server_error", ..Self::failed(message) },
        }
    }
}

impl IntoResponse for OpenAiFailure {
    fn into_response(self) -> Response {
        let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The official clients repeat requests that fail here; a run is not started again without being asked for.
        let never_again = (HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        (self.status, [json, never_again], self.body().to_string()).into_response()
    }
}

/// A body in JSON.
pub(super) fn json_body(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body.to_string()).into_response()
}

pub(super) async fn unknown(method: Method, uri: Uri) -> OpenAiFailure {
    let path = uri.path();
    OpenAiFailure::missing(
        "unknown_url",
        format!("no such operation: {method} {path}; available: /v1/models, /v1/chat/completions, /v1/responses"),
    )
}

pub(super) async fn wrong_method(method: Method, uri: Uri) -> OpenAiFailure {
    let message = format!("{method} is not possible at {}", uri.path());
    OpenAiFailure { status: StatusCode::METHOD_NOT_ALLOWED, ..OpenAiFailure::missing("method_not_supported", message) }
}

/// The body of a request, as JSON.
pub(super) async fn read_json(request: Request) -> Result<Value, OpenAiFailure> {
    let refused = |status, message: &str| OpenAiFailure { status, ..OpenAiFailure::invalid("", message) };
    let too_large = || refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 32 MB");
    // What says beforehand that it is too large is not received.
    if request.body().size_hint().lower() > MOST_BYTES as u64 {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), MOST_BYTES);
    let read = tokio::time::timeout(PATIENCE, reading).await;
    let read = read.map_err(|_| refused(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive"))?;
    let bytes = read.map_err(|_| too_large())?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| OpenAiFailure::invalid("", format!("the request is not JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(OpenAiFailure::invalid("", "the request must be a JSON object")) }
}
