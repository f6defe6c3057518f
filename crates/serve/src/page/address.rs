//! Where the page is, and which requests may be meant for it: `Host`, `Origin`, and what browsers say about the page that
//! sends a request.
//!
//! Browsers send requests on behalf of any page that the user visits. So `Host` must name this server (another name may
//! have been pointed here), and a request that changes something must come from this very origin: cookies do not
//! distinguish ports, so another server on this machine would count as the same site.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Method, header};

use crate::tls::TlsIdentity;

/// The address of the page. Cheap to clone.
#[derive(Clone)]
pub struct PageAddress {
    /// Where the server listens.
    pub bound: SocketAddr,
    /// Names it may be called by, besides those in the certificate. They count only with encryption.
    pub hosts: Vec<String>,
    /// The certificate, if connections are encrypted.
    pub tls: Option<TlsIdentity>,
}

impl PageAddress {
    /// The address without a path, as the server's owner can open it.
    pub fn origin(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let names = self.tls.as_ref().map(TlsIdentity::names).unwrap_or_default();
        let name = self.hosts.iter().chain(names.iter().filter(|name| !name.starts_with('*'))).next();
        match name.filter(|_| self.tls.is_some()) {
            Some(name) if name.contains(':') => format!("{scheme}://{name}"),
            Some(name) => format!("{scheme}://{name}:{}", self.bound.port()),
            None => format!("{scheme}://{}", self.bound),
        }
    }

    /// Whether the page is shown here: on this machine, or encrypted.
    pub fn has_page(&self) -> bool {
        self.tls.is_some() || self.bound.ip().is_loopback()
    }

    /// Whether a host is a name of this server.
    fn is_own_host(&self, host: &str) -> bool {
        let port = self.bound.port();
        let (name, given) = match host.rsplit_once(':') {
            Some((name, given)) if !given.ends_with(']') => (name, given.parse().ok()),
            _ => (host, Some(if self.tls.is_some() { 443 } else { 80 })),
        };
        let bound = SocketAddr::new(self.bound.ip(), 0).to_string();
        let own = Some(&bound[..bound.len() - 2]).filter(|_| self.bound.ip().is_loopback());
        if ["127.0.0.1", "localhost", "[::1]"].into_iter().chain(own).any(|own| own == name) {
            return given == Some(port);
        }
        // Encrypted connections may come by way of another port. A name that is pointed here has no certificate.
        let is_named = |tls: &TlsIdentity| {
            self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name) || own.eq_ignore_ascii_case(host))
                || tls.is_for(name)
        };
        given.is_some() && self.tls.as_ref().is_some_and(is_named)
    }

    /// Why a request is refused, by where it comes from.
    pub(super) fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if !self.has_page() {
            return Some(
                "beyond this machine the page needs encryption: start `updraft serve` with --tls-cert and --tls-key, or \
                 at 127.0.0.1",
            );
        }
        let host = text("host").unwrap_or_default();
        if headers.get_all(header::HOST).iter().count() != 1 || !self.is_own_host(host) {
            return Some(
                "this is not the address of this server: use the one that `updraft open` prints; other names for it are \
                 given with --allow-host, together with --tls-cert",
            );
        }
        let scheme = if self.tls.is_some() { "https://" } else { "http://" };
        let origin = text("origin");
        if origin.is_some_and(|origin| origin.strip_prefix(scheme) != Some(host)) {
            return Some("another page sent this request");
        }
        let site = text("sec-fetch-site");
        if method == Method::GET || method == Method::HEAD {
            // A link on another page may lead here, but no other page may load anything from here.
            let is_visit = text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
            let is_own = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
            return (!is_own && !is_visit).then_some("another page sent this request");
        }
        match (origin, site) {
            (_, Some(site)) if site != "same-origin" => Some("another page sent this request"),
            (None, None) => Some("the browser does not say which page sent this request"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bound: &str, hosts: &[&str], tls: Option<TlsIdentity>) -> PageAddress {
        PageAddress { bound: bound.parse().unwrap(), hosts: hosts.iter().map(|&host| host.into()).collect(), tls }
    }

    fn refuses(address: &PageAddress, method: &Method, pairs: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        address.refusal(method, &headers).is_some()
    }

    /// A certificate for these names.
    fn certificate(names: &[&str]) -> TlsIdentity {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let rcgen::CertifiedKey { cert, signing_key } = made.unwrap();
        let [file, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
        std::fs::write(&file, cert.pem()).unwrap();
        std::fs::write(&key, signing_key.serialize_pem()).unwrap();
        TlsIdentity::read(&file, &key).unwrap()
    }

    #[test]
    fn requests_of_other_pages_and_for_other_names_are_refused() {
        let here = at("127.0.0.1:7717", &["team.example"], None);
        let own = ("host", "127.0.0.1:7717");
        assert!(!refuses(&here, &Method::GET, &[own]) && !refuses(&here, &Method::GET, &[("host", "localhost:7717")]));
        for host in ["evil.example", "127.0.0.1:80", "evil.example:7717", "127.0.0.1.evil.example:7717", ""] {
            assert!(refuses(&here, &Method::GET, &[("host", host)]), "{host}");
        }
        assert!(refuses(&here, &Method::GET, &[("host", "team.example:7717")]), "other names need encryption");
        assert!(refuses(&here, &Method::GET, &[]) && refuses(&here, &Method::GET, &[own, own]));
        assert!(refuses(&here, &Method::POST, &[own]));
        assert!(!refuses(&here, &Method::POST, &[own, ("origin", "http://127.0.0.1:7717")]));
        assert!(!refuses(&here, &Method::POST, &[own, ("sec-fetch-site", "same-origin")]));
        for origin in ["null", "http://127.0.0.1:3000", "http://localhost:7717", "https://127.0.0.1:7717"] {
            assert!(refuses(&here, &Method::POST, &[own, ("origin", origin)]), "{origin}");
            assert!(refuses(&here, &Method::GET, &[own, ("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            let own_origin = ("origin", "http://127.0.0.1:7717");
            assert!(refuses(&here, &Method::POST, &[own, own_origin, ("sec-fetch-site", site)]), "{site}");
        }
    }

    #[test]
    fn other_pages_may_link_here_but_not_load_from_here() {
        let (here, own) = (at("127.0.0.1:7717", &[], None), ("host", "127.0.0.1:7717"));
        for site in ["cross-site", "same-site"] {
            let fetched = |mode, dest| {
                let said = [own, ("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
                refuses(&here, &Method::GET, &said)
            };
            assert!(!fetched("navigate", "document"), "{site}");
            for (mode, dest) in
                [("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("websocket", "empty")]
            {
                assert!(fetched(mode, dest), "{site} {mode} {dest}");
            }
        }
        for site in ["same-origin", "none"] {
            assert!(!refuses(&here, &Method::GET, &[own, ("sec-fetch-site", site)]), "{site}");
        }
    }

    #[test]
    fn every_address_of_this_machine_that_it_listens_at_is_its_own() {
        assert!(!refuses(&at("127.0.0.2:7717", &[], None), &Method::GET, &[("host", "127.0.0.2:7717")]));
        assert!(refuses(&at("127.0.0.1:7717", &[], None), &Method::GET, &[("host", "127.0.0.2:7717")]));
        assert!(!refuses(&at("[::1]:7717", &[], None), &Method::GET, &[("host", "[::1]:7717")]));
        assert!(!refuses(&at("127.0.0.1:80", &[], None), &Method::GET, &[("host", "localhost")]));
    }

    #[test]
    fn beyond_this_machine_it_is_encrypted_and_called_by_the_names_of_its_certificate() {
        let local = [("host", "127.0.0.1:7717")];
        assert!(refuses(&at("0.0.0.0:7717", &[], None), &Method::GET, &local));
        let tls = Some(certificate(&["team.example", "*.wild.example", "192.0.2.7"]));
        let here = at("0.0.0.0:7717", &["other.example", "third.example:9000"], tls);
        assert_eq!(here.origin(), "https://other.example:7717");
        let hosts = ["team.example", "TEAM.example:7717", "a.wild.example:8443", "192.0.2.7:7717", "other.example"];
        for host in hosts.into_iter().chain(["third.example:9000", "localhost:7717"]) {
            assert!(!refuses(&here, &Method::GET, &[("host", host)]), "{host}");
        }
        for host in
            ["evil.example", "192.0.2.8:7717", "a.team.example", "third.example:9001", "team.example:x", "", ":"]
        {
            assert!(refuses(&here, &Method::GET, &[("host", host)]), "{host}");
        }
        let from = |origin| refuses(&here, &Method::POST, &[("host", "team.example"), ("origin", origin)]);
        assert!(!from("https://team.example"));
        assert!(from("http://team.example") && from("https://other.example") && from("https://team.example:7717"));
    }
}
