//! Checks an address that a model or a redirect gave, by its text alone, before its name is resolved.

use std::net::IpAddr;

use updraft_run::{Failure, FailureKind};
use updraft_sandbox::address::{HostPattern, is_written_address};
use url::Url;

use super::WebConfig;
use crate::truncate;

/// Most bytes of an address. Longer ones are not addresses of pages, and could carry data away.
const LONGEST: usize = 4096;
/// The ports that may be used.
const PORTS: [u16; 2] = [443, 8443];
/// Suffixes of names that exist only inside a network, or not at all: resolving them would only reveal them to
/// others.
const INNER: [&str; 12] = [
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
    "onion",
    "invalid",
    "test",
];

/// An address that may be fetched, if its name resolves to public addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// Whether it is this machine, which the settings allow.
    pub(crate) is_loopback: bool,
}

impl Target {
    /// Checks an address as written.
    pub(crate) fn parse(text: &str, web: &WebConfig) -> Result<Self, Failure> {
        let shown = || truncate::line(text, 200);
        if text.len() > LONGEST {
            return refused(&shown(), &format!("is longer than {LONGEST} bytes"));
        }
        // Parsers treat these differently, which could be used to bypass a check.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return refused(
                &shown(),
                "contains a space, a control character or a backslash; write them as `%20` and so on",
            );
        }
        let Ok(url) = Url::parse(text) else {
            return refused(&shown(), "is not an address; expected one like `https://example.com/page`");
        };
        let Some((_, rest)) = text.split_once("://") else {
            return refused(&shown(), "is not an address; expected one like `https://example.com/page`");
        };
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
            // The address is not shown, so that the password is not spread.
            return Err(Failure::new(FailureKind::Security, "the address contains a user name or password; remove it"));
        }
        if authority.contains('%') {
            return refused(&shown(), "has a host in an unusual notation");
        }
        Self::judge(url, web)
    }

    /// Checks the target of a redirect from this page.
    pub(crate) fn follow(&self, location: &str, web: &WebConfig) -> Result<Self, Failure> {
        let whole = self.url.join(location).map_err(|_| {
            Failure::new(
                FailureKind::Tool,
                format!("the page redirects to `{}`, which is not an address", truncate::line(location, 200)),
            )
        })?;
        let next = Self::parse(whole.as_str(), web)?;
        if next.is_loopback && !self.is_loopback {
            return refused(
                &truncate::line(whole.as_str(), 200),
                "is this machine, and the redirect comes from elsewhere",
            );
        }
        if self.url.scheme() == "https" && next.url.scheme() != "https" {
            return refused(&truncate::line(whole.as_str(), 200), "would leave HTTPS");
        }
        Ok(next)
    }

    /// The host of the address.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether both are on the same site: a redirect within a site needs no new consent.
    pub(crate) fn is_same_site(&self, other: &Self) -> bool {
        let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
        bare(self.host()) == bare(other.host()) && self.url.port() == other.url.port()
    }

    fn judge(mut url: Url, web: &WebConfig) -> Result<Self, Failure> {
        url.set_fragment(None);
        let shown = truncate::line(url.as_str(), 200);
        let host = url.host_str().unwrap_or_default().to_owned();
        let is_web = url.scheme() == "https" || url.scheme() == "http";
        if is_web && web.loopback && is_this_machine(&host) {
            return Ok(Self { url, is_loopback: true });
        }
        if url.scheme() != "https" {
            return refused(&shown, "is not HTTPS; only `https://` is fetched");
        }
        if is_written_address(&host) {
            return refused(&shown, "names a network address; only names of public hosts are fetched");
        }
        if host.ends_with('.') || host.parse::<HostPattern>().is_err() {
            return refused(&shown, "has a host in an unusual notation");
        }
        let Some((_, ending)) = host.rsplit_once('.') else {
            return refused(&shown, "names a host of an inner network; only public hosts are fetched");
        };
        if INNER.contains(&ending) {
            return refused(&shown, &format!("is in `.{ending}`, which is not public"));
        }
        if !PORTS.contains(&url.port_or_known_default().unwrap_or(0)) {
            return refused(&shown, "is at a port where no pages are served; expected 443 or 8443");
        }
        Ok(Self { url, is_loopback: false })
    }
}

fn refused<T>(what: &str, why: &str) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Security, format!("`{what}` {why}")))
}

pub(crate) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
