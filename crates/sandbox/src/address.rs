//! Decides which hosts and addresses may be reached: names on an allow list, and never a private address.
//!
//! [`public_only`] is the rule for every connection made on an agent's behalf, here and in `web_fetch`: we resolve
//! the name ourselves, check every address, and connect to a checked address. A name that resolves differently the
//! second time has no effect.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A host on an allow list: `example.com`, `*.example.com`, `example.com:8443`, `*.example.com:*`.
///
/// Without a port, ports 80 and 443 are meant. `*.example.com` does not include `example.com` itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    name: String,
    with_subdomains: bool,
    port: PortPattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortPattern {
    Web,
    Any,
    Only(u16),
}

/// Why a text is not a host.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host; expected a name like `example.com`, `*.example.com` or `example.com:8443`")]
pub struct NotAHost(String);

impl HostPattern {
    /// Whether this pattern allows a connection to this name and port.
    pub fn admits(&self, name: &str, port: u16) -> bool {
        let name = plain(name);
        let is_named = if self.with_subdomains {
            name.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            name == self.name
        };
        is_named
            && match self.port {
                PortPattern::Web => port == 80 || port == 443,
                PortPattern::Any => true,
                PortPattern::Only(only) => port == only,
            }
    }
}

/// The name in lower case and without the trailing dot of the root.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl FromStr for HostPattern {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        let not_a_host = || NotAHost(text.to_owned());
        let (name, port) = match text.rsplit_once(':') {
            None => (text, PortPattern::Web),
            Some((name, "*")) => (name, PortPattern::Any),
            Some((name, port)) => (name, PortPattern::Only(port.parse().map_err(|_| not_a_host())?)),
        };
        let with_subdomains = name.starts_with("*.");
        let name = plain(name.strip_prefix("*.").unwrap_or(name));
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() < 64
                && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        // If the last label is a number, the text is an address in one of its many spellings, and never a name.
        let last_is_number = name.rsplit('.').next().is_some_and(is_number);
        if name.len() > 253 || !name.split('.').all(is_label) || last_is_number {
            return Err(not_a_host());
        }
        Ok(HostPattern { name, with_subdomains, port })
    }
}

/// Follows the URL standard: a last label like this makes the whole host an IPv4 address.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    hex.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()))
        || (!label.is_empty() && label.chars().all(|c| c.is_ascii_digit()))
}

/// Whether the text is an IP address in any notation (`127.1`, `0x7f000001`, `2130706433`, `[::1]`), and so not a
/// name.
pub fn is_written_address(host: &str) -> bool {
    let host = plain(host);
    host.contains(':')
        || host.starts_with('[')
        || host.parse::<IpAddr>().is_ok()
        || host.rsplit('.').next().is_some_and(is_number)
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.with_subdomains { "*." } else { "" };
        write!(f, "{star}{}", self.name)?;
        match self.port {
            PortPattern::Web => Ok(()),
            PortPattern::Any => f.write_str(":*"),
            PortPattern::Only(port) => write!(f, ":{port}"),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = NotAHost;
    fn try_from(text: String) -> Result<Self, NotAHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(host: HostPattern) -> String {
        host.to_string()
    }
}

/// Why an address is never connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {what}, not a public address")]
pub struct NotPublic {
    /// The address.
    pub address: IpAddr,
    /// What kind of address it is.
    pub what: &'static str,
}

/// Checks that the address is a public internet address.
///
/// Refuses loopback, private, link-local (cloud metadata), shared, multicast, documentation and reserved addresses, and
/// IPv6 forms that carry an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo) if that one is not public.
pub fn public_only(address: IpAddr) -> Result<(), NotPublic> {
    let what = match address {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => kind_of_v6(v6),
    };
    what.map_or(Ok(()), |what| Err(NotPublic { address, what }))
}

fn kind_of_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    Some(match (a, b, c) {
        (0, _, _) => "`this network`",
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) => "private",
        (100, 64..=127, _) => "a shared address of a carrier",
        (127, _, _) => "loopback",
        (169, 254, _) => "link-local",
        (192, 0, 0) => "reserved for protocols",
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => "for documentation",
        (192, 88, 99) => "a relay",
        (198, 18..=19, _) => "for benchmarks",
        (224..=239, _, _) => "multicast",
        (240..=255, _, _) => "reserved",
        _ => return None,
    })
}

fn kind_of_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        kind_of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0, 0, 0, 0, 0, 0xffff, high, low] => inner(high, low).or(Some("a mapped IPv4 address")),
        [0, 0, 0, 0, 0, 0, high, low] => inner(high, low).or(Some("an IPv4-compatible address")),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        [0x64, 0xff9b, ..] => Some("a local translation address"),
        [0x100, 0, 0, 0, ..] => Some("for discarding"),
        [0x2001, 0, ..] => Some("a Teredo tunnel"),
        [0x2001, 1..=0x1ff, ..] => Some("reserved for protocols"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some("for documentation"),
        [0x2002, high, low, ..] => inner(high, low),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("site-local"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_addresses_are_refused_in_every_spelling() {
        let inner = [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
        ];
        let passed: Vec<&str> = inner.into_iter().filter(|text| public_only(text.parse().unwrap()).is_ok()).collect();
        assert_eq!(passed, [""; 0]);
    }

    #[test]
    fn public_addresses_pass() {
        let public =
            ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "2a00::1"];
        let refused: Vec<&str> =
            public.into_iter().filter(|text| public_only(text.parse().unwrap()).is_err()).collect();
        assert_eq!(refused, [""; 0]);
    }

    #[test]
    fn an_address_is_not_a_name_however_it_is_written() {
        let written =
            ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "[::1]", "::1", "1.2.3.4."];
        let missed: Vec<&str> = written.into_iter().filter(|text| !is_written_address(text)).collect();
        assert_eq!(missed, [""; 0]);
        assert!(!is_written_address("example.com") && !is_written_address("0x7f.example.com"));
        for text in written {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_admits_its_name_and_ports_only() {
        let admits = |host: &str, name: &str, port| host.parse::<HostPattern>().unwrap().admits(name, port);
        assert!(admits("example.com", "EXAMPLE.com.", 443) && admits("example.com", "example.com", 80));
        assert!(!admits("example.com", "example.com", 22) && !admits("example.com", "www.example.com", 443));
        assert!(admits("*.example.com", "a.b.example.com", 443) && !admits("*.example.com", "example.com", 443));
        assert!(!admits("*.example.com", "badexample.com", 443) && !admits("*.example.com", ".example.com", 443));
        assert!(admits("example.com:8443", "example.com", 8443) && !admits("example.com:8443", "example.com", 443));
        assert!(admits("example.com:*", "example.com", 22));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in
            ["", "*", "*.", "a b", "exa*mple.com", "example.com:x", "http://example.com", "example.com/x", "a..b"]
        {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}
