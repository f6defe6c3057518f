//! One open connection to a server: sends requests, lists tools, and cancels what is no longer needed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{
    CancelTaskParams, CancelledNotificationParam, ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, Prompt, RequestId, Resource, ResourceTemplate,
    ServerNotification, ServerPeerInfo, ServerResult, SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_run::TraceParent;
use updraft_sandbox::ReachedHosts;
use updraft_tools::CallLog;

use super::calling_run::CallingRun;
use super::clock::CallClock;
use super::connect::ProtocolStyle;
use super::handler::{ProgressListeners, ServerRequestHandler};
use super::list_changes::ListChanges;
use super::log_level;
use super::open_requests::{ProtocolViolations, RequestLedger};
use super::process::ServerProcess;
use super::repair;
use super::rounds::CallHandle;
use super::stdio::UNUSABLE;
use crate::config::ServerTimeouts;
use crate::error::{Error, UrlRequest, chain, cut, deepest};

/// Error code of revision 2025-11-25: a person has to open a URL before the call can be made.
pub(super) const OPEN_URL_FIRST: i32 = -32042;
/// Maximum number of URLs that a person is asked to open for one call.
const MOST_URLS: usize = 5;
/// Maximum number of pages and of entries of one list: more than any server has.
const PAGES: usize = 100;
const ENTRIES: usize = 5_000;
/// How long a server may take to confirm that a task is cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(5);
/// How long closing a connection waits for pending cancellations to be sent.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The first wait before a broken stream of notifications is opened again; each further wait is twice as long.
const REOPEN: Duration = Duration::from_secs(1);

/// A live connection.
pub(super) struct Connection {
    service: Mutex<Option<RunningService<RoleClient, ServerRequestHandler>>>,
    peer: Peer<RoleClient>,
    pub(super) handler: Arc<ServerRequestHandler>,
    listeners: ProgressListeners,
    ledger: Arc<RequestLedger>,
    process: Mutex<Option<ServerProcess>>,
    /// Hosts that its process has reached through the proxy.
    pub(super) reached: ReachedHosts,
    pub(super) manner: ProtocolStyle,
    given_up: mpsc::Sender<Cancellation>,
    /// The number of calls that it has answered.
    pub(super) answered: AtomicU64,
    is_closed: AtomicBool,
    is_on_pipes: bool,
    _tasks: JoinSet<()>,
}

/// The circumstances of one call: its limits, its cancellation and where its progress is reported.
pub(super) struct CallOptions<'a> {
    pub(super) patience: ServerTimeouts,
    pub(super) cancel: &'a CancellationToken,
    pub(super) log: CallLog,
    /// The calling run, if there is one.
    pub(super) asker: Option<CallingRun>,
    /// A handle by which the call can be resumed, from an earlier attempt or from this one.
    pub(super) found: std::sync::Mutex<Option<CallHandle>>,
    /// The id of the run that the call is for.
    pub(super) run: &'a str,
    /// The idempotency key: the same for every attempt at one call of a run, and different for every other call. `None`
    /// if no tool is called.
    pub(super) key: Option<&'a str>,
    /// Its place in a trace, which the server may continue.
    pub(super) trace: Option<TraceParent>,
}

impl Connection {
    pub(super) fn new(
        service: RunningService<RoleClient, ServerRequestHandler>,
        listeners: ProgressListeners,
        ledger: Arc<RequestLedger>,
        process: Option<ServerProcess>,
        manner: ProtocolStyle,
        changed: Arc<ListChanges>,
    ) -> Self {
        let peer = service.peer().clone();
        let host = service.service();
        let handler = Arc::new(ServerRequestHandler {
            server: host.server.clone(),
            host: Arc::clone(&host.host),
            listeners: listeners.clone(),
            changed: Arc::clone(&changed),
            under_way: host.under_way.clone(),
            sampling: host.sampling.clone(),
            offered: host.offered.clone(),
        });
        let mut tasks = JoinSet::new();
        let (given_up, ids) = mpsc::channel(256);
        tasks.spawn(give_up(peer.clone(), ids));
        if manner == ProtocolStyle::Handshake || manner == ProtocolStyle::Sse {
            tasks.spawn(log_level::request_level(peer.clone()));
        }
        let tells =
            peer.peer_info().and_then(|info| info.capabilities.tools.clone()).and_then(|able| able.list_changed);
        if manner == ProtocolStyle::Stateless && tells == Some(true) {
            tasks.spawn(follow(peer.clone(), changed));
        }
        Self {
            service: Mutex::new(Some(service)),
            peer,
            handler,
            listeners,
            ledger,
            reached: process.as_ref().map(ServerProcess::reached).unwrap_or_default(),
            is_on_pipes: process.is_some(),
            process: Mutex::new(process),
            manner,
            given_up,
            answered: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            _tasks: tasks,
        }
    }

    /// Whether no more requests can be sent.
    pub(super) fn is_closed(&self) -> bool {
        // Over HTTP, a server that was cut off for sending too much would still take requests; a new connection is
        // made.
        self.is_closed.load(Ordering::Relaxed) || self.peer.is_transport_closed() || self.ledger.has_flooded()
    }

    /// Whether a single request can be lost while the others continue. Requests on pipes are all lost together.
    pub(super) fn outlives_requests(&self) -> bool {
        !self.is_on_pipes && !self.is_closed()
    }

    /// What the server said about itself when the connection was opened.
    pub(super) fn about(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// How long the server has asked us to send no requests.
    pub(super) fn left_alone_for(&self) -> Duration {
        self.ledger.left_alone_for()
    }

    pub(super) fn misdeeds(&self) -> ProtocolViolations {
        self.ledger.misdeeds()
    }

    /// Attributes what its process does from now on to this run.
    pub(super) async fn works_for(&self, run: &str) {
        if let Some(process) = &*self.process.lock().await {
            process.works_for(run);
        }
    }

    /// If the server is a process, moves aside files that would be executed later. Returns a description of them.
    pub(super) async fn look_after(&self) -> String {
        let looking = self.process.lock().await.as_ref().map(ServerProcess::look_after);
        match looking {
            Some(looking) => looking.await,
            None => String::new(),
        }
    }

    /// Closes the connection, and ends its process.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // Pending cancellations are sent before the connection is closed.
        let (told, all_is_told) = oneshot::channel();
        if self.given_up.try_send(Cancellation::Everything(told)).is_ok() {
            let _ = tokio::time::timeout(LAST_WORDS, all_is_told).await;
        }
        if let Some(mut service) = self.service.lock().await.take() {
            let _ = service.close_with_timeout(Duration::from_secs(3)).await;
        }
        if let Some(mut process) = self.process.lock().await.take() {
            process.close().await;
        }
    }

    /// The server's tools, sorted by name whatever order it sends them in, and the faults of those that cannot be read.
    pub(super) async fn tools(&self, waiting: &CallOptions<'_>) -> Result<(Vec<Tool>, Vec<String>), Error> {
        let (listed, end): (Vec<repair::ToolEntry>, Option<String>) = self
            .every(
                waiting,
                |params| ClientRequest::ListToolsRequest(listing(ListToolsRequest::default(), params)),
                |result| match result {
                    ServerResult::ListToolsResult(page) => {
                        Some((page.tools.into_iter().map(Ok).collect(), page.next_cursor))
                    }
                    ServerResult::CustomResult(result) => repair::page(result.0),
                    _ => None,
                },
            )
            .await?;
        let mut wrong: Vec<String> = end.into_iter().collect();
        wrong.extend(listed.iter().filter_map(|entry| entry.as_ref().err().cloned()));
        let mut all: Vec<Tool> = listed.into_iter().flatten().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|one, other| {
            let is_twice = one.name == other.name;
            if is_twice {
                wrong.push(format!("`{}`: it is listed twice; only one of them is used", cut(&one.name, 100)));
            }
            is_twice
        });
        Ok((all, wrong))
    }

    pub(super) async fn resources(&self, waiting: &CallOptions<'_>) -> Result<Vec<Resource>, Error> {
        let request = |params| ClientRequest::ListResourcesRequest(listing(ListResourcesRequest::default(), params));
        let page = |result| match result {
            ServerResult::ListResourcesResult(page) => Some((page.resources, page.next_cursor)),
            _ => None,
        };
        Ok(self.every(waiting, request, page).await?.0)
    }

    pub(super) async fn resource_forms(&self, waiting: &CallOptions<'_>) -> Result<Vec<ResourceTemplate>, Error> {
        let request = |params| {
            ClientRequest::ListResourceTemplatesRequest(listing(ListResourceTemplatesRequest::default(), params))
        };
        let page = |result| match result {
            ServerResult::ListResourceTemplatesResult(page) => Some((page.resource_templates, page.next_cursor)),
            _ => None,
        };
        Ok(self.every(waiting, request, page).await?.0)
    }

    pub(super) async fn prompts(&self, waiting: &CallOptions<'_>) -> Result<Vec<Prompt>, Error> {
        let request = |params| ClientRequest::ListPromptsRequest(listing(ListPromptsRequest::default(), params));
        let page = |result| match result {
            ServerResult::ListPromptsResult(page) => Some((page.prompts, page.next_cursor)),
            _ => None,
        };
        Ok(self.every(waiting, request, page).await?.0)
    }

    /// All pages of a list, and the reason if it was ended early because the server repeats pages.
    async fn every<T>(
        &self,
        waiting: &CallOptions<'_>,
        request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
        page: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let (mut all, mut cursor, mut seen) = (Vec::new(), None, BTreeSet::new());
        for _ in 0..PAGES {
            let params: Option<PaginatedRequestParams> =
                cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let answer = self.ask(request(params), waiting).await?;
            let (entries, next) = page(answer).ok_or_else(|| Error::Nonsense("it is not a list".to_owned()))?;
            all.extend(entries);
            if all.len() > ENTRIES {
                return Err(Error::Nonsense(format!("a list of more than {ENTRIES} entries")));
            }
            // Some servers send an empty cursor with the last page.
            let Some(next) = next.filter(|next| !next.is_empty()) else { return Ok((all, None)) };
            if !seen.insert(next.clone()) {
                let end =
                    format!("its list returns to the page `{}`; only the pages before that are used", cut(&next, 100));
                return Ok((all, Some(end)));
            }
            cursor = Some(next);
        }
        Err(Error::Nonsense(format!("a list of more than {PAGES} pages")))
    }

    /// A guard that cancels the task when it is dropped.
    pub(super) fn abandoned_task(&self, id: &str) -> CancelOnDrop {
        CancelOnDrop { what: Some(Cancellation::Task(id.to_owned())), given_up: self.given_up.clone() }
    }

    /// Sends a request and waits for its answer within the limits. If the future is dropped, the request is cancelled.
    pub(super) async fn ask(&self, request: ClientRequest, waiting: &CallOptions<'_>) -> Result<ServerResult, Error> {
        let request = if self.manner == ProtocolStyle::Stateless { log_level::wishing(request) } else { request };
        let ServerTimeouts { call, .. } = waiting.patience;
        let clock = Arc::new(CallClock::start());
        let _under_way = self.handler.under_way.enter(waiting.asker.clone(), Arc::clone(&clock));
        let sending = self.peer.send_request_with_option(request, PeerRequestOptions::no_options());
        let sent = tokio::time::timeout(call, sending).await;
        let handle = match sent {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return Err(self.explained(error).await),
            Err(_) => return Err(Error::Silent(call)),
        };
        let _listening = self.listeners.add(&handle.progress_token, waiting.log.clone(), Arc::clone(&clock));
        let what = Some(Cancellation::Request(handle.id.clone()));
        let mut abandoned = CancelOnDrop { what, given_up: self.given_up.clone() };
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            limit = clock.run_out(&waiting.patience) => return Err(Error::Silent(limit)),
            () = waiting.cancel.cancelled() => return Err(Error::Cancelled),
        };
        abandoned.what = None;
        match answer {
            Ok(result) => Ok(result),
            Err(error) => Err(self.explained(error).await),
        }
    }

    /// Translates an error of the SDK.
    async fn explained(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(told) if told.code == UNUSABLE => Error::Nonsense(cut(&told.message, 500)),
            ServiceError::McpError(told)
                if told.code.0 == OPEN_URL_FIRST && self.manner != ProtocolStyle::Stateless =>
            {
                Error::OpenUrls { urls: urls(told.data.as_ref()), message: cut(&told.message, 500) }
            }
            ServiceError::McpError(told) => Error::Refused { code: told.code.0, message: cut(&told.message, 2_000) },
            ServiceError::Timeout { timeout } => Error::Silent(timeout),
            ServiceError::Cancelled { .. } => Error::Cancelled,
            ServiceError::TransportSend(error) => sent_in_vain(&error, &self.handler.server),
            ServiceError::TransportClosed => Error::Lost(self.end().await),
            other => Error::Nonsense(chain(&other)),
        }
    }

    /// Why the connection ended.
    async fn end(&self) -> String {
        let mut words = match self.process.lock().await.as_ref() {
            Some(process) => process.end().await.map_or_else(|| "it closed its output".to_owned(), |end| end.words),
            None => "the server closed it".to_owned(),
        };
        for misdeed in self.ledger.misdeeds().words() {
            words.push_str("; ");
            words.push_str(&misdeed);
        }
        words
    }
}

pub(super) fn strange(result: &ServerResult) -> Error {
    let words = serde_json::to_string(result).unwrap_or_default();
    Error::Nonsense(format!("an answer to something else: {}", cut(&words, 200)))
}

fn listing<M>(
    mut request: rmcp::model::RequestOptionalParam<M, PaginatedRequestParams>,
    params: Option<PaginatedRequestParams>,
) -> rmcp::model::RequestOptionalParam<M, PaginatedRequestParams> {
    request.params = params;
    request
}

/// The URLs to open that an error lists.
fn urls(data: Option<&Value>) -> Vec<UrlRequest> {
    let all = data.and_then(|data| data["elicitations"].as_array()).into_iter().flatten();
    let request = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let is_url = one.get("mode").is_none_or(|mode| mode == "url") && !text("url").is_empty();
        is_url.then(|| UrlRequest { id: text("elicitationId"), url: text("url"), message: text("message") })
    };
    all.filter_map(request).take(MOST_URLS).collect()
}

/// Translates a failure to send a request: if no server was reached, the request had no effect.
fn sent_in_vain(error: &(dyn std::error::Error + 'static), server: &str) -> Error {
    use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if current.is::<AuthRequiredError>() {
            return Error::Login(server.to_owned());
        }
        if let Some(narrow) = current.downcast_ref::<InsufficientScopeError>() {
            return too_narrow(narrow.get_required_scope(), server);
        }
        if current.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect) {
            return Error::Unreachable(deepest(error));
        }
        cause = current.source();
    }
    Error::Lost(deepest(error))
}

/// The error for a login whose scopes are not sufficient, with a hint what to do.
fn too_narrow(scope: Option<&str>, server: &str) -> Error {
    let Some(scope) = scope.filter(|scope| !scope.is_empty()) else { return Error::Login(server.to_owned()) };
    let scope = cut(scope, 200);
    let message = format!("the login lacks the scope `{scope}`; run `updraft mcp login {server}` to request it");
    Error::Refused { code: 403, message }
}

/// A request or task that is no longer needed.
pub(super) enum Cancellation {
    Request(RequestId),
    Task(String),
    /// Not a cancellation: the sender is notified when all cancellations before it have been sent.
    Everything(oneshot::Sender<()>),
}

/// Cancels a request or a task when it is dropped.
pub(super) struct CancelOnDrop {
    pub(super) what: Option<Cancellation>,
    given_up: mpsc::Sender<Cancellation>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            // If the queue is full, the server is not reading anyway.
            let _ = self.given_up.try_send(what);
        }
    }
}

/// Sends cancellations to the server.
async fn give_up(peer: Peer<RoleClient>, mut given_up: mpsc::Receiver<Cancellation>) {
    while let Some(what) = given_up.recv().await {
        let told = match what {
            Cancellation::Request(id) => {
                let why = "the request was cancelled".to_owned();
                peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(why))).await
            }
            Cancellation::Everything(told) => {
                // The waiting side may be gone.
                let _ = told.send(());
                Ok(())
            }
            Cancellation::Task(id) => {
                let cancelling = peer.cancel_task(CancelTaskParams::new(id));
                tokio::time::timeout(CANCEL_TIME, cancelling).await.unwrap_or(Ok(()))
            }
        };
        if matches!(told, Err(ServiceError::TransportClosed)) {
            return;
        }
    }
}

/// Listens to the notifications of a stateless server, and opens the stream again when it breaks.
async fn follow(peer: Peer<RoleClient>, changed: Arc<ListChanges>) {
    let mut wait = REOPEN;
    loop {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match peer.listen(filter).await {
            Ok(mut subscription) => {
                wait = REOPEN;
                while let Ok(Some(news)) = subscription.next().await {
                    if matches!(news, ServerNotification::ToolListChangedNotification(_)) {
                        changed.notify_one();
                    }
                }
            }
            // The server declared the stream but does not support it: only notifications are lost.
            Err(ServiceError::McpError(_) | ServiceError::TransportClosed) => return,
            Err(_) => {}
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(Duration::from_mins(1));
    }
}
