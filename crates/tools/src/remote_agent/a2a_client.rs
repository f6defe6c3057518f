//! A client for A2A 1.0 over JSON-RPC: finds a server's interface by its card, and asks.

use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::error_chain;
use url::Url;

use super::RemoteAgentConfig;
use crate::web::plain_client;

/// How long connecting and one answer may take.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_mins(1);
/// Most bytes of an answer.
const LARGEST: usize = 16 << 20;
/// Where a card is.
const CARD: &str = "/.well-known/agent-card.json";

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum RemoteFault {
    /// The server cannot be reached, or did not answer: what was sent may have arrived.
    Lost(String),
    /// The server refuses, with a code of JSON-RPC.
    Refused(i64, String),
    /// What the user has configured does not work.
    Misconfigured(String),
}

/// A server that was found.
pub(super) struct A2aClient<'a> {
    http: reqwest::Client,
    endpoint: Url,
    config: &'a RemoteAgentConfig,
}

impl<'a> A2aClient<'a> {
    /// Reads a server's card. The interface must be on the server that the user has named: it gets the token.
    pub(super) async fn find(config: &'a RemoteAgentConfig) -> Result<Self, RemoteFault> {
        let wrong = |why: String| RemoteFault::Misconfigured(why);
        let http = plain_client(&config.certificates, CONNECT).map_err(|failure| wrong(failure.message))?;
        let named = Url::parse(&config.url).map_err(|error| wrong(format!("`a2a` is not an address: {error}")))?;
        let is_card = named.path().to_lowercase().ends_with(".json");
        let card = if is_card { Ok(named.clone()) } else { named.join(CARD) };
        let card = card.map_err(|error| wrong(format!("`a2a` is not an address: {error}")))?;
        let card = read(http.get(card).timeout(ANSWER)).await?;
        let interfaces = card["supportedInterfaces"].as_array().into_iter().flatten();
        let is_ours = |one: &&Value| one["protocolBinding"] == "JSONRPC" && one["protocolVersion"] == "1.0";
        let endpoint = interfaces.filter(is_ours).find_map(|one| Url::parse(one["url"].as_str()?).ok());
        let endpoint = endpoint.ok_or_else(|| wrong("its card names no interface with JSON-RPC for A2A 1.0".into()))?;
        if endpoint.origin() != named.origin() {
            return Err(wrong(format!("its card names another server, {endpoint}; name that one with `a2a`")));
        }
        Ok(Self { http, endpoint, config })
    }

    /// Asks for one operation.
    pub(super) async fn ask(&self, method: &str, mut params: Value) -> Result<Value, RemoteFault> {
        if let Some(tenant) = &self.config.tenant {
            params["tenant"] = tenant.as_str().into();
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.http.post(self.endpoint.clone()).timeout(ANSWER);
        let request = request.header("content-type", "application/json").header("a2a-version", "1.0");
        let request = match &self.config.token {
            Some(token) => request.bearer_auth(&token.0),
            None => request,
        };
        let mut answer = read(request.body(body.to_string())).await?;
        match &answer["error"] {
            Value::Null => Ok(answer["result"].take()),
            error => {
                let message = error["message"].as_str().unwrap_or("it gave no reason").to_owned();
                Err(RemoteFault::Refused(error["code"].as_i64().unwrap_or_default(), message))
            }
        }
    }
}

/// Sends a request, and reads the answer as JSON.
async fn read(request: reqwest::RequestBuilder) -> Result<Value, RemoteFault> {
    let lost = |error: reqwest::Error| RemoteFault::Lost(error_chain(&error.without_url()));
    let mut answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    let mut bytes = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(lost)? {
        if bytes.len() + part.len() > LARGEST {
            return Err(RemoteFault::Refused(0, format!("its answer has more than {LARGEST} bytes")));
        }
        bytes.extend_from_slice(&part);
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        return Err(RemoteFault::Lost(format!("it answered {status}")));
    }
    if matches!(status.as_u16(), 401 | 403) {
        let why = format!("it answered {status}; check the variable that `a2a-token` names");
        return Err(RemoteFault::Misconfigured(why));
    }
    serde_json::from_slice(&bytes)
        .map_err(|_| RemoteFault::Refused(0, format!("it answered {status}, and not in JSON")))
}
