//! The bridge: `updraft serve --bridge` at one end, `updraft bridge` at the other.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::client::{Client, Era, text};
use crate::http::Served;
use crate::world::World;

fn forward(world: &World, url: &str, token: &str) -> Client {
    let mut command = world.command(&["bridge", "--url", url]);
    command.env("UPDRAFT_BRIDGE_TOKEN", token);
    Client::of(command, Era::Old, json!({}))
}

fn started(world: &World, script: &Value) -> Served {
    let model = world.script("script.json", script);
    Served::start(world, &model, 0)
}

/// Plans one step, which writes the file that it is asked to create.
fn signals() -> Value {
    let plan = json!({ "steps": [{ "id": "make", "agent": "coder", "prompt": "plan it", "writes": ["planned"] }] });
    let write = json!({ "name": "write_file", "args": { "path": "DONE.md", "content": "planned\n" } });
    json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": plan}},
        {"when": {"agent": "coder", "turn": 0}, "answer": {"calls": [write]}},
    ], "default": {"text": "Done."}})
}

#[test]
fn files_and_work_pass_over_the_bridge_and_a_signal_file_ends_the_wait() {
    let world = World::new();
    let served = started(&world, &signals());
    let mut client = forward(&world, &served.bridge, &served.token);
    let listed = client.ask("tools/list", json!({})).unwrap();
    let names: Vec<&str> = listed["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    let controls = ["cancel_task", "dispatch_agent_task", "list_files", "pause_task", "read_file", "resume_task"];
    assert_eq!(names, [&controls[..], &["task_status", "wait_for_signal", "write_file"]].concat());

    assert_eq!(text(&client.call("read_file", json!({ "path": "a.txt" }))), "hello\n");
    client.call("write_file", json!({ "path": "sub/b.txt", "content": "bee\n" }));
    assert_eq!(std::fs::read_to_string(world.ws().join("sub/b.txt")).unwrap(), "bee\n");
    assert_eq!(text(&client.call("list_files", json!({ "recursive": true }))), "a.txt\nsub/b.txt");
    assert_eq!(text(&client.call("list_files", json!({ "recursive": false }))), "sub/\na.txt");
    assert!(client.refused("read_file", json!({ "path": "none.txt" })).contains("none.txt"));

    let taken = json!({ "prompt": "plan it", "signal_file": "a.txt" });
    assert!(client.refused("dispatch_agent_task", taken).contains("already exists"));
    let sent = client.call("dispatch_agent_task", json!({ "prompt": "plan it", "signal_file": "DONE.md" }));
    assert!(text(&sent).contains("wait_for_signal"));
    let appeared = client.data("wait_for_signal", json!({ "path": "DONE.md", "seconds": 60 }));
    assert_eq!((&appeared["appeared"], &appeared["content"]), (&json!(true), &json!("planned\n")));
    let goal = world.updraft(&["show", "last", "--json"]).value()["goal"].to_string();
    assert!(goal.contains("plan it") && goal.contains("create the file `DONE.md`"), "{goal}");
    let waited = client.data("wait_for_signal", json!({ "path": "NEVER.md", "seconds": 1 }));
    assert_eq!(waited["appeared"], false);
}

#[test]
fn a_wrong_token_and_a_refused_connection_say_what_to_check() {
    let world = World::new();
    let served = started(&world, &json!([{ "text": "yes" }]));
    let mut client = forward(&world, &served.bridge, "wrong");
    let why = client.refused("read_file", json!({ "path": "a.txt" }));
    assert!(why.contains("antigravity.mcp.token") && why.contains("UPDRAFT_BRIDGE_TOKEN"), "{why}");

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = forward(&world, &format!("ws://{free}"), &served.token);
    let why = client.refused("read_file", json!({ "path": "a.txt" }));
    assert!(why.contains("extension has loaded") && why.contains("updraft serve --bridge"), "{why}");

    world.updraft(&["bridge", "--url", "ws://example.com:8888"]).code(2).says("not on this machine");
    world.updraft(&["bridge", "--url", "ws://127.0.0.1:8888/?token=x"]).code(2).says("must not contain the token");
}

#[test]
fn a_bridge_whose_host_comes_back_connects_again_by_itself() {
    let world = World::new();
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let first = Served::start(&world, &model, 0);
    let port: u16 = first.bridge.rsplit(':').next().unwrap().parse().unwrap();
    let mut client = forward(&world, &first.bridge, &first.token);
    client.call("read_file", json!({ "path": "a.txt" }));
    first.stop();
    let _second = Served::start(&world, &model, port);
    assert_eq!(text(&client.call("read_file", json!({ "path": "a.txt" }))), "hello\n");
}

#[test]
fn web_pages_and_tokens_in_the_address_are_refused_at_the_door() {
    let world = World::new();
    let served = started(&world, &json!([{ "text": "yes" }]));
    let address = served.bridge.trim_start_matches("ws://").to_owned();
    let knock = |path: &str, more: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}X-End: 1"
        );
        send_upgrade(&address, &head)
    };
    let token = format!("Authorization: Bearer {}\r\n", served.token);
    assert_eq!(knock("/", &format!("{token}Origin: http://localhost\r\n")), 403);
    assert_eq!(knock(&format!("/?token={}", served.token), ""), 400);
    assert_eq!(knock("/", "Authorization: Bearer wrong\r\n"), 401);
    assert_eq!(knock("/", &token), 101);
}

/// Sends the request and gives the status, without waiting for an end.
fn send_upgrade(address: &str, head: &str) -> u16 {
    use std::io::{BufRead, BufReader, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn more_than_the_limit_is_not_read_at_once_and_lines_of_it_are() {
    let world = World::new();
    let served = started(&world, &json!([{ "text": "yes" }]));
    let mut client = forward(&world, &served.bridge, &served.token);
    world.file("x.txt", &"0123456789\n".repeat(10_000));
    let why = client.refused("read_file", json!({ "path": "x.txt" }));
    assert!(why.contains("at most 100000 are read at once") && why.contains("[bridge]"), "{why}");
    let some = client.data("read_file", json!({ "path": "x.txt", "start_line": 9_999 }));
    assert_eq!((&some["text"], &some["lines_total"]), (&json!("0123456789\n0123456789\n"), &json!(10_000)));
}

#[test]
fn work_is_looked_at_paused_resumed_and_cancelled_over_the_bridge() {
    let world = World::new();
    let ask = json!({ "name": "ask_user", "args": { "question": "Which?" } });
    let plan = json!({ "steps": [{ "id": "ask", "agent": "clarification", "prompt": "ask", "writes": ["which"] }] });
    let served = started(
        &world,
        &json!({"rules": [
            {"when": {"agent": "planner"}, "answer": {"json": plan}},
            {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [ask]}},
        ], "default": {"text": "Done."}}),
    );
    let mut client = forward(&world, &served.bridge, &served.token);
    assert!(client.refused("task_status", json!({})).contains("no work was dispatched"));
    client.call("dispatch_agent_task", json!({ "prompt": "ask me" }));
    let mut status = json!({});
    World::until("it waits", || {
        status = client.data("task_status", json!({}));
        status["status"] == "waiting"
    });
    assert_eq!(status["waits"][0]["text"], "Which?");
    assert_eq!(client.data("pause_task", json!({}))["status"], "paused");
    assert_eq!(client.data("resume_task", json!({ "run": status["run"] }))["status"], "waiting");
    client.call("cancel_task", json!({}));
    World::until("it is cancelled", || client.data("task_status", json!({}))["status"] == "cancelled");
    assert!(client.refused("task_status", json!({ "run": "none" })).contains("none"));
}

#[test]
fn a_file_that_is_read_and_written_back_is_the_same_file() {
    let world = World::new();
    world.config("config.toml", "[bridge]\nread = \"2 MB\"\n");
    let served = started(&world, &json!([{ "text": "yes" }]));
    let mut client = forward(&world, &served.bridge, &served.token);
    let long = "a line of a file that is longer than what models are shown\n".repeat(19_998) + "last\nbut one\n";
    assert!(long.len() > 700_000);
    for content in [long.as_str(), "", "no end", "one\r\ntwo\r\n", "\u{1}[lines 1 to 2; read on]\n"] {
        let file = world.file("x.txt", content);
        let read = text(&client.call("read_file", json!({ "path": "x.txt" })));
        assert!(read == content, "{} bytes became {}", content.len(), read.len());
        client.call("write_file", json!({ "path": "x.txt", "content": read }));
        assert!(std::fs::read_to_string(&file).unwrap() == content);
    }
    world.file("x.txt", &long);
    let some = client.data("read_file", json!({ "path": "x.txt", "start_line": 19_999 }));
    assert_eq!(
        (&some["start_line"], &some["end_line"], &some["lines_total"]),
        (&json!(19_999), &json!(20_000), &json!(20_000))
    );
    assert_eq!(some["text"].as_str().unwrap(), "last\nbut one\n");
    assert!(client.refused("read_file", json!({ "path": "x.txt", "start_line": 20_001 })).contains("has 20000"));
    world.file("picture.png", "\u{0}");
    assert!(client.refused("read_file", json!({ "path": "picture.png" })).contains("not text"));
}

#[test]
fn a_list_is_whole_or_says_that_it_is_not() {
    let world = World::new();
    for n in 0..2_100 {
        world.file(&format!("many/{n:04}.txt"), "");
    }
    let served = started(&world, &json!([{ "text": "yes" }]));
    let mut client = forward(&world, &served.bridge, &served.token);
    let listed = client.call("list_files", json!({}));
    assert!(text(&listed).ends_with("[and 101 more; list a subfolder with `path`]"));
    let data = &listed["structuredContent"];
    assert_eq!((&data["more"], &data["truncated"]), (&json!(101), &json!(true)));
    let flat = client.data("list_files", json!({ "recursive": false }));
    assert_eq!((&flat["files"], &flat["truncated"]), (&json!(["many/", "a.txt"]), &json!(false)));
    assert_eq!(client.data("list_files", json!({ "path": "many" }))["more"], 100);

    let mut server = Client::of(world.command(&["mcp", "serve"]), Era::New, json!({}));
    let found = server.data("search", json!({ "query": "2099" }));
    assert_eq!(found["results"][0]["id"], "many/2099.txt");
}

#[test]
fn a_signal_may_be_a_folder_or_no_text_and_must_be_a_new_file_of_the_workspace() {
    let world = World::new();
    let served = started(&world, &json!({ "default": { "text": "done" } }));
    let mut client = forward(&world, &served.bridge, &served.token);
    std::fs::create_dir(world.ws().join("made")).unwrap();
    std::fs::write(world.ws().join("made.bin"), [0, 159, 146]).unwrap();
    std::os::unix::fs::symlink("nowhere", world.ws().join("made.link")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", world.ws().join("made.out")).unwrap();
    for path in ["made", "made.bin", "made.link", "made.out"] {
        let waited = client.data("wait_for_signal", json!({ "path": path, "seconds": 1 }));
        assert_eq!((&waited["appeared"], &waited["content"]), (&json!(true), &Value::Null), "{path}");
        let why = client.refused("dispatch_agent_task", json!({ "prompt": "go", "signal_file": path }));
        assert!(why.contains("already exists"), "{why}");
    }
    for path in ["", " ", "../../etc/x", "/etc/x", "a/../../x"] {
        for (tool, arguments) in [
            ("dispatch_agent_task", json!({ "prompt": "go", "signal_file": path })),
            ("wait_for_signal", json!({ "path": path, "seconds": 1 })),
        ] {
            let why = client.refused(tool, arguments);
            assert!(
                why.contains("not a path in the workspace") || why.contains("do not fit its schema"),
                "{path}: {why}"
            );
        }
    }
    assert_eq!(world.runs().len(), 0);
}

/// A host that takes connections, shakes hands if it is told to, and then says nothing; gives its address.
fn silent(shakes_hands: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut sockets = Vec::new();
        for stream in listener.incoming().flatten() {
            if shakes_hands {
                sockets.push(tungstenite::accept(stream).unwrap());
            } else {
                kept.push(stream);
            }
        }
    });
    url
}

#[test]
fn an_editor_that_lets_us_in_and_says_nothing_is_not_waited_for_without_end() {
    let world = World::new();
    for shakes_hands in [false, true] {
        let mut client = forward(&world, &silent(shakes_hands), "editors-own");
        let why = client.refused("read_file", json!({ "path": "a.txt" }));
        assert!(why.contains("does not answer") && why.contains("another program"), "{why}");
    }
}
