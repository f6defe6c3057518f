//! Over HTTP: who is let in, and who is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::world::World;

/// A server that was started, stopped at the end.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    pub(crate) bridge: String,
    pub(crate) token: String,
}

impl Served {
    /// Starts it, with the bridge at this port (0 is any).
    pub(crate) fn start(world: &World, model: &str, port: u16) -> Self {
        Self::start_with(world, model, port, &[])
    }

    pub(crate) fn start_with(world: &World, model: &str, port: u16, more: &[&str]) -> Self {
        let port = port.to_string();
        let args = ["serve", "--listen", "127.0.0.1:0", "--bridge", "--bridge-port", &port, "--model", model];
        let mut child = world.command(&[&args, more].concat()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut line = |word: &str| loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, rest)) = line.split_once(word) {
                return rest.split([' ', ',']).next().unwrap_or_default().to_owned();
            }
        };
        let address = line("MCP at http://").trim_end_matches("/mcp").to_owned();
        let file = line("token: in ");
        let bridge = line("bridge at ");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        Self { child, address, bridge, token }
    }

    pub(crate) fn stop(mut self) -> Option<i32> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM)
            .unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request and gives the status and the body.
fn send(address: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_default();
    (status, answer)
}

fn post(served: &Served, more: &str) -> (u16, String) {
    call(served, more, "read_file", json!({ "path": "a.txt" }))
}

/// Calls a tool in one request, with these headers.
pub(crate) fn call(served: &Served, more: &str, tool: &str, arguments: Value) -> (u16, String) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{more}"
    );
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                       "io.modelcontextprotocol/clientInfo": { "name": "by-hand", "version": "0" },
                       "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let body: Value = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    send(&served.address, &head, &body.to_string())
}

#[test]
fn only_who_shows_the_token_and_comes_from_here_is_let_in() {
    let world = World::new();
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let served = Served::start(&world, &model, 0);
    let host = format!("Host: {}", served.address);
    let token = format!("Authorization: Bearer {}", served.token);

    let (status, answer) = post(&served, &host);
    assert!(status == 401 && answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
    assert_eq!(post(&served, &format!("{host}\r\nAuthorization: Bearer wrong")).0, 401);
    assert_eq!(post(&served, &format!("{host}\r\n{token}x")).0, 401);
    assert_eq!(post(&served, &format!("{host}\r\n{token}\r\nOrigin: https://evil.example")).0, 403);
    assert_eq!(post(&served, &format!("Host: evil.example\r\n{token}")).0, 403);
    let (status, answer) = post(&served, &format!("{host}\r\n{token}"));
    assert!(status == 200 && answer.contains("hello"), "{answer}");
    let log = std::fs::read_to_string(world.home().join("general.log")).unwrap_or_default();
    assert!(!log.contains(&served.token));
    assert_eq!(served.stop(), Some(143));
}

#[test]
fn who_does_not_show_the_token_keeps_nobody_out_and_leaves() {
    let world = World::new();
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let served = Served::start(&world, &model, 0);
    let (host, token) = (format!("Host: {}", served.address), format!("Authorization: Bearer {}", served.token));
    let connect = || TcpStream::connect(&served.address).unwrap();
    let ask = |stream: &mut TcpStream, more: &str| {
        let request = format!("DELETE /mcp HTTP/1.1\r\n{host}\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).is_ok() && stream.read(&mut [0; 4096]).unwrap_or_default() > 0
    };
    let (mut known, mut stranger) = (connect(), connect());
    assert!(ask(&mut known, &format!("{token}\r\n")) && ask(&mut stranger, ""));
    let mut silent: Vec<TcpStream> = (0..600).map(|_| connect()).collect();
    let (status, answer) = post(&served, &format!("{host}\r\n{token}"));
    assert!(status == 200 && answer.contains("hello"), "{answer}");
    // One of them says a little now and then, and is no better off.
    let mut slow = silent.pop().unwrap();
    let talks = std::thread::spawn(move || {
        while slow.write_all(b"X").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    // One asks without end, and never reads an answer.
    let mut deaf = connect();
    deaf.set_write_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
    let asking = format!("OPTIONS /mcp HTTP/1.1\r\n{host}\r\nOrigin: http://localhost\r\n\r\n").repeat(100);
    let asks = std::thread::spawn(move || {
        let refused = (0..).find_map(|_| deaf.write_all(asking.as_bytes()).err()).unwrap();
        assert_ne!(refused.kind(), std::io::ErrorKind::WouldBlock, "it was left waiting");
    });
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or_default(), 0);
    }
    assert!(!ask(&mut stranger, &format!("{token}\r\n")), "it had its time");
    assert!(ask(&mut known, &format!("{token}\r\n")), "it may rest as long as it likes");
    talks.join().unwrap();
    asks.join().unwrap();
}

#[test]
fn the_token_stays_the_same_from_start_to_start() {
    let world = World::new();
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let first = Served::start(&world, &model, 0);
    let token = first.token.clone();
    first.stop();
    assert_eq!(Served::start(&world, &model, 0).token, token);
}

#[test]
fn a_page_that_is_allowed_can_be_used_from_a_browser_and_no_other() {
    let world = World::new();
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let served = Served::start_with(&world, &model, 0, &["--allow-origin", "https://app.example:443"]);
    let host = format!("Host: {}", served.address);
    let wants = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,content-type";
    let beforehand = |origin: &str| {
        let head = format!("OPTIONS /mcp HTTP/1.1\r\n{host}\r\nOrigin: {origin}\r\n{wants}");
        let (status, answer) = send(&served.address, &head, "");
        (status, answer.to_lowercase())
    };
    for origin in ["https://app.example", "http://localhost:5173"] {
        let (status, answer) = beforehand(origin);
        assert_eq!(status, 204, "{answer}");
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}\r\n")), "{answer}");
        assert!(answer.contains("access-control-allow-headers: authorization,content-type\r\n"), "{answer}");
        assert!(answer.contains("access-control-allow-methods: get, post, put, delete\r\n"), "{answer}");
        // The page itself must show the token all the same.
        let page = format!("{host}\r\nOrigin: {origin}");
        assert_eq!(post(&served, &page).0, 401);
        let (status, answer) = post(&served, &format!("{page}\r\nAuthorization: Bearer {}", served.token));
        assert!(status == 200 && answer.contains("hello"), "{answer}");
        let head = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
        assert!(head.contains(&format!("access-control-allow-origin: {origin}")), "{head}");
    }
    let (status, answer) = beforehand("https://evil.example");
    assert!(status == 403 && !answer.contains("access-control-allow"), "{answer}");
    // Without an origin there is nothing to be asked beforehand.
    let head = format!("OPTIONS /mcp HTTP/1.1\r\n{host}");
    assert_eq!(send(&served.address, &head, "").0, 401);
}

#[test]
fn beyond_this_machine_there_is_no_page_without_a_certificate() {
    let world = World::new();
    let mut child = world.command(&["serve", "--listen", "0.0.0.0:0"]).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said: Vec<String> = lines.map(Result::unwrap).take_while(|line| !line.contains("no page: ")).collect();
    assert!(said.iter().any(|line| line.contains("not encrypted")), "{said:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let wrong = world.updraft(&["serve", "--tls-cert", "no.pem", "--tls-key", "no.pem"]).code(2);
    wrong.says("no.pem").says("in PEM format");
    world.updraft(&["serve", "--tls-cert", "no.pem"]).code(2).says("--tls-key");
}

#[test]
fn users_are_added_listed_and_removed() {
    let world = World::new();
    let added = world.updraft(&["serve", "user", "add", "ann", "--role", "steer"]).code(0);
    assert_eq!(added.out.trim().len(), 64, "{}", added.out);
    world.updraft(&["serve", "user", "add", "ann", "--role", "see"]).code(2).says("there is a user `ann` already");
    world.updraft(&["serve", "user", "add", "bob", "--role", "king"]).code(2).says("administer");
    let listed = world.updraft(&["serve", "user", "list", "--json"]).code(0).out;
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&listed["name"], &listed["role"]), (&json!("ann"), &json!("steer")));
    world.updraft(&["serve", "user", "remove", "ann"]).code(0);
    world.updraft(&["serve", "user", "remove", "ann"]).code(2).says("there is no user `ann`");
    assert_eq!(world.updraft(&["serve", "user", "list"]).code(0).out, "");
}
