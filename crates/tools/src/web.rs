//! Fetches web pages: which addresses are allowed, how they are reached, and how a page becomes text.
//!
//! The address comes from a model, so it is treated as hostile. `target` checks it as text, `names` resolves the host
//! and refuses private addresses, and the connection goes to exactly the address that was checked. Proxies from the
//! environment are not used: they would connect to addresses that were not checked.

mod cache;
mod charset;
mod decompress;
mod dns;
mod fetch;
mod full_text;
mod manners;
mod page;
mod resolver;
mod robots;
mod search;
mod target;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use updraft_run::{Failure, FailureKind};

use crate::document_reader::DocumentReader;
pub use cache::PageCache;
pub(crate) use fetch::{FetchError, FetchedPage, PageContent, PageSource, file_name};
pub(crate) use page::{PageLink, PageText};
pub(crate) use resolver::resolve;
pub use search::{SearchConfig, SearchKey, SearchProvider};
pub(crate) use search::{SearchHit, Searcher};
pub(crate) use target::{Target, is_this_machine};

/// How pages are fetched: the same for the whole process.
#[derive(Clone, Debug, Default)]
pub struct WebConfig {
    /// Whether this machine (`localhost`, `127.0.0.1`, `[::1]`) can be reached too, also by HTTP and at any port. For
    /// tests.
    pub loopback: bool,
    /// Certificates (PEM) to trust besides those of the system.
    pub certificates: Vec<u8>,
    /// The name server to ask; `None` uses the system's resolver.
    pub dns: Option<SocketAddr>,
    /// The limits on size and time.
    pub limits: WebLimits,
    /// Redirects connections. For tests.
    pub detour: Option<AddressOverride>,
    /// Whether pages are fetched that a site's robots.txt asks programs not to fetch.
    pub ignores_robots: bool,
    /// Where pages are kept for some minutes; nowhere, if not given.
    pub cache: Option<PageCache>,
    /// Reads PDF and Office files; without one they are refused.
    pub documents: Option<DocumentReader>,
    /// The service that is asked for pages; without one a search says how to choose one.
    pub search: Option<SearchConfig>,
}

/// The limits for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLimits {
    /// The time for everything together, from resolving the name to extracting the text.
    pub time: Duration,
    /// The time until a connection is established.
    pub connect: Duration,
    /// Most bytes of a body, as sent and again as decompressed.
    pub body: usize,
    /// Most bytes of a page that are parsed as HTML: a page can be built to take long to parse.
    pub html: usize,
    /// Most bytes of text given to the model.
    pub text: usize,
    /// Most redirects followed.
    pub redirects: usize,
    /// Most links listed.
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

/// The address to connect to instead of a checked public address, so that tests need no public address. No setting
/// can set it.
#[derive(Clone)]
pub struct AddressOverride(Arc<dyn Fn(IpAddr) -> SocketAddr + Send + Sync>);

impl AddressOverride {
    /// Redirects by a function of the checked address.
    pub fn new(to: impl Fn(IpAddr) -> SocketAddr + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }
}

impl fmt::Debug for AddressOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detour(..)")
    }
}

/// Fetches pages. The client, with the system's certificates, is created for the first page.
pub(crate) struct Fetcher {
    pub(crate) web: WebConfig,
    client: OnceCell<reqwest::Client>,
    hosts: manners::Hosts,
}

impl Fetcher {
    pub(crate) fn new(web: WebConfig) -> Self {
        Self { web, client: OnceCell::new(), hosts: manners::Hosts::default() }
    }

    async fn client(&self) -> Result<&reqwest::Client, Failure> {
        let make = || async {
            let web = self.web.clone();
            // The system's certificates are read from files.
            let made = tokio::task::spawn_blocking(move || client(&web)).await;
            made.unwrap_or_else(|_| Err(Failure::new(FailureKind::Config, "could not create an HTTP client")))
        };
        self.client.get_or_try_init(make).await
    }
}

/// A client for a service that the user has chosen: it may be on this machine or in the user's network.
pub(crate) fn plain_client(certificates: &[u8], connect: Duration) -> Result<reqwest::Client, Failure> {
    let unusable = |why: reqwest::Error| {
        Failure::new(FailureKind::Config, format!("could not create an HTTP client: {}", fetch::chain(&why)))
    };
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificates = reqwest::Certificate::from_pem_bundle(certificates).map_err(unusable)?;
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none()) // a key must not go elsewhere
        .referer(false)
        .connect_timeout(connect)
        .user_agent(concat!("updraft/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(certificates)
        .build()
        .map_err(unusable)
}

fn client(web: &WebConfig) -> Result<reqwest::Client, Failure> {
    let unusable = |why: reqwest::Error| {
        let why = fetch::chain(&why);
        Failure::new(
            FailureKind::Config,
            format!("could not create an HTTP client: {why}; check the system's certificates"),
        )
    };
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificates = reqwest::Certificate::from_pem_bundle(&web.certificates).map_err(unusable)?;
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none()) // each hop is checked separately
        .referer(false)
        .http1_max_headers(100)
        .connect_timeout(web.limits.connect)
        .pool_max_idle_per_host(0) // each page is resolved and checked again
        .dns_resolver(resolver::PublicResolver::new(web))
        .user_agent(concat!("updraft/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(certificates)
        .build()
        .map_err(unusable)
}
