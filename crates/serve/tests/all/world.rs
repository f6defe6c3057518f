//! A server on a workspace of its own, and a browser that speaks HTTP by hand.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::McpHandler;
use updraft_run::{ApprovalMode, Level};
use updraft_serve::{HttpHost, PageAccess, ServeToken, UpdraftBackend, serve};
use updraft_workbench::{AppFolders, Confine, Flags, UpdraftService};

/// A test that waits longer for an event waits in vain.
const LIMIT: std::time::Duration = std::time::Duration::from_mins(1);

/// A server that runs until it is stopped.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) address: String,
    pub(crate) token: ServeToken,
    pub(crate) service: UpdraftService,
    pub(crate) cookie: String,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The run that the browser is sent to.
    pub(crate) fn run(&self) -> String {
        assert_eq!(self.status, 303, "{}", self.body);
        self.header("location").unwrap().strip_prefix("/runs/").unwrap().to_owned()
    }
}

impl World {
    /// A server whose model answers from this script.
    pub(crate) async fn new(script: &Value) -> Self {
        Self::at(tempfile::tempdir().unwrap(), script, "127.0.0.1:0", None).await
    }

    async fn at(folder: tempfile::TempDir, script: &Value, address: &str, approvals: Option<ApprovalMode>) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let (workspace, file) = (root.join("ws"), root.join("script.json"));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::write(&file, script.to_string()).unwrap();
        let folders = AppFolders::under(&root.join("home"));
        let confine = Confine { level: Some(Level::None), ..Confine::default() };
        let model = Some(format!("scripted/{}", file.display()));
        let flags = Flags { model, approvals, probe: Some(false), confine, ..Flags::default() };
        let stop = CancellationToken::new();
        let opened = UpdraftService::open(&folders, &workspace, flags, stop.clone(), Arc::new(|_| {})).await;
        let service = opened.unwrap().0;
        let token = ServeToken::new("the token of this test").unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let handler = McpHandler::new(Arc::new(UpdraftBackend::new(service.clone(), "0")), &token.key("x")).unwrap();
        let host = HttpHost {
            listener,
            token: token.clone(),
            hosts: Vec::new(),
            origins: Vec::new(),
            page: Some(service.clone()),
            stop: stop.clone(),
        };
        let serving = tokio::task::spawn(async move { serve(host, &handler).await.unwrap() });
        let mut world = Self { folder, address, token, service, cookie: String::new(), stop, serving };
        let entered = world.send("GET", &PageAccess::entry(&world.token).unwrap(), "", "").await;
        let cookie = entered.header("set-cookie").unwrap_or_default().split(';').next().unwrap_or_default();
        cookie.clone_into(&mut world.cookie);
        world
    }

    /// The same workspace, served by another process at the same address.
    pub(crate) async fn restarted(self, script: &Value) -> Self {
        self.restarted_with(script, None).await
    }

    /// The same with other approvals.
    pub(crate) async fn restarted_with(self, script: &Value, approvals: Option<ApprovalMode>) -> Self {
        let (cookie, address) = (self.cookie.clone(), self.address.clone());
        let folder = self.end().await;
        Self { cookie, ..Self::at(folder, script, &address, approvals).await }
    }

    async fn end(self) -> tempfile::TempDir {
        self.stop.cancel();
        self.serving.await.unwrap();
        self.service.close().await;
        self.folder
    }

    pub(crate) async fn close(self) {
        drop(self.end().await);
    }

    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("ws").join(name)
    }

    /// Sends one request with these headers, and nothing else.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.to_ascii_lowercase().contains("host:") { String::new() } else { self.host() };
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.address)
    }

    /// Looks at a page, with the cookie.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &format!("Cookie: {}\r\n", self.cookie), "").await
    }

    /// Sends a form, as a browser does.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let pair = |(name, value): &(&str, &str)| format!("{}={}", encode(name), encode(value));
        let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
        let headers = format!("{}Content-Type: application/x-www-form-urlencoded\r\n", self.own());
        self.send("POST", path, &headers, &body).await
    }

    /// Headers of a form on the page itself.
    pub(crate) fn own(&self) -> String {
        format!("Cookie: {}\r\nOrigin: http://{}\r\n", self.cookie, self.address)
    }

    /// Starts a run from the form, perhaps with a file.
    pub(crate) async fn start(&self, fields: &[(&str, &str)], file: Option<(&str, &str)>) -> Answer {
        let mut body = String::new();
        for (name, value) in fields {
            body += &format!("--b0\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        }
        if let Some((name, content)) = file {
            body += &format!(
                "--b0\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n{content}\r\n"
            );
        }
        body += "--b0--\r\n";
        let headers = format!("{}Content-Type: multipart/form-data; boundary=b0\r\n", self.own());
        self.send("POST", "/new", &headers, &body).await
    }

    /// Watches a run from a position on.
    pub(crate) async fn watch(&self, path: &str, more: &str) -> EventReader {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let text = format!("GET {path} HTTP/1.1\r\n{}Cookie: {}\r\n{more}\r\n", self.host(), self.cookie);
        stream.write_all(text.as_bytes()).await.unwrap();
        EventReader(BufReader::new(stream))
    }

    /// Watches a run until one of its patches contains a text; gives the position.
    pub(crate) async fn until(&self, run: &str, text: &str) -> u64 {
        let mut events = self.watch(&format!("/runs/{run}/stream?after=1&view=events"), "").await;
        loop {
            let patch = events.patch().await;
            if patch.to_string().contains(text) {
                return patch["position"].as_u64().unwrap();
            }
        }
    }
}

/// Reads server-sent events.
pub(crate) struct EventReader(BufReader<TcpStream>);

impl EventReader {
    /// Leaves without a word: the server gets a reset.
    pub(crate) fn vanish(self) {
        self.0.get_ref().set_zero_linger().unwrap();
    }

    /// The data of the next patch.
    pub(crate) async fn patch(&mut self) -> Value {
        let mut is_patch = false;
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(LIMIT, self.0.read_line(&mut line)).await;
            assert!(read.expect("nothing comes any more").unwrap() > 0, "the stream has ended");
            if let Some(name) = line.strip_prefix("event: ") {
                is_patch = name.trim() == "patch";
            }
            if let Some(data) = line.strip_prefix("data: ").filter(|_| is_patch) {
                return serde_json::from_str(data.trim_end()).unwrap();
            }
        }
    }
}
