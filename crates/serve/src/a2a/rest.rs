//! The binding to HTTP with JSON: an address for each operation, perhaps below the name of an agent.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

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
    let origin = state.origin(request.headers());
    let made = match read(request).await {
        Ok((operation, params)) => operations::perform(&state, &caller, &origin, operation, params).await,
        Err(failure) => Err(failure),
    };
    match made {
        Ok(A2aAnswer::Body(body)) => {
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"))];
            (kind, body.to_string()).into_response()
        }
        Ok(A2aAnswer::Stream(stream)) => event_stream::response(*stream),
        Err(failure) => failure.over_http(),
    }
}

/// The operation and its parameters: from the path, the query and the body.
async fn read(request: Request) -> A2aResult<(A2aOperation, Value)> {
    check_version(request.headers(), request.uri().query())?;
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let decoded = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let Query(query) = decoded.map_err(|wrong| A2aFailure::params(wrong.body_text()))?;
    let segments: Vec<&str> = path.trim_start_matches("/a2a/v1").split('/').filter(|part| !part.is_empty()).collect();
    let (tenant, segments) = match segments.split_first() {
        Some((first, rest)) if !is_own(first) => (Some(*first), rest),
        _ => (None, segments.as_slice()),
    };
    let (operation, in_path) = operation_at(&method, segments).ok_or_else(|| {
        A2aFailure::new(A2aErrorKind::UnknownMethod, format!("there is no {method} {path} in A2A's binding to HTTP"))
    })?;
    let mut params = if method == Method::POST { body(request).await? } else { Map::new() };
    for (name, value) in query.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("a2a-version")) {
        params.insert(name, typed(value));
    }
    params.extend(in_path.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
    if let Some(tenant) = tenant {
        params.insert("tenant".to_owned(), tenant.into());
    }
    Ok((operation, params.into()))
}

/// Whether a path that begins like this has no agent's name in front.
fn is_own(first: &str) -> bool {
    matches!(first, "message:send" | "message:stream" | "tasks" | "extendedAgentCard")
}

/// The operation at a path, with what the path says.
fn operation_at<'a>(method: &Method, path: &[&'a str]) -> Option<(A2aOperation, Vec<(&'static str, &'a str)>)> {
    use A2aOperation as O;
    let (is_get, is_post, is_delete) = (method == Method::GET, method == Method::POST, method == Method::DELETE);
    Some(match path {
        ["message:send"] if is_post => (O::SendMessage, vec![]),
        ["message:stream"] if is_post => (O::SendStreamingMessage, vec![]),
        ["tasks"] if is_get => (O::ListTasks, vec![]),
        ["tasks", id] => match id.split_once(':') {
            Some((id, "cancel")) if is_post => (O::CancelTask, vec![("id", id)]),
            // The definition says GET, the text of the specification POST.
            Some((id, "subscribe")) if is_post || is_get => (O::SubscribeToTask, vec![("id", id)]),
            None if is_get => (O::GetTask, vec![("id", *id)]),
            _ => return None,
        },
        ["tasks", task, "pushNotificationConfigs"] if is_post => (O::CreatePush, vec![("taskId", *task)]),
        ["tasks", task, "pushNotificationConfigs"] if is_get => (O::ListPush, vec![("taskId", *task)]),
        ["tasks", task, "pushNotificationConfigs", id] if is_get => (O::GetPush, vec![("taskId", *task), ("id", *id)]),
        ["tasks", task, "pushNotificationConfigs", id] if is_delete => {
            (O::DeletePush, vec![("taskId", *task), ("id", *id)])
        }
        ["extendedAgentCard"] if is_get => (O::GetExtendedAgentCard, vec![]),
        _ => return None,
    })
}

async fn body(request: Request) -> A2aResult<Map<String, Value>> {
    let bytes = read_body(request).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(A2aFailure::params("the body is a JSON object")),
        Err(error) => Err(A2aFailure::new(A2aErrorKind::Parse, format!("the body is not JSON: {error}"))),
    }
}

/// A value of a query; whether a text is a number is known where it is read.
fn typed(value: String) -> Value {
    match value.as_str() {
        "true" => true.into(),
        "false" => false.into(),
        _ => value.into(),
    }
}
