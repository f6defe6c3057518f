//! Who this agent is: for everybody, and with its agents for those who have a token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use updraft_workbench::service::AgentChoice;

use super::failure::{A2aErrorKind, A2aFailure};
use super::{A2aState, VERSION};
use crate::page::words::hex;

/// The card for everybody.
pub(super) async fn show(State(state): State<Arc<A2aState>>, headers: HeaderMap) -> Response {
    if !state.access.may_ask(&headers) {
        return A2aFailure::new(A2aErrorKind::Forbidden, "this is not a name of this server").over_http();
    }
    let card = public(&state.origin(&headers)).to_string();
    let tag = format!("\"{}\"", &hex(&Sha256::digest(&card))[..16]);
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let about = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("max-age=300")),
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""))),
    ];
    if is_known { (StatusCode::NOT_MODIFIED, about).into_response() } else { (about, card).into_response() }
}

fn public(origin: &str) -> Value {
    json!({
        "name": "Updraft",
        "description": "Plans a goal as steps and has agents carry them out in one workspace.",
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [
            { "url": format!("{origin}/a2a"), "protocolBinding": "JSONRPC", "protocolVersion": VERSION },
            { "url": format!("{origin}/a2a/v1"), "protocolBinding": "HTTP+JSON", "protocolVersion": VERSION },
        ],
        "capabilities": { "streaming": true, "pushNotifications": true, "extendedAgentCard": true },
        "securitySchemes": { "bearer": { "httpAuthSecurityScheme": {
            "scheme": "Bearer", "description": "Given by the owner of this server." } } },
        "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
        "defaultInputModes": ["text/plain", "application/json", "application/octet-stream"],
        "defaultOutputModes": ["text/markdown", "text/plain", "application/octet-stream"],
        "skills": [{
            "id": "goal",
            "name": "Pursue a goal",
            "description": "Plans the goal of a message and carries out the plan; asks if something is unclear.",
            "tags": ["plan", "agents", "workspace"],
        }],
    })
}

/// The card for those who have a token: each agent is a skill. A message whose `tenant` is its name is for it alone. There
/// is no interface for each: some clients take the last one of a card for the best.
pub(super) fn extended(state: &A2aState, origin: &str) -> Value {
    let mut card = public(origin);
    let agents = state.service.runs.agents();
    let skill = |agent: AgentChoice| json!({ "id": agent.name, "name": agent.name, "description": agent.purpose, "tags": ["agent"] });
    if let Some(skills) = card["skills"].as_array_mut() {
        skills.extend(agents.into_iter().map(skill));
    }
    card
}
