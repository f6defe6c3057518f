//! Handles the requests and notifications that a server sends to us.

#![expect(deprecated, reason = "roots, sampling and logging are deprecated, but servers still use them")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, Root, RootsCapabilities, SamplingCapability, TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use updraft_tools::{CallLog, Schema};
use url::Url;

use super::calling_run::{ActiveCalls, CallingRun};
use super::clock::CallClock;
use super::host::{ElicitationAnswer, ElicitationKind, ElicitationRequest, McpHost};
use super::list_changes::ListChanges;
use crate::config::Sampling;
use crate::error::cut;

/// Handles the requests of one server.
pub(super) struct ServerRequestHandler {
    pub(super) server: String,
    pub(super) host: Arc<McpHost>,
    /// Where progress of the calls in progress is reported.
    pub(super) listeners: ProgressListeners,
    /// Notified when the server's list of tools has changed.
    pub(super) changed: Arc<ListChanges>,
    /// The calls in progress: the runs that make them answer what the server asks meanwhile.
    pub(super) under_way: ActiveCalls,
    /// Whether, and how, the server may ask models.
    pub(super) sampling: Option<Sampling>,
    /// The revision that is offered to a server with a handshake.
    pub(super) offered: ProtocolVersion,
}

/// The listeners for progress, by the token of their request.
#[derive(Clone, Default)]
pub(super) struct ProgressListeners(Arc<Mutex<ProgressListenerMap>>, Arc<AtomicU32>);

type ProgressListenerMap = BTreeMap<String, (CallLog, Arc<CallClock>)>;

/// Maximum number of log messages that are shown between the starts of two calls: a server may send any number of them.
const MESSAGES: u32 = 200;

impl ProgressListeners {
    /// Reports progress to `log` and `clock` until the guard is dropped.
    pub(super) fn add(&self, token: &ProgressToken, log: CallLog, clock: Arc<CallClock>) -> ProgressGuard {
        let key = token.0.to_string();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), (log, clock));
        self.1.store(0, Ordering::Relaxed);
        ProgressGuard { listeners: self.clone(), key }
    }

    /// All listeners for a log message; `None` once enough messages were shown.
    fn everyone(&self) -> Option<Vec<CallLog>> {
        if self.1.fetch_add(1, Ordering::Relaxed) >= MESSAGES {
            return None;
        }
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(log, _)| log.clone()).collect())
    }

    fn find(&self, token: &ProgressToken) -> Option<(CallLog, Arc<CallClock>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&token.0.to_string()).cloned()
    }
}

/// Progress is reported while this guard lives.
pub(super) struct ProgressGuard {
    listeners: ProgressListeners,
    key: String,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        self.listeners.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl ServerRequestHandler {
    /// Puts a server's question to a person: to the user of the calling run, or else through the host. Without either
    /// it is declined.
    pub(super) async fn elicit(
        &self,
        params: ElicitRequestParams,
        key: &str,
        asker: Option<&CallingRun>,
    ) -> ElicitResult {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let (message, wanted) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let Ok(schema) = serde_json::to_value(requested_schema) else { return declined };
                (message, ElicitationKind::Form(schema))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => (message, ElicitationKind::Url(url)),
            _ => return declined,
        };
        if let Some(asker) = asker.filter(|_| self.host.inquires) {
            return asker.elicit(&self.server, cut(&message, 4_000), wanted, key).await;
        }
        let Some(people) = &self.host.people else { return declined };
        let question = ElicitationRequest { server: self.server.clone(), message: cut(&message, 4_000), wanted };
        match (people.ask(question.clone()).await, &question.wanted) {
            (ElicitationAnswer::Accept(given), ElicitationKind::Form(schema)) => {
                accept(schema, given).unwrap_or(declined)
            }
            (ElicitationAnswer::Accept(_), ElicitationKind::Url(_)) => ElicitResult::new(ElicitationAction::Accept),
            (ElicitationAnswer::Decline, _) => declined,
            (ElicitationAnswer::Cancel, _) => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    /// Lets a model answer a server's request, if the user allows that.
    pub(super) async fn sample(
        &self,
        params: CreateMessageRequestParams,
        asker: Option<&CallingRun>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let refused = |why: String| ErrorData::new(ErrorCode(-1), why, None);
        if let (Some(asker), Some(setting)) = (asker, &self.sampling) {
            return asker.sample(&self.server, setting, params).await.map_err(refused);
        }
        let Some(sampler) = &self.host.sampler else {
            return Err(refused("the user does not let servers ask models".to_owned()));
        };
        let request = serde_json::to_value(params).map_err(|error| refused(error.to_string()))?;
        let result = sampler.sample(&self.server, request).await.map_err(refused)?;
        serde_json::from_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// The only root: the workspace.
    pub(super) fn roots(&self) -> ListRootsResult {
        let root = Url::from_directory_path(&self.host.workspace).map(|url| Root::new(url.to_string()));
        ListRootsResult::new(root.map(|root| root.with_name("workspace")).into_iter().collect())
    }
}

/// The person's answers, with the schema's defaults for missing fields; `None` if they do not fit the schema.
pub(super) fn accept(schema: &Value, given: Value) -> Option<ElicitResult> {
    let mut content = match given {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => return None,
    };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = field.get("default").filter(|_| !content.contains_key(name)) {
            content.insert(name.clone(), default.clone());
        }
    }
    let content = Value::Object(content);
    // A schema that cannot be used says nothing about the answer; the server will check it itself.
    let fits = Schema::new(schema).map_or(true, |schema| schema.judge(&content).is_ok());
    fits.then(|| ElicitResult::new(ElicitationAction::Accept).with_content(content))
}

impl ClientHandler for ServerRequestHandler {
    fn get_info(&self) -> ClientConfig {
        let mut able = ClientCapabilities::default();
        able.roots = Some(RootsCapabilities::default());
        able.extensions = Some(BTreeMap::from([(TASKS_EXTENSION_ID.to_owned(), Map::new())]));
        if self.host.people.is_some() || self.host.inquires {
            let form = FormElicitationCapability::new();
            able.elicitation =
                Some(ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::default()));
        }
        if self.host.sampler.is_some() || self.sampling.is_some() {
            able.sampling = Some(SamplingCapability::default());
        }
        let me = Implementation::new("updraft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(able, me).with_protocol_version(self.offered.clone())
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        // The model has time limits of its own, and here the server waits for us.
        let _stopped = self.under_way.stop_clocks();
        self.sample(params, self.under_way.asker().as_ref()).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let _stopped = self.under_way.stop_clocks();
        let asker = self.under_way.asker();
        tokio::select! {
            answer = self.elicit(params, "", asker.as_ref()) => Ok(answer),
            // The server has cancelled its question.
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let Some((log, clock)) = self.listeners.find(&params.progress_token) else { return };
        clock.heard();
        let mut line = match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        };
        if let Some(message) = &params.message {
            line = format!("{line}: {}", cut(message, 500));
        }
        log.line(&line);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let words = match &params.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let level = serde_json::to_value(params.level).unwrap_or_default();
        let line = match level.as_str() {
            None | Some("info" | "debug") => cut(&words, 500),
            Some(level) => format!("{level}: {}", cut(&words, 500)),
        };
        // Log messages go to the calls in progress. If there are several, it is unknown which one a message is for.
        let Some(listeners) = self.listeners.everyone() else { return };
        if listeners.is_empty() {
            self.host.log.line(&format!("{}: {line}", self.server));
        }
        for log in listeners {
            log.line(&line);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
