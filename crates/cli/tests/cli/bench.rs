//! The hidden command for outside benchmarks goes the way every run goes.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::world::World;

/// A server that answers every question at once, as a stream; it ends with the test.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut read = Vec::new();
            let mut piece = [0; 4096];
            // The body is a JSON object, and the last thing of the request.
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                read.extend_from_slice(&piece[..n]);
                if read.ends_with(b"}") {
                    break;
                }
            }
            let body = "data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

#[test]
fn measured_runs_stand_in_the_journal_and_replay() {
    let world = World::new();
    let base = server();
    for (task, n) in [("react", "1"), ("sessions", "3")] {
        let mut command = world.command(&["bench"]);
        command.env("PERF_BASE", &base).env("PERF_MODEL", "any").env("PERF_TASK", task).env("PERF_N", n);
        let ended = command.env("PERF_REPEAT", "2").env("PERF_WORK", world.home()).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let runs = world.runs();
    assert_eq!((runs.len(), runs.iter().all(|run| run["status"] == "done")), (8, true));
    world.updraft(&["replay", "last", "--strict"]).code(0);
    world.updraft(&["bench"]).code(2).says("PERF_TASK is not set");
}
