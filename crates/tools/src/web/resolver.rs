//! Resolves a name to addresses that may be connected to. All addresses are checked here, and only checked addresses
//! are used.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use updraft_run::{Failure, FailureKind};
use updraft_sandbox::address::public_only;

use super::{AddressOverride, WebConfig, dns};

/// Resolves names for the client, which connects to the returned addresses and does not resolve again.
#[derive(Clone)]
pub(super) struct PublicResolver {
    loopback: bool,
    dns: Option<SocketAddr>,
    detour: Option<AddressOverride>,
}

/// Why a name has no address to connect to.
#[derive(Debug)]
pub(super) struct ResolveError(pub(super) Failure);

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ResolveError {}

impl PublicResolver {
    pub(super) fn new(web: &WebConfig) -> Self {
        Self { loopback: web.loopback, dns: web.dns, detour: web.detour.clone() }
    }

    async fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        let failed = |kind, why: String| ResolveError(Failure::new(kind, format!("`{name}` {why}")));
        let found = resolve(self.dns, name).await;
        let found = found.map_err(|error| failed(FailureKind::Tool, format!("does not resolve: {error}")))?;
        if found.is_empty() {
            return Err(failed(FailureKind::Tool, "has no address".into()));
        }
        if self.loopback && name == "localhost" && found.iter().all(IpAddr::is_loopback) {
            return Ok(found.into_iter().map(|address| SocketAddr::new(address, 0)).collect());
        }
        // A name with a private address among public ones is taken for an attack.
        for address in &found {
            public_only(*address).map_err(|why| failed(FailureKind::Security, format!("resolves to {why}")))?;
        }
        // Port 0 stands for the port of the requested address.
        let there = |address| self.detour.as_ref().map_or(SocketAddr::new(address, 0), |detour| (detour.0)(address));
        Ok(found.into_iter().map(there).collect())
    }
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// All addresses of a name, whatever they are: by this name server, or by the system's resolver.
pub(crate) async fn resolve(server: Option<SocketAddr>, name: &str) -> std::io::Result<Vec<IpAddr>> {
    match server {
        // A name server is not asked for this machine's own name.
        Some(server) if name != "localhost" => dns::lookup(server, name).await,
        _ => system(name).await,
    }
}

async fn system(name: &str) -> std::io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
}
