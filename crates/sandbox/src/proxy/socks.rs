//! The SOCKS5 side of the proxy, without a password, for programs that do not support an HTTP proxy.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ConnectionGate, PATIENCE};

pub(super) async fn answer(mut child: TcpStream, gate: &ConnectionGate) -> io::Result<()> {
    let Some((name, port)) = tokio::time::timeout(PATIENCE, wanted(&mut child)).await?? else { return Ok(()) };
    match gate.connect(&name, port).await {
        Ok(host) => {
            child.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
            gate.pass(child, host, &name, port).await
        }
        // 2: not allowed by the rules.
        Err(_) => child.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]).await,
    }
}

/// The host and port that the child requests, or `None` if it requests something else.
async fn wanted(child: &mut TcpStream) -> io::Result<Option<(String, u16)>> {
    let mut head = [0; 2];
    child.read_exact(&mut head).await?;
    let mut methods = vec![0; head[1].into()];
    child.read_exact(&mut methods).await?;
    child.write_all(&[5, 0]).await?;
    let mut request = [0; 4];
    child.read_exact(&mut request).await?;
    let name = match request[3] {
        1 => {
            let mut bytes = [0; 4];
            child.read_exact(&mut bytes).await?;
            Ipv4Addr::from(bytes).to_string()
        }
        3 => {
            let mut bytes = vec![0; child.read_u8().await?.into()];
            child.read_exact(&mut bytes).await?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        4 => {
            let mut bytes = [0; 16];
            child.read_exact(&mut bytes).await?;
            Ipv6Addr::from(bytes).to_string()
        }
        _ => return Ok(None),
    };
    let port = child.read_u16().await?;
    if request[1] != 1 {
        // 7: only connections are supported, no listening and no datagrams.
        child.write_all(&[5, 7, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        return Ok(None);
    }
    Ok(Some((name, port)))
}
