//! The life of one server: it is started when needed, monitored, restarted after a failure, and paused after repeated
//! failures.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::{CallToolResult, ErrorCode, JsonObject};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_tools::CallLog;

use super::connect::{ConnectAttempt, ProtocolStyle};
use super::connection::{CallOptions, Connection};
use super::failed_start::FailedStart;
use super::host::McpHost;
use super::list_changes::ListChanges;
use super::login::ServerLogin;
use super::manifest::Manifest;
use super::open_requests::ProtocolViolations;
use crate::config::{ServerConfig, ServerTimeouts};
use crate::error::Error;

/// Failures in a row before a server is paused.
const FORGIVEN: u32 = 3;
/// The first pause; each further pause is twice as long.
const REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// If the pause is shorter than this, a call waits for its end.
const WAITED_FOR: Duration = Duration::from_secs(5);
/// Calls in a row without an answer after which a process counts as hung.
const SILENCES: u32 = 2;
/// Requests lost in a row over HTTP after which the next call opens a new connection.
const LOSSES: u32 = 3;
/// How many times a repeatable call is repeated when the connection ends during it.
const AGAIN: u32 = 2;
/// The JSON-RPC error code for an unknown method.
const NO_SUCH_METHOD: i32 = ErrorCode::METHOD_NOT_FOUND.0;
/// Waits before a list that could not be read is requested again.
const LIST_AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];

/// How long an answer waits for a changed list of tools to be read, if the server announced the change before the
/// answer.
const LISTING: Duration = Duration::from_secs(5);

/// Called when the server's tools have changed.
pub(super) type ChangeCallback = Arc<dyn Fn() + Send + Sync>;

/// One configured server. Nothing is started before it is needed.
pub struct Server {
    pub(super) config: ServerConfig,
    pub(super) host: Arc<McpHost>,
    login: Arc<ServerLogin>,
    changed: Arc<ListChanges>,
    /// Called when the server's tools have changed.
    told: Mutex<Option<ChangeCallback>>,
    state: Mutex<ServerState>,
    /// Held while connecting, so that one process is started for all waiting callers.
    pub(super) connecting: tokio::sync::Mutex<()>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct ServerState {
    connection: Option<Arc<Connection>>,
    manifest: Option<Arc<Manifest>>,
    failures: u32,
    last: Option<Error>,
    not_before: Option<Instant>,
    silences: u32,
    /// Single requests lost in a row.
    losses: u32,
    starts: u32,
    misdeeds: ProtocolViolations,
}

/// The state of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerHealth {
    /// Whether it is connected.
    pub is_up: bool,
    /// How often it was started or connected to.
    pub starts: u32,
    /// Failures in a row.
    pub failures: u32,
    /// The last failure, if it has not worked since.
    pub last: Option<Error>,
    /// Its violations of the protocol on the current or the last connection.
    pub misdeeds: ProtocolViolations,
}

/// The outcome of a call.
pub(super) struct ServerCallResult {
    pub(super) result: CallToolResult,
    /// The hosts that the server reached through our proxy during the call.
    pub(super) hosts: Vec<String>,
    /// A description of the files that it left and that were moved aside.
    pub(super) left: String,
}

impl Server {
    /// A server that is not started yet. What was learned about it before is read from the host's memory.
    pub fn new(config: ServerConfig, host: Arc<McpHost>) -> Arc<Self> {
        let kept = host.memory_of(&config).and_then(|path| Manifest::load(&path, &config.fingerprint));
        let login = Arc::new(ServerLogin::new(Arc::clone(&host), &config));
        let state = ServerState { manifest: kept.map(Arc::new), ..ServerState::default() };
        let server = Arc::new(Self {
            config,
            host,
            login,
            changed: Arc::default(),
            told: Mutex::default(),
            state: Mutex::new(state),
            connecting: tokio::sync::Mutex::new(()),
            tasks: Mutex::default(),
        });
        let (weak, changed) = (Arc::downgrade(&server), Arc::clone(&server.changed));
        if tokio::runtime::Handle::try_current().is_ok() {
            server.spawn(keep_listed(weak, changed));
        }
        server
    }

    /// Its configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// What it said about itself, now or the last time.
    pub fn manifest(&self) -> Option<Arc<Manifest>> {
        self.state().manifest.clone()
    }

    /// Whether the user vouches for what it says about its tools: for exactly this text, or for everything it says.
    pub(super) fn is_vouched_for(&self) -> bool {
        let is_sealed = |known: Arc<Manifest>| self.host.vouched.contains(&known.seal(&self.config.name));
        self.config.trusts_hints || self.manifest().is_some_and(is_sealed)
    }

    /// Its current state.
    pub fn health(&self) -> ServerHealth {
        let state = self.state();
        let live = state.connection.as_ref().filter(|connection| !connection.is_closed());
        ServerHealth {
            is_up: live.is_some(),
            starts: state.starts,
            failures: state.failures,
            last: state.last.clone(),
            // Includes a connection that has just ended, because there may have been no call since.
            misdeeds: state.connection.as_ref().map_or_else(|| state.misdeeds.clone(), |last| last.misdeeds()),
        }
    }

    /// Requests its tools now, and starts it if necessary. A server that answers at all is alive.
    pub async fn check(&self) -> Result<Arc<Manifest>, Error> {
        let connection = self.connection().await?;
        let listed = self.list(&connection).await;
        self.judge(&connection, listed.as_ref().err()).await;
        if let Err(error) = &listed {
            self.state().last = Some(error.clone());
        }
        listed
    }

    /// Ends it, and waits until its process is gone.
    pub async fn close(&self) {
        self.tell(None);
        self.login.close();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.login.closed().await;
    }

    /// Calls a tool. If the connection ends during the call, a repeatable call is repeated, and a call with a handle is
    /// resumed.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        is_repeatable: bool,
        waiting: &CallOptions<'_>,
    ) -> Result<ServerCallResult, Error> {
        let mut tries = AGAIN;
        loop {
            let connection = self.connection().await?;
            connection.works_for(waiting.run).await;
            let mark = connection.reached.mark();
            let answer = self.hidden(connection.call(tool, arguments.clone(), waiting).await);
            let left = connection.look_after().await;
            self.judge(&connection, answer.as_ref().err()).await;
            match answer {
                Err(error @ Error::Lost(_)) if tries > 0 && (is_repeatable || waiting.is_found()) => {
                    // A call with a handle is resumed, not repeated.
                    told(&left, &waiting.log);
                    tracing::debug!(%error, "the call is made or found again");
                    tries -= 1;
                }
                other => {
                    if other.is_err() {
                        told(&left, &waiting.log);
                    }
                    // After the answer, the caller can use the tools that the server announced before it. The
                    // notifications are handled by a separate task, which gets its turn here.
                    tokio::task::yield_now().await;
                    self.changed.settled(LISTING).await;
                    return other.map(|result| ServerCallResult {
                        result,
                        hosts: connection.reached.since(mark),
                        left,
                    });
                }
            }
        }
    }

    /// The open connection, or a new one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Error> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let _one = self.connecting.lock().await;
        if let Some(live) = self.live() {
            return Ok(live);
        }
        self.rest().await?;
        self.bury();
        let remembered = self.state().manifest.as_ref().map(|manifest| manifest.manner);
        let made = self.attempt(remembered).await;
        let made = match made {
            // What was remembered about the server may be outdated, because servers are updated.
            Err(Error::Login(_) | Error::Unfetched(_) | Error::Slow(_)) | Ok(_) => made,
            Err(_) if remembered.is_some() => self.attempt(None).await,
            Err(_) => made,
        };
        let connection = match made {
            Ok(connection) => Arc::new(connection),
            Err(error) => return Err(self.failed(error)),
        };
        // The tools are listed at once: for a remote server, the list may say which headers every call needs.
        match self.list(&connection).await {
            Ok(_) => {}
            // The server works, but refuses to list its tools now. They are known from before.
            Err(Error::Refused { .. }) if self.manifest().is_some() => {}
            Err(error) => {
                connection.close().await;
                return Err(self.failed(error));
            }
        }
        let mut state = self.state();
        state.starts += 1;
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn attempt(&self, remembered: Option<ProtocolStyle>) -> Result<Connection, Error> {
        self.login.open();
        let attempt = ConnectAttempt {
            host: &self.host,
            config: &self.config,
            login: &self.login,
            changed: &self.changed,
            remembered,
        };
        self.hidden(Box::pin(attempt.make()).await)
    }

    /// Removes the values of variables from an error: errors are shown to people and models, and stored in the journal.
    pub(super) fn hidden<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        done.map_err(|error| error.reworded(|words| self.config.hide(words)))
    }

    /// Lists its tools, and remembers them.
    async fn list(&self, connection: &Connection) -> Result<Arc<Manifest>, Error> {
        let cancel = CancellationToken::new();
        let about = connection.about();
        let promises_tools = about.as_ref().is_some_and(|about| about.capabilities.tools.is_some());
        let (tools, wrong) = match self.hidden(connection.tools(&self.waiting_for_lists(&cancel)).await) {
            // The server works and has no tools. Any other refusal may be temporary and says nothing about its tools.
            Err(Error::Refused { code, .. }) if !promises_tools || code == NO_SUCH_METHOD => Default::default(),
            listed => listed?,
        };
        let mut manifest = Manifest::new(&self.config.fingerprint, connection.manner, about.as_deref(), tools);
        manifest.left_out.extend(wrong);
        let manifest = Arc::new(manifest);
        let is_news = {
            let mut state = self.state();
            let old = state.manifest.replace(Arc::clone(&manifest));
            old.as_deref() != Some(&*manifest)
        };
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if is_news && let Some(tell) = told {
            tell();
        }
        if is_news && let Some(path) = self.host.memory_of(&self.config) {
            let kept = Arc::clone(&manifest);
            let saving = move || {
                FailedStart::forget(&path);
                kept.save(&path)
            };
            let saved = tokio::task::spawn_blocking(saving).await;
            if !matches!(saved, Ok(Ok(()))) {
                tracing::debug!(server = self.config.name, "the list of tools could not be kept");
            }
        }
        Ok(manifest)
    }

    pub(super) fn waiting_for_lists<'a>(&self, cancel: &'a CancellationToken) -> CallOptions<'a> {
        let start = self.config.patience.start;
        let patience = ServerTimeouts { call: start, longest: start, ..self.config.patience };
        let found = std::sync::Mutex::default();
        let (log, asker, key, trace) = (CallLog::default(), None, None, None);
        CallOptions { patience, cancel, log, asker, found, run: "unknown", key, trace }
    }

    /// Updates the server's state after a call.
    async fn judge(&self, connection: &Connection, error: Option<&Error>) {
        if let Some(error) = error {
            return self.judge_error(connection, error).await;
        }
        let mut state = self.state();
        (state.failures, state.silences, state.losses, state.last, state.not_before) = (0, 0, 0, None, None);
    }

    async fn judge_error(&self, connection: &Connection, error: &Error) {
        match error {
            // Over HTTP, requests are independent: a lost one says nothing about the others.
            Error::Lost(_) if connection.outlives_requests() => self.count_loss(connection, error),
            Error::Lost(_) => {
                let is_first_to_know = self.drop_connection(connection).await;
                // A server that fails before it has done anything is not restarted at once, again and again. Many calls
                // may have waited for it, but this counts as one failure.
                if is_first_to_know && connection.answered.load(Ordering::Relaxed) == 0 {
                    self.failed(error.clone());
                } else {
                    self.state().last = Some(error.clone());
                }
            }
            Error::Silent(_) => {
                let has_hung = {
                    let mut state = self.state();
                    state.silences += 1;
                    state.last = Some(error.clone());
                    state.silences >= SILENCES
                };
                if has_hung {
                    self.state().silences = 0;
                    // Over HTTP, other requests may still be answered: the next call opens a new connection, and they
                    // keep theirs.
                    if connection.outlives_requests() {
                        drop(self.take(connection));
                    } else {
                        self.drop_connection(connection).await;
                    }
                }
            }
            Error::Unknown(_)
            | Error::Start(_)
            | Error::Unfetched(_)
            | Error::Slow(_)
            | Error::Unreachable(_)
            | Error::Login(_)
            | Error::Resting { .. }
            | Error::Refused { .. }
            | Error::OpenUrls { .. }
            | Error::Abandoned(_)
            | Error::Nonsense(_)
            | Error::Cancelled => {}
        }
    }

    /// Counts a single lost request. After several in a row the next call opens a new connection; the calls in progress
    /// keep the old one.
    fn count_loss(&self, connection: &Connection, error: &Error) {
        let is_enough = {
            let mut state = self.state();
            state.losses += 1;
            state.last = Some(error.clone());
            state.losses >= LOSSES
        };
        if is_enough && self.take(connection).is_some() {
            self.state().losses = 0;
            self.failed(error.clone());
        }
    }

    /// Closes a connection that can no longer be used, so that the next call opens a new one. Returns false if another
    /// call has done so.
    async fn drop_connection(&self, connection: &Connection) -> bool {
        let Some(connection) = self.take(connection) else { return false };
        connection.close().await;
        true
    }

    /// Removes this connection, and remembers its violations. Returns `None` if another call has done so.
    fn take(&self, connection: &Connection) -> Option<Arc<Connection>> {
        let misdeeds = connection.misdeeds();
        let mut state = self.state();
        state.misdeeds = misdeeds;
        let is_this = state.connection.as_ref().is_some_and(|held| std::ptr::eq(Arc::as_ptr(held), connection));
        if is_this { state.connection.take() } else { None }
    }

    /// Remembers the violations of a connection that has ended.
    fn bury(&self) {
        let mut state = self.state();
        if let Some(dead) = state.connection.take() {
            state.misdeeds = dead.misdeeds();
        }
    }

    /// Waits for the end of a short pause; a long pause is an error.
    async fn rest(&self) -> Result<(), Error> {
        let (until, times, last) = {
            let state = self.state();
            (state.not_before, state.failures, state.last.clone())
        };
        let Some(until) = until else { return Ok(()) };
        let wait = until.saturating_duration_since(Instant::now());
        if wait > WAITED_FOR {
            let last = last.map(|error| error.to_string()).unwrap_or_default();
            return Err(Error::Resting { times, last, wait: Duration::from_secs(wait.as_secs() + 1) });
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn failed(&self, error: Error) -> Error {
        let mut state = self.state();
        state.failures += 1;
        state.last = Some(error.clone());
        if state.failures >= FORGIVEN {
            let rest = REST * 2_u32.saturating_pow((state.failures - FORGIVEN).min(10));
            state.not_before = Some(Instant::now() + rest.min(LONGEST_REST));
        }
        error
    }

    fn live(&self) -> Option<Arc<Connection>> {
        self.state().connection.clone().filter(|connection| !connection.is_closed())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the callback for changes of its tools.
    pub(super) fn tell(&self, told: Option<ChangeCallback>) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// Runs a background task that ends with the server.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(work);
    }

    /// Starts the server in the background to update its list of tools. The returned receiver resolves when that is
    /// done.
    pub(super) fn refresh(self: &Arc<Self>) -> oneshot::Receiver<()> {
        let (done, over) = oneshot::channel();
        let weak = Arc::downgrade(self);
        self.spawn(async move {
            if let Some(server) = weak.upgrade() {
                let _ = server.check().await;
            }
            drop(done);
        });
        over
    }
}

/// Reports the files that a call left to the log of the call.
fn told(left: &str, log: &CallLog) {
    left.lines().filter(|line| !line.is_empty()).for_each(|line| log.line(line));
}

/// Lists a server's tools again whenever it announces a change.
async fn keep_listed(server: Weak<Server>, changed: Arc<ListChanges>) {
    loop {
        let said = changed.said_since().await;
        let Some(server) = server.upgrade() else { return };
        for wait in LIST_AGAIN {
            let Some(connection) = server.live() else { break };
            if server.list(&connection).await.is_ok() {
                break;
            }
            tokio::time::sleep(wait).await;
        }
        changed.is_read(said);
    }
}
