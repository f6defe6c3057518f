//! A browser's part over plain sockets: pages are loaded, runs are started, and streams are read as fast as they come.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::figures::micros;
use crate::process::ServerPlace;

/// In a patch, this says that the run is over.
const OVER: &[u8] = br#"id=\"run-head\" data-status=\"done\""#;
/// In a patch for the list of events, this comes before the number of each.
const EVENT: &[u8] = br#"id=\"v-"#;

/// A patch that has arrived: up to which position, when, and how large it was.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) position: u64,
    pub(crate) at: u64,
    pub(crate) bytes: usize,
}

/// What one watcher saw until the run was over.
pub(crate) struct WatchedRun {
    /// When it began to watch.
    pub(crate) since: u64,
    pub(crate) arrivals: Vec<Arrival>,
    /// The numbers of the events, if the list of events was watched.
    pub(crate) events: Vec<u64>,
}

async fn connect(address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.connect(address.parse::<SocketAddr>().unwrap()).await.unwrap()
}

/// Sends a request with the cookie.
async fn ask(place: &ServerPlace, method: &str, path: &str, more: &str, body: &str) -> TcpStream {
    let mut stream = connect(&place.page).await;
    let (host, cookie, length) = (&place.page, &place.cookie, body.len());
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nOrigin: http://{host}\r\n");
    let text = format!("{head}{more}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Starts a run, and returns its id.
pub(crate) async fn start(place: &ServerPlace, goal: &str) -> String {
    let body = format!("--b0\r\nContent-Disposition: form-data; name=\"goal\"\r\n\r\n{goal}\r\n--b0--\r\n");
    let form = "Content-Type: multipart/form-data; boundary=b0\r\nConnection: close\r\n";
    let mut stream = ask(place, "POST", "/new", form, &body).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let found = answer.split_once("location: /runs/").expect(&answer).1;
    found.split_whitespace().next().unwrap().to_owned()
}

/// A page: milliseconds to the first byte and to the last, and its bytes.
pub(crate) async fn load(place: &ServerPlace, path: &str) -> (f64, f64, usize) {
    let began = micros();
    let since = || (micros() - began) as f64 / 1_000.0;
    let mut stream = ask(place, "GET", path, "Connection: close\r\n", "").await;
    let mut bytes = vec![0; 64 << 10];
    let first = stream.read(&mut bytes).await.unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&bytes[..first.min(500)]));
    let begun = since();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    (begun, since(), first + rest.len())
}

/// Opens the stream of a run.
pub(crate) async fn open(place: &ServerPlace, run: &str, view: &str) -> TcpStream {
    ask(place, "GET", &format!("/runs/{run}/stream?after=1&view={view}"), "", "").await
}

/// Reads a stream until the run is over.
pub(crate) async fn watch(stream: TcpStream) -> WatchedRun {
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut seen = WatchedRun { since: micros(), arrivals: Vec::new(), events: Vec::new() };
    let (mut line, mut position, mut bytes, mut is_over) = (Vec::new(), None, 0, false);
    loop {
        line.clear();
        assert!(reader.read_until(b'\n', &mut line).await.unwrap() > 0, "the stream has ended");
        if let Some(id) = line.strip_prefix(b"id: ") {
            position = std::str::from_utf8(id).unwrap().trim().parse::<u64>().ok();
        } else if let Some(data) = line.strip_prefix(b"data: ") {
            bytes = line.len();
            is_over = find(data, OVER).next().is_some();
            seen.events.extend(find(data, EVENT).map(|at| number(&data[at + EVENT.len()..])));
        } else if line == b"\n"
            && let Some(position) = position.take()
        {
            seen.arrivals.push(Arrival { position, at: micros(), bytes });
            if is_over {
                return seen;
            }
        }
    }
}

/// Opens a stream of the floor: once this returns, nothing that is sent is missed.
pub(crate) async fn open_floor(address: &str, channel: usize) -> BufReader<TcpStream> {
    let mut stream = connect(address).await;
    stream.write_all(format!("GET /{channel} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut line = Vec::new();
    while line != b"\r\n" {
        line.clear();
        assert!(reader.read_until(b'\n', &mut line).await.unwrap() > 0, "the floor does not answer");
    }
    reader
}

/// Reads what the floor sends: for each message when it was sent and when it arrived.
pub(crate) async fn watch_floor(mut reader: BufReader<TcpStream>) -> Vec<(u64, u64)> {
    let (mut line, mut seen) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        assert!(reader.read_until(b'\n', &mut line).await.unwrap() > 0, "the stream has ended");
        match line.strip_prefix(b"data: ") {
            Some(b"end\n") => return seen,
            Some(data) => seen.push((number(data), micros())),
            None => {}
        }
    }
}

/// Tells the floor what to send when.
pub(crate) async fn replay(address: &str, messages: &[crate::floor::FloorMessage]) {
    let body = serde_json::to_string(messages).unwrap();
    let mut stream = connect(address).await;
    let head = format!(
        "POST /replay HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
}

/// Leaves without a word: the server gets a reset.
pub(crate) fn vanish(stream: &TcpStream) {
    stream.set_zero_linger().unwrap();
}

fn number(text: &[u8]) -> u64 {
    text.iter().take_while(|byte| byte.is_ascii_digit()).fold(0, |n, byte| n * 10 + u64::from(byte - b'0'))
}

fn find<'a>(text: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = wanted[0];
    (0..text.len().saturating_sub(wanted.len() - 1))
        .filter(move |at| text[*at] == first && text[*at..].starts_with(wanted))
}
