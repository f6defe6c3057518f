//! Pages of the web: which addresses may be asked for, how they are reached, and what of a page is text.
//!
//! The address comes from a model, so it is hostile until shown otherwise. `target` judges it as text, `names` resolves
//! the host and lets no inner address through, and the connection goes to the very address that was checked. Proxies of
//! the environment are not used: they would connect where nobody checked.

mod charset;
mod dns;
mod fetch;
mod names;
mod page;
mod plain;
mod target;
mod unpack;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use updraft_run::{Failure, FailureKind};

pub(crate) use fetch::{FetchError, FetchedPage};
pub(crate) use page::{PageLink, PageText};
pub(crate) use target::Target;

/// How pages are fetched: the same for all of a process.
#[derive(Clone, Debug, Default)]
pub struct WebConfig {
    /// Also reach this machine (`localhost`, `127.0.0.1`, `[::1]`), by HTTP too and at any port. For tests.
    pub loopback: bool,
    /// Certificates (PEM) to trust besides those of the system.
    pub certificates: Vec<u8>,
    /// The name server to ask; `None` leaves it to the system.
    pub dns: Option<SocketAddr>,
    /// How much and how long.
    pub limits: WebLimits,
    /// For tests.
    pub detour: Option<AddressOverride>,
}

/// How much of the web one call may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLimits {
    /// For everything together, from the name to the text.
    pub time: Duration,
    /// Until a connection stands.
    pub connect: Duration,
    /// Bytes of a body, as sent and again as unpacked.
    pub body: usize,
    /// Bytes of a page that are read as HTML: a parser takes long over what is made to take long.
    pub html: usize,
    /// Bytes of text given to the model.
    pub text: usize,
    /// Redirects followed.
    pub redirects: usize,
    /// Links listed.
    pub links: usize,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            body: 20 << 20,
            html: 4 << 20,
            text: 50_000,
            redirects: 5,
            links: 100,
        }
    }
}

/// Where a checked public address is connected to instead, so that tests need no public address. No setting reaches it.
#[derive(Clone)]
pub struct AddressOverride(Arc<dyn Fn(IpAddr) -> SocketAddr + Send + Sync>);

impl AddressOverride {
    /// A detour by a function of the checked address.
    pub fn new(to: impl Fn(IpAddr) -> SocketAddr + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }
}

impl fmt::Debug for AddressOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detour(..)")
    }
}

/// Fetches pages. The client, and with it what the system trusts, is made with the first page.
pub(crate) struct Fetcher {
    pub(crate) web: WebConfig,
    client: OnceCell<reqwest::Client>,
}

impl Fetcher {
    pub(crate) fn new(web: WebConfig) -> Self {
        Self { web, client: OnceCell::new() }
    }

    async fn client(&self) -> Result<&reqwest::Client, Failure> {
        let make = || async {
            let web = self.web.clone();
            // What the system trusts is read from files.
            let made = tokio::task::spawn_blocking(move || client(&web)).await;
            made.unwrap_or_else(|_| Err(Failure::new(FailureKind::Config, "no HTTP client can be made")))
        };
        self.client.get_or_try_init(make).await
    }
}

fn client(web: &WebConfig) -> Result<reqwest::Client, Failure> {
    let unusable = |why: reqwest::Error| {
        let why = fetch::chain(&why);
        Failure::new(FailureKind::Config, format!("no HTTP client can be made: {why}; check the system's certificates"))
    };
    // Fails where one is installed already, and that one will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificates = reqwest::Certificate::from_pem_bundle(&web.certificates).map_err(unusable)?;
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none()) // each hop is judged anew
        .referer(false)
        .http1_max_headers(100)
        .connect_timeout(web.limits.connect)
        .pool_max_idle_per_host(0) // each page is resolved and checked anew
        .dns_resolver(names::PublicResolver::new(web))
        .user_agent(concat!("updraft/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(certificates)
        .build()
        .map_err(unusable)
}
