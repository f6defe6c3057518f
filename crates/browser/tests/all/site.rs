//! A small site on loopback: pages by path, and what was asked for.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A path, more lines of the answer's head (`Content-Type: …`; a line `302` makes it a redirect), and the body.
pub(crate) type Page = (&'static str, &'static str, String);

/// A page of HTML.
pub(crate) fn html(path: &'static str, body: &str) -> Page {
    (path, "Content-Type: text/html; charset=utf-8", format!("<!doctype html>{body}"))
}

/// A site that is served until the process ends.
pub(crate) struct Site {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Serves pages by path; others are not found. `$PORT` in a page is the site's own port.
    pub(crate) fn serve(pages: Vec<Page>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (pages, seen) = (Arc::new(pages), requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, seen) = (pages.clone(), seen.clone());
                std::thread::spawn(move || answer(stream, port, &pages, &seen));
            }
        });
        Ok(Self { port, requests })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// First line and body of every request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, port: u16, pages: &[Page], seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    let head = loop {
        let count = stream.read(&mut chunk).ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length = text
        .to_ascii_lowercase()
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.split("\r\n").next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0));
    while bytes.len() < head + length {
        let count = stream.read(&mut chunk).ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    }
    let line = text.lines().next().unwrap_or_default();
    let body = String::from_utf8_lossy(&bytes[head..]).into_owned();
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{line} {body}").trim_end().to_owned());
    let path = line.split(' ').nth(1)?.split('?').next()?;
    let page = pages.iter().find(|(known, ..)| *known == path);
    let (status, lines, body) = match page {
        Some((_, lines, body)) if lines.starts_with("Location") => ("302 Found", *lines, body.clone()),
        Some((_, lines, body)) => ("200 OK", *lines, body.clone()),
        None => ("404 Not Found", "Content-Type: text/plain", "nothing here".to_owned()),
    };
    let (lines, body) = (lines.replace("$PORT", &port.to_string()), body.replace("$PORT", &port.to_string()));
    let reply =
        format!("HTTP/1.1 {status}\r\n{lines}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    stream.write_all(reply.as_bytes()).ok()
}
