//! The gate that the ways in for programs share: who sends a request, whether that is enough for it, and what a web page
//! gets of the answer. Each way in says only what a request needs and how a refusal is written there.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::admission::AdmissionSlot;
use crate::bearer::{BearerAccess, BearerRefusal};
use crate::http_server::{CorsRequest, answer_for};
use crate::users::UserRole;

/// What to do about a role that is not enough.
pub(crate) const ROLE_HINT: &str = "the owner of the server gives roles, with `updraft serve user`";

/// The gate of one way in.
pub(crate) struct BearerGate {
    /// What stands before the paths of its requests, for the log.
    pub(crate) prefix: &'static str,
    /// The role that a request needs; `None` if each operation decides.
    pub(crate) needs: fn(&Request) -> Option<UserRole>,
    /// How a refusal is written.
    pub(crate) refuse: fn(GateRefusal) -> Response,
}

/// Why a request is refused.
pub(crate) enum GateRefusal {
    /// It shows no token that is known, or does not come from where it may.
    Stranger(BearerRefusal),
    /// The role of its sender is not enough.
    Role(String),
}

impl BearerGate {
    /// Answers a request by `next` if it may come in. `next` finds the [`ApiCaller`](crate::bearer::ApiCaller) in it.
    pub(crate) async fn pass(
        &self,
        access: &BearerAccess,
        slot: &AdmissionSlot,
        mut request: Request,
        next: Next,
    ) -> Response {
        let page = CorsRequest::of(request.headers());
        if page.is_some() && request.method() == Method::OPTIONS && access.may_ask(request.headers()) {
            // A preflight request of a browser contains no token.
            return answer_for(page, StatusCode::METHOD_NOT_ALLOWED.into_response());
        }
        let caller = match access.caller(request.headers()) {
            Ok(caller) => caller,
            Err(refusal) => {
                // A client without a token gets no further requests on this connection.
                let close = (header::CONNECTION, HeaderValue::from_static("close"));
                let way = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"updraft\""));
                return ([close, way], (self.refuse)(GateRefusal::Stranger(refusal))).into_response();
            }
        };
        slot.let_in();
        if let Some(needed) = (self.needs)(&request).filter(|needed| caller.role() < *needed) {
            return (self.refuse)(GateRefusal::Role(caller.role_refusal(needed)));
        }
        if !request.method().is_safe() {
            tracing::info!(user = caller.name(), "{} {}{}", request.method(), self.prefix, request.uri().path());
        }
        request.extensions_mut().insert(caller);
        let response = next.run(request).await;
        // To a page this would look like the answer to a preflight request.
        let is_no_method = response.status() == StatusCode::METHOD_NOT_ALLOWED;
        let mut response = answer_for(page.filter(|_| !is_no_method), response);
        let headers = response.headers_mut();
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}
