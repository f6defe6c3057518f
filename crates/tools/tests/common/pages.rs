//! A small site on loopback for the browser: pages by path, forms that are sent, and what was asked for.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What a page answers: lines of its head (a first `Location` makes it a redirect), and its body.
pub(crate) struct Page {
    pub(crate) head: &'static str,
    pub(crate) body: String,
}

pub(crate) fn html(body: impl Into<String>) -> Page {
    Page { head: "Content-Type: text/html; charset=utf-8", body: format!("<!doctype html>{}", body.into()) }
}

/// A request: its method, path with query, and body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) body: String,
}

type Says = dyn Fn(&Request) -> Option<Page> + Send + Sync;

pub(crate) struct PageSite {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    _serving: JoinSet<()>,
}

impl PageSite {
    /// Serves what `says` gives; `None` is not found. It is given `METHOD /path?query` and the body.
    pub(crate) async fn serve(says: impl Fn(&Request) -> Option<Page> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, requests, says) = (listener.local_addr().unwrap(), Arc::default(), Arc::new(says));
        let mut serving = JoinSet::new();
        let seen = Arc::clone(&requests);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (says, seen): (Arc<Says>, _) = (says.clone(), Arc::clone(&seen));
                connections.spawn(async move { answer(stream, &*says, &seen).await });
            }
        });
        Self { address, requests, _serving: serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, says: &Says, seen: &Mutex<Vec<Request>>) -> Option<()> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    let line = head.lines().next()?.rsplit_once(' ')?.0.to_owned();
    let request = Request { line, body: String::from_utf8_lossy(&body).into_owned() };
    let page = says(&request);
    seen.lock().unwrap().push(request);
    let (status, page) = match page {
        Some(page) if page.head.starts_with("Location") => ("302 Found", page),
        Some(page) => ("200 OK", page),
        None => ("404 Not Found", Page { head: "Content-Type: text/plain", body: "nothing here".to_owned() }),
    };
    let Page { head, body } = page;
    let len = body.len();
    let reply = format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(reply.as_bytes()).await.ok()
}
