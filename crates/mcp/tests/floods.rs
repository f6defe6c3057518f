//! Servers at an address that never stop: each is cut off at a limit and named, and nobody else is harmed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::net::SocketAddr;

use serde_json::{Value, json};
use support::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use updraft_run::Reply;

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const NEWS: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n\n";

/// A server on loopback that answers politely, but for calls that tell it to flood. Ends when it is dropped.
struct Flooding {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// How a server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// Without a handshake.
    Stateless,
    /// With a session, and a stream of news that floods by itself in this way.
    Session(&'static str),
    /// Answers on one stream.
    Sse,
}

impl Flooding {
    async fn serve(era: Era) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            // What is said on the one stream of the old transport.
            let (say, _) = broadcast::channel::<Value>(16);
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let say = say.clone();
                open.spawn(async move {
                    let _ = answer(stream, era, say).await;
                });
            }
        });
        Self { address, _tasks: tasks }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

async fn answer(mut stream: TcpStream, era: Era, say: broadcast::Sender<Value>) -> std::io::Result<()> {
    let Some((is_get, body)) = request(&mut stream).await else { return Ok(()) };
    // Whoever hangs up is noticed by writing alone.
    let (_read, mut write) = stream.into_split();
    if is_get {
        return match era {
            Era::Stateless => plain(&mut write, 405, "").await,
            Era::Session(way) => flood(&mut write, way).await,
            Era::Sse => {
                let mut said = say.subscribe();
                write.write_all(STREAM.as_bytes()).await?;
                write.write_all(b"event: endpoint\ndata: /post\n\n").await?;
                while let Ok(message) = said.recv().await {
                    match message["flood"].as_str() {
                        Some(way) => endless(&mut write, way).await?,
                        None => write.write_all(format!("data: {message}\n\n").as_bytes()).await?,
                    }
                }
                Ok(())
            }
        };
    }
    let way = body["params"]["arguments"]["flood"].as_str().unwrap_or_default().to_owned();
    if era == Era::Sse {
        plain(&mut write, 202, "").await?;
        let message = if way.is_empty() { result(&body, era) } else { Some(json!({ "flood": way })) };
        if let Some(message) = message {
            let _ = say.send(message);
        }
        return Ok(());
    }
    if !way.is_empty() {
        return flood(&mut write, &way).await;
    }
    match result(&body, era) {
        Some(message) => plain(&mut write, 200, &message.to_string()).await,
        None => plain(&mut write, 202, "").await,
    }
}

/// A polite answer; none to what is no request.
fn result(body: &Value, era: Era) -> Option<Value> {
    let id = body.get("id")?;
    let listed = json!([{"name": "echo", "inputSchema": {"type": "object"}}]);
    let result = match body["method"].as_str().unwrap_or_default() {
        "server/discover" if era == Era::Stateless => json!({"resultType": "complete", "supportedVersions":
            ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "f", "version": "1"}}),
        "tools/list" => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": listed}),
        "tools/call" => json!({"resultType": "complete", "content": [{"type": "text", "text": "well"}]}),
        _ => return Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "what?"}})),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

async fn plain(write: &mut OwnedWriteHalf, status: u16, body: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    write.write_all(head.as_bytes()).await?;
    write.write_all(body.as_bytes()).await
}

/// An answer that does not end; an error once nobody listens.
async fn flood(write: &mut OwnedWriteHalf, way: &str) -> std::io::Result<()> {
    let head = match way {
        "headers" => "HTTP/1.1 200 OK\r\n",
        "chunks" => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        "large" => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 52428800\r\n\r\n",
        _ => STREAM,
    };
    write.write_all(head.as_bytes()).await?;
    endless(write, way).await
}

async fn endless(write: &mut OwnedWriteHalf, way: &str) -> std::io::Result<()> {
    let piece = match way {
        "events" => NEWS.repeat(100),
        "resumable" => format!("id: 1\nretry: 0\n{NEWS}").repeat(100),
        "others" => "event: other\ndata: x\n\n".repeat(100),
        "comments" => ": still here\n\n".repeat(100),
        "big events" => format!("data: {}\n\n", "x".repeat(1 << 20)),
        "headers" => "X-More: more\r\n".repeat(100),
        "chunks" => format!("10000\r\n{}\r\n", "x".repeat(1 << 16)),
        "line" | "large" => "x".repeat(1 << 16),
        other => panic!("{other}"),
    };
    loop {
        write.write_all(piece.as_bytes()).await?;
    }
}

/// The method and the body of a request.
async fn request(stream: &mut TcpStream) -> Option<(bool, Value)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if bytes.len() >= head + 4 + length {
                let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
                return Some((text.starts_with("get"), body));
            }
        }
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// The most memory that this process ever had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// What an agent is told of a call that met a flood.
fn words(reply: Reply) -> String {
    match reply {
        Reply::InDoubt { evidence } => evidence,
        Reply::Failed(failure) => failure.message,
        Reply::Output(output) if output.is_error => output.text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Each flood in turn, with a polite server beside it that goes on all the while.
async fn each_is_cut_off(mut server: Value, floods: &[(&str, &str)]) {
    // On a busy machine it takes minutes until a flood is too large.
    server["callSeconds"] = json!(600);
    let good = Flooding::serve(Era::Stateless).await;
    let world = World::new();
    let servers = world.servers(json!({"f": server, "g": {"url": good.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let before = peak();
    for (way, named) in floods {
        let (flooded, unharmed) = tokio::join!(
            world.reply(&dispatcher, "mcp_f_echo", json!({ "flood": way })),
            world.output(&dispatcher, "mcp_g_echo", json!({})),
        );
        let words = words(flooded);
        assert!(words.contains("MCP server `f`") && words.contains(named), "{way}: {words}");
        assert_eq!(unharmed.text, "well", "{way}");
        assert_eq!(world.output(&dispatcher, "mcp_f_echo", json!({})).await.text, "well", "after {way}");
    }
    // The largest message may be there a few times on its way through; a flood is far larger.
    let grown = peak() - before;
    assert!(grown < 256 << 20, "memory grew by {} MB", grown >> 20);
    assert_eq!(servers.get("g").unwrap().health().misdeeds.words(), Vec::<String>::new());
    servers.close().await;
}

const FLOOD: &str = "than anybody asked for, and was cut off";

#[tokio::test]
async fn floods_over_streamable_http_are_cut_off_and_named() {
    let web = Flooding::serve(Era::Stateless).await;
    let floods = [
        ("events", FLOOD),
        ("resumable", FLOOD),
        ("others", FLOOD),
        ("comments", FLOOD),
        ("big events", FLOOD),
        ("line", "more than 16 MB"),
        ("chunks", "more than 16 MB"),
        ("large", "more than 16 MB"),
        ("headers", "the head of its answer is too large"),
    ];
    each_is_cut_off(json!({"url": web.url()}), &floods).await;
}

#[tokio::test]
async fn floods_over_server_sent_events_are_cut_off_and_named() {
    let web = Flooding::serve(Era::Sse).await;
    let floods = [("events", FLOOD), ("others", FLOOD), ("comments", FLOOD), ("line", "1 messages were too large")];
    each_is_cut_off(json!({"type": "sse", "url": web.url()}), &floods).await;
}

#[tokio::test]
async fn news_that_never_end_are_cut_off_and_calls_go_on() {
    for way in ["events", "comments", "line"] {
        let web = Flooding::serve(Era::Session(way)).await;
        let world = World::new();
        let servers = world.servers(json!({"f": {"url": web.url()}})).await;
        let dispatcher = world.dispatcher(&servers).await;
        let server = servers.get("f").unwrap();
        while !server.health().misdeeds.floods {
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            assert_eq!(world.output(&dispatcher, "mcp_f_echo", json!({})).await.text, "well", "{way}");
        }
        servers.close().await;
    }
}
