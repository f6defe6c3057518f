//! Opens a connection from a configuration: finds out which transport and which era of the protocol the server speaks.

use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use serde::{Deserialize, Serialize};
use url::Url;

use super::connection::Connection;
use super::handler::{ProgressListeners, ServerRequestHandler};
use super::host::McpHost;
use super::http;
use super::list_changes::ListChanges;
use super::login::ServerLogin;
use super::open_requests::RequestLedger;
use super::plain_http::RestTransport;
use super::process::{self, ServerProcess};
use super::sse::SseTransport;
use super::stdio::PipeTransport;
use super::streamable_http::RemoteClient;
use crate::config::{RemoteTransport, Revision, ServerConfig, TransportConfig};
use crate::error::{Error, cut, deepest};

/// Maximum number of simultaneous requests to one remote server: steps run in parallel, and each makes calls in
/// parallel.
const AT_ONCE: usize = 64;

/// How to talk to a server. It is found out once and then remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProtocolStyle {
    /// Without a handshake, as in the revisions since 2026.
    Stateless,
    /// With `initialize`.
    Handshake,
    /// With `initialize`, over the HTTP+SSE transport of 2024.
    Sse,
    /// The plain HTTP form (see `plain_http.rs`).
    Rest,
}

type ClientService = RunningService<RoleClient, ServerRequestHandler>;

/// What every attempt to connect needs.
pub(super) struct ConnectAttempt<'a> {
    pub(super) host: &'a Arc<McpHost>,
    pub(super) config: &'a ServerConfig,
    pub(super) login: &'a Arc<ServerLogin>,
    pub(super) changed: &'a Arc<ListChanges>,
    pub(super) remembered: Option<ProtocolStyle>,
}

impl ConnectAttempt<'_> {
    /// Connects within the time limit for a start.
    pub(super) async fn make(&self) -> Result<Connection, Error> {
        let limit = self.config.patience.start;
        let connecting = async {
            match &self.config.link {
                TransportConfig::Stdio { .. } => Box::pin(self.on_pipes()).await,
                TransportConfig::Remote { url, form, .. } => Box::pin(self.remote(url, *form)).await,
            }
        };
        if let Ok(connected) = tokio::time::timeout(limit, connecting).await {
            let connected = connected.map_err(|error| self.with_revision(error));
            connected.and_then(|connection| in_revision(connection, self.config.revision.as_ref()))
        } else {
            let said = self.host.last_words_of(&self.config.name);
            let said = said.map(|words| format!(", and last said: {words}")).unwrap_or_default();
            Err(Error::Slow(format!(
                "it was not ready within {limit:?}{said}; set a higher `startSeconds` in its entry"
            )))
        }
    }

    /// The protocol style of the one revision that the server's entry allows, if it names one.
    fn pinned(&self) -> Option<ProtocolStyle> {
        let revision = self.config.revision.as_ref()?;
        Some(if revision.version().has_initialize() { ProtocolStyle::Handshake } else { ProtocolStyle::Stateless })
    }

    /// Adds to an error that it may come from the pinned revision.
    fn with_revision(&self, error: Error) -> Error {
        match (&self.config.revision, error) {
            (Some(revision), Error::Lost(why) | Error::Start(why) | Error::Unreachable(why)) => Error::Start(format!(
                "its entry allows MCP {revision} alone (`revision`), and it does not start in that revision: {why}"
            )),
            (_, other) => other,
        }
    }

    /// Connects to a process. If the process exits when it is asked for its era, it is an old server, and is started
    /// again with a handshake.
    async fn on_pipes(&self) -> Result<Connection, Error> {
        if let Some(manner) = self.pinned() {
            return self.start(manner).await;
        }
        if self.remembered == Some(ProtocolStyle::Handshake) {
            return self.start(ProtocolStyle::Handshake).await;
        }
        let ledger = Arc::new(RequestLedger::default());
        match self.start_with(ProtocolStyle::Stateless, &ledger).await {
            // The server was so slow to start that it got both forms of the first request before it answered, and it
            // speaks only the new one.
            Err(_) if ledger.was_answered_late() => self.start(ProtocolStyle::Stateless).await,
            Err(Error::Lost(_)) => self.start(ProtocolStyle::Handshake).await,
            other => other,
        }
    }

    async fn start(&self, manner: ProtocolStyle) -> Result<Connection, Error> {
        self.start_with(manner, &Arc::default()).await
    }

    async fn start_with(&self, manner: ProtocolStyle, ledger: &Arc<RequestLedger>) -> Result<Connection, Error> {
        let (output, input, process) = process::start(self.host, self.config).await?;
        let listeners = ProgressListeners::default();
        match self.serve(PipeTransport::new(output, input, Arc::clone(ledger)), manner, &listeners).await {
            Ok(service) => Ok(self.connection(service, listeners, Arc::clone(ledger), Some(process), manner)),
            Err(error) => Err(explained(&error, &process, ledger, manner).await),
        }
    }

    /// Connects to a remote server: tries streamable HTTP, then the older HTTP+SSE transport, then the plain HTTP form.
    async fn remote(&self, url: &Url, form: RemoteTransport) -> Result<Connection, Error> {
        let client = http::client(self.host, url)?;
        let pinned = self.pinned();
        let known = match (form, self.remembered) {
            (RemoteTransport::Sse, _) => ProtocolStyle::Sse,
            (RemoteTransport::Http, Some(manner @ (ProtocolStyle::Sse | ProtocolStyle::Rest))) => manner,
            (RemoteTransport::Http, remembered) => pinned.or(remembered).unwrap_or(ProtocolStyle::Stateless),
        };
        match known {
            ProtocolStyle::Sse => return self.legacy(client, url).await,
            ProtocolStyle::Rest => return self.plain(client, url).await,
            ProtocolStyle::Stateless | ProtocolStyle::Handshake => {}
        }
        let door = RemoteClient::new(client.clone(), Arc::clone(self.login), Arc::default());
        let mut served = self.streamable(&door, url, known).await?;
        if pinned.is_none() && known == ProtocolStyle::Stateless && served.as_ref().is_err_and(is_of_old) {
            served = self.streamable(&door, url, ProtocolStyle::Handshake).await?;
        }
        let error = match served {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        if error.is_authorization_required() || error.auth_challenge().is_some() {
            return Err(Error::Login(self.config.name.clone()));
        }
        if let Some(why) = self.login.failure() {
            return Err(Error::Start(why));
        }
        if matches!(door.refused(), Some(400 | 404 | 405 | 406 | 415 | 422)) {
            match self.legacy(client.clone(), url).await {
                Err(Error::Login(name)) => return Err(Error::Login(name)),
                Ok(connection) => return Ok(connection),
                Err(_) => {}
            }
            match self.plain(client, url).await {
                Err(Error::Login(name)) => return Err(Error::Login(name)),
                Ok(connection) => return Ok(connection),
                Err(_) => {}
            }
        }
        Err(Error::Unreachable(format!("no MCP server answers at its address: {}", words(&error))))
    }

    async fn streamable(
        &self,
        door: &RemoteClient,
        url: &Url,
        manner: ProtocolStyle,
    ) -> Result<Result<Connection, ClientInitializeError>, Error> {
        let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .custom_headers(http::headers(self.config)?)
            .max_concurrent_requests(AT_ONCE);
        settings.channel_buffer_capacity = AT_ONCE;
        let transport = StreamableHttpClientTransport::with_client(door.clone(), settings);
        let listeners = ProgressListeners::default();
        let served = self.serve(transport, manner, &listeners).await;
        Ok(served.map(|service| self.connection(service, listeners, door.ledger(), None, manner)))
    }

    async fn legacy(&self, client: reqwest::Client, url: &Url) -> Result<Connection, Error> {
        let headers = http::header_map(&http::headers(self.config)?);
        let ledger = Arc::new(RequestLedger::default());
        let transport =
            SseTransport::connect(client, url.clone(), headers, Arc::clone(self.login), Arc::clone(&ledger)).await;
        let transport = transport.map_err(|error| self.wants_login(error))?;
        self.unnegotiated(transport, ledger, ProtocolStyle::Sse).await
    }

    async fn plain(&self, client: reqwest::Client, url: &Url) -> Result<Connection, Error> {
        let headers = http::header_map(&http::headers(self.config)?);
        let transport = RestTransport::connect(client, url.clone(), headers, Arc::clone(self.login)).await;
        let transport = transport.map_err(|error| self.wants_login(error))?;
        self.unnegotiated(transport, Arc::default(), ProtocolStyle::Rest).await
    }

    /// Adds the server's name to a login error, because the transports do not know it.
    fn wants_login(&self, error: Error) -> Error {
        if matches!(error, Error::Login(_)) { Error::Login(self.config.name.clone()) } else { error }
    }

    async fn unnegotiated<T, E, A>(
        &self,
        transport: T,
        ledger: Arc<RequestLedger>,
        manner: ProtocolStyle,
    ) -> Result<Connection, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let listeners = ProgressListeners::default();
        let served = self.serve(transport, manner, &listeners).await;
        let service = served.map_err(|error| {
            let wants_login = error.is_authorization_required();
            if wants_login { Error::Login(self.config.name.clone()) } else { Error::Unreachable(words(&error)) }
        })?;
        Ok(self.connection(service, listeners, ledger, None, manner))
    }

    async fn serve<T, E, A>(
        &self,
        transport: T,
        manner: ProtocolStyle,
        listeners: &ProgressListeners,
    ) -> Result<ClientService, ClientInitializeError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let revision = self.config.revision.as_ref().map(|revision| revision.version().clone());
        let lifecycle = match manner {
            ProtocolStyle::Stateless if revision.is_some() => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
            ProtocolStyle::Stateless => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            ProtocolStyle::Handshake | ProtocolStyle::Sse | ProtocolStyle::Rest => ClientLifecycleMode::Initialize,
        };
        let handler = ServerRequestHandler {
            server: self.config.name.clone(),
            host: Arc::clone(self.host),
            listeners: listeners.clone(),
            changed: Arc::clone(self.changed),
            under_way: super::calling_run::ActiveCalls::default(),
            sampling: self.config.sampling.clone(),
            offered: revision
                .filter(ProtocolVersion::has_initialize)
                .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        Box::pin(serve_client_with_lifecycle(handler, transport, lifecycle)).await
    }

    fn connection(
        &self,
        service: ClientService,
        listeners: ProgressListeners,
        ledger: Arc<RequestLedger>,
        process: Option<ServerProcess>,
        asked: ProtocolStyle,
    ) -> Connection {
        let speaks_handshake = service.peer().peer_info().is_some_and(|info| info.protocol_version.has_initialize());
        let manner = match asked {
            ProtocolStyle::Stateless if speaks_handshake => ProtocolStyle::Handshake,
            other => other,
        };
        Connection::new(service, listeners, ledger, process, manner, Arc::clone(self.changed))
    }
}

/// Rejects a connection in an unknown revision, because messages could mean something else there, and one in a revision
/// other than the one the server's entry asks for.
fn in_revision(connection: Connection, wanted: Option<&Revision>) -> Result<Connection, Error> {
    let Some(about) = connection.about() else { return Ok(connection) };
    let spoken = &about.protocol_version;
    let name = cut(&spoken.to_string(), 40);
    if !ProtocolVersion::KNOWN_VERSIONS.contains(spoken) {
        return Err(Error::Start(format!("it speaks MCP {name}, which is not a known revision")));
    }
    match wanted.filter(|wanted| wanted.version() != spoken) {
        None => Ok(connection),
        Some(wanted) => Err(Error::Start(format!(
            "it answers in MCP {name}, and its entry allows {wanted} alone; change or remove its `revision`"
        ))),
    }
}

/// Why connecting failed, in words that do not mention internals.
fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => deepest(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(fallback),
        ClientInitializeError::JsonRpcError(told) => {
            cut(&format!("the server returned an error: {}", told.message), 500)
        }
        other => cut(&other.to_string(), 300),
    }
}

/// Whether a server that failed when it was asked for its era may simply be too old to understand the question.
fn is_of_old(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::ExpectedInitResult(_))
}

/// Why talking to a process failed. `Lost` if it exited, so that it can be tried with a handshake.
async fn explained(
    error: &ClientInitializeError,
    process: &ServerProcess,
    ledger: &RequestLedger,
    manner: ProtocolStyle,
) -> Error {
    let told = ledger.misdeeds().words().join("; ");
    let told = if told.is_empty() { told } else { format!(" ({told})") };
    let why = match process.end().await {
        Some(end) if end.is_unfetched => return Error::Unfetched(end.words),
        Some(end) => end.words,
        None => words(error),
    };
    let may_be_old = process.ended().is_some() || is_of_old(error);
    match manner {
        ProtocolStyle::Stateless if may_be_old => Error::Lost(format!("{why}{told}")),
        _ => Error::Start(format!("{why}{told}")),
    }
}
