//! Tests the proxy against hosts on loopback, with a resolver and a rule that replace those for the internet.

use std::net::Ipv4Addr;

use super::*;

/// A proxy that resolves every name to loopback and treats every address except 127.9.9.9 as public, and its address.
async fn proxy(hosts: &[&str]) -> (Proxy, SocketAddr) {
    let rule = |address: IpAddr| {
        if address == IpAddr::from([127, 9, 9, 9]) { Err(NotPublic { address, what: "inner" }) } else { Ok(()) }
    };
    let resolve = |name: String, port| -> ResolveFuture {
        let address = if name == "rebound.test" { [127, 9, 9, 9] } else { [127, 0, 0, 1] };
        Box::pin(
            async move { Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((address, port))]) },
        )
    };
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (
        Proxy::serve(
            listener,
            ConnectionGate { hosts, rule, resolve, refused: Mutex::default(), reached: ReachedHosts::default() },
        ),
        address,
    )
}

/// A host that answers one connection with the data it received, and its port.
async fn echo() -> (JoinSet<Vec<u8>>, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut host = JoinSet::new();
    host.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; 4096];
        let count = stream.read(&mut heard).await.unwrap();
        heard.truncate(count);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").await.unwrap();
        heard
    });
    (host, port)
}

async fn ask(proxy: SocketAddr, words: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let mut heard = String::new();
    for (at, word) in words.iter().enumerate() {
        stream.write_all(word).await.unwrap();
        if at + 1 < words.len() {
            let mut answer = [0; 1024];
            let count = stream.read(&mut answer).await.unwrap();
            heard.push_str(&String::from_utf8_lossy(&answer[..count]));
        }
    }
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    heard + &String::from_utf8_lossy(&rest)
}

#[tokio::test]
async fn a_tunnel_to_an_allowed_host_carries_bytes_both_ways() {
    let (mut host, port) = echo().await;
    let (proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let connect = format!("CONNECT good.test:{port} HTTP/1.1\r\n\r\n");
    let heard = ask(at, &[connect.as_bytes(), b"ping"]).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.ends_with("hello"), "{heard}");
    assert_eq!(host.join_next().await.unwrap().unwrap(), b"ping");
    assert_eq!(proxy.refused(), []);
    assert_eq!(proxy.reached().since(0), ["good.test"]);
    assert_eq!(proxy.reached().since(proxy.reached().mark()), Vec::<String>::new());
}

#[tokio::test]
async fn a_plain_request_reaches_its_host_under_its_own_name() {
    let (mut host, port) = echo().await;
    let (_proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let request =
        format!("GET http://good.test:{port}/x HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /second HTTP/1.1\r\n\r\n");
    let heard = ask(at, &[request.as_bytes()]).await;
    assert!(heard.ends_with("hello"), "{heard}");
    let heard = String::from_utf8(host.join_next().await.unwrap().unwrap()).unwrap();
    assert_eq!(heard, format!("GET /x HTTP/1.1\r\nHost: good.test:{port}\r\nConnection: close\r\n\r\n"));
}

#[tokio::test]
async fn socks_reaches_an_allowed_host_and_no_other() {
    let (mut host, port) = echo().await;
    let (proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let name = |name: &str| {
        let length = u8::try_from(name.len()).unwrap();
        [&[5, 1, 0, 3, length][..], name.as_bytes(), &port.to_be_bytes()].concat()
    };
    let heard = ask(at, &[&[5, 1, 0], &name("good.test"), b"ping"]).await;
    assert!(heard.ends_with("hello"), "{heard:?}");
    assert_eq!(host.join_next().await.unwrap().unwrap(), b"ping");
    assert!(ask(at, &[&[5, 1, 0], &name("evil.test")]).await.starts_with("\u{5}\u{0}\u{5}\u{2}"));
    let address = [&[5, 1, 0, 1, 127, 0, 0, 1][..], &port.to_be_bytes()].concat();
    assert!(ask(at, &[&[5, 1, 0], &address]).await.starts_with("\u{5}\u{0}\u{5}\u{2}"));
    assert_eq!(proxy.refused().len(), 2);
}

#[tokio::test]
async fn everything_else_is_refused_and_told() {
    let (proxy, at) = proxy(&["good.test", "rebound.test"]).await;
    let refused = [
        "evil.test:443",
        "good.test:22",
        "127.0.0.1:443",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "2130706433:443",
        "0x7f.1:443",
        "0177.0.0.1:443",
        "127.1:80",
        "169.254.169.254:80",
        "0.0.0.0:443",
        "rebound.test:443",
    ];
    for target in refused {
        let heard = ask(at, &[format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()]).await;
        assert!(heard.starts_with("HTTP/1.1 403"), "{target}: {heard}");
    }
    assert_eq!(proxy.refused().len(), refused.len());
    let told: Vec<String> = proxy.refused().iter().take(2).map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "the sandbox refused reaching `evil.test:443`: it is not among the hosts that may be reached; \
             allowed by `--network allow:evil.test`",
            "the sandbox refused reaching `good.test:22`: it is not among the hosts that may be reached; \
             allowed by `--network allow:good.test:22`",
        ]
    );
}

#[tokio::test]
async fn tls_for_another_name_than_the_tunnels_is_cut() {
    let (mut host, port) = echo().await;
    let (proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let connect = format!("CONNECT good.test:{port} HTTP/1.1\r\n\r\n");
    let heard = ask(at, &[connect.as_bytes(), &hello::tests::hello("evil.test")]).await;
    assert!(!heard.contains("hello"), "{heard}");
    assert_eq!(host.join_next().await.unwrap().unwrap(), b"");
    assert_eq!(proxy.refused().len(), 1);
}

#[tokio::test]
async fn tls_for_the_tunnels_own_name_passes() {
    let (mut host, port) = echo().await;
    let (_proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let connect = format!("CONNECT good.test:{port} HTTP/1.1\r\n\r\n");
    let heard = ask(at, &[connect.as_bytes(), &hello::tests::hello("Good.Test")]).await;
    assert!(heard.ends_with("hello"), "{heard}");
    assert_eq!(host.join_next().await.unwrap().unwrap(), hello::tests::hello("Good.Test"));
}

#[tokio::test]
async fn tls_for_another_name_is_cut_however_late_it_comes() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut host = JoinSet::new();
    host.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"welcome").await.unwrap();
        let mut heard = Vec::new();
        // If the connection is cut, this may return an error.
        let _ = stream.read_to_end(&mut heard).await;
        heard
    });
    let (proxy, at) = proxy(&[&format!("good.test:{port}")]).await;
    let mut child = TcpStream::connect(at).await.unwrap();
    child.write_all(format!("CONNECT good.test:{port} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"welcome") {
        child.read_buf(&mut heard).await.unwrap();
    }
    child.write_all(&hello::tests::hello("evil.test")).await.unwrap();
    child.shutdown().await.unwrap();
    assert_eq!(host.join_next().await.unwrap().unwrap(), b"");
    assert_eq!(proxy.refused().len(), 1);
}
