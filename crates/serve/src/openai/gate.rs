//! Who may come in: `Authorization: Bearer TOKEN`, with the role that a request needs.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::OpenAiState;
use super::failure::OpenAiFailure;
use crate::admission::AdmissionSlot;
use crate::bearer_gate::{BearerGate, GateRefusal, ROLE_HINT};
use crate::users::UserRole;

const GATE: BearerGate = BearerGate {
    prefix: "",
    needs: |request| Some(if request.method().is_safe() { UserRole::See } else { UserRole::Steer }),
    refuse,
};

/// Checks every request.
pub(super) async fn check(
    State(state): State<Arc<OpenAiState>>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    GATE.pass(&state.access, &slot, request, next).await
}

/// A refusal in OpenAI's form.
fn refuse(refusal: GateRefusal) -> Response {
    let (status, code, message) = match refusal {
        GateRefusal::Stranger(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
            (refusal.status, "invalid_api_key", refusal.why.to_owned())
        }
        GateRefusal::Stranger(refusal) => (refusal.status, "not_from_here", refusal.why.to_owned()),
        GateRefusal::Role(why) => (StatusCode::FORBIDDEN, "insufficient_permissions", format!("{why}; {ROLE_HINT}")),
    };
    OpenAiFailure { status, code, ..OpenAiFailure::invalid("", message) }.into_response()
}
