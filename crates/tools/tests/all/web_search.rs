//! `web_search` with each service, against a server on loopback that answers as the service documents it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{World, call};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use updraft_run::FailureKind;
use updraft_tools::{Registry, SearchConfig, SearchKey, SearchProvider, ToolLimits, WebConfig};

/// A service that notes what it was asked, and always answers the same.
struct Service {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Service {
    async fn start(status: &'static str, answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8_lossy(&request).into_owned();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                let mut body = vec![0; length.unwrap_or(0)];
                stream.read_exact(&mut body).await.unwrap();
                noted.lock().unwrap().push(head + &String::from_utf8_lossy(&body));
                let len = answer.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n"
                );
                stream.write_all((head + &answer).as_bytes()).await.unwrap();
            }
        });
        Self { base, asked, _serving: serving }
    }

    fn world(&self, provider: SearchProvider) -> World {
        let key = if provider == SearchProvider::SearXng { "" } else { "sesame" };
        let engine = "my-engine".to_owned();
        world(Some(SearchConfig { provider, base: Some(self.base.clone()), key: SearchKey::new(key), engine }))
    }
}

fn world(search: Option<SearchConfig>) -> World {
    let limits = ToolLimits { backoff: Duration::from_millis(1), ..ToolLimits::default() };
    World::of(Registry::standard(&limits).with_web(WebConfig { search, ..WebConfig::default() }), limits)
}

/// The answers of the services, as their documentation shows them, shortened.
fn answer(provider: SearchProvider) -> Value {
    match provider {
        SearchProvider::SearXng => json!({
            "query": "otters & rivers", "number_of_results": 2, "answers": [], "suggestions": [], "infoboxes": [],
            "results": [
                { "url": "https://a.example/1", "title": "Otters", "content": "They eat fish.", "engine": "bing",
                  "parsed_url": ["https", "a.example", "/1", "", "", ""], "engines": ["bing"], "positions": [1],
                  "score": 1.0, "category": "general" },
                { "url": "https://b.example/2", "title": "Rivers", "content": "Long ones.", "engine": "brave" }
            ]
        }),
        SearchProvider::Brave => json!({
            "type": "search", "query": { "original": "otters & rivers" },
            "web": { "type": "search", "results": [
                { "title": "Otters", "url": "https://a.example/1", "description": "They <strong>eat</strong> fish.",
                  "is_source_local": false, "language": "en" },
                { "title": "Rivers", "url": "https://b.example/2", "description": "Long ones." }
            ] }
        }),
        SearchProvider::Tavily => json!({
            "query": "otters & rivers", "answer": null, "images": [], "response_time": 1.1,
            "results": [
                { "title": "Otters", "url": "https://a.example/1", "content": "They eat fish.", "score": 0.9, "raw_content": null },
                { "title": "Rivers", "url": "https://b.example/2", "content": "Long ones.", "score": 0.5 }
            ]
        }),
        SearchProvider::Google => json!({
            "kind": "customsearch#search", "searchInformation": { "totalResults": "2" },
            "items": [
                { "kind": "customsearch#result", "title": "Otters", "htmlTitle": "<b>Otters</b>", "link": "https://a.example/1",
                  "displayLink": "a.example", "snippet": "They eat fish." },
                { "title": "Rivers", "link": "https://b.example/2", "snippet": "Long ones." }
            ]
        }),
        SearchProvider::Exa => json!({
            "requestId": "b5947044c4b78efa9552a7c89b306d95", "searchType": "neural",
            "results": [
                { "id": "https://a.example/1", "title": "Otters", "url": "https://a.example/1", "publishedDate": "2024-01-01",
                  "author": null, "highlights": ["They eat fish."], "highlightScores": [0.4] },
                { "id": "https://b.example/2", "title": "Rivers", "url": "https://b.example/2", "highlights": ["Long ones."] }
            ],
            "costDollars": { "total": 0.005 }
        }),
    }
}

#[tokio::test]
async fn each_service_is_asked_in_its_own_way_and_understood() {
    let expected = json!([
        { "title": "Otters", "url": "https://a.example/1", "snippet": "They eat fish." },
        { "title": "Rivers", "url": "https://b.example/2", "snippet": "Long ones." }
    ]);
    for (provider, line, more) in [
        (SearchProvider::SearXng, "GET /search?q=otters+%26+rivers&format=json HTTP/1.1", &[][..]),
        (
            SearchProvider::Brave,
            "GET /res/v1/web/search?q=otters+%26+rivers&count=5 HTTP/1.1",
            &["x-subscription-token: sesame\r\n", "accept: application/json\r\n"],
        ),
        (
            SearchProvider::Tavily,
            "POST /search HTTP/1.1",
            &["authorization: Bearer sesame\r\n", r#"{"max_results":5,"query":"otters & rivers"}"#],
        ),
        (
            SearchProvider::Google,
            "GET /customsearch/v1?key=sesame&cx=my-engine&q=otters+%26+rivers&num=5 HTTP/1.1",
            &[],
        ),
        (
            SearchProvider::Exa,
            "POST /search HTTP/1.1",
            &["x-api-key: sesame\r\n", r#""numResults":5,"query":"otters & rivers""#, r#""highlights":{"#],
        ),
    ] {
        let service = Service::start("200 OK", answer(provider).to_string()).await;
        let world = service.world(provider);
        let output = world.output("web_search", json!({ "query": "otters & rivers", "count": 5 })).await;
        let asked = service.asked.lock().unwrap().join("");
        assert!(asked.starts_with(line), "{asked}");
        assert!(more.iter().all(|part| asked.contains(part)), "{asked}");
        let value = output.value.as_ref().unwrap();
        assert_eq!((&value["results"], &value["provider"]), (&expected, &json!(provider.name())));
        assert!(
            output.text.starts_with(&format!("[2 results from {}. Up to `end ", provider.name())),
            "{}",
            output.text
        );
        assert!(
            output.text.contains("1. Otters\n   https://a.example/1\n   They eat fish.\n2. Rivers\n"),
            "{}",
            output.text
        );
        assert!(output.untrusted && output.origins == ["web search at 127.0.0.1"] && output.hosts == ["127.0.0.1"]);
    }
}

#[tokio::test]
async fn a_call_says_where_its_question_goes_before_it_is_asked() {
    let service = Service::start("200 OK", "{}".to_owned()).await;
    let world = service.world(SearchProvider::Brave);
    let prepared = world.dispatcher.prepare(&call("web_search", json!({ "query": "x" })), &world.place);
    assert!(prepared.outside && prepared.sends && prepared.hosts == ["127.0.0.1"], "{prepared:?}");
    let text = world.text("web_search", json!({ "query": "x" })).await;
    assert!(text.contains("\nNothing was found.\n"), "{text}");
}

#[tokio::test]
async fn without_a_service_it_says_how_to_choose_one() {
    let world = world(None);
    let fault = world.dispatcher.prepare(&call("web_search", json!({ "query": "x" })), &world.place).fault.unwrap();
    assert_eq!(fault.kind, FailureKind::Config);
    for word in ["SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "GOOGLE_CSE_ID", "[search]"] {
        assert!(fault.message.contains(word), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_refusal_is_explained_and_shows_no_key() {
    let refused = Service::start("401 Unauthorized", json!({ "error": { "detail": "bad token" } }).to_string()).await;
    let failure = refused.world(SearchProvider::Google).failure("web_search", json!({ "query": "x" })).await;
    let expected = "`127.0.0.1` answers 401 Unauthorized; check the key: {\"error\":{\"detail\":\"bad token\"}}";
    assert_eq!(failure.message, expected);
    let closed = Service::start("403 Forbidden", "<html>".to_owned()).await;
    let failure = closed.world(SearchProvider::SearXng).failure("web_search", json!({ "query": "x" })).await;
    assert!(failure.message.contains("the instance must allow JSON"), "{failure}");
    let page = Service::start("200 OK", "<html>".to_owned()).await;
    let failure = page.world(SearchProvider::SearXng).failure("web_search", json!({ "query": "x" })).await;
    assert!(failure.message.ends_with("with something else than JSON; is it searxng?"), "{failure}");
    let busy = Service::start("429 Too Many Requests", String::new()).await;
    let failure = busy.world(SearchProvider::Tavily).failure("web_search", json!({ "query": "x" })).await;
    assert_eq!(failure.message, "`127.0.0.1` answers 429 Too Many Requests");
    assert_eq!(busy.asked.lock().unwrap().len(), 3, "tried again, as a read may be");

    let gone = world(Some(SearchConfig {
        provider: SearchProvider::Google,
        base: Some("http://127.0.0.1:9".to_owned()),
        key: SearchKey::new("sesame"),
        engine: "my-engine".to_owned(),
    }));
    let failure = gone.failure("web_search", json!({ "query": "x" })).await;
    assert!(!failure.message.contains("sesame"), "{failure}");
}
