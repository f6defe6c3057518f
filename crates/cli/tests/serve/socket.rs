//! The bridge's socket itself: who is let in by a first message, who hears of changes, and hosts that are not ours.

use std::io::Write;
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

#[test]
fn those_who_show_no_token_keep_nobody_out() {
    let world = World::new();
    let served = started(&world);
    let address = served.bridge.trim_start_matches("ws://");
    let mut inside = Socket::open(&served.bridge, Some(&served.token));
    // More than may wait, some of them half way through the door, and all of them kept open.
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let shy: Vec<Socket> = (0..100).map(|_| Socket::open(&served.bridge, None)).collect();
    let mut by_header = Socket::open(&served.bridge, Some(&served.token));
    let mut by_message = Socket::open(&served.bridge, None);
    assert_eq!(by_message.ask(1, "auth", json!({ "token": served.token }))["result"]["success"], true);
    for socket in [&mut inside, &mut by_header, &mut by_message] {
        assert_eq!(socket.ask(2, "fs/read", json!({ "path": "a.txt" }))["result"]["content"], "hello\n");
    }
    drop((silent, shy));
}

#[test]
fn little_is_read_before_the_token_is_shown() {
    let world = World::new();
    let served = started(&world);
    let mut socket = Socket::open(&served.bridge, None).0;
    // The beginning of a message of 39 MB, masked with zeros.
    let mut head = vec![0x81, 0xff];
    head.extend((39_u64 << 20).to_be_bytes());
    head.extend([0; 4]);
    let stream = socket.get_mut();
    stream.write_all(&head).unwrap();
    let rest = vec![b' '; 1 << 20];
    let refused = (0..38).find_map(|_| stream.write_all(&rest).err());
    assert!(refused.is_some(), "all of it was read");

    // Once it is shown, what a file may hold passes, be it sent before the answer is there.
    let mut socket = Socket::open(&served.bridge, None);
    socket.send(1, "auth", json!({ "token": served.token }));
    socket.send(2, "fs/write", json!({ "path": "b.txt", "content": "x".repeat(2 << 20) }));
    let answers = [socket.hear(), socket.hear(), socket.hear()];
    assert!(answers.iter().any(|answer| answer["id"] == 2 && answer["result"]["success"] == true), "{answers:?}");
}

#[test]
fn what_only_asks_whether_we_are_there_is_no_first_message() {
    let world = World::new();
    let served = started(&world);
    let mut socket = Socket::open(&served.bridge, None);
    socket.0.send(Message::Ping("x".into())).unwrap();
    assert_eq!(socket.next(), Message::Pong("x".into()));
    assert_eq!(socket.ask(1, "auth", json!({ "token": served.token }))["result"]["success"], true);
}

#[test]
fn what_is_no_request_does_nothing_and_is_answered() {
    let world = World::new();
    let served = started(&world);
    let mut socket = Socket::open(&served.bridge, Some(&served.token));
    let write = r#"{"path":"x.txt","content":"x"}"#;
    for (sent, id, code) in [
        (format!(r#"[7,"fs/write",{write},null,null]"#), Value::Null, -32600),
        (format!(r#"[{{"jsonrpc":"2.0","id":7,"method":"fs/write","params":{write}}}]"#), Value::Null, -32600),
        ("[]".to_owned(), Value::Null, -32600),
        ("{".to_owned(), Value::Null, -32700),
        (format!(r#"{{"id":7,"method":"fs/write","params":{write}}}"#), json!(7), -32600),
        (r#"{"jsonrpc":"2.0","id":8,"method":"fs/write","params":["x.txt","x"]}"#.to_owned(), json!(8), -32602),
    ] {
        socket.0.send(Message::text(sent.clone())).unwrap();
        let answer = socket.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{sent}: {answer}");
    }
    socket.0.send(Message::binary(b"{}".to_vec())).unwrap();
    assert_eq!(socket.hear()["error"]["code"], -32600);
    for params in [json!({ "path": 5 }), json!({ "recursive": "false" }), json!({ "recursive": 0 })] {
        assert_eq!(socket.ask(9, "fs/list", params.clone())["error"]["code"], -32602, "{params}");
    }
    assert!(!world.ws().join("x.txt").exists());
}

#[test]
fn a_list_shows_files_with_a_dot_unless_git_ignores_them() {
    let world = World::new();
    for (file, text) in [(".gitignore", "*.log\n.env\n"), (".env", ""), ("x.log", ""), (".vscode/a.json", "{}")] {
        world.file(file, text);
    }
    world.file(".git/config", "");
    let served = started(&world);
    let mut socket = Socket::open(&served.bridge, Some(&served.token));
    let listed = socket.ask(1, "fs/list", json!({}))["result"]["files"].clone();
    assert_eq!(listed, json!([".gitignore", ".vscode/a.json", "a.txt"]));
    let flat = socket.ask(2, "fs/list", json!({ "recursive": false }))["result"]["files"].clone();
    assert_eq!(flat, json!([".vscode/", ".gitignore", "a.txt"]));
}
