//! The only way out of the browser: a proxy on loopback that asks the guard about every connection.
//!
//! Chromium is told to use it for everything, loopback included, and to resolve no name itself. So redirects,
//! subresources, frames, workers, preloads and WebSockets all end up here, whichever target of the browser asks.

mod http;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::guard::{Decision, NetworkGuard, RefusedConnection, Resolver};

/// Most connections at the same time. A page with many pictures opens about thirty.
const MOST_CONNECTIONS: usize = 256;
/// The time limit for the head of a request, a name, and a connection.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most refusals that are recorded between two looks; more would say nothing new.
const MOST_REFUSALS: usize = 256;

/// Serves one browser until it is dropped.
pub(crate) struct GuardProxy {
    gate: Arc<Gate>,
    _serving: JoinSet<()>,
}

/// Decides, resolves and connects.
pub(super) struct Gate {
    guard: Arc<dyn NetworkGuard>,
    resolver: Resolver,
    own: SocketAddr,
    refused: Mutex<Vec<RefusedConnection>>,
    /// The last requests that got no connection, refused or not, with their numbers.
    failures: Mutex<VecDeque<(u64, FailedRequest)>>,
}

/// A request that got no connection.
#[derive(Clone)]
pub(crate) struct FailedRequest {
    url: String,
    pub(crate) why: String,
    /// Whether the guard refused it; else there was nobody to connect to.
    pub(crate) is_refused: bool,
}

/// What a request wants to reach.
pub(super) struct Destination<'a> {
    pub(super) url: &'a str,
    pub(super) host: &'a str,
    pub(super) port: u16,
}

impl GuardProxy {
    pub(crate) fn start(
        listener: std::net::TcpListener,
        guard: Arc<dyn NetworkGuard>,
        resolver: Resolver,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let own = listener.local_addr()?;
        let gate = Arc::new(Gate { guard, resolver, own, refused: Mutex::default(), failures: Mutex::default() });
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, gate.clone()));
        Ok(Self { gate, _serving: serving })
    }

    /// Takes the refusals since the last look.
    pub(crate) fn take_refused(&self) -> Vec<RefusedConnection> {
        std::mem::take(&mut *self.gate.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of the last failure, to tell later ones from earlier ones.
    pub(crate) fn newest_failure(&self) -> u64 {
        let failures = self.gate.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.back().map_or(0, |(number, _)| *number)
    }

    /// Why a request for this address failed after that number: all of `http://…`, or `host:port`.
    pub(crate) fn failure_of(&self, url: &str, after: u64) -> Option<FailedRequest> {
        let failures = self.gate.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failures.iter().find(|(number, failure)| *number > after && failure.url == url);
        found.map(|(_, failure)| failure.clone())
    }
}

async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        // Without free descriptors nothing is accepted for a moment; the browser tries again.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let gate = gate.clone();
        connections.spawn(async move {
            // If the connection breaks, the browser notices itself.
            let _ = http::answer(stream, &gate).await;
            drop(slot);
        });
    }
}

impl Gate {
    /// Connects to an address that the guard has allowed.
    pub(super) async fn connect(&self, to: &Destination<'_>) -> Result<TcpStream, FailedRequest> {
        let (host, port) = (to.host, to.port);
        let addresses = self.addresses(host).await.map_err(|why| self.fail(to, why, false))?;
        // A name with one refused address among allowed ones is taken for an attack.
        for &address in &addresses {
            if port == self.own.port() && address.is_loopback() {
                return Err(self.refuse(to, "it is the browser's own proxy".to_owned()));
            }
            if let Decision::Refuse(why) = self.guard.allow(host, address, port) {
                return Err(self.refuse(to, why));
            }
        }
        let addresses: Vec<SocketAddr> = addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let why = match tokio::time::timeout(PATIENCE, TcpStream::connect(addresses.as_slice())).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => format!("{host}:{port} cannot be reached: {error}"),
            Err(_) => format!("{host}:{port} did not answer in time"),
        };
        Err(self.fail(to, why, false))
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse() {
            return Ok(vec![address]);
        }
        match tokio::time::timeout(PATIENCE, (self.resolver)(host.to_owned())).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(format!("{host} has no address")),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(format!("{host} does not resolve: {error}")),
            Err(_) => Err(format!("{host} did not resolve in time")),
        }
    }

    fn refuse(&self, to: &Destination<'_>, why: String) -> FailedRequest {
        let failure = self.fail(to, why.clone(), true);
        let refusal = RefusedConnection { url: to.url.to_owned(), host: to.host.to_owned(), port: to.port, why };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSALS && !refused.contains(&refusal) {
            refused.push(refusal);
        }
        failure
    }

    fn fail(&self, to: &Destination<'_>, why: String, is_refused: bool) -> FailedRequest {
        let failure = FailedRequest { url: to.url.to_owned(), why, is_refused };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let number = failures.back().map_or(0, |(number, _)| *number) + 1;
        if failures.len() == MOST_REFUSALS {
            failures.pop_front();
        }
        failures.push_back((number, failure.clone()));
        failure
    }
}
