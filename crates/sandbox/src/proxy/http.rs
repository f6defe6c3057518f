//! The HTTP side of the proxy: `CONNECT host:port`, or one plain request for `http://host/…`.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ConnectionGate, PATIENCE};

/// Most bytes of a request's head.
const LONGEST_HEAD: usize = 64 << 10;

pub(super) async fn answer(mut child: TcpStream, gate: &ConnectionGate) -> io::Result<()> {
    let Some((head, rest)) = tokio::time::timeout(PATIENCE, read_head(&mut child)).await?? else { return Ok(()) };
    match parse(&head) {
        None => reply(&mut child, "400 Bad Request", "a proxy takes CONNECT host:port or GET http://host/").await,
        Some(ProxyRequest::Tunnel { name, port }) => match gate.connect(&name, port).await {
            Ok(host) => {
                child.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                gate.pass(child, host, &name, port).await
            }
            Err(why) => reply(&mut child, "403 Forbidden", &why).await,
        },
        Some(ProxyRequest::Request { name, port, head, body }) => match gate.connect(&name, port).await {
            Ok(host) => forward(child, host, &head, rest, body).await,
            Err(why) => reply(&mut child, "403 Forbidden", &why).await,
        },
    }
}

/// Everything up to the empty line, and the bytes after it.
async fn read_head(child: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
        if bytes.len() > LONGEST_HEAD || child.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ProxyRequest {
    Tunnel {
        name: String,
        port: u16,
    },
    /// The head to send to the host, and the length of the body that follows. One request only.
    Request {
        name: String,
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
        let (name, port) = authority(target, None)?;
        return Some(ProxyRequest::Tunnel { name, port });
    }
    let rest = target.strip_prefix("http://")?;
    let (place, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let (name, port) = authority(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The Host header is the host that was requested, whatever the child wrote there.
    let mut out = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n");
    let mut body = 0;
    for line in lines {
        let (key, value) = line.split_once(':')?;
        // Servers differ in how they read a continuation line, or a name with a blank.
        if key.is_empty() || key.contains([' ', '\t', '\n', '\r']) || value.contains(['\n', '\r']) {
            return None;
        }
        match key.to_ascii_lowercase().as_str() {
            "host" | "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive" | "upgrade" => continue,
            "transfer-encoding" => return None,
            "content-length" => body = value.trim().parse().ok()?,
            _ => {}
        }
        out.push_str(line);
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    Some(ProxyRequest::Request { name, port, head: out, body })
}

/// Parses a name and a port, without a user, a path or any ambiguity.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    if text.contains(['@', '/', '\\', '%', '#']) {
        return None;
    }
    // A colon inside brackets belongs to an address, which is refused later with a reason.
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (text, default?),
    };
    (!name.is_empty()).then(|| (name.to_owned(), port))
}

async fn forward(mut child: TcpStream, mut host: TcpStream, head: &str, rest: Vec<u8>, body: u64) -> io::Result<()> {
    host.write_all(head.as_bytes()).await?;
    let early = rest.len().min(usize::try_from(body).unwrap_or(usize::MAX));
    host.write_all(&rest[..early]).await?;
    let (mut from_child, mut to_child) = child.split();
    let (mut from_host, mut to_host) = host.split();
    let mut more = (&mut from_child).take(body - early as u64);
    let up = tokio::io::copy(&mut more, &mut to_host);
    let down = tokio::io::copy(&mut from_host, &mut to_child);
    tokio::try_join!(up, down)?;
    to_child.shutdown().await
}

async fn reply(child: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    child.write_all(text.as_bytes()).await?;
    child.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_names_host_and_port() {
        let wish = parse("CONNECT example.com:443 HTTP/1.1\r\nHost: other.org\r\n\r\n");
        assert_eq!(wish, Some(ProxyRequest::Tunnel { name: "example.com".to_owned(), port: 443 }));
        for bad in ["example.com", "user@example.com:443", "example.com:x", "http://example.com:443", ":443", "a:1 b"] {
            assert_eq!(parse(&format!("CONNECT {bad} HTTP/1.1\r\n\r\n")), None, "{bad}");
        }
    }

    #[test]
    fn a_plain_request_is_told_to_the_host_it_names() {
        let head =
            "GET http://example.com/a?b HTTP/1.1\r\nHost: other.org\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n";
        let wanted = ProxyRequest::Request {
            name: "example.com".to_owned(),
            port: 80,
            head: "GET /a?b HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nAccept: */*\r\n\r\n".to_owned(),
            body: 0,
        };
        assert_eq!(parse(head), Some(wanted));
    }

    #[test]
    fn what_servers_read_differently_is_refused() {
        for line in ["Transfer-Encoding: chunked", " folded: x", "Content-Length: 1x", "Na me: x", "no colon"] {
            assert_eq!(parse(&format!("POST http://example.com/ HTTP/1.1\r\n{line}\r\n\r\n")), None, "{line}");
        }
        assert_eq!(parse("GET /relative HTTP/1.1\r\n\r\n"), None);
        assert_eq!(parse("GET ftp://example.com/ HTTP/1.1\r\n\r\n"), None);
    }
}
