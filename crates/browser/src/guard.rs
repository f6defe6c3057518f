//! Who may be connected to: the rules come from outside, the proxy obeys them.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

/// Whether a connection may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not, for this reason.
    Refuse(String),
}

/// Decides about every connection of every page, frame, worker and WebSocket.
pub trait NetworkGuard: Send + Sync {
    /// Decides about one address of a host. The proxy asks about each address that the name resolves to, and connects
    /// only to addresses it asked about, so a name that resolves differently the next time gains nothing.
    ///
    /// Whoever grants a private address should look at `host` as well: a stranger's name may resolve to it.
    fn allow(&self, host: &str, address: IpAddr, port: u16) -> Decision;
}

impl<F: Fn(&str, IpAddr, u16) -> Decision + Send + Sync> NetworkGuard for F {
    fn allow(&self, host: &str, address: IpAddr, port: u16) -> Decision {
        self(host, address, port)
    }
}

/// The addresses of a name, when they are there.
pub type ResolveFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a name. The browser itself resolves nothing.
pub type Resolver = Arc<dyn Fn(String) -> ResolveFuture + Send + Sync>;

/// Asks the system's resolver.
pub fn system_resolver() -> Resolver {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) })
    })
}

/// A connection that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedConnection {
    /// The address as far as the proxy sees it: all of `http://…`, and `host:port` of `https`, `wss` and `ws`.
    pub url: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why.
    pub why: String,
}
