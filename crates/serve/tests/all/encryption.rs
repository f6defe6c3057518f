//! An encrypted server: for whom its certificate is made, and who speaks the right language.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use updraft_serve::UserRole;

use crate::world::{World, WorldOptions};

async fn encrypted() -> World {
    let names = vec!["team.example".to_owned(), "127.0.0.1".to_owned()];
    World::with(&json!([{ "text": "done" }]), WorldOptions { names, ..WorldOptions::default() }).await
}

#[tokio::test]
async fn the_page_is_served_and_used_over_encrypted_connections() {
    let mut world = encrypted().await;
    assert!(world.cookie.starts_with("__Host-updraft_"), "{}", world.cookie);
    let token = world.users.add("ann", UserRole::Steer).unwrap();
    let entered = world.sign_in(&token).await;
    assert!(entered.header("set-cookie").unwrap().ends_with("; Secure"), "{}", entered.head);
    world.seen_with(&entered.cookie());
    let run = world.start(&[("goal", "Look"), ("mode", "agent:researcher")], None).await.run();
    world.until(&run, "data-status=\\\"done\\\"").await;
    world.close().await;
}

#[tokio::test]
async fn the_names_of_the_certificate_are_its_own_and_no_others() {
    let world = encrypted().await;
    let status = |host: &str, more: &str| {
        let headers = format!("Cookie: {}\r\nHost: {host}\r\n{more}", world.cookie);
        let world = &world;
        async move { world.send("GET", "/", &headers, "").await.status }
    };
    assert_eq!(status("team.example", "").await, 200);
    assert_eq!(status("team.example:8443", "Origin: https://team.example:8443\r\n").await, 200);
    assert_eq!(status("evil.example", "").await, 403);
    assert_eq!(status("team.example", "Origin: http://team.example\r\n").await, 403);
    let bearer = format!("Authorization: Bearer {}\r\nHost: team.example\r\n", world.token.reveal());
    let mcp = world.send("GET", "/mcp", &bearer, "").await;
    assert!(mcp.status != 401 && mcp.status != 403, "{} {}", mcp.status, mcp.body);
    world.close().await;
}

#[tokio::test]
async fn a_client_without_encryption_gets_no_page_and_harms_nobody() {
    let world = encrypted().await;
    let mut plain = TcpStream::connect(&world.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: team.example\r\n\r\n").await.unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes).await;
    assert!(!String::from_utf8_lossy(&bytes).contains("HTTP/1.1 200"));
    assert_eq!(world.get("/").await.status, 200);
    world.close().await;
}

#[tokio::test]
async fn beyond_this_machine_there_is_no_page_without_encryption() {
    let options = WorldOptions { address: Some("0.0.0.0:0".into()), ..WorldOptions::default() };
    let world = World::with(&json!([{ "text": "done" }]), options).await;
    let refused = world.send("GET", "/", "Host: 127.0.0.1\r\n", "").await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("--tls-cert"), "{}", refused.body);
    let without = world.send("POST", "/mcp", "Host: 127.0.0.1\r\n", "{}").await;
    assert_eq!(without.status, 401, "MCP is there, with its token");
    world.close().await;
}
