//! The proxy: the only way out for a child with an allow list of hosts. It serves HTTP and SOCKS on a socket inside
//! the child's network.
//!
//! The socket was created inside the sandbox and passed to our process, which resolves names itself, checks every
//! address and connects to the checked address. A child can connect to nothing else, whatever its proxy settings say.

mod hello;
mod http;
mod socks;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::address::{self, HostPattern, NotPublic};
use crate::policy::{Network, Policy};
use crate::reached_hosts::ReachedHosts;
use crate::refusal::{Grant, RefusalKind, SandboxRefusal};

/// Most connections at the same time; no build tool opens as many.
const MOST_CONNECTIONS: usize = 256;
/// The time limit for the head of a request, or the first message of TLS. Ordinary programs are faster.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most refusals that are recorded; more would say nothing new.
const MOST_REFUSALS: usize = 64;

/// Serves one child until it is dropped.
pub(crate) struct Proxy {
    gate: Arc<ConnectionGate>,
    _serving: JoinSet<()>,
}

/// Decides whether a connection is allowed.
pub(super) struct ConnectionGate {
    hosts: Vec<HostPattern>,
    /// The rule for addresses; tests use another one, because everything is on loopback there.
    rule: fn(IpAddr) -> Result<(), NotPublic>,
    resolve: ResolveFn,
    refused: Mutex<Vec<SandboxRefusal>>,
    reached: ReachedHosts,
}

type ResolveFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;
type ResolveFn = fn(String, u16) -> ResolveFuture;

fn ask_the_system(name: String, port: u16) -> ResolveFuture {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
}

impl Proxy {
    /// Serves the listening socket that was passed out of the sandbox.
    pub(crate) fn start(policy: &Policy, listener: Option<OwnedFd>) -> io::Result<Proxy> {
        let Network::Allow(hosts) = &policy.network else { return Err(io::ErrorKind::InvalidInput.into()) };
        let listener = std::net::TcpListener::from(listener.ok_or(io::ErrorKind::NotConnected)?);
        listener.set_nonblocking(true)?;
        let gate = ConnectionGate {
            hosts: hosts.clone(),
            rule: address::public_only,
            resolve: ask_the_system,
            refused: Mutex::default(),
            reached: ReachedHosts::default(),
        };
        Ok(Proxy::serve(TcpListener::from_std(listener)?, gate))
    }

    fn serve(listener: TcpListener, gate: ConnectionGate) -> Proxy {
        let gate = Arc::new(gate);
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, gate.clone()));
        Proxy { gate, _serving: serving }
    }

    /// Hosts that were connected to.
    pub(crate) fn reached(&self) -> ReachedHosts {
        self.gate.reached.clone()
    }

    /// Hosts that were requested and refused.
    pub(crate) fn refused(&self) -> Vec<SandboxRefusal> {
        self.gate.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(listener: TcpListener, gate: Arc<ConnectionGate>) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else { return };
        let gate = gate.clone();
        connections.spawn(async move {
            // If the connection breaks, the child notices itself.
            let _ = answer(stream, &gate).await;
            drop(slot);
        });
    }
}

async fn answer(stream: TcpStream, gate: &ConnectionGate) -> io::Result<()> {
    let mut first = [0];
    let is_socks =
        tokio::time::timeout(PATIENCE, stream.peek(&mut first)).await?.is_ok_and(|count| count == 1) && first[0] == 5;
    if is_socks { socks::answer(stream, gate).await } else { http::answer(stream, gate).await }
}

impl ConnectionGate {
    /// Connects to a host on the list at a public address. The error is a message for the child.
    pub(super) async fn connect(&self, name: &str, port: u16) -> Result<TcpStream, String> {
        if address::is_written_address(name) {
            return Err(self.refuse(name, port, "addresses are not allowed, only names".to_owned(), None));
        }
        if !self.hosts.iter().any(|host| host.admits(name, port)) {
            let grant = if port == 80 || port == 443 { name.to_owned() } else { format!("{name}:{port}") };
            let rule = "it is not among the hosts that may be reached".to_owned();
            return Err(self.refuse(name, port, rule, Some(Grant::Host(grant))));
        }
        let addresses = tokio::time::timeout(PATIENCE, (self.resolve)(name.to_owned(), port)).await;
        let addresses = addresses.map_err(|_| format!("{name} did not resolve in time"))?;
        let addresses = addresses.map_err(|error| format!("{name} does not resolve: {error}"))?;
        // A name with a private address among public ones is taken for an attack.
        for address in &addresses {
            (self.rule)(address.ip()).map_err(|error| self.refuse(name, port, error.to_string(), None))?;
        }
        let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(addresses.as_slice())).await;
        let connected = connected.map_err(|_| format!("{name}:{port} did not answer in time"))?;
        let connected = connected.map_err(|error| format!("{name}:{port} cannot be reached: {error}"))?;
        self.reached.add(name);
        Ok(connected)
    }

    pub(super) fn refuse(&self, name: &str, port: u16, rule: String, grant: Option<Grant>) -> String {
        let refusal = SandboxRefusal { denied: RefusalKind::Network, subject: format!("{name}:{port}"), rule, grant };
        let text = refusal.to_string();
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSALS && !refused.contains(&refusal) {
            refused.push(refusal);
        }
        text
    }

    /// Copies bytes in both directions. The first data from the child is checked when it arrives: if it is TLS, it
    /// must ask for the host that was connected to.
    pub(super) async fn pass(&self, child: TcpStream, host: TcpStream, name: &str, port: u16) -> io::Result<()> {
        let (mut from_child, mut to_child) = child.into_split();
        let (mut from_host, mut to_host) = host.into_split();
        let out = async {
            let first = self.first_words(&mut from_child, name, port).await?;
            to_host.write_all(&first).await?;
            tokio::io::copy(&mut from_child, &mut to_host).await?;
            to_host.shutdown().await
        };
        let back = async {
            tokio::io::copy(&mut from_host, &mut to_child).await?;
            to_child.shutdown().await
        };
        tokio::try_join!(out, back).map(drop)
    }

    /// The first data from the child: the whole ClientHello, if it is TLS. An error if that asks for another host.
    async fn first_words(&self, child: &mut OwnedReadHalf, name: &str, port: u16) -> io::Result<Vec<u8>> {
        let mut words = vec![0; 16 << 10];
        // If the host speaks first, this waits until it has done so.
        let mut got = child.read(&mut words).await?;
        while hello::is_unfinished(&words[..got]) && got < words.len() {
            let count = tokio::time::timeout(PATIENCE, child.read(&mut words[got..])).await??;
            if count == 0 {
                break;
            }
            got += count;
        }
        words.truncate(got);
        let refused = |subject: &str, rule: String| {
            self.refuse(subject, port, rule, None);
            Err(io::ErrorKind::PermissionDenied.into())
        };
        if hello::is_unfinished(&words) {
            return refused(name, "the TLS ClientHello is too long or incomplete".to_owned());
        }
        match hello::server_name(&words) {
            Some(asked) if !asked.eq_ignore_ascii_case(name.trim_end_matches('.')) => {
                refused(&asked, format!("the TLS handshake with `{name}` asked for `{asked}`"))
            }
            Some(_) | None => Ok(words),
        }
    }
}

#[cfg(test)]
mod tests;
