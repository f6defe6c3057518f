//! Every route of the page, as its router lists them: none leads out of the page, and none answers a stranger.

use serde_json::json;

use crate::world::World;

/// A route of the page.
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) is_post: bool,
}

/// All routes, from the source of the router: a new one is tested like the others.
pub(crate) fn all() -> Vec<Route> {
    let source = include_str!("../../src/page.rs");
    let mut routes = Vec::new();
    for rest in source.split(".route(").skip(1) {
        let (path, handlers) = rest.trim_start().strip_prefix('"').unwrap().split_once('"').unwrap();
        let handlers = handlers.split(".fallback(").next().unwrap();
        for (word, is_post) in [("get(", false), ("post(", true)] {
            if handlers.contains(word) {
                routes.push(Route { path: path.to_owned(), is_post });
            }
        }
    }
    assert!(routes.len() > 20 && routes.iter().any(|route| route.is_post), "the router is read in another way now");
    routes
}

/// The path of a route with this in the place of what varies.
fn filled(path: &str, with: &str) -> String {
    path.replace("{id}", with).replace("{name}", with)
}

#[tokio::test]
async fn no_route_leads_out_of_the_page() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    std::fs::write(world.file("secret.txt"), "the secret of this test").unwrap();
    let ways = [
        "../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "....//secret.txt",
        "secret.txt%00",
        "%00",
        "..%5c..%5csecret.txt",
        "%252e%252e%252fsecret.txt",
        "%c0%ae%c0%ae%2fsecret.txt",
        "%ff%fe",
        "file:///etc/passwd",
        "/etc/passwd",
        "secret.txt",
        "..",
        ".",
    ];
    for Route { path, is_post } in all() {
        for way in ways {
            let place = if path.contains('{') { filled(&path, way) } else { format!("{path}/{way}") };
            let answer = if is_post { world.post(&place, &[]).await } else { world.get(&place).await };
            assert!(matches!(answer.status, 400 | 404 | 405 | 415 | 422), "{place}: {} {}", answer.status, answer.body);
            assert!(!answer.body.contains("the secret") && !answer.body.contains("root:"), "{place}");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn no_route_answers_strangers_or_other_names_or_other_pages() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let cookie = format!("Cookie: {}\r\n", world.cookie);
    for Route { path, is_post } in all() {
        let (place, method) = (filled(&path, "none"), if is_post { "POST" } else { "GET" });
        if !matches!(path.as_str(), "/enter" | "/assets/{name}") {
            let stranger = world.send(method, &place, &format!("Origin: {}\r\n", world.origin()), "").await;
            assert_eq!(stranger.status, 401, "{method} {place}");
        }
        let port = world.address.rsplit_once(':').unwrap().1;
        let from = [
            "Host: evil.example\r\n".to_owned(),
            format!("Host: evil.example:{port}\r\n"),
            "Origin: http://evil.example\r\n".to_owned(),
            "Origin: null\r\n".to_owned(),
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n".to_owned(),
            "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n".to_owned(),
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n".to_owned(),
        ];
        for from in from {
            let refused = world.send(method, &place, &format!("{cookie}{from}"), "").await;
            assert_eq!(refused.status, 403, "{method} {place} {from}");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn no_route_becomes_a_websocket_and_no_page_of_others_gets_one() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let cookie = format!("Cookie: {}\r\n", world.cookie);
    for Route { path, .. } in all().into_iter().filter(|route| !route.is_post && !route.path.ends_with("/stream")) {
        let place = filled(&path, "none");
        let own = world.send("GET", &place, &format!("{cookie}{upgrade}"), "").await;
        assert_ne!(own.status, 101, "{place}");
        let other = world.send("GET", &place, &format!("{cookie}{upgrade}Origin: http://evil.example\r\n"), "").await;
        assert_eq!(other.status, 403, "{place}");
    }
    let mcp = format!("Authorization: Bearer {}\r\n{upgrade}Origin: http://evil.example\r\n", world.token.reveal());
    assert_eq!(world.send("GET", "/mcp", &mcp, "").await.status, 403);
    world.close().await;
}
