//! Asks the name server from the settings for addresses, over UDP.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Datagrams get lost, so the question is sent this often, waiting this long each time.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of an answer.
const LONGEST: usize = 4096;

const A: u16 = 1;
const AAAA: u16 = 28;

/// All IPv4 and IPv6 addresses of a name; empty if the name does not exist.
pub(super) async fn lookup(server: SocketAddr, name: &str) -> Result<Vec<IpAddr>> {
    let (mut all, six) = tokio::try_join!(ask(server, name, A), ask(server, name, AAAA))?;
    all.extend(six);
    Ok(all)
}

async fn ask(server: SocketAddr, name: &str, kind: u16) -> Result<Vec<IpAddr>> {
    let here: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // A connected socket receives from that server only, and its port is not known to others.
    let socket = UdpSocket::bind((here, 0)).await?;
    socket.connect(server).await?;
    let mut id = [0; 2];
    getrandom::fill(&mut id).map_err(|_| Error::other("the system provides no random numbers"))?;
    let question = question(name, kind)?;
    let asked = [&id[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &question].concat();
    let mut buffer = vec![0; LONGEST];
    for _ in 0..TRIES {
        socket.send(&asked).await?;
        let Ok(got) = timeout(PATIENCE, answer(&socket, &mut buffer, id, &question)).await else { continue };
        return got.and_then(|len| addresses(&buffer[..len], 12 + question.len()));
    }
    Err(Error::new(ErrorKind::TimedOut, format!("the name server {server} does not answer")))
}

/// Encodes a question for a name and record type.
fn question(name: &str, kind: u16) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(name.len() + 6);
    for label in name.split('.') {
        let len = u8::try_from(label.len()).ok().filter(|len| (1..64).contains(len));
        bytes.push(len.ok_or_else(|| Error::other("it is not a host name"))?);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&[0, 1]);
    Ok(bytes)
}

/// Waits for the answer to this question; other datagrams are ignored.
async fn answer(socket: &UdpSocket, buffer: &mut [u8], id: [u8; 2], question: &[u8]) -> Result<usize> {
    loop {
        let len = socket.recv(buffer).await?;
        let is_ours = len >= 12 + question.len()
            && buffer[..2] == id
            && buffer[2] & 0x80 != 0
            && buffer[12..12 + question.len()].eq_ignore_ascii_case(question);
        if is_ours {
            return Ok(len);
        }
    }
}

/// All addresses in an answer, no matter which name of a CNAME chain they belong to: all of them are checked.
fn addresses(answer: &[u8], mut at: usize) -> Result<Vec<IpAddr>> {
    let broken = || Error::new(ErrorKind::InvalidData, "the name server's answer is broken");
    match answer[3] & 0x0f {
        0 if answer[2] & 2 == 0 => {}
        0 => return Err(Error::new(ErrorKind::InvalidData, "the name server's answer is longer than a datagram")),
        3 => return Ok(Vec::new()),
        code => return Err(Error::other(format!("the name server says it cannot tell (code {code})"))),
    }
    let mut found = Vec::new();
    for _ in 0..u16::from_be_bytes([answer[6], answer[7]]) {
        at = after_name(answer, at).ok_or_else(broken)?;
        let head = answer.get(at..at + 10).ok_or_else(broken)?;
        let len = usize::from(u16::from_be_bytes([head[8], head[9]]));
        let data = answer.get(at + 10..at + 10 + len).ok_or_else(broken)?;
        match (u16::from_be_bytes([head[0], head[1]]), <[u8; 4]>::try_from(data), <[u8; 16]>::try_from(data)) {
            (A, Ok(four), _) => found.push(Ipv4Addr::from(four).into()),
            (AAAA, _, Ok(six)) => found.push(Ipv6Addr::from(six).into()),
            _ => {}
        }
        at += 10 + len;
    }
    Ok(found)
}

/// The position after a name, which ends with a zero length or with a two-byte pointer.
fn after_name(answer: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *answer.get(at)? {
            0 => return Some(at + 1),
            pointer if pointer & 0xc0 == 0xc0 => return Some(at + 2),
            len => at += 1 + usize::from(len),
        }
    }
}
