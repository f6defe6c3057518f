//! What went wrong, as RFC 9457 has it: `application/problem+json`.
//!
//! | status | when |
//! |---|---|
//! | 400 | the request cannot be read: no JSON, a field that does not exist, a value of another type |
//! | 401, 403 | no token; or a role that may not do this |
//! | 404, 405 | there is no such run or address; or it has no such method |
//! | 408, 413, 415 | the body takes too long, is too large, or of another type |
//! | 409 | the request can be read, but does not fit what is there: the run has ended, nobody asks, no such model; or another server is doing the same |
//! | 422 | an `Idempotency-Key` that was used for another request |
//! | 500 | the server could not do it |

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use updraft_workbench::{Fault, Kind};
use utoipa::ToSchema;

use crate::bearer::BearerRefusal;

/// Problem details.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of the problem: `about:blank`, since the status says it.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
    /// Whether what was asked for is stored all the same, and may still be done.
    #[serde(skip)]
    is_pending: bool,
}

/// The result of an operation.
pub(super) type ApiResult<T> = Result<T, Problem>;

impl Problem {
    /// A problem with this status.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem");
        let (status, detail, hints) = (status.as_u16(), detail.into(), Vec::new());
        Self { kind: "about:blank", title, status, detail, hints, is_pending: false }
    }

    /// The request cannot be read.
    pub(super) fn unreadable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The request does not fit what is there.
    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// What is asked for does not exist.
    pub(super) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// The same, if what is missing is only named in the body.
    pub(super) fn into_conflict(self) -> Self {
        Self { hints: self.hints, ..Self::conflict(self.detail) }
    }

    /// The same, if what does not fit is that something does not exist which the address names.
    pub(super) fn into_missing(self) -> Self {
        let is_conflict = self.status == StatusCode::CONFLICT.as_u16();
        if is_conflict { Self { hints: self.hints, ..Self::missing(self.detail) } } else { self }
    }

    /// The same, if what does not exist is only named in the body.
    pub(super) fn missing_in_body(self) -> Self {
        if self.status == StatusCode::NOT_FOUND.as_u16() { self.into_conflict() } else { self }
    }

    /// The same, if what was asked for may be stored all the same: then the request keeps its key.
    pub(super) fn pending(self, is_pending: bool) -> Self {
        Self { is_pending, ..self }
    }

    /// Whether what was asked for may still be done.
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// The same, with what to do.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let status = match fault.kind {
            Kind::Usage | Kind::Config | Kind::NoSandbox | Kind::AlreadyExists => StatusCode::CONFLICT,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { hints: fault.hints, ..Self::new(status, fault.message) }
    }
}

impl From<tokio::task::JoinError> for Problem {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<BearerRefusal> for Problem {
    fn from(refusal: BearerRefusal) -> Self {
        Self::new(refusal.status, refusal.why)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"))];
        let mut response = (status, kind, body).into_response();
        let mut say = |name, value| drop(response.headers_mut().insert(name, HeaderValue::from_static(value)));
        match status {
            StatusCode::UNAUTHORIZED => {
                say(header::WWW_AUTHENTICATE, "Bearer realm=\"updraft\"");
                // A client without a token gets no further requests on this connection.
                say(header::CONNECTION, "close");
            }
            // The rest of the body is not read.
            StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                say(header::CONNECTION, "close");
            }
            _ => {}
        }
        response
    }
}

/// The answer to any other address.
pub(super) async fn no_such_address() -> Problem {
    Problem::missing("there is no such address in this API")
        .hint("all begin with `/api/v1/`; `/api/v1/openapi.json` describes them")
}

/// The answer to any other method.
pub(super) async fn no_such_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this address has no such method; the header `Allow` lists them")
}
