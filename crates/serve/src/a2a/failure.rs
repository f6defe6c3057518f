//! Errors of A2A, as JSON-RPC and as HTTP say them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use updraft_workbench::{Fault, Kind};

/// The kinds of errors that clients tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum A2aErrorKind {
    Parse,
    InvalidRequest,
    UnknownMethod,
    InvalidParams,
    Internal,
    Unauthenticated,
    Forbidden,
    TaskNotFound,
    TaskNotCancelable,
    UnsupportedOperation,
    ContentTypeNotSupported,
    VersionNotSupported,
}

/// Why a request is not answered as it was meant.
#[derive(Clone, Debug)]
pub(super) struct A2aFailure {
    pub(super) kind: A2aErrorKind,
    pub(super) message: String,
}

/// The result of an operation.
pub(super) type A2aResult<T> = Result<T, A2aFailure>;

impl A2aErrorKind {
    /// The code in JSON-RPC, the status in HTTP and gRPC, and the reason if A2A has a name for it.
    fn codes(self) -> (i32, StatusCode, &'static str, &'static str) {
        use A2aErrorKind as E;
        let bad = StatusCode::BAD_REQUEST;
        match self {
            E::Parse => (-32700, bad, "INVALID_ARGUMENT", ""),
            E::InvalidRequest => (-32600, bad, "INVALID_ARGUMENT", ""),
            E::UnknownMethod => (-32601, StatusCode::NOT_FOUND, "NOT_FOUND", ""),
            E::InvalidParams => (-32602, bad, "INVALID_ARGUMENT", ""),
            E::Internal => (-32603, StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", ""),
            E::Unauthenticated => (-32000, StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", ""),
            E::Forbidden => (-32000, StatusCode::FORBIDDEN, "PERMISSION_DENIED", ""),
            E::TaskNotFound => (-32001, StatusCode::NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND"),
            E::TaskNotCancelable => (-32002, bad, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
            E::UnsupportedOperation => (-32004, bad, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
            E::ContentTypeNotSupported => (-32005, bad, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            E::VersionNotSupported => (-32009, bad, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        }
    }
}

impl A2aFailure {
    pub(super) fn new(kind: A2aErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The parameters are wrong.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(A2aErrorKind::InvalidParams, message)
    }

    /// There is no such task here.
    pub(super) fn no_task(id: &str) -> Self {
        Self::new(A2aErrorKind::TaskNotFound, format!("there is no task `{id}`"))
    }

    /// What programs are told besides the message.
    fn details(&self) -> Vec<Value> {
        let (_, _, _, reason) = self.kind.codes();
        let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org" });
        if reason.is_empty() { Vec::new() } else { vec![info] }
    }

    /// The error of a JSON-RPC response.
    pub(super) fn over_json_rpc(&self) -> Value {
        let mut error = json!({ "code": self.kind.codes().0, "message": self.message });
        let details = self.details();
        if !details.is_empty() {
            error["data"] = details.into();
        }
        error
    }

    /// The response over HTTP.
    pub(super) fn over_http(&self) -> Response {
        let (_, status, name, _) = self.kind.codes();
        let error =
            json!({ "code": status.as_u16(), "status": name, "message": self.message, "details": self.details() });
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"))];
        (status, kind, json!({ "error": error }).to_string()).into_response()
    }
}

impl From<Fault> for A2aFailure {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            Kind::Usage => A2aErrorKind::InvalidParams,
            _ => A2aErrorKind::Internal,
        };
        Self::new(kind, fault.in_one_line())
    }
}

impl From<tokio::task::JoinError> for A2aFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::new(A2aErrorKind::Internal, error.to_string())
    }
}
