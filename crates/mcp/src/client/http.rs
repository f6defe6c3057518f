//! The HTTP client for remote servers: with limits on size and time, and without redirects to other hosts.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use url::Url;

use super::host::{McpHost, ProxySettings};
use crate::config::{ServerConfig, TransportConfig};
use crate::error::{Error, chain};

/// Longer than any healthy connection takes to open, even across the world.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Servers commonly close idle connections after a minute; we close ours before that.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Maximum number of redirects followed within one host.
const HOPS: usize = 5;

/// A client for one server.
pub(super) fn client(host: &McpHost, url: &Url) -> Result<reqwest::Client, Error> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::custom(stay))
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIME)
        .pool_idle_timeout(IDLE_TIME);
    if let Some(ProxySettings { address, except }) = &host.proxy {
        let except = format!("localhost,127.0.0.0/8,::1,{}", except.as_deref().unwrap_or_default());
        let proxy = reqwest::Proxy::all(address).map_err(|why| unusable(&why))?;
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(&except)));
    }
    if url.scheme() == "http" {
        // No certificate is trusted, so that none is loaded.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|why| unusable(&why))
}

/// Follows a redirect only within the host that the headers are for, and only if the request stays the same.
fn stay(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_same = attempt.previous().last().is_some_and(|last| last.origin() == attempt.url().origin());
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    if is_same && keeps_method && attempt.previous().len() <= HOPS { attempt.follow() } else { attempt.stop() }
}

fn unusable(why: &reqwest::Error) -> Error {
    let hint = "check the proxy and the system's certificates";
    Error::Unreachable(format!("could not create an HTTP client: {}; {hint}", chain(why)))
}

/// The configured headers, marked as sensitive so that no log shows them.
pub(super) fn headers(config: &ServerConfig) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let TransportConfig::Remote { headers, .. } = &config.link else { return Ok(HashMap::new()) };
    let header = |(name, value): (&String, &crate::config::Secret)| {
        let wrong = || Error::Unreachable(format!("the header `{name}` contains characters that are not allowed"));
        let mut held = HeaderValue::try_from(value.reveal().trim()).map_err(|_| wrong())?;
        held.set_sensitive(true);
        Ok((HeaderName::try_from(name.as_str()).map_err(|_| wrong())?, held))
    };
    headers.iter().map(header).collect()
}

/// The same headers as one map.
pub(super) fn header_map(headers: &HashMap<HeaderName, HeaderValue>) -> HeaderMap {
    headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a `Content-Type` is of this kind, in any spelling.
pub(super) fn is_kind(written: &str, kind: &str) -> bool {
    written.split(';').next().is_some_and(|written| written.trim().eq_ignore_ascii_case(kind))
}

/// The whole body; `None` if it is larger than `limit`.
pub(super) async fn body(mut response: reqwest::Response, limit: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut whole = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if whole.len() + piece.len() > limit {
            return Ok(None);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole))
}
