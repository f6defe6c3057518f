//! Our client with servers that others wrote: npm's reference servers over every transport, and PyPI's.
//!
//! `UPDRAFT_TEST_NPM` names a folder with the npm packages, `UPDRAFT_TEST_MCP_PYTHON` a Python with the others;
//! `./test.sh` sets them. Without them the tests say so and end.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr, reason = "tests")]

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::World;
use serde_json::{Value, json};
use updraft_mcp::Servers;

/// A folder or program that the test command prepares. Without it, says so past the test runner's capture.
fn prepared(variable: &str) -> Option<String> {
    let found = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        let text = format!("!! SKIP: {variable} is not set; real MCP servers are not tried\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    found
}

fn node(packages: &str) -> String {
    format!("{packages}/node_modules/node/bin/node")
}

fn script(packages: &str, package: &str) -> String {
    format!("{packages}/node_modules/@modelcontextprotocol/{package}/dist/index.js")
}

/// An npm server on pipes, which may read the packages.
fn npm(packages: &str, package: &str, args: &[&str]) -> Value {
    let real = Path::new(packages).canonicalize().unwrap();
    let mut all = vec![script(packages, package)];
    all.extend(args.iter().map(|&arg| arg.to_owned()));
    json!({"command": node(packages), "args": all, "startSeconds": 120, "callSeconds": 60, "sandbox": {"read": [real]}})
}

/// A PyPI server on pipes, which may read its environment and the Python it was made of.
fn pypi(python: &str, module: &str, args: &[&str], network: &str) -> Value {
    let environment = Path::new(python).parent().unwrap().parent().unwrap();
    let base = Path::new(python).canonicalize().unwrap().parent().unwrap().parent().unwrap().to_owned();
    let mut all = vec!["-m".to_owned(), module.to_owned()];
    all.extend(args.iter().map(|&arg| arg.to_owned()));
    json!({"command": python, "args": all, "startSeconds": 120, "callSeconds": 60,
           "sandbox": {"read": [environment, base], "network": network}})
}

/// A server of the Python SDK that adds numbers, over any transport.
fn adder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp-servers/adder.py").canonicalize().unwrap()
}

fn adder_on_pipes(python: &str) -> Value {
    let (script, mut server) = (adder(), pypi(python, "x", &[], "none"));
    server["args"] = json!([script, "stdio", "0"]);
    server["sandbox"]["read"].as_array_mut().unwrap().push(json!(script.parent().unwrap()));
    server
}

async fn names(servers: &Servers, server: &str) -> Vec<String> {
    let manifest = servers.get(server).unwrap().check().await.unwrap_or_else(|error| panic!("{server}: {error}"));
    manifest.tools.iter().map(|tool| tool.name.clone()).collect()
}

/// A server of its own on loopback, ended with this.
struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    fn start(mut command: Command, port: u16) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, port }
    }

    fn everything(packages: &str, transport: &str) -> Self {
        let port = free_port();
        let mut command = Command::new(node(packages));
        command.arg(script(packages, "server-everything")).arg(transport).env("PORT", port.to_string());
        Self::start(command, port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn uses_everything(world: &World, servers: &Servers) {
    let dispatcher = world.dispatcher(servers).await;
    let echoed = world.output(&dispatcher, "mcp_everything_echo", json!({"message": "hello"})).await;
    assert_eq!(echoed.text, "Echo: hello");
    let sum = world.output(&dispatcher, "mcp_everything_get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.text.contains('5'), "{}", sum.text);
    let picture = world.output(&dispatcher, "mcp_everything_get-tiny-image", json!({})).await;
    assert_eq!(picture.pictures.len(), 1, "{picture:?}");
    let data =
        world.output(&dispatcher, "mcp_everything_get-structured-content", json!({"location": "New York"})).await;
    assert!(data.value.as_ref().is_some_and(|value| value["temperature"].is_number()), "{data:?}");
    let long = json!({"duration": 1, "steps": 2});
    world.output(&dispatcher, "mcp_everything_trigger-long-running-operation", long).await;
    assert!(world.lines.lock().unwrap().iter().any(|line| line.starts_with("2 of 2")), "{:?}", world.lines);
    let server = servers.get("everything").unwrap();
    let held = server.resources().await.unwrap();
    assert!(!held.is_empty());
    assert!(!server.read(&held[0].uri).await.unwrap().is_empty());
    let prompts = server.prompts().await.unwrap();
    assert!(prompts.iter().any(|(name, _)| name == "simple-prompt"), "{prompts:?}");
    assert!(!server.prompt("simple-prompt", serde_json::Map::new()).await.unwrap().is_empty());
    servers.close().await;
}

#[tokio::test]
async fn server_everything_on_pipes() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let world = World::new();
    let servers = world.servers(json!({"everything": npm(&packages, "server-everything", &["stdio"])})).await;
    uses_everything(&world, &servers).await;
}

#[tokio::test]
async fn server_everything_over_streamable_http() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let listening = Listening::everything(&packages, "streamableHttp");
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/mcp", listening.port);
    let servers = world.servers(json!({"everything": {"url": url, "startSeconds": 60}})).await;
    uses_everything(&world, &servers).await;
}

#[tokio::test]
async fn server_everything_over_the_transport_of_2024_named_or_not() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    for named in [json!("sse"), json!("http")] {
        let listening = Listening::everything(&packages, "sse");
        let world = World::new();
        let url = format!("http://127.0.0.1:{}/sse", listening.port);
        let servers = world.servers(json!({"everything": {"type": named, "url": url, "startSeconds": 60}})).await;
        uses_everything(&world, &servers).await;
    }
}

#[tokio::test]
async fn server_filesystem_reads_and_writes_the_workspace() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let world = World::new();
    let workspace = world.workspace().display().to_string();
    std::fs::write(world.workspace().join("notes.txt"), "hello\n").unwrap();
    let servers = world.servers(json!({"fs": npm(&packages, "server-filesystem", &[&workspace])})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let path = world.workspace().join("notes.txt");
    let read = world.output(&dispatcher, "mcp_fs_read_text_file", json!({"path": path})).await;
    assert_eq!(read.text.trim_end(), "hello");
    let path = world.workspace().join("new.txt");
    world.output(&dispatcher, "mcp_fs_write_file", json!({"path": path, "content": "new"})).await;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "new");
    servers.close().await;
}

#[tokio::test]
async fn server_memory_remembers_between_calls() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let world = World::new();
    let mut server = npm(&packages, "server-memory", &[]);
    server["env"] = json!({"MEMORY_FILE_PATH": world.workspace().join("memory.json")});
    let servers = world.servers(json!({"memory": server})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}]});
    world.output(&dispatcher, "mcp_memory_create_entities", entity).await;
    let found = world.output(&dispatcher, "mcp_memory_search_nodes", json!({"query": "Ada"})).await;
    assert!(found.text.contains("wrote programs"), "{}", found.text);
    servers.close().await;
}

#[tokio::test]
async fn mcp_server_time_speaks_the_newest_revision() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let world = World::new();
    let server = pypi(&python, "mcp_server_time", &["--local-timezone", "UTC"], "none");
    let servers = world.servers(json!({"time": server})).await;
    assert_eq!(names(&servers, "time").await, ["convert_time", "get_current_time"]);
    assert_eq!(servers.get("time").unwrap().manifest().unwrap().revision, "2026-07-28");
    let dispatcher = world.dispatcher(&servers).await;
    let args = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let converted = world.output(&dispatcher, "mcp_time_convert_time", args).await;
    assert!(converted.text.contains("21:00"), "{}", converted.text);
    servers.close().await;
}

#[tokio::test]
async fn a_server_is_spoken_to_in_the_one_revision_that_its_entry_names() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let port = free_port();
    let mut command = Command::new(&python);
    command.arg(adder()).arg("streamable-http").arg(port.to_string());
    let _listening = Listening::start(command, port);
    let remote = json!({"url": format!("http://127.0.0.1:{port}/mcp"), "startSeconds": 60});
    for mut server in [adder_on_pipes(&python), remote] {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
            server["revision"] = json!(revision);
            let world = World::new();
            let servers = world.servers(json!({"adder": server})).await;
            let dispatcher = world.dispatcher(&servers).await;
            let sum = world.output(&dispatcher, "mcp_adder_add", json!({"a": 2, "b": 3})).await;
            assert_eq!(sum.text, "5", "{server}");
            assert_eq!(servers.get("adder").unwrap().manifest().unwrap().revision, revision, "{server}");
            servers.close().await;
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_revision_of_its_entry_is_named() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let world = World::new();
    let mut server = npm(&packages, "server-everything", &["stdio"]);
    server["revision"] = json!("2026-07-28");
    let servers = world.servers(json!({"everything": server})).await;
    let error = servers.get("everything").unwrap().check().await.unwrap_err();
    assert!(error.to_string().contains("its entry allows MCP 2026-07-28 alone"), "{error}");
    servers.close().await;
}

#[tokio::test]
async fn mcp_server_git_reads_a_repository() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let world = World::new();
    let workspace = world.workspace().display().to_string();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let done = Command::new("git").args(who).args(args).current_dir(&workspace).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "Begin"]);
    let servers =
        world.servers(json!({"git": pypi(&python, "mcp_server_git", &["--repository", &workspace], "none")})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let log = world.output(&dispatcher, "mcp_git_git_log", json!({"repo_path": workspace, "max_count": 1})).await;
    assert!(log.text.contains("Begin"), "{}", log.text);
    servers.close().await;
}

#[tokio::test]
async fn mcp_server_fetch_reads_a_page_on_loopback() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let world = World::new();
    std::fs::write(world.workspace().join("page.html"), "<html><body><h1>Hello</h1><p>from loopback</p></body></html>")
        .unwrap();
    let port = free_port();
    let mut command = Command::new(&python);
    command.args(["-m", "http.server", &port.to_string(), "--bind", "127.0.0.1"]).current_dir(world.workspace());
    let _listening = Listening::start(command, port);
    let args = ["--ignore-robots-txt", "--allow-private-ips"];
    let servers = world.servers(json!({"fetch": pypi(&python, "mcp_server_fetch", &args, "host")})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let url = format!("http://127.0.0.1:{port}/page.html");
    let page = world.output(&dispatcher, "mcp_fetch_fetch", json!({"url": url, "raw": true})).await;
    assert!(page.text.contains("from loopback"), "{}", page.text);
    servers.close().await;
}

#[tokio::test]
async fn a_server_of_the_python_sdk_is_the_same_over_every_transport() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let uses = async |server: Value| {
        let world = World::new();
        let servers = world.servers(json!({"adder": server})).await;
        let dispatcher = world.dispatcher(&servers).await;
        let sum = world.output(&dispatcher, "mcp_adder_add", json!({"a": 2, "b": 3})).await;
        let revision = servers.get("adder").unwrap().manifest().unwrap().revision.clone();
        servers.close().await;
        (sum.text.clone(), sum.value.clone(), revision)
    };
    let same = |revision: &str| ("5".to_owned(), Some(json!({"result": 5})), revision.to_owned());
    assert_eq!(uses(adder_on_pipes(&python)).await, same("2026-07-28"));
    for (transport, path, revision) in [("streamable-http", "mcp", "2026-07-28"), ("sse", "sse", "2025-11-25")] {
        let port = free_port();
        let mut command = Command::new(&python);
        command.arg(adder()).arg(transport).arg(port.to_string());
        let _listening = Listening::start(command, port);
        let server = json!({"url": format!("http://127.0.0.1:{port}/{path}"), "startSeconds": 60});
        assert_eq!(uses(server).await, same(revision), "{transport}");
    }
}
