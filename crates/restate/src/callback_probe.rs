//! Has Restate call this machine once, to see whether it can, and whether it signs its requests.
//!
//! A worker is called by Restate, not the other way round. So this pretends to be one: it asks for a registration that is
//! only tried (`dry_run`), and looks at the request that follows.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use updraft_run::Timestamp;

use crate::endpoint::MANIFEST;
use crate::inspection::ask;

/// How long Restate may take; it tries several times if it cannot connect.
const PATIENCE: Duration = Duration::from_secs(15);
/// The header with the signature.
const SIGNATURE: &str = "x-restate-jwt-v1";

/// A request of Restate, as it arrived here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackFinding {
    /// Where it arrived.
    pub at: SocketAddr,
    /// The public key that belongs to its signature; none if it was not signed.
    pub key: Option<String>,
    /// How far the clock of the node that signed it is ahead of the one here, in milliseconds; exact to a second.
    pub ahead: Option<i64>,
}

type SeenRequest = Arc<Mutex<Option<HeaderMap>>>;

/// Has Restate send a request here.
pub(crate) async fn call_back(
    client: &reqwest::Client,
    admin: &str,
    now: fn() -> Timestamp,
) -> Result<CallbackFinding, String> {
    let listener = TcpListener::bind((own_address(admin)?, 0)).await.map_err(|error| error.to_string())?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    let seen = SeenRequest::default();
    let router = Router::new().route("/discover", get(discover)).with_state(Arc::clone(&seen));
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await });
    let body = json!({ "uri": format!("http://{at}"), "use_http_11": true, "dry_run": true });
    let request = client.post(format!("{admin}/deployments")).timeout(PATIENCE);
    let tried = ask(request.header(header::CONTENT_TYPE, "application/json").body(body.to_string())).await;
    serving.shutdown().await;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    match seen {
        Some(headers) => {
            let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
            let (key, signed_at) = signature.map_or((None, None), signer);
            Ok(CallbackFinding { at, key, ahead: signed_at.map(|at| at * 1000 - now().0) })
        }
        None => Err(tried.err().unwrap_or_else(|| "it sent nothing".to_owned())),
    }
}

async fn discover(State(seen): State<SeenRequest>, headers: HeaderMap) -> impl IntoResponse {
    *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(headers);
    let service = json!({ "name": "updraft-doctor", "ty": "SERVICE", "handlers": [{ "name": "look" }] });
    let manifest = json!({
        "protocolMode": "REQUEST_RESPONSE", "minProtocolVersion": 5, "maxProtocolVersion": 5, "services": [service],
    });
    ([(header::CONTENT_TYPE, MANIFEST)], manifest.to_string())
}

/// The address of this machine from which a server is reached.
fn own_address(url: &str) -> Result<IpAddr, String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let there = host.to_socket_addrs().map_err(|error| format!("{host}: {error}"))?.next();
    let there = there.ok_or_else(|| format!("{host} has no address"))?;
    // No packet is sent: this only looks up the route.
    let any: SocketAddr = if there.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 16], 0).into() };
    let socket = UdpSocket::bind(any).and_then(|socket| socket.connect(there).map(|()| socket));
    let own = socket.and_then(|socket| socket.local_addr());
    own.map(|own| own.ip()).map_err(|error| format!("{host} cannot be reached: {error}"))
}

/// The key that a signature names, and when it was made, in seconds since 1970. The signature itself is checked by workers.
fn signer(token: &str) -> (Option<String>, Option<i64>) {
    let part = |part: &str| -> Option<Value> { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok() };
    let mut parts = token.split('.').map(part);
    let (head, claims) = (parts.next().flatten(), parts.next().flatten());
    let key = head.and_then(|head| Some(head["kid"].as_str()?.to_owned()));
    (key, claims.and_then(|claims| claims["iat"].as_i64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_key_and_its_time() {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token = format!("{}.{}.x", part(json!({ "kid": "publickeyv1_a" })), part(json!({ "iat": 7 })));
        assert_eq!(signer(&token), (Some("publickeyv1_a".to_owned()), Some(7)));
        assert_eq!(signer("nonsense"), (None, None));
    }

    #[test]
    fn a_server_on_this_machine_is_reached_from_itself() {
        assert!(own_address("http://127.0.0.1:9070").unwrap().is_loopback());
        assert!(own_address("http://localhost").unwrap().is_loopback());
    }
}
