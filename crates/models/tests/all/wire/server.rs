//! A server that answers each request with the next of the exchanges it was given, byte for byte.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What is done with one request.
#[derive(Clone)]
pub(crate) enum Act {
    Send(Vec<u8>),
    /// The same again and again, until the client has had enough.
    Repeat(Vec<u8>, usize),
    /// The same again and again, each after a while, until the client has had enough.
    Drip(Vec<u8>, Duration),
    /// A byte at a time.
    Trickle(Vec<u8>, Duration),
    Pause(Duration),
    Close,
}

#[derive(Default)]
struct Seen {
    exchanges: Vec<Vec<Act>>,
    /// Given once the exchanges are used up.
    then: Option<Vec<Act>>,
    /// What is said about a model where that is asked for; the exchanges are for what is asked of the model.
    about: Option<Vec<Act>>,
    requests: Vec<(String, String)>,
    questions: Vec<(String, String)>,
    connections: usize,
    closed_early: usize,
    repeated: usize,
}

pub(crate) struct Server {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Answers the first request with the first exchange, and so on.
    pub(crate) async fn new(exchanges: Vec<Vec<Act>>) -> Self {
        Self::start(Seen { exchanges, ..Seen::default() }).await
    }

    /// Answers every request alike.
    pub(crate) async fn always(exchange: Vec<Act>) -> Self {
        Self::start(Seen { then: Some(exchange), ..Seen::default() }).await
    }

    /// What is said about a model to those who ask for that.
    pub(crate) fn says_about(self, about: Vec<Act>) -> Self {
        lock(&self.seen).about = Some(about);
        self
    }

    /// What was asked about a model so far.
    pub(crate) fn questions(&self) -> Vec<(String, String)> {
        lock(&self.seen).questions.clone()
    }

    async fn start(seen: Seen) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(seen));
        let mut tasks = JoinSet::new();
        let shared = seen.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                lock(&shared).connections += 1;
                connections.spawn(serve(socket, shared.clone()));
            }
        });
        Self { address, seen, _tasks: tasks }
    }

    pub(crate) fn base(&self) -> String {
        format!("{}/v1", self.root())
    }

    pub(crate) fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies so far.
    pub(crate) fn bodies(&self) -> Vec<String> {
        lock(&self.seen).requests.iter().map(|(_, body)| body.clone()).collect()
    }

    /// The heads so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        lock(&self.seen).requests.iter().map(|(head, _)| head.clone()).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        lock(&self.seen).connections
    }

    /// How many bytes of what is repeated were sent.
    pub(crate) fn repeated(&self) -> usize {
        lock(&self.seen).repeated
    }

    /// How many connections the client closed while an answer was still to come.
    pub(crate) fn closed_early(&self) -> usize {
        lock(&self.seen).closed_early
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut socket: TcpStream, seen: Arc<Mutex<Seen>>) {
    socket.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        let exchange = {
            let mut seen = lock(&seen);
            if request.0.starts_with("POST /api/show ") {
                seen.questions.push(request);
                seen.about.clone().or_else(|| Some(status(404, "", "")))
            } else {
                let at = seen.requests.len();
                seen.requests.push(request);
                seen.exchanges.get(at).or(seen.then.as_ref()).cloned()
            }
        };
        for act in exchange.unwrap_or_else(|| status(418, "", "the test gave no exchange for this request")) {
            match act {
                Act::Send(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Repeat(bytes, times) => {
                    for _ in 0..times {
                        if socket.write_all(&bytes).await.is_err() {
                            return;
                        }
                        lock(&seen).repeated += bytes.len();
                    }
                }
                Act::Drip(bytes, every) => loop {
                    tokio::time::sleep(every).await;
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                },
                Act::Trickle(bytes, every) => {
                    for byte in bytes {
                        tokio::time::sleep(every).await;
                        if socket.write_all(&[byte]).await.is_err() {
                            return;
                        }
                    }
                }
                Act::Pause(time) => {
                    let mut one = [0];
                    if let Ok(Ok(0) | Err(_)) = tokio::time::timeout(time, socket.read(&mut one)).await {
                        lock(&seen).closed_early += 1;
                        return;
                    }
                }
                Act::Close => return,
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8(buffer[end + 4..end + 4 + length].to_vec()).unwrap();
                buffer.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// The beginning of an answer in chunks.
pub(crate) fn head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes()
}

const EVENTS: &str = "text/event-stream";

/// A stream of events, sent in chunks of this many bytes.
pub(crate) fn stream_in(size: usize, events: &str) -> Vec<Act> {
    chunked(EVENTS, size, events.as_bytes())
}

pub(crate) fn chunked(content_type: &str, size: usize, body: &[u8]) -> Vec<Act> {
    let mut bytes = head(content_type);
    bytes.extend(body.chunks(size).flat_map(chunk));
    bytes.extend_from_slice(b"0\r\n\r\n");
    vec![Act::Send(bytes)]
}

pub(crate) fn stream(events: &str) -> Vec<Act> {
    stream_in(events.len().max(1), events)
}

/// One chunk of an answer in chunks.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A stream that breaks off after these events.
pub(crate) fn broken(events: &str) -> Vec<Act> {
    vec![Act::Send([head(EVENTS), chunk(events.as_bytes())].concat()), Act::Close]
}

/// A stream that falls silent after these events.
pub(crate) fn silent_after(events: &str) -> Vec<Act> {
    let mut acts = broken(events);
    acts[1] = Act::Pause(Duration::from_mins(1));
    acts
}

/// A whole response; `headers` are lines that end with CRLF.
pub(crate) fn status(status: u16, headers: &str, body: &str) -> Vec<Act> {
    whole(status, &format!("content-type: application/json\r\n{headers}"), body)
}

pub(crate) fn whole(status: u16, headers: &str, body: &str) -> Vec<Act> {
    vec![Act::Send(
        format!("HTTP/1.1 {status} Status\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes(),
    )]
}

/// Events of these data, each with its empty line, and `[DONE]`.
pub(crate) fn events(data: &[&str]) -> String {
    let all: Vec<&str> = data.iter().copied().chain(["[DONE]"]).collect();
    format!("data: {}\n\n", all.join("\n\ndata: "))
}

/// The shortest answer: a text, and why it ended.
pub(crate) fn says(text: &str) -> String {
    events(&[
        &format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#,
    ])
}

/// Lines of JSON as Ollama sends them, in chunks of this many bytes.
pub(crate) fn lines_in(size: usize, text: &str) -> Vec<Act> {
    chunked("application/x-ndjson", size, text.as_bytes())
}

pub(crate) fn lines(all: &[&str]) -> Vec<Act> {
    let text = all.join("\n");
    lines_in(text.len().max(1), &text)
}
