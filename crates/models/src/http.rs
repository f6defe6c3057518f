//! The HTTP clients that all providers share, and the type for secrets.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;

use crate::Error;

/// Longer than any healthy connection takes to open, even across the world.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Servers commonly close idle connections after a minute; we close ours before that.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// Shorter texts are not treated as secrets, because ordinary words would be redacted.
const SHORTEST_SECRET: usize = 6;

/// A secret that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a secret; surrounding white space, which files and variables often have, is removed.
    pub fn new(secret: impl AsRef<str>) -> Self {
        Self(secret.as_ref().trim().to_owned())
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, for code that must send it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The header with the secret, marked as sensitive so that no log shows it.
    pub(crate) fn header(&self, scheme: &str) -> Result<HeaderValue, Error> {
        let mut header = HeaderValue::try_from(format!("{scheme}{}", self.0)).map_err(|_| Error::Config {
            what: "the key contains characters that are not allowed in a key".to_owned(),
            hint: "set the key again, without line breaks".to_owned(),
        })?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// The text without the secret, in case a server has echoed it.
    pub(crate) fn redact(&self, text: String) -> String {
        if self.0.len() < SHORTEST_SECRET {
            return text;
        }
        let mut text = if text.contains(&self.0) { text.replace(&self.0, "(key)") } else { text };
        // A truncated message may end in the middle of the secret.
        if let Some(kept) = text.strip_suffix("…`").or_else(|| text.strip_suffix('…'))
            && let Some(begun) =
                (4..self.0.len()).rev().filter_map(|n| self.0.get(..n)).find(|begun| kept.ends_with(begun))
        {
            text = format!("{}(key)…", &kept[..kept.len() - begun.len()]);
        }
        text
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// How a server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostResult {
    /// The status.
    pub status: u16,
    /// How long it asks to wait before the next try.
    pub retry_after: Option<Duration>,
}

/// The connections to providers, shared by all clones.
#[derive(Clone, Default)]
pub struct Http(Arc<Clients>);

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's address may contain a password.
        f.write_str(if self.0.proxy.is_some() { "Http(proxy)" } else { "Http" })
    }
}

#[derive(Default)]
struct Clients {
    proxy: Option<String>,
    /// Hosts that are reached without the proxy, in the form of `NO_PROXY`.
    except: Option<String>,
    /// For `http://`: trusts no certificate, so that none is loaded.
    plain: OnceLock<reqwest::Client>,
    /// For `https://`: loads the system's certificates when first needed.
    secure: OnceLock<reqwest::Client>,
}

impl Http {
    /// Connections through a proxy, such as `http://proxy.example:3128`. This machine and the hosts in `except`, in the
    /// form of `NO_PROXY`, are reached directly. The default uses no proxy.
    pub fn through(proxy: impl Into<String>, except: Option<&str>) -> Self {
        let except = format!("localhost,127.0.0.0/8,::1,{}", except.unwrap_or_default());
        Self(Arc::new(Clients { proxy: Some(proxy.into()), except: Some(except), ..Clients::default() }))
    }

    /// The same with connections of its own, for use in another runtime.
    #[must_use]
    pub fn apart(&self) -> Self {
        let (proxy, except) = (self.0.proxy.clone(), self.0.except.clone());
        Self(Arc::new(Clients { proxy, except, ..Clients::default() }))
    }

    /// Sends bytes that are no question to a model, and returns how the server answered; what it says is not read.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<PostResult, String> {
        let url = Url::parse(url).map_err(|why| format!("`{url}` is not an address: {why}"))?;
        let mut request = self.client(&url).map_err(|why| why.to_string())?.post(url).timeout(limit).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|why| updraft_run::error_chain(&why))?;
        let asked = response.headers().get(RETRY_AFTER).and_then(|asked| asked.to_str().ok()?.trim().parse().ok());
        Ok(PostResult { status: response.status().as_u16(), retry_after: asked.map(Duration::from_secs) })
    }

    /// The client for this address, created when first needed.
    pub(crate) fn client(&self, url: &Url) -> Result<&reqwest::Client, Error> {
        let (slot, trust) = match url.scheme() {
            "https" => (&self.0.secure, TlsRoots::System),
            _ => (&self.0.plain, TlsRoots::Nobody),
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = build(trust, &self.0)?;
        // Two threads that build it at once waste a little time; the first one is kept.
        Ok(slot.get_or_init(|| client))
    }
}

#[derive(Clone, Copy)]
enum TlsRoots {
    Nobody,
    System,
}

fn build(trust: TlsRoots, clients: &Clients) -> Result<reqwest::Client, Error> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none()) // a provider that redirects is not the provider the key is for
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIME)
        .pool_idle_timeout(IDLE_TIME);
    builder = match &clients.proxy {
        Some(address) => {
            let proxy = reqwest::Proxy::all(address).map_err(|why| unusable(&why))?;
            let except = clients.except.as_deref().and_then(reqwest::NoProxy::from_string);
            builder.proxy(proxy.no_proxy(except))
        }
        None => builder,
    };
    builder = match trust {
        TlsRoots::Nobody => builder.tls_certs_only([]),
        TlsRoots::System => builder,
    };
    builder.build().map_err(|why| unusable(&why))
}

fn unusable(why: &reqwest::Error) -> Error {
    Error::Config {
        what: format!("could not create an HTTP client: {}", updraft_run::error_chain(why)),
        hint: "check the proxy and the system's certificates (`ca-certificates`)".to_owned(),
    }
}

/// Maximum bytes of a server's description of itself.
const LARGEST_WORD: usize = 8 << 20;

/// The whole of a short answer; `None` if it breaks off or is too large.
pub(crate) async fn short_body(mut response: reqwest::Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST_WORD {
            return None;
        }
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_print_and_is_taken_out_of_echoes() {
        let token = SecretString::new(" sk-secret\n");

        assert_eq!(format!("{token:?}"), "Token(..)");
        assert_eq!(token.redact("bad key sk-secret!".to_owned()), "bad key (key)!");
        assert_eq!(token.redact("bad key sk-sec…".to_owned()), "bad key (key)…");
        assert!(!format!("{:?}", token.header("Bearer ")).contains("sk-secret"));
    }

    #[test]
    fn one_client_serves_all_clones() {
        let http = Http::default();
        let url = Url::parse("http://127.0.0.1/").unwrap();
        let first: *const reqwest::Client = http.client(&url).unwrap();

        assert!(std::ptr::eq(first, http.clone().client(&url).unwrap()));
    }
}
