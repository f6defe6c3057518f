//! Signing in at a remote MCP server: a person visits a page, and what comes of it is kept for later.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::world::World;

/// Answers on loopback for ever: an MCP server that wants a login, and those who are in charge of it.
fn closed_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let Some((first, head, body)) = request(&mut stream) else { return };
                let (status, header, body) = answer(port, &first, &head, &body);
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    port
}

/// The first line, all headers in small letters, and the body.
fn request(stream: &mut TcpStream) -> Option<(String, String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut head) = (String::new(), String::new());
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, head, String::from_utf8_lossy(&body).into_owned()))
}

fn answer(port: u16, first: &str, head: &str, body: &str) -> (u16, String, String) {
    let base = format!("http://127.0.0.1:{port}");
    let sent: Value = serde_json::from_str(body).unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let given =
        |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap_or_default();
    let found = match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]})
        }
        "/.well-known/oauth-authorization-server" => json!({"issuer": base,
            "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"]}),
        "/register" => json!({"client_id": "c1", "redirect_uris": sent["redirect_uris"],
            "token_endpoint_auth_method": "none"}),
        "/authorize" => {
            let back = given("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            return (302, format!("Location: {back}?code=x&state={}\r\n", given("state")), String::new());
        }
        "/token" => json!({"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600}),
        "/mcp" if !head.contains("authorization: bearer t0ken") => {
            let where_to = format!("{base}/.well-known/oauth-protected-resource/mcp");
            return (401, format!("WWW-Authenticate: Bearer resource_metadata=\"{where_to}\"\r\n"), String::new());
        }
        "/mcp" => {
            let result = match sent["method"].as_str().unwrap_or_default() {
                "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
                _ => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                    "tools": [{"name": "secret", "inputSchema": {"type": "object"}}]}),
            };
            json!({"jsonrpc": "2.0", "id": sent["id"], "result": result})
        }
        _ => return (404, String::new(), String::new()),
    };
    (200, String::new(), found.to_string())
}

/// Visits a page on loopback, and gives all of the answer.
fn visit(page: &str) -> String {
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Signs in at the server `web`, as a person with a browser would.
fn sign_in(world: &World) {
    let mut login = world.command(&["mcp", "login", "web"]).spawn().unwrap();
    let mut said = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let page = said.find_map(|line| line.trim().starts_with("http://").then(|| line.trim().to_owned())).unwrap();
    let sent_back = visit(&page);
    let back = sent_back.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    assert!(visit(back).contains("You are signed in."), "{back}");
    assert!(login.wait().unwrap().success());
    assert!(said.any(|line| line == "signed in at `web`; it has 1 tools"));
}

#[test]
fn a_login_is_never_shown_to_another_server_of_the_same_name() {
    let world = World::new();
    let add = |port: u16| {
        world.updraft(&["mcp", "add", "web", "--url", &format!("http://127.0.0.1:{port}/mcp")]).code(0);
    };
    let first = closed_server();
    add(first);
    sign_in(&world);
    // Not by the command, which forgets the login.
    std::fs::remove_file(world.home().join("mcp.json")).unwrap();
    add(closed_server());
    world.updraft(&["mcp", "check", "web"]).code(1);
    std::fs::remove_file(world.home().join("mcp.json")).unwrap();
    add(first);
    world.updraft(&["mcp", "check", "web"]).code(0);
    world.updraft(&["mcp", "logout", "web"]).code(0).says("signed out");
    world.updraft(&["mcp", "check", "web"]).code(1);
    sign_in(&world);
    world.updraft(&["mcp", "remove", "web"]).code(0).says("and its login");
    assert_eq!(std::fs::read_dir(world.home().join("mcp/keys")).unwrap().count(), 0);
}

#[test]
fn a_person_signs_in_once_and_the_login_is_kept() {
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/mcp", closed_server());
    world.updraft(&["mcp", "add", "web", "--url", &url]).code(0);
    let refused = world.updraft(&["mcp", "check", "web"]).code(1);
    assert_eq!(refused.out, "web: it wants a login; run `updraft mcp login web`\n");
    sign_in(&world);
    assert!(world.updraft(&["mcp", "check", "web"]).code(0).out.starts_with("web: well"));
    let keys = std::fs::read_dir(world.home().join("mcp/keys")).unwrap().next().unwrap().unwrap();
    assert_eq!(keys.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
