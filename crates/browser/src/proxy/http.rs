//! What the proxy understands: `CONNECT host:port`, or one plain request for `http://host/…`.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Destination, FailedRequest, Gate, PATIENCE};

/// Most bytes of a request's head.
const LONGEST_HEAD: usize = 256 << 10;

pub(super) async fn answer(mut browser: TcpStream, gate: &Gate) -> io::Result<()> {
    let Some((head, rest)) = tokio::time::timeout(PATIENCE, read_head(&mut browser)).await?? else { return Ok(()) };
    match parse(&head) {
        None => reply(&mut browser, "400 Bad Request", "a proxy takes CONNECT host:port or GET http://host/").await,
        Some(ProxyRequest::Tunnel { host, port }) => {
            let url = format!("{host}:{port}");
            match gate.connect(&Destination { url: &url, host: &host, port }).await {
                Ok(mut server) => {
                    browser.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                    server.write_all(&rest).await?;
                    tokio::io::copy_bidirectional(&mut browser, &mut server).await.map(drop)
                }
                Err(failure) => reply(&mut browser, status(&failure), &failure.why).await,
            }
        }
        Some(ProxyRequest::Plain { url, host, port, head, body }) => {
            match gate.connect(&Destination { url: &url, host: &host, port }).await {
                Ok(server) => forward(browser, server, &head, rest, body).await,
                Err(failure) => reply(&mut browser, status(&failure), &failure.why).await,
            }
        }
    }
}

fn status(failure: &FailedRequest) -> &'static str {
    if failure.is_refused { "403 Forbidden" } else { "502 Bad Gateway" }
}

/// Everything up to the empty line, and the bytes after it.
async fn read_head(browser: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), rest)));
        }
        if bytes.len() > LONGEST_HEAD || browser.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ProxyRequest {
    Tunnel {
        host: String,
        port: u16,
    },
    /// The head to send to the server, and the length of the body that follows. One request only.
    Plain {
        url: String,
        host: String,
        port: u16,
        head: String,
        body: u64,
    },
}

fn parse(head: &str) -> Option<ProxyRequest> {
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    if first.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Some(ProxyRequest::Tunnel { host, port });
    }
    let rest = target.strip_prefix("http://")?;
    let (place, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let (host, port) = authority(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The Host header is the host that was requested, whatever else was written there.
    let mut out = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n");
    let mut body = 0;
    for line in lines {
        let (key, value) = line.split_once(':')?;
        if key.is_empty() || key.contains([' ', '\t', '\n', '\r']) || value.contains(['\n', '\r']) {
            return None;
        }
        match key.to_ascii_lowercase().as_str() {
            "host" | "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive" | "upgrade" => continue,
            // Chromium sends a length with every body over HTTP/1.
            "transfer-encoding" => return None,
            "content-length" => body = value.trim().parse().ok()?,
            _ => {}
        }
        out.push_str(line);
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    Some(ProxyRequest::Plain { url: target.to_owned(), host, port, head: out, body })
}

/// Parses a host and a port, without a user, a path or any ambiguity.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    if text.contains(['@', '/', '\\', '%', '#']) {
        return None;
    }
    // A colon inside brackets belongs to an address.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (text, default?),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

async fn forward(browser: TcpStream, server: TcpStream, head: &str, rest: Vec<u8>, body: u64) -> io::Result<()> {
    let (mut from_browser, mut to_browser) = browser.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    to_server.write_all(head.as_bytes()).await?;
    let early = rest.len().min(usize::try_from(body).unwrap_or(usize::MAX));
    to_server.write_all(&rest[..early]).await?;
    let up = async {
        let mut more = (&mut from_browser).take(body - early as u64);
        tokio::io::copy(&mut more, &mut to_server).await?;
        // The browser sends nothing more on this connection. When it goes away, so does the request: a stream of
        // events would otherwise be read for ever.
        let _ = from_browser.read(&mut [0]).await?;
        Err::<(), _>(io::ErrorKind::ConnectionAborted.into())
    };
    let down = async {
        tokio::io::copy(&mut from_server, &mut to_browser).await?;
        to_browser.shutdown().await
    };
    tokio::select! { gone = up => gone, done = down => done }
}

async fn reply(browser: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    browser.write_all(text.as_bytes()).await?;
    browser.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_names_host_and_port() {
        let request = parse("CONNECT [::1]:443 HTTP/1.1\r\nHost: other.org\r\n\r\n");
        assert_eq!(request, Some(ProxyRequest::Tunnel { host: "[::1]".to_owned(), port: 443 }));
        for bad in ["example.com", "user@example.com:443", "example.com:x", "http://example.com:443", ":443", "a:1 b"] {
            assert_eq!(parse(&format!("CONNECT {bad} HTTP/1.1\r\n\r\n")), None, "{bad}");
        }
    }

    #[test]
    fn a_plain_request_goes_to_the_host_it_names() {
        let head = "GET http://example.com:81/a?b HTTP/1.1\r\nHost: other.org\r\nUpgrade: x\r\nAccept: */*\r\n\r\n";
        let wanted = ProxyRequest::Plain {
            url: "http://example.com:81/a?b".to_owned(),
            host: "example.com".to_owned(),
            port: 81,
            head: "GET /a?b HTTP/1.1\r\nHost: example.com:81\r\nConnection: close\r\nAccept: */*\r\n\r\n".to_owned(),
            body: 0,
        };
        assert_eq!(parse(head), Some(wanted));
    }
}
