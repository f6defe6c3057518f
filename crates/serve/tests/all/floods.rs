//! Those who want to wear the server out: thousands of silent connections, and requests that never end.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{LIMIT, World};

/// Fewer connections than this show nothing.
#[cfg(unix)]
const FEWEST: u64 = 1_000;

/// As many as the system lets this process have, with room for the server's side of those that wait.
#[cfg(unix)]
fn crowd() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let files = limit.maximum.unwrap_or(u64::MAX);
    let most = files.saturating_sub(2_000).min(10_000);
    assert!(most >= FEWEST, "a process may open {files} files here; this test needs 3,000 or more: see `ulimit -Hn`");
    most as usize
}

#[cfg(unix)]
#[tokio::test]
async fn ten_thousand_idle_connections_keep_nobody_out() {
    let most = crowd();
    let world = World::new(&json!([{ "text": "done" }])).await;
    let mut crowd = Vec::with_capacity(most);
    while crowd.len() < most {
        crowd.push(TcpStream::connect(&world.address).await.unwrap());
    }
    // The crowd is still there, as far as it knows.
    let run = world.start(&[("goal", "Look"), ("mode", "agent:researcher")], None).await.run();
    world.until(&run, "data-status=\\\"done\\\"").await;
    assert_eq!(world.get("/").await.status, 200);
    // The crowd's own ends are open, and hardly any of the server's.
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        let ours = open.count().saturating_sub(most);
        assert!(ours < 700, "{ours} files are open besides those of {most} clients");
    }
    // The server has closed all but those that it may keep waiting, and it closes those too.
    let mut byte = [0];
    for connection in &mut crowd {
        assert!(!matches!(connection.read(&mut byte).await, Ok(1..)), "a silent client is answered nothing");
    }
    world.close().await;
}

#[tokio::test]
async fn requests_that_drip_are_cut_off_and_others_are_served() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let host = format!("Host: {}\r\n", world.address);
    let beginnings = [
        // A head that never ends, without and with a cookie that is not valid.
        format!("GET / HTTP/1.1\r\n{host}"),
        format!("GET / HTTP/1.1\r\n{host}Cookie: updraft=1\r\n"),
        // A body that never ends, at the one form that strangers may send.
        format!(
            "POST /enter HTTP/1.1\r\n{host}Origin: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: 100000\r\n\r\ntoken=",
            world.origin()
        ),
        format!("POST /mcp HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"),
    ];
    let mut drips = Vec::new();
    for beginning in beginnings {
        let mut stream = TcpStream::connect(&world.address).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        drips.push(tokio::task::spawn(async move {
            let (mut reading, mut writing) = stream.split();
            let dripping = async {
                let mut tick = tokio::time::interval(std::time::Duration::from_millis(100));
                while writing.write_all(b"x").await.is_ok() {
                    tick.tick().await;
                }
            };
            let closed = async {
                let mut bytes = [0; 4096];
                while matches!(reading.read(&mut bytes).await, Ok(1..)) {}
            };
            tokio::select! { () = dripping => {}, () = closed => {} }
        }));
    }
    assert_eq!(world.get("/").await.status, 200);
    for drip in drips {
        tokio::time::timeout(LIMIT, drip).await.expect("a request that drips is never cut off").unwrap();
    }
    assert_eq!(world.get("/").await.status, 200);
    world.close().await;
}
