//! The bridge's socket itself: who is let in by a first message, who hears of changes, and hosts that are not ours.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

use crate::client::{Client, Era, text};
use crate::http::{self, Served};
use crate::world::World;

/// Nobody waits longer than this for a message.
const PATIENCE: Duration = Duration::from_secs(30);

struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Connects, with the token in a header or without.
    fn open(url: &str, token: Option<&str>) -> Self {
        let stream = TcpStream::connect(url.trim_start_matches("ws://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("Authorization", format!("Bearer {token}").parse().unwrap());
        }
        Self(tungstenite::client(request, stream).unwrap().0)
    }

    fn send(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    fn next(&mut self) -> Message {
        self.0.read().unwrap()
    }

    /// The next message, which must be one of ours.
    fn hear(&mut self) -> Value {
        serde_json::from_str(self.next().to_text().unwrap()).unwrap()
    }

    /// Asks, and gives the answer; announcements that come before it are left out.
    fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(id, method, params);
        loop {
            let heard = self.hear();
            if heard["id"] == id {
                return heard;
            }
        }
    }
}

fn started(world: &World) -> Served {
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    Served::start(world, &model, 0)
}

#[test]
fn the_token_may_come_in_the_first_message() {
    let world = World::new();
    let served = started(&world);
    let mut socket = Socket::open(&served.bridge, None);
    let answer = socket.ask(1, "auth", json!({ "token": served.token }));
    assert_eq!(answer["result"], json!({ "success": true }));
    let read = socket.ask(2, "fs/read", json!({ "path": "a.txt" }));
    assert_eq!(read["result"]["content"], "hello\n");
    assert_eq!(socket.ask(3, "fs/remove", json!({}))["error"]["code"], -32601);
}

#[test]
fn whoever_does_not_show_the_token_first_is_answered_and_let_go() {
    let world = World::new();
    let served = started(&world);
    for (method, params) in [("auth", json!({ "token": "wrong" })), ("fs/read", json!({ "path": "a.txt" }))] {
        let mut socket = Socket::open(&served.bridge, None);
        let answer = socket.ask(1, method, params);
        assert_eq!((&answer["error"]["code"], &answer["result"]), (&json!(-32001), &Value::Null));
        let Message::Close(Some(closed)) = socket.next() else { panic!("still open after a wrong {method}") };
        assert_eq!(closed.code, CloseCode::Policy);
    }
}

#[test]
fn everyone_who_is_connected_hears_of_a_write_and_of_no_refused_one() {
    let world = World::new();
    let served = started(&world);
    let mut watcher = Socket::open(&served.bridge, Some(&served.token));
    let mut writer = Socket::open(&served.bridge, Some(&served.token));
    // Whoever has been answered is listening.
    watcher.ask(1, "fs/list", json!({}));
    writer.ask(1, "fs/list", json!({}));
    let refused = writer.ask(2, "fs/write", json!({ "path": "../out.txt", "content": "x" }));
    assert_eq!(refused["error"]["code"], -32000);
    writer.ask(3, "fs/write", json!({ "path": "b.txt", "content": "bee\n" }));
    let told = watcher.hear();
    assert_eq!(
        (&told["method"], &told["params"], &told["id"]),
        (&json!("fs/changed"), &json!({ "path": "b.txt", "bytes": 4 }), &Value::Null)
    );
}

#[test]
fn an_editor_that_is_still_loading_is_waited_for_and_need_not_read_headers() {
    let world = World::new();
    let editor = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", editor.local_addr().unwrap());
    let host = std::thread::spawn(move || {
        // Takes the first connection and drops it, as a program does that has only begun to listen.
        drop(editor.accept().unwrap());
        let (stream, _) = editor.accept().unwrap();
        let mut socket = tungstenite::accept(stream).unwrap();
        let mut heard = Vec::new();
        for result in [json!({ "success": true }), json!({ "content": "from the editor\n" })] {
            let asked: Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            socket.send(Message::text(answer.to_string())).unwrap();
            heard.push((asked["method"].clone(), asked["params"].clone()));
        }
        heard
    });
    let mut command = world.command(&["bridge", "--url", &url]);
    command.env("UPDRAFT_BRIDGE_TOKEN", "editors-own");
    let mut client = Client::of(command, Era::Old, json!({}));
    assert_eq!(text(&client.call("read_file", json!({ "path": "x.txt" }))), "from the editor\n");
    let heard = host.join().unwrap();
    assert_eq!(
        heard,
        [(json!("auth"), json!({ "token": "editors-own" })), (json!("fs/read"), json!({ "path": "x.txt" }))]
    );
}

#[test]
fn everyone_who_is_connected_hears_of_what_other_clients_and_runs_write() {
    let world = World::new();
    let write = json!({ "name": "write_file", "args": { "path": "by/run.txt", "content": "run\n" } });
    let plan = json!({ "steps": [{ "id": "make", "agent": "coder", "prompt": "make it", "writes": ["made"] }] });
    let script = json!({ "rules": [
        { "when": { "agent": "planner" }, "answer": { "json": plan } },
        { "when": { "agent": "coder", "turn": 0 }, "answer": { "calls": [write] } },
    ], "default": { "text": "made" } });
    let served = Served::start(&world, &world.script("script.json", &script), 0);
    let mut watcher = Socket::open(&served.bridge, Some(&served.token));
    watcher.ask(1, "fs/list", json!({}));

    let head = format!("Host: {}\r\nAuthorization: Bearer {}", served.address, served.token);
    let arguments = json!({ "path": "by/client.txt", "content": "client\n" });
    assert_eq!(http::call(&served, &head, "write_file", arguments).0, 200);
    let told = watcher.hear();
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("fs/changed"), &json!({ "path": "by/client.txt", "bytes": 7 }))
    );

    watcher.ask(2, "agent/dispatch", json!({ "prompt": "make it" }));
    let told = watcher.hear();
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("fs/changed"), &json!({ "path": "by/run.txt", "bytes": 4 }))
    );
}

#[test]
fn a_file_that_cannot_be_read_is_said_to_be_there_or_not() {
    let world = World::new();
    let served = started(&world);
    std::fs::write(world.ws().join("x.bin"), [0, 1]).unwrap();
    let mut socket = Socket::open(&served.bridge, Some(&served.token));
    for (id, path, exists) in [(1, "x.bin", true), (2, ".", true), (3, "none.txt", false)] {
        let error = socket.ask(id, "fs/read", json!({ "path": path }))["error"].clone();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32000), &json!({ "exists": exists })), "{path}");
    }
    let listed = socket.ask(4, "fs/list", json!({}));
    assert_eq!(listed["result"], json!({ "files": ["a.txt", "x.bin"], "truncated": false }));
}
