//! Questions to the client during a call: returned as a result in the new era, sent as requests in the old one.

#![expect(deprecated, reason = "sampling and roots leave the protocol, and clients of earlier revisions have them")]

use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
};
use rmcp::service::ServiceError;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::Value;

use super::backend::ClientQuestions;
use super::caller::ClientCaller;

/// How many times one call may ask: more would annoy a person, or is a loop.
pub(super) const MOST_ROUNDS: usize = 10;
/// How long a person has for an answer in the old era; in the new one nothing waits.
const PATIENCE: Duration = Duration::from_mins(15);

/// Seals state that a client carries for us, so that it comes back unchanged and for the same call.
#[derive(Clone)]
pub(super) struct StateSeal(RequestStateCodec);

impl StateSeal {
    /// The key may have any length; it should be at least 32 bytes that nobody else knows.
    pub(super) fn new(key: &[u8]) -> Self {
        Self(RequestStateCodec::new_unchecked(key))
    }

    pub(super) fn close(&self, what: &str, state: &Value) -> Result<String, ErrorData> {
        let bound = SealOptions::new().associated_data(what.as_bytes());
        self.0.seal_json_with(state, &bound).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Opens what was sealed for `what`; an error if it was changed or belongs to something else.
    pub(super) fn open(&self, what: &str, sealed: Option<&str>) -> Result<Option<Value>, ErrorData> {
        let opened = sealed.map(|sealed| self.0.open_json_with(sealed, what.as_bytes())).transpose();
        opened.map_err(|_| {
            ErrorData::invalid_params(
                "`requestState` is not the one issued for this call; omit it to start again",
                None,
            )
        })
    }
}

/// The capability that a client needs for a question.
fn needed(request: &InputRequest) -> ClientCapabilities {
    match request {
        InputRequest::CreateMessage(_) => ClientCapabilities::builder().enable_sampling().build(),
        InputRequest::ListRoots(_) => ClientCapabilities::builder().enable_roots().build(),
        _ => ClientCapabilities::builder().enable_elicitation().build(),
    }
}

/// Fails if the client cannot answer one of the questions.
fn check(asks: &ClientQuestions, caller: &ClientCaller) -> Result<(), ErrorData> {
    let own = caller.capabilities();
    for request in asks.requests.values() {
        let able = match request {
            InputRequest::CreateMessage(_) => own.sampling.is_some(),
            InputRequest::ListRoots(_) => own.roots.is_some(),
            _ => own.elicitation.is_some(),
        };
        if !able {
            return Err(ErrorData::missing_required_client_capability(needed(request)));
        }
    }
    Ok(())
}

/// The questions as a result, for a client of the new era.
pub(super) fn as_result(
    seal: &StateSeal,
    what: &str,
    asks: ClientQuestions,
    caller: &ClientCaller,
) -> Result<InputRequiredResult, ErrorData> {
    check(&asks, caller)?;
    let state = asks.state.as_ref().map(|state| seal.close(what, state)).transpose()?;
    let requests = (!asks.requests.is_empty()).then_some(asks.requests);
    Ok(InputRequiredResult::new(requests, state))
}

/// Asks a client of the old era, one question after the other, and returns its answers.
pub(super) async fn ask_now(asks: ClientQuestions, caller: &ClientCaller) -> Result<InputResponses, ErrorData> {
    check(&asks, caller)?;
    let mut replies = InputResponses::new();
    for (key, request) in asks.requests {
        let asked = tokio::time::timeout(PATIENCE, ask(&caller.context.peer, request)).await;
        let reply = asked.map_err(|_| ErrorData::internal_error("nobody answered the question in time", None))?;
        let reply = reply.map_err(|error| match error {
            ServiceError::McpError(error) => error,
            other => ErrorData::internal_error(format!("the client could not be asked: {other}"), None),
        })?;
        replies.insert(key, reply);
    }
    Ok(replies)
}

async fn ask(peer: &Peer<RoleServer>, request: InputRequest) -> Result<Value, ServiceError> {
    let value = match request {
        InputRequest::CreateMessage(request) => serde_json::to_value(peer.create_message(request.params).await?),
        InputRequest::Elicitation(request) => serde_json::to_value(peer.create_elicitation(request.params).await?),
        _ => serde_json::to_value(peer.list_roots().await?),
    };
    value.map_err(|_| ServiceError::UnexpectedResponse)
}
