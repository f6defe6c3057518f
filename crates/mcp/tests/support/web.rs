//! Servers on loopback that answer with a function.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What a server answers to a method, a path and a body: a status, headers, and a body.
pub(crate) type Answer = (u16, &'static str, String);

/// A server on loopback that answers with a function. Ends when it is dropped.
pub(crate) struct Web {
    address: SocketAddr,
    pub(crate) asked: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Web {
    pub(crate) async fn serve(answer: impl Fn(&str, &str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        Self::serve_later(move |method, path, body| std::future::ready(answer(method, path, body)).boxed()).await
    }

    /// The same with answers that take a while.
    pub(crate) async fn serve_later(
        answer: impl Fn(&str, &str, &Value) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked, answer) =
            (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default(), Arc::new(answer));
        let (mut tasks, count) = (JoinSet::new(), Arc::clone(&asked));
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
                open.spawn(async move {
                    let Some((method, path, body)) = request(&mut stream).await else { return };
                    count.fetch_add(1, Ordering::Relaxed);
                    let (status, headers, body) = answer(&method, &path, &body).await;
                    let head = format!(
                        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = stream.write_all(head.as_bytes()).await;
                    let _ = stream.write_all(body.as_bytes()).await;
                });
            }
        });
        Self { address, asked, _tasks: tasks }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/api", self.address)
    }
}

async fn request(stream: &mut tokio::net::TcpStream) -> Option<(String, String, Value)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break at;
        }
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    while bytes.len() < head + 4 + length {
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
    let first = String::from_utf8_lossy(&bytes[..head]).lines().next()?.to_owned();
    let mut words = first.split(' ').map(str::to_owned);
    let body = &bytes[head + 4..];
    // What is no JSON comes as the text it is.
    let body = serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into());
    Some((words.next()?, words.next()?, body))
}

pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

/// A good server of the newest revision, but for what `call` does.
pub(crate) async fn modern(call: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> Web {
    modern_later(move |body| std::future::ready(call(body)).boxed()).await
}

/// The same with calls that take a while.
pub(crate) async fn modern_later(call: impl Fn(&Value) -> BoxFuture<'static, Answer> + Send + Sync + 'static) -> Web {
    Web::serve_later(move |method, _, body| {
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "server/discover") => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            ("POST", "tools/list") => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            ("POST", "tools/call") => return call(body),
            _ => return std::future::ready((405, "", String::new())).boxed(),
        };
        std::future::ready(result_to(&body["id"], &result)).boxed()
    })
    .await
}

pub(crate) fn answer(id: &Value, text: &str) -> Answer {
    let result = json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
    result_to(id, &result)
}

pub(crate) fn result_to(id: &Value, result: &Value) -> Answer {
    (200, JSON, json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}
