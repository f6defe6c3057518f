//! Pages of others and names that are pointed here: neither the API nor its one WebSocket answers them, whatever they know.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::api::Program;
use crate::world::World;

const GOAL: &str = "Words that nobody else may read";

/// Opens the socket of a run with these headers: gives all events, or the status and text of the refusal.
async fn follow(world: &World, run: &str, headers: &[(&str, &str)]) -> Result<Vec<String>, (u16, String)> {
    let address = format!("ws://{}/api/v1/runs/{run}/socket", world.address);
    let mut request = address.into_client_request().unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    match tokio_tungstenite::client_async(request, world.connect().await).await {
        Ok((mut socket, _)) => {
            let mut events = Vec::new();
            while let Some(Ok(message)) = socket.next().await {
                if let Message::Text(text) = message {
                    events.push(text.to_string());
                }
            }
            Ok(events)
        }
        Err(Error::Http(answer)) => {
            let body = answer.body().clone().unwrap_or_default();
            Err((answer.status().as_u16(), String::from_utf8_lossy(&body).into_owned()))
        }
        Err(error) => panic!("{error}"),
    }
}

/// A server with a run that has ended.
async fn ended() -> (World, String) {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let program = Program::of(&world);
    let run = program.start(&json!({ "goal": GOAL, "agent": "researcher" })).await;
    program.until(&run, "done").await;
    (world, run)
}

#[tokio::test]
async fn only_a_program_with_a_token_and_no_page_of_others_gets_the_socket() {
    let (world, run) = ended().await;
    let (bearer, origin) = (format!("Bearer {}", world.token.reveal()), world.origin());
    let (token, cookie) = (("authorization", bearer.as_str()), ("cookie", world.cookie.as_str()));
    let own = ("origin", origin.as_str());
    for allowed in [vec![token], vec![token, own]] {
        let events = follow(&world, &run, &allowed).await.unwrap();
        assert!(events.first().is_some_and(|event| event.contains(GOAL)), "{events:?}");
        assert!(events.last().is_some_and(|event| event.contains("finished")), "{events:?}");
    }
    let rebound = format!("evil.example:{}", world.address.rsplit_once(':').unwrap().1);
    let (rebound, theirs) = (("host", rebound.as_str()), format!("http://{rebound}"));
    let refused = [
        (vec![token, ("origin", "https://evil.example")], 403),
        (vec![token, ("origin", "null")], 403),
        (vec![token, ("origin", "http://127.0.0.1.evil.example")], 403),
        (vec![token, ("host", "evil.example")], 403),
        (vec![token, rebound], 403),
        (vec![token, rebound, ("origin", theirs.as_str())], 403),
        // A browser adds cookies to a socket that any page opens.
        (vec![cookie, ("origin", "https://evil.example")], 403),
        (vec![cookie, own], 401),
        (vec![], 401),
        (vec![("authorization", "Bearer wrong")], 401),
        (vec![("sec-websocket-protocol", world.token.reveal())], 401),
    ];
    for (headers, status) in refused {
        let Err((answered, text)) = follow(&world, &run, &headers).await else { panic!("{headers:?} are let in") };
        assert_eq!(answered, status, "{headers:?}: {text}");
        assert!(!text.contains(GOAL), "{headers:?}: {text}");
    }
    world.close().await;
}

#[tokio::test]
async fn no_operation_answers_pages_of_others_or_other_names_and_nothing_changes() {
    let (world, run) = ended().await;
    let program = Program::of(&world);
    let (before, typed) = (program.get("/runs").await.json(), "Content-Type: application/json\r\n");
    let operations: [(&str, String, Value); 12] = [
        ("GET", "/openapi.json".to_owned(), Value::Null),
        ("GET", "/runs".to_owned(), Value::Null),
        ("GET", format!("/runs/{run}"), Value::Null),
        ("GET", format!("/runs/{run}/events"), Value::Null),
        ("GET", format!("/runs/{run}/stream"), Value::Null),
        ("GET", "/settings".to_owned(), Value::Null),
        ("POST", "/runs".to_owned(), json!({ "goal": "Evil", "agent": "researcher" })),
        ("POST", format!("/runs/{run}/tell"), json!({ "text": "Evil" })),
        ("POST", "/memory".to_owned(), json!({ "text": "Evil" })),
        ("POST", "/users".to_owned(), json!({ "name": "evil", "role": "administer" })),
        ("POST", "/tools/list_files".to_owned(), json!({})),
        ("DELETE", format!("/runs/{run}"), Value::Null),
    ];
    let port = world.address.rsplit_once(':').unwrap().1;
    let own = format!("Host: {}\r\n", world.address);
    let places = [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        format!("{own}Host: evil.example\r\n"),
        format!("{own}Origin: https://evil.example\r\n"),
        format!("{own}Origin: null\r\n"),
        format!("{own}Origin: http://localhost.evil.example:{port}\r\n"),
    ];
    for (method, path, body) in &operations {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        for place in &places {
            let headers = format!("{place}{}{typed}", program.bearer());
            let answer = world.send(method, &format!("/api/v1{path}"), &headers, &body).await;
            assert_eq!(answer.status, 403, "{method} {path} {place}: {}", answer.body);
            assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {path} {place}");
            assert!(!answer.body.contains(GOAL) && !answer.body.contains("paths"), "{method} {path} {place}");
        }
    }
    assert_eq!(program.get("/runs").await.json(), before);
    assert!(world.service.runs.memories().unwrap().is_empty());
    assert_eq!(program.get("/users").await.json(), json!([]));
    world.close().await;
}
