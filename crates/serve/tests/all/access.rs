//! Who is let in, and who is not.

use serde_json::json;
use updraft_serve::PageAccess;

use crate::world::World;

#[tokio::test]
async fn nobody_sees_the_page_without_the_cookie_and_an_address_lets_in_once() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let run = world.start(&[("goal", "Secret words"), ("mode", "agent:researcher")], None).await.run();
    for path in ["/", "/inbox", "/new", "/tools", "/memory", "/settings", &format!("/runs/{run}")] {
        let refused = world.send("GET", path, "", "").await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(!refused.body.contains("Secret words") && refused.body.contains("updraft open"), "{path}");
    }
    let stream = world.send("GET", &format!("/runs/{run}/stream"), "Cookie: updraft_1=x\r\n", "").await;
    assert_eq!(stream.status, 401);
    let entry = PageAccess::entry(&world.token).unwrap();
    let (first, second) = (world.send("GET", &entry, "", "").await, world.send("GET", &entry, "", "").await);
    assert_eq!((first.status, second.status), (200, 401));
    let cookie = first.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(second.header("set-cookie").is_none());
    assert_eq!(world.get("/").await.status, 200);
    // Who is inside already uses up a code as well.
    let entry = PageAccess::entry(&world.token).unwrap();
    assert_eq!(world.get(&entry).await.status, 200);
    assert_eq!(world.send("GET", &entry, "", "").await.status, 401);
    world.close().await;
}

#[tokio::test]
async fn requests_from_elsewhere_are_refused_and_change_nothing() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let cookie = format!("Cookie: {}\r\n", world.cookie);
    let rebound = world.send("GET", "/", &format!("{cookie}Host: evil.example\r\n"), "").await;
    assert_eq!(rebound.status, 403);
    for from in ["Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n", ""] {
        let headers = format!("{cookie}{from}Content-Type: application/x-www-form-urlencoded\r\n");
        let refused = world.send("POST", "/memory", &headers, "act=add&text=evil").await;
        assert_eq!(refused.status, 403, "{from}");
    }
    assert!(world.service.runs.memories().unwrap().is_empty());
    world.close().await;
}

#[tokio::test]
async fn every_way_in_for_programs_has_the_same_gate() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let origin = "http://127.0.0.1:3000";
    let page = format!("Origin: {origin}\r\n");
    let token = format!("{page}Authorization: Bearer {}\r\n", world.token.reveal());
    for path in ["/api/v1/runs", "/v1/models", "/a2a"] {
        let asked = world.send("OPTIONS", path, &page, "").await;
        assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some(origin)), "{path}");
        let elsewhere = world.send("OPTIONS", path, "Origin: https://evil.example\r\n", "").await;
        assert_eq!((elsewhere.status, elsewhere.header("access-control-allow-origin")), (403, None), "{path}");
        let stranger = world.send("PUT", path, &page, "").await;
        assert_eq!((stranger.status, stranger.header("connection")), (401, Some("close")), "{path}");
        assert_eq!(stranger.header("www-authenticate"), Some("Bearer realm=\"updraft\""), "{path}");
        // Not taken for the question of a browser beforehand, which gets 204.
        let known = world.send("PUT", path, &token, "").await;
        assert_eq!((known.status, known.header("x-content-type-options")), (405, Some("nosniff")), "{path}");
    }
    world.close().await;
}

#[tokio::test]
async fn every_answer_says_what_the_page_may_do() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    for path in ["/", "/nowhere", "/assets/page.js", "/runs/none"] {
        let answer = world.get(path).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
    }
    let page = world.get("/").await;
    assert!(!page.body.contains(" style=") && !page.body.contains("<script>") && !page.body.contains(" onclick="));
    world.close().await;
}

#[tokio::test]
async fn the_door_for_programs_is_as_it_was() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let without = world.send("POST", "/mcp", "Content-Type: application/json\r\n", "{}").await;
    assert_eq!(without.status, 401);
    let with_cookie = world.send("POST", "/mcp", &world.own(), "{}").await;
    assert_eq!(with_cookie.status, 401, "the cookie of the page opens only the page");
    let bearer = format!("Authorization: Bearer {}\r\n", world.token.reveal());
    assert_eq!(world.send("GET", "/", &bearer, "").await.status, 401, "and the token only the other door");
    world.close().await;
}

#[tokio::test]
async fn an_open_page_goes_on_after_the_server_was_restarted() {
    let script = json!([{ "text": "done" }]);
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Wait"), ("mode", "agent:researcher")], None).await.run();
    let position = world.until(&run, "data-status=\\\"done\\\"").await;
    let world = world.restarted(&script).await;
    assert_eq!(world.get(&format!("/runs/{run}")).await.status, 200);
    let back = format!("Last-Event-ID: {}\r\n", position - 1);
    let mut events = world.watch(&format!("/runs/{run}/stream?after=1"), &back).await;
    assert_eq!(events.patch().await["position"], position);
    world.close().await;
}
