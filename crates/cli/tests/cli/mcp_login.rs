//! Signing in at a remote MCP server: a person visits a page, and what comes of it is kept for later.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

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
                let is_known = head.contains("authorization: bearer t0ken");
                if is_known && first.starts_with("GET /sse") {
                    return send_events(&mut stream);
                }
                if is_known && first.starts_with("POST /sse") {
                    let answer = old_answer(&serde_json::from_str(&body).unwrap());
                    let _ = write!(stream, "HTTP/1.1 202 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                    return ANSWERS.lock().unwrap().extend(answer);
                }
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

/// What waits to be sent on the one stream of events there is.
static ANSWERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The stream of the transport of 2024: where requests go, then the answers, until nobody takes them.
fn send_events(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let mut sent = write!(stream, "{head}event: endpoint\ndata: /sse\n\n");
    ANSWERS.lock().unwrap().clear();
    while sent.is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let waiting = std::mem::take(&mut *ANSWERS.lock().unwrap());
        // A comment tells whether anybody still listens.
        let events = waiting.iter().map(|data| format!("data: {data}\n\n")).collect::<Vec<_>>().concat();
        sent = write!(stream, ": .\n\n{events}");
    }
}

/// What a server of that time answers.
fn old_answer(sent: &Value) -> Option<String> {
    let result = match sent["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "secret", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "for your eyes only"}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": sent["id"], "result": result}).to_string())
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
    let is_known = head.contains("authorization: bearer t0ken");
    let found = match path {
        path if path.starts_with("/.well-known/oauth-protected-resource/") => {
            let resource = path.rsplit('/').next().unwrap_or_default();
            json!({"resource": format!("{base}/{resource}"), "authorization_servers": [base]})
        }
        "/.well-known/oauth-authorization-server" => json!({"issuer": base,
            "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"]}),
        "/register" => json!({"client_id": "c1", "redirect_uris": sent["redirect_uris"],
            "token_endpoint_auth_method": "none"}),
        "/authorize" => {
            let back = given("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            return (302, format!("Location: {back}?code=x&state={}\r\n", given("state")), String::new());
        }
        "/token" if body.contains("grant_type=client_credentials") && !body.contains("client_secret=s3cret") => {
            return (401, String::new(), json!({"error": "invalid_client"}).to_string());
        }
        "/token" => json!({"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600}),
        "/mcp" | "/sse" | "/plain/tools/list" | "/plain/tools/call" if !is_known => {
            let resource = path.split('/').nth(1).unwrap_or_default();
            let where_to = format!("{base}/.well-known/oauth-protected-resource/{resource}");
            return (401, format!("WWW-Authenticate: Bearer resource_metadata=\"{where_to}\"\r\n"), String::new());
        }
        "/plain/tools/list" => json!([{"name": "secret"}]),
        "/plain/tools/call" => json!({"result": "for your eyes only"}),
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
    // All at once: whoever answers the first line of a request may hang up on the others.
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Signs in as a person does: opens the page that is shown, and goes where it sends.
fn sign_in(world: &World, name: &str) {
    let mut login = world.command(&["mcp", "login", name]).spawn().unwrap();
    let mut said = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let page = said.find_map(|line| line.trim().starts_with("http://").then(|| line.trim().to_owned())).unwrap();
    let sent_back = visit(&page);
    let back = sent_back.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    assert!(visit(back).contains("You are signed in."), "{back}");
    assert!(login.wait().unwrap().success());
    let last = format!("signed in to `{name}`; it has 1 tools");
    assert!(said.any(|line| line == last));
}

#[test]
fn servers_of_the_older_forms_are_signed_in_at_as_well() {
    let world = World::new();
    let port = closed_server();
    for (name, path, transport) in [("plain", "plain", "http"), ("old", "sse", "sse")] {
        let url = format!("http://127.0.0.1:{port}/{path}");
        world.updraft(&["mcp", "add", name, "--url", &url, "--transport", transport]).code(0);
        let refused = world.updraft(&["mcp", "check", name]).code(1);
        assert_eq!(refused.out, format!("{name}: it requires a login; run `updraft mcp login {name}`\n"));
        sign_in(&world, name);
        let called = world.updraft(&["tools", "call", &format!("mcp_{name}_secret"), "{}"]).code(0);
        assert_eq!(called.out, "for your eyes only\n");
    }
}

#[test]
fn a_login_is_never_shown_to_another_server_of_the_same_name() {
    let world = World::new();
    let add = |port: u16| {
        world.updraft(&["mcp", "add", "web", "--url", &format!("http://127.0.0.1:{port}/mcp")]).code(0);
    };
    let first = closed_server();
    add(first);
    sign_in(&world, "web");
    // Not by the command, which forgets the login.
    std::fs::remove_file(world.home().join("mcp.json")).unwrap();
    add(closed_server());
    world.updraft(&["mcp", "check", "web"]).code(1);
    std::fs::remove_file(world.home().join("mcp.json")).unwrap();
    add(first);
    world.updraft(&["mcp", "check", "web"]).code(0);
    world.updraft(&["mcp", "logout", "web"]).code(0).says("signed out");
    world.updraft(&["mcp", "check", "web"]).code(1);
    sign_in(&world, "web");
    world.updraft(&["mcp", "remove", "web"]).code(0).says("and its login");
    assert_eq!(std::fs::read_dir(world.home().join("mcp/keys")).unwrap().count(), 0);
}

#[test]
fn a_person_signs_in_once_and_the_login_is_kept() {
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/mcp", closed_server());
    world.updraft(&["mcp", "add", "web", "--url", &url]).code(0);
    let refused = world.updraft(&["mcp", "check", "web"]).code(1);
    assert_eq!(refused.out, "web: it requires a login; run `updraft mcp login web`\n");
    sign_in(&world, "web");
    assert!(world.updraft(&["mcp", "check", "web"]).code(0).out.starts_with("web: well"));
    let keys = std::fs::read_dir(world.home().join("mcp/keys")).unwrap().next().unwrap().unwrap();
    assert_eq!(keys.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_client_with_a_secret_needs_no_person() {
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/mcp", closed_server());
    let check = |secret: &str, grant: &str| {
        let login = json!({"clientId": "robot", "clientSecret": "${ROBOT_SECRET}", "grantType": grant});
        let written = json!({"mcpServers": {"web": {"url": url, "oauth": login}}});
        world.config("mcp.json", &written.to_string());
        let mut check = world.command(&["mcp", "check", "web"]);
        let done = check.env("ROBOT_SECRET", secret).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = check("s3cret", "client_credentials");
    assert!(code == Some(0) && said.starts_with("web: well"), "{said}");
    world.updraft(&["mcp", "logout", "web"]).code(0);
    let (code, said) = check("wrong", "client_credentials");
    assert!(code == Some(1) && said.contains("the login failed") && !said.contains("s3cret"), "{said}");
    // Where a person could sign in too, a secret alone does not say that nobody shall.
    let (code, said) = check("s3cret", "authorization_code");
    assert!(code == Some(1) && said.contains("updraft mcp login web"), "{said}");
    let (code, said) = check("s3cret", "password");
    assert!(code != Some(0) && said.contains("expected `authorization_code` or `client_credentials`"), "{said}");
}

#[test]
fn a_person_who_is_sent_back_without_a_login_is_told_why() {
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/mcp", closed_server());
    world.updraft(&["mcp", "add", "web", "--url", &url]).code(0);
    let mut login = world.command(&["mcp", "login", "web"]).spawn().unwrap();
    let mut said = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let page = said.find_map(|line| line.trim().starts_with("http://").then(|| line.trim().to_owned())).unwrap();
    let back = page.split(['?', '&']).find_map(|pair| pair.strip_prefix("redirect_uri=")).unwrap();
    let back = back.replace("%3A", ":").replace("%2F", "/");
    let shown = visit(&format!("{back}?error=access_denied&error_description=Ada+said+no&state=x"));
    assert!(shown.contains("You are not signed in: Ada said no (access_denied)."), "{shown}");
    assert!(!login.wait().unwrap().success());
    let said: Vec<String> = said.collect();
    assert!(said.iter().any(|line| line.contains("the login failed: Ada said no (access_denied)")), "{said:?}");
    assert!(!said.iter().any(|line| line.contains("speaks MCP")), "{said:?}");
}
