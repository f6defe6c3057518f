//! A server on a workspace of its own, and a browser that speaks HTTP by hand.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::McpHandler;
use updraft_run::{ApprovalMode, Level};
use updraft_serve::{HttpHost, PageAccess, ServeToken, TlsIdentity, UpdraftBackend, UserFile, UserRole, Webhooks};
use updraft_workbench::settings::TrustedWorkspaces;
use updraft_workbench::{AppFolders, Confine, Flags, UpdraftService};

/// A test that waits longer for an event waits in vain.
pub(crate) const LIMIT: std::time::Duration = std::time::Duration::from_mins(1);

/// A server that runs until it is stopped.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) address: String,
    pub(crate) token: ServeToken,
    pub(crate) service: UpdraftService,
    pub(crate) users: UserFile,
    pub(crate) cookie: String,
    tls: Option<TlsConnector>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// How a server is set up.
#[derive(Default)]
pub(crate) struct WorldOptions {
    /// Where it listens; a free port of 127.0.0.1 if absent.
    pub(crate) address: Option<String>,
    pub(crate) approvals: Option<ApprovalMode>,
    /// The names in its certificate; without any, connections are not encrypted.
    pub(crate) names: Vec<String>,
}

/// A connection, encrypted or not.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {
    /// The end of the connection is a reset.
    fn reset(&self);
}

impl Connection for TcpStream {
    fn reset(&self) {
        self.set_zero_linger().unwrap();
    }
}

impl Connection for TlsStream<TcpStream> {
    fn reset(&self) {
        self.get_ref().0.reset();
    }
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

    /// The cookie that it sets, without its attributes.
    pub(crate) fn cookie(&self) -> String {
        self.header("set-cookie").unwrap_or_default().split(';').next().unwrap_or_default().to_owned()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.body))
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
        Self::with(script, WorldOptions::default()).await
    }

    /// The same, with these settings of the user.
    pub(crate) async fn with_settings(script: &Value, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = AppFolders::under(&folder.path().canonicalize().unwrap().join("home")).settings();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, settings).unwrap();
        Self::at(folder, script, WorldOptions::default()).await
    }

    /// The same, in a workspace that the user trusts.
    pub(crate) async fn trusted(script: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("ws");
        std::fs::create_dir(&workspace).unwrap();
        let trusted = TrustedWorkspaces::load(&AppFolders::under(&root.join("home")));
        trusted.add(&workspace, &trusted.what_counts(&workspace)).unwrap();
        Self::at(folder, script, WorldOptions::default()).await
    }

    /// The same, with MCP servers of the user.
    pub(crate) async fn with_servers(script: &Value, servers: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let folders = AppFolders::under(&folder.path().canonicalize().unwrap().join("home"));
        std::fs::create_dir_all(&folders.config).unwrap();
        std::fs::write(folders.config.join("mcp.json"), servers.to_string()).unwrap();
        Self::at(folder, script, WorldOptions::default()).await
    }

    pub(crate) async fn with(script: &Value, options: WorldOptions) -> Self {
        Self::at(tempfile::tempdir().unwrap(), script, options).await
    }

    async fn at(folder: tempfile::TempDir, script: &Value, options: WorldOptions) -> Self {
        let WorldOptions { address, approvals, names } = options;
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
        let users = UserFile::at(root.join("users"));
        let (tls, connector) = (!names.is_empty()).then(|| certificate(&root, names)).unzip();
        let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let handler = McpHandler::new(Arc::new(UpdraftBackend::new(service.clone(), "0")), &token.key("x")).unwrap();
        let host = HttpHost {
            listener,
            token: token.clone(),
            hosts: Vec::new(),
            origins: Vec::new(),
            tls,
            page: Some(service.clone()),
            users: users.clone(),
            webhooks: Webhooks::of(&service).unwrap(),
            stop: stop.clone(),
        };
        let serving = tokio::task::spawn(async move { host.serve(&handler).await.unwrap() });
        let (cookie, tls) = (String::new(), connector);
        let mut world = Self { folder, address, token, service, users, cookie, tls, stop, serving };
        world.cookie = world.send("GET", &PageAccess::entry(&world.token).unwrap(), "", "").await.cookie();
        world
    }

    /// The cookie of a new user with this name.
    pub(crate) async fn user(&self, name: &str, role: UserRole) -> String {
        let token = self.users.add(name, role).unwrap();
        self.sign_in(&token).await.cookie()
    }

    /// Sends the form in which users show their token.
    pub(crate) async fn sign_in(&self, token: &str) -> Answer {
        let origin = format!("Origin: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n", self.origin());
        self.send("POST", "/enter", &origin, &format!("token={token}")).await
    }

    /// The same server as seen by somebody else.
    pub(crate) fn seen_with(&mut self, cookie: &str) -> String {
        std::mem::replace(&mut self.cookie, cookie.to_owned())
    }

    /// The same workspace, served by another process at the same address.
    pub(crate) async fn restarted(self, script: &Value) -> Self {
        self.restarted_with(script, None).await
    }

    /// The same with other approvals.
    pub(crate) async fn restarted_with(self, script: &Value, approvals: Option<ApprovalMode>) -> Self {
        let (cookie, address) = (self.cookie.clone(), self.address.clone());
        let folder = self.end().await;
        let options = WorldOptions { address: Some(address), approvals, ..WorldOptions::default() };
        Self { cookie, ..Self::at(folder, script, options).await }
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
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Box<dyn Connection> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        match &self.tls {
            Some(tls) => {
                let name = ServerName::try_from("team.example").unwrap();
                Box::new(tls.connect(name, stream).await.unwrap())
            }
            None => Box::new(stream),
        }
    }

    /// The page's own address.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
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
        format!("Cookie: {}\r\nOrigin: {}\r\n", self.cookie, self.origin())
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
        let mut stream = self.connect().await;
        let text = format!("GET {path} HTTP/1.1\r\n{}Cookie: {}\r\n{more}\r\n", self.host(), self.cookie);
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
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

/// A certificate for these names, in files, and a client that believes it.
fn certificate(folder: &std::path::Path, names: Vec<String>) -> (TlsIdentity, TlsConnector) {
    let [file, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(&file, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    (TlsIdentity::read(&file, &key).unwrap(), TlsConnector::from(Arc::new(config)))
}

/// Reads server-sent events.
pub(crate) struct EventReader(BufReader<Box<dyn Connection>>);

impl EventReader {
    /// Whether the stream ends, whatever comes before.
    pub(crate) async fn ends(&mut self) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(LIMIT, self.0.read_to_end(&mut rest)).await.is_ok()
    }

    /// Leaves without a word: the server gets a reset.
    pub(crate) fn vanish(self) {
        self.0.get_ref().reset();
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
