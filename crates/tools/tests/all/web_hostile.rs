//! Addresses that try to make `web_fetch` reach what is not public: each is refused, and nothing was connected to.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use crate::common::World;
use crate::common::names::Names;
use crate::common::site::{Answer, Site, page, with};
use serde_json::json;
use updraft_run::{Failure, FailureKind, Reply};
use updraft_tools::{AddressOverride, Registry, ToolLimits, WebConfig};

/// A web with a name server of its own, in which every checked address leads to one site on loopback.
struct Net {
    world: World,
    site: Site,
    names: Names,
    /// The addresses that passed the check and were connected to.
    reached: Arc<Mutex<Vec<IpAddr>>>,
}

const SITE: [&str; 4] = ["public.example", "www.public.example", "rebinding.example", "turning.example"];
const PUBLIC: &str = "93.184.216.34";

impl Net {
    async fn new(zone: &[(&str, &[&str])], says: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::with(zone, says, WebConfig::default()).await
    }

    async fn with(
        zone: &[(&str, &[&str])],
        says: impl Fn(&str) -> Answer + Send + Sync + 'static,
        web: WebConfig,
    ) -> Self {
        let (site, names) = (Site::secure(&SITE, says).await, Names::serve(zone).await);
        let reached = Arc::new(Mutex::new(Vec::new()));
        let (there, noted) = (site.address, Arc::clone(&reached));
        let detour = AddressOverride::new(move |address| {
            noted.lock().unwrap().push(address);
            there
        });
        let certificates = site.authority.clone().into_bytes();
        let web =
            WebConfig { certificates, dns: Some(names.address), detour: Some(detour), ignores_robots: true, ..web };
        let limits = ToolLimits::default();
        let world = World::of(Registry::standard(&limits).with_web(web), limits);
        Self { world, site, names, reached }
    }

    async fn refused(&self, url: &str) -> Result<Failure, String> {
        match self.world.call("web_fetch", json!({ "url": url })).await {
            Reply::Failed(failure) if failure.kind == FailureKind::Security => Ok(failure),
            other => Err(format!("{url}: {other:?}")),
        }
    }

    fn reached(&self) -> Vec<String> {
        self.reached.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

/// What it tries, and the address.
const WRITTEN: [(&str, &str); 54] = [
    ("no TLS", "http://public.example/"),
    ("a file", "file:///etc/passwd"),
    ("a file of a host", "file://public.example/etc/passwd"),
    ("another protocol", "ftp://public.example/"),
    ("an old protocol that can say anything", "gopher://public.example:25/_HELO"),
    ("data as an address", "data:text/html,<p>hello"),
    ("code as an address", "javascript:alert(1)"),
    ("this machine", "https://127.0.0.1/"),
    ("this machine without TLS", "http://127.0.0.1/"),
    ("this machine, short", "https://127.1/"),
    ("this machine, shorter", "https://127.0.1/"),
    ("this machine, decimal", "https://2130706433/"),
    ("this machine, octal", "https://0177.0.0.1/"),
    ("this machine, hexadecimal", "https://0x7f000001/"),
    ("this machine, hexadecimal parts", "https://0x7f.0x0.0x0.0x1/"),
    ("this machine, mixed bases", "https://0x7f.0.0.01/"),
    ("this machine, too large for 32 bits and cut", "https://6425673729/"),
    ("this machine, any of 127/8", "https://127.127.127.127/"),
    ("this machine with a dot", "https://127.0.0.1./"),
    ("this machine, percent-encoded", "https://%31%32%37.0.0.1/"),
    ("this machine, full-width digits", "https://１２７.０.０.１/"),
    ("this machine, ideographic dots", "https://127。0。0。1/"),
    ("this machine, circled digits", "https://①②⑦.⓪.⓪.①/"),
    ("unspecified", "https://0.0.0.0/"),
    ("unspecified, shortest", "https://0/"),
    ("this machine, IPv6", "https://[::1]/"),
    ("this machine, IPv6 in full", "https://[0:0:0:0:0:0:0:1]/"),
    ("unspecified, IPv6", "https://[::]/"),
    ("this machine, mapped", "https://[::ffff:127.0.0.1]/"),
    ("this machine, mapped in hexadecimal", "https://[::ffff:7f00:1]/"),
    ("this machine through NAT64", "https://[64:ff9b::7f00:1]/"),
    ("this machine through 6to4", "https://[2002:7f00:1::]/"),
    ("link-local with a zone", "https://[fe80::1%25eth0]/"),
    ("a metadata service", "https://169.254.169.254/latest/meta-data/"),
    ("a metadata service, decimal", "https://2852039166/"),
    ("a metadata service, IPv6", "https://[fd00:ec2::254]/"),
    ("a metadata service by name", "https://metadata.google.internal/"),
    ("a private network", "https://192.168.0.1/"),
    ("another private network", "https://10.0.0.1/admin"),
    ("this machine by name", "https://localhost/"),
    ("this machine by name with a dot", "https://localhost./"),
    ("this machine below its name", "https://a.localhost/"),
    ("this machine in circled letters", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/"),
    ("a host of the inner network", "https://intranet/"),
    ("a host of the local link", "https://printer.local/"),
    ("a user name that looks like the host", "https://public.example@127.0.0.1/"),
    ("a user name that is a password", "https://user:secret@public.example/"),
    ("an empty user name", "https://@public.example/"),
    ("a port of mail", "https://public.example:25/"),
    ("a port of a database", "https://public.example:6379/"),
    ("a backslash that parsers take for a slash", "https://public.example\\@127.0.0.1/"),
    ("a line end for the request", "https://public.example/\r\nHost: 127.0.0.1"),
    ("a blank before the address", " https://public.example/"),
    ("an address without slashes", "https:public.example@127.0.0.1/"),
];

#[tokio::test]
async fn what_is_written_to_lead_inside_is_refused_before_anyone_is_asked() {
    let net = Net::new(&[("public.example", &[PUBLIC])], |_| page("text/plain", "reached")).await;
    let mut passed = Vec::new();
    for (tries, url) in WRITTEN {
        if let Err(other) = net.refused(url).await {
            passed.push(format!("{tries}: {other}"));
        }
        let fault = net.world.fault("web_fetch", json!({ "url": url }));
        assert!(fault.is_some(), "{tries}: a person would be asked about {url}");
    }
    assert_eq!(passed, [""; 0]);
    assert_eq!((net.site.hits(), net.names.total(), net.reached()), (0, 0, Vec::new()));
    // The same net, to show that it is one.
    let text = net.world.text("web_fetch", json!({ "url": "https://public.example/" })).await;
    assert!(text.contains("\nreached\n"), "{text}");
    assert_eq!((net.site.hits(), net.reached()), (1, vec![PUBLIC.to_owned()]));
}

/// Names that resolve to what is not public.
const RESOLVED: [(&str, &str, &str); 22] = [
    ("this machine", "loop.example", "127.0.0.1"),
    ("this machine, elsewhere in 127/8", "loop8.example", "127.8.8.8"),
    ("unspecified", "zero.example", "0.0.0.0"),
    ("a private network", "ten.example", "10.1.2.3"),
    ("a private network of containers", "docker.example", "172.17.0.1"),
    ("a private network at home", "router.example", "192.168.1.1"),
    ("a metadata service", "metadata.example", "169.254.169.254"),
    ("a metadata service of another house", "metadata-b.example", "100.100.100.200"),
    ("a carrier's network", "carrier.example", "100.64.0.1"),
    ("a network for benchmarks", "bench.example", "198.18.0.1"),
    ("multicast", "many.example", "224.0.0.251"),
    ("broadcast", "all.example", "255.255.255.255"),
    ("this machine, IPv6", "six.example", "::1"),
    ("this machine, mapped", "mapped.example", "::ffff:127.0.0.1"),
    ("a public address, mapped", "mapped-public.example", "::ffff:93.184.216.34"),
    ("this machine through NAT64", "nat64.example", "64:ff9b::127.0.0.1"),
    ("a metadata service through 6to4", "6to4.example", "2002:a9fe:a9fe::1"),
    ("a tunnel", "teredo.example", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    ("a private network, IPv6", "unique.example", "fd00::1"),
    ("the local link, IPv6", "link.example", "fe80::1"),
    ("one inner among public addresses", "mixed.example", "93.184.216.34 10.0.0.1 1.1.1.1"),
    ("public for IPv4, inner for IPv6", "split.example", "93.184.216.34 ::1"),
];

#[tokio::test]
async fn a_name_that_resolves_inside_is_refused_and_not_connected_to() {
    let answers: Vec<[&str; 1]> = RESOLVED.iter().map(|(_, _, addresses)| [*addresses]).collect();
    let zone: Vec<(&str, &[&str])> =
        RESOLVED.iter().zip(&answers).map(|((_, name, _), answer)| (*name, &answer[..])).collect();
    let net = Net::new(&zone, |_| page("text/plain", "reached")).await;
    let mut passed = Vec::new();
    for (tries, name, _) in RESOLVED {
        match net.refused(&format!("https://{name}/")).await {
            Ok(failure) => assert!(failure.message.contains("not a public address"), "{tries}: {failure}"),
            Err(other) => passed.push(format!("{tries}: {other}")),
        }
        assert_eq!(net.names.lookups(name), 1, "{tries}");
    }
    assert_eq!(passed, [""; 0]);
    assert_eq!((net.site.hits(), net.reached()), (0, Vec::new()));
}

/// Where a public page redirects to.
const REDIRECTS: [(&str, &str); 16] = [
    ("leave TLS", "http://public.example/"),
    ("this machine", "https://127.0.0.1/"),
    ("this machine without TLS", "http://127.0.0.1:8080/"),
    ("this machine, decimal", "https://2130706433/"),
    ("this machine without a scheme", "//127.0.0.1/"),
    ("this machine, percent-encoded, without a scheme", "//%31%32%37.0.0.1/"),
    ("this machine, full-width", "https://１２７.0.0.1/"),
    ("this machine by name", "https://localhost/"),
    ("this machine, IPv6", "https://[::1]/"),
    ("this machine behind a user name", "//public.example@127.0.0.1/"),
    ("a metadata service", "https://169.254.169.254/latest/meta-data/"),
    ("a metadata service by name", "https://metadata.google.internal/"),
    ("a backslash for a slash", "/\\127.0.0.1/"),
    ("a file", "file:///etc/passwd"),
    ("code", "javascript:alert(1)"),
    ("another port", "https://public.example:22/"),
];

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address() {
    // A page that redirects can do so even where this machine may be reached.
    for web in [WebConfig::default(), WebConfig { loopback: true, ..WebConfig::default() }] {
        let says = |path: &str| match path[1..].parse::<usize>() {
            Ok(at) => with("302 Found", &[("location", REDIRECTS[at].1)], ""),
            Err(_) => page("text/plain", "reached"),
        };
        let net = Net::with(&[("public.example", &[PUBLIC])], says, web).await;
        let mut passed = Vec::new();
        for (at, (tries, _)) in REDIRECTS.iter().enumerate() {
            if let Err(other) = net.refused(&format!("https://public.example/{at}")).await {
                passed.push(format!("{tries}: {other}"));
            }
        }
        assert_eq!(passed, [""; 0]);
        assert_eq!(net.site.hits(), REDIRECTS.len());
    }
}

#[tokio::test]
async fn a_name_that_turns_inside_after_the_check_gains_nothing() {
    let zone: [(&str, &[&str]); 2] =
        [("rebinding.example", &[PUBLIC, "127.0.0.1"]), ("turning.example", &[PUBLIC, "10.0.0.1 93.184.216.34"])];
    let says = |path: &str| match path {
        "/again" => with("302 Found", &[("location", "/secret")], ""),
        _ => page("text/plain", "reached"),
    };
    let net = Net::new(&zone, says).await;
    // Asked once, and connected to what was checked: the second answer is never heard of.
    let text = net.world.text("web_fetch", json!({ "url": "https://rebinding.example/" })).await;
    assert!(text.contains("\nreached\n"), "{text}");
    assert_eq!((net.names.lookups("rebinding.example"), net.reached()), (1, vec![PUBLIC.to_owned()]));
    // The next page asks again, and is refused by the new answer.
    let failure = net.refused("https://rebinding.example/secret").await.unwrap();
    assert!(failure.message.contains("127.0.0.1 is loopback"), "{failure}");
    // So is a redirect to the same host.
    let failure = net.refused("https://turning.example/again").await.unwrap();
    assert!(failure.message.contains("10.0.0.1 is private"), "{failure}");
    assert_eq!((net.names.lookups("turning.example"), net.site.hits()), (2, 2));
    assert_eq!(net.reached(), [PUBLIC, PUBLIC]);
}

#[tokio::test]
async fn a_redirect_to_another_site_is_told_and_not_followed() {
    let says = |path: &str| match path {
        "/out?secret" => with("302 Found", &[("location", "https://other.example/?secret")], ""),
        "/bare" => with("301 Moved", &[("location", "https://www.public.example/here")], ""),
        _ => page("text/plain", "reached"),
    };
    let zone: [(&str, &[&str]); 2] = [("public.example", &[PUBLIC]), ("www.public.example", &[PUBLIC])];
    let net = Net::new(&zone, says).await;
    let output = net.world.output("web_fetch", json!({ "url": "https://public.example/out?secret" })).await;
    assert_eq!(output.value.as_ref().unwrap()["redirect"], "https://other.example/?secret");
    assert!(output.text.contains("redirects to another site, which was not contacted"), "{}", output.text);
    assert_eq!((output.hosts.as_slice(), net.names.lookups("other.example")), (&["public.example".to_owned()][..], 0));
    // With and without www is the same site.
    let output = net.world.output("web_fetch", json!({ "url": "https://public.example/bare" })).await;
    assert_eq!(output.value.as_ref().unwrap()["url"], "https://www.public.example/here");
    assert_eq!(output.hosts, ["public.example", "www.public.example"]);
}

#[tokio::test]
async fn a_server_that_cannot_show_who_it_is_is_not_read() {
    let net = Net::new(&[("impostor.example", &[PUBLIC])], |_| page("text/plain", "reached")).await;
    let failure = net.world.failure("web_fetch", json!({ "url": "https://impostor.example/" })).await;
    assert!(failure.message.contains("certificate"), "{failure}");
    assert_eq!(net.site.hits(), 0);
}
