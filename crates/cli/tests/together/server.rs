//! A plain HTTP server on loopback: what it says to a request is a function.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// What was asked.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// What is answered.
pub(crate) struct Response {
    pub(crate) status: &'static str,
    pub(crate) content: &'static str,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn nothing_here() -> Self {
        Self { status: "404 Not Found", content: "application/json", body: "{}".to_owned() }
    }
}

/// Answers each request by the function, on a thread for each connection. The threads end with the test's process.
pub(crate) fn serve(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = read(&mut lines) {
                    if write(&stream, &answer(&request)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn read(lines: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut first = String::new();
    lines.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("content-length: ") {
            length = number.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some(Request { path, body })
}

fn write(mut stream: &TcpStream, response: &Response) -> std::io::Result<()> {
    let Response { status, content, body } = response;
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}
