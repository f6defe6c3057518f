//! Who may come in: `Authorization: Bearer TOKEN`, with the role that a request needs.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::OpenAiState;
use super::failure::OpenAiFailure;
use crate::admission::AdmissionSlot;
use crate::bearer::ApiCaller;
use crate::http_server::{CorsRequest, answer_for};
use crate::users::UserRole;

/// Checks every request.
pub(super) async fn check(
    State(state): State<Arc<OpenAiState>>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    mut request: Request,
    next: Next,
) -> Response {
    let page = CorsRequest::of(request.headers());
    if page.is_some() && request.method() == Method::OPTIONS && state.access.may_ask(request.headers()) {
        // A preflight request of a browser contains no token.
        return answer_for(page, StatusCode::METHOD_NOT_ALLOWED.into_response());
    }
    let caller = match state.access.caller(request.headers()) {
        Ok(caller) => caller,
        Err(refusal) => {
            let code = if refusal.status == StatusCode::UNAUTHORIZED { "invalid_api_key" } else { "not_from_here" };
            let failure = OpenAiFailure { status: refusal.status, code, ..OpenAiFailure::invalid("", refusal.why) };
            // A client without a token gets no further requests on this connection.
            let close = (header::CONNECTION, HeaderValue::from_static("close"));
            let way = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"updraft\""));
            return ([close, way], failure).into_response();
        }
    };
    slot.let_in();
    let needed = if request.method().is_safe() { UserRole::See } else { UserRole::Steer };
    if caller.role() < needed {
        return refusal(&caller, needed).into_response();
    }
    if !request.method().is_safe() {
        tracing::info!(user = caller.name(), "{} {}", request.method(), request.uri().path());
    }
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    let is_no_method = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    let mut response = answer_for(page.filter(|_| !is_no_method), response);
    let cache = response.headers_mut().entry(header::CACHE_CONTROL);
    cache.or_insert(HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn refusal(caller: &ApiCaller, needed: UserRole) -> OpenAiFailure {
    let (name, role, needed) = (caller.name(), caller.role().word(), needed.word());
    let message = format!(
        "{name} has the role `{role}`, and this needs `{needed}`; the owner of the server gives roles, with `updraft \
         serve user`"
    );
    OpenAiFailure {
        status: StatusCode::FORBIDDEN,
        code: "insufficient_permissions",
        ..OpenAiFailure::invalid("", message)
    }
}
