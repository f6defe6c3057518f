//! The addresses of Restate and of this worker, and which of them may be used: beyond this machine, requests to a worker
//! must be signed, and requests to Restate encrypted and sent with a token.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use thiserror::Error;

use crate::identity::IdentityKeys;
use crate::ingress::nodes_of;

/// Where Restate is, where it finds this worker, and how both prove who they are.
#[derive(Clone)]
pub struct RestateLink {
    /// The address of Restate's ingress, or several with commas between them.
    pub ingress: String,
    /// The address of its admin interface, or several.
    pub admin: String,
    /// Sent to both as a bearer token. Restate itself asks for none: a proxy in front of it does.
    pub token: Option<String>,
    /// The address that this worker listens at.
    pub listen: SocketAddr,
    /// The address at which Restate finds this worker, if that is another.
    pub url: Option<String>,
    /// The public keys of the servers that may call this worker.
    pub identity: IdentityKeys,
}

/// An address that may not be used like this.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LinkFault {
    /// It is no address.
    #[error("`{0}` is not an address of the form http://HOST:PORT")]
    NoAddress(String),
    /// What is sent there could be read and changed by others.
    #[error("`{0}` is beyond this machine, and what is sent there is not encrypted")]
    Plain(String),
    /// Whoever reaches it can steer runs.
    #[error("`{0}` is beyond this machine, and no token is sent there")]
    NoToken(String),
    /// It is every address of this machine, so Restate cannot call it.
    #[error("`{0}` stands for all addresses of this machine, so Restate does not know how to call this worker")]
    NoOwnAddress(SocketAddr),
    /// Whoever reaches it can pretend to be Restate.
    #[error("this worker can be reached from other machines at `{0}`, and requests need not be signed")]
    Unsigned(String),
}

impl LinkFault {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            LinkFault::NoAddress(_) => "write it as http://127.0.0.1:8080, or https://restate.example.com",
            LinkFault::Plain(_) => {
                "put a proxy with TLS and a token in front of Restate and name its https:// address, or let both run on one machine"
            }
            LinkFault::NoToken(_) => {
                "name the file that holds the token which the proxy in front of Restate asks for: --restate-token FILE"
            }
            LinkFault::NoOwnAddress(_) => "say at which address Restate reaches it: --worker-url http://HOST:PORT",
            LinkFault::Unsigned(_) => {
                "give Restate a key to sign with, and its public key to this worker: --identity-key publickeyv1_…"
            }
        }
    }
}

impl RestateLink {
    /// Refuses addresses that others could use or listen to.
    pub fn check(&self) -> Result<(), LinkFault> {
        for address in nodes_of(&self.ingress).chain(nodes_of(&self.admin)) {
            check_address(address, self.token.is_some())?;
        }
        let own = self.own_url();
        let is_local = self.listen.ip().is_loopback() && is_here(&parsed(&own)?);
        if !is_local && self.identity.is_empty() {
            let shown = if self.listen.ip().is_loopback() { own } else { self.listen.to_string() };
            return Err(LinkFault::Unsigned(shown));
        }
        if self.url.is_none() && self.listen.ip().is_unspecified() {
            return Err(LinkFault::NoOwnAddress(self.listen));
        }
        Ok(())
    }

    /// Where Restate finds this worker.
    pub(crate) fn own_url(&self) -> String {
        self.url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }
}

impl fmt::Debug for RestateLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RestateLink({}, {}, {})", self.ingress, self.admin, self.own_url())
    }
}

/// Refuses an address of Restate beyond this machine if what is sent there is not encrypted, or has no token.
pub fn check_address(address: &str, has_token: bool) -> Result<(), LinkFault> {
    let url = parsed(address)?;
    if is_here(&url) {
        Ok(())
    } else if url.scheme() != "https" {
        Err(LinkFault::Plain(address.to_owned()))
    } else if !has_token {
        Err(LinkFault::NoToken(address.to_owned()))
    } else {
        Ok(())
    }
}

fn parsed(address: &str) -> Result<Url, LinkFault> {
    let is_web = |url: &Url| ["http", "https"].contains(&url.scheme()) && url.host_str().is_some();
    Url::parse(address).ok().filter(is_web).ok_or_else(|| LinkFault::NoAddress(address.to_owned()))
}

/// Whether an address is one of this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    url.username().is_empty() && (is_loopback || host == "localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(ingress: &str) -> RestateLink {
        RestateLink {
            ingress: ingress.to_owned(),
            admin: "http://127.0.0.1:9070".to_owned(),
            token: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 9080)),
            url: None,
            identity: IdentityKeys::default(),
        }
    }

    #[test]
    fn on_this_machine_nothing_is_asked_for() {
        for here in ["http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:9070", "http://127.0.0.1"] {
            assert_eq!(link(here).check(), Ok(()), "{here}");
        }
    }

    #[test]
    fn beyond_it_requests_are_encrypted_and_carry_a_token() {
        for there in ["http://10.0.0.1:8080", "http://127.0.0.1.example.com", "http://x@127.0.0.1:1"] {
            assert_eq!(link(there).check(), Err(LinkFault::Plain(there.to_owned())));
        }
        let there = "https://restate.example";
        assert_eq!(link(there).check(), Err(LinkFault::NoToken(there.to_owned())));
        assert_eq!(RestateLink { token: Some("t".into()), ..link(there) }.check(), Ok(()));
        assert_eq!(link("restate").check(), Err(LinkFault::NoAddress("restate".to_owned())));
    }

    #[test]
    fn a_worker_that_others_can_reach_knows_who_calls() {
        let open = RestateLink { listen: SocketAddr::from(([0, 0, 0, 0], 9080)), ..link("http://127.0.0.1:8080") };
        assert_eq!(open.check(), Err(LinkFault::Unsigned("0.0.0.0:9080".to_owned())));
        let behind_proxy = RestateLink { url: Some("https://w1.example".into()), ..link("http://127.0.0.1:8080") };
        assert_eq!(behind_proxy.check(), Err(LinkFault::Unsigned("https://w1.example".to_owned())));
        let key = "publickeyv1_AfQwmwfgEZhrWpvv8N52SHpRtZqGGaFr4AZN6qtYWSiY".to_owned();
        let identity = IdentityKeys::parse(&[key]).unwrap();
        let signed = RestateLink { identity, ..open };
        assert_eq!(signed.check(), Err(LinkFault::NoOwnAddress(signed.listen)));
        assert_eq!(RestateLink { url: Some("http://10.0.0.7:9080".into()), ..signed }.check(), Ok(()));
    }
}
