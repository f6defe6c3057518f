//! How `web_fetch` treats other people's servers: robots.txt, one request at a time, a cache; and documents it finds there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::confined::confinement;
use crate::common::names::Names;
use crate::common::site::{Answer, Site, page, with};
use crate::common::{World, sample};
use serde_json::json;
use updraft_tools::{
    AddressOverride, DocumentLimits, DocumentReader, PageCache, Registry, ToolLimits, WebConfig, WebLimits,
};

/// A public site that is served on loopback, and a cache.
struct Net {
    world: World,
    site: Site,
    _names: Names,
    _cache: tempfile::TempDir,
}

async fn net(says: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Net {
    let site = Site::secure(&["site.example"], says).await;
    let names = Names::serve(&[("site.example", &["93.184.216.34"])]).await;
    let there = site.address;
    let folder = tempfile::tempdir().unwrap();
    let web = WebConfig {
        certificates: site.authority.clone().into_bytes(),
        dns: Some(names.address),
        detour: Some(AddressOverride::new(move |_| there)),
        cache: Some(PageCache { folder: folder.path().to_owned(), age: Duration::from_mins(5) }),
        ..WebConfig::default()
    };
    let limits = ToolLimits { backoff: Duration::from_millis(1), ..ToolLimits::default() };
    let world = World::of(Registry::standard(&limits).with_web(web), limits);
    Net { world, site, _names: names, _cache: folder }
}

#[tokio::test]
async fn what_robots_txt_asks_for_is_respected_and_asked_once() {
    let net = net(|path| match path {
        "/robots.txt" => page("text/plain", "User-agent: *\nDisallow: /private\nAllow: /private/open\n"),
        _ => page("text/plain", "words"),
    })
    .await;
    let message = net.world.failure("web_fetch", json!({ "url": "https://site.example/private/x" })).await.message;
    let expected = "`https://site.example/private/x` is not fetched: the robots.txt of `site.example` asks programs not to \
                    (`/private`); the user can set `robots = false` under [web]";
    assert_eq!(message, expected);
    for path in ["private/open", "else"] {
        let text = net.world.text("web_fetch", json!({ "url": format!("https://site.example/{path}") })).await;
        assert!(text.contains("words"), "{text}");
    }
    assert_eq!(net.site.hits(), 3);
}

#[tokio::test]
async fn a_missing_robots_txt_allows_and_a_server_in_trouble_refuses() {
    let missing = net(|path| match path {
        "/robots.txt" => with("404 Not Found", &[], ""),
        _ => page("text/plain", "words"),
    })
    .await;
    assert!(missing.world.text("web_fetch", json!({ "url": "https://site.example/" })).await.contains("words"));
    let troubled = net(|path| match path {
        "/robots.txt" => with("500 Oops", &[], ""),
        _ => page("text/plain", "words"),
    })
    .await;
    let message = troubled.world.failure("web_fetch", json!({ "url": "https://site.example/" })).await.message;
    assert!(message.starts_with("`site.example` answers 500"), "{message}");
    assert!(message.contains("robots.txt; it may work later"), "{message}");
}

#[tokio::test]
async fn a_page_comes_from_the_cache_and_says_so() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let net = net(move |path| match path {
        "/robots.txt" => with("404 Not Found", &[], ""),
        "/secret" => with("200 OK", &[("content-type", "text/plain"), ("cache-control", "no-store")], "never kept"),
        _ => page("text/plain", format!("copy {}", counted.fetch_add(1, Ordering::SeqCst))),
    })
    .await;
    let fetch = async |args| net.world.output("web_fetch", args).await;
    let first = fetch(json!({ "url": "https://site.example/a" })).await;
    let second = fetch(json!({ "url": "https://site.example/a" })).await;
    assert!(first.text.contains("copy 0") && second.text.contains("copy 0"), "{}", second.text);
    assert!(!first.text.contains("from the cache") && second.text.contains(", from the cache, "), "{}", second.text);
    assert!(first.value.as_ref().unwrap().get("cached_seconds").is_none());
    assert!(second.value.as_ref().unwrap()["cached_seconds"].is_u64() && second.untrusted);
    let again = fetch(json!({ "url": "https://site.example/a", "no_cache": true })).await;
    assert!(again.text.contains("copy 1"), "{}", again.text);
    assert!(fetch(json!({ "url": "https://site.example/a" })).await.text.contains("copy 1"));

    let before = net.site.hits();
    for _ in 0..2 {
        fetch(json!({ "url": "https://site.example/secret" })).await;
    }
    assert_eq!(net.site.hits() - before, 2);
}

#[tokio::test]
async fn one_request_at_a_time_goes_to_a_host() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_once, highest) = (Arc::clone(&now), Arc::clone(&most));
    let net = net(move |path| {
        if path == "/robots.txt" {
            return with("404 Not Found", &[], "");
        }
        highest.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        at_once.fetch_sub(1, Ordering::SeqCst);
        page("text/plain", "words")
    })
    .await;
    let fetch = |n: u32| net.world.text("web_fetch", json!({ "url": format!("https://site.example/{n}") }));
    let texts = tokio::join!(fetch(1), fetch(2), fetch(3));
    assert!([texts.0, texts.1, texts.2].iter().all(|text| text.contains("words")));
    assert_eq!((net.site.hits(), most.load(Ordering::SeqCst)), (4, 1));
}

#[tokio::test]
async fn documents_are_read_like_files() {
    let Some(confinement) = confinement().await else { return };
    let site = Site::plain(|path| match path {
        "/paper.pdf" => page("application/pdf", sample("paper.pdf")),
        "/download?id=1" => page("application/octet-stream", sample("sales.xlsx")),
        "/scan.pdf" => page("application/pdf", sample("scan.pdf")),
        "/data.bin" => page("application/octet-stream", [0, 1, 2, 3]),
        _ => page("text/html", sample("report.docx")),
    })
    .await;
    let limits = ToolLimits::default();
    let documents = Some(DocumentReader::new(confinement, DocumentLimits::default()));
    let web = WebConfig { loopback: true, documents, ..WebConfig::default() };
    let world = World::of(Registry::standard(&limits).with_web(web), limits);
    for (path, text) in [("/paper.pdf", "[page 1]"), ("/download?id=1", "[sheet "), ("/lying.html", "[paragraph 1")] {
        let output = world.output("web_fetch", json!({ "url": site.url(path) })).await;
        assert!(output.text.contains(text) && output.untrusted, "{path}: {}", output.text);
    }
    let message = world.failure("web_fetch", json!({ "url": site.url("/scan.pdf") })).await.message;
    assert!(message.contains("/scan.pdf` was not read: the PDF has no text"), "{message}");
    let message = world.failure("web_fetch", json!({ "url": site.url("/data.bin") })).await.message;
    assert!(
        message.contains("is `application/octet-stream` of 4 bytes; web_fetch reads text, PDF and Office files only"),
        "{message}"
    );

    let limits = ToolLimits::default();
    let small = WebLimits { body: 1_000, ..WebLimits::default() };
    let documents =
        Some(DocumentReader::new(crate::common::confined::confinement().await.unwrap(), DocumentLimits::default()));
    let web = WebConfig { loopback: true, documents, limits: small, ..WebConfig::default() };
    let world = World::of(Registry::standard(&limits).with_web(web), limits);
    let message = world.failure("web_fetch", json!({ "url": site.url("/paper.pdf") })).await.message;
    assert!(message.ends_with("/paper.pdf` was not read: it has more than 1000 bytes"), "{message}");
}
