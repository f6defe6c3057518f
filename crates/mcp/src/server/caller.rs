//! Who calls: what the client can do, and how it is told things while it waits.

#![expect(deprecated, reason = "logging and sampling leave the protocol, and clients of earlier revisions have them")]

use std::sync::atomic::Ordering;

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::handler::McpHandler;
use super::subscribers::ChangeNotice;

/// Who calls.
pub struct ClientCaller {
    pub(super) context: RequestContext<RoleServer>,
    handler: McpHandler,
    capabilities: ClientCapabilities,
    is_modern: bool,
    unwanted: CancellationToken,
}

impl ClientCaller {
    pub(super) fn new(handler: &McpHandler, context: RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let version = context.protocol_version();
        // Revisions are dates, so their order is that of their text.
        let is_modern = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Self { context, handler: handler.clone(), capabilities, is_modern, unwanted: CancellationToken::new() }
    }

    /// What the client says it can do.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Whether the client is of the era without sessions, in which a question is a result.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether the client can put a form before a person.
    pub fn can_ask(&self) -> bool {
        // A client of an early revision says `{}` and means forms.
        self.capabilities.elicitation.as_ref().is_some_and(|how| how.form.is_some() || how.url.is_none())
    }

    /// Whether a call may become a task.
    pub fn takes_tasks(&self) -> bool {
        self.capabilities.supports_tasks()
    }

    /// Cancelled when the client says that it no longer wants the call. A client that merely goes away, and may come
    /// back for the result, says no such thing.
    pub fn unwanted(&self) -> &CancellationToken {
        &self.unwanted
    }

    pub(super) fn forsake(&self) {
        if !self.handler.session().has_left.load(Ordering::Relaxed) {
            self.unwanted.cancel();
        }
    }

    /// Tells how far the call has come, if the client wants to know. `done` must grow.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let mut told = ProgressNotificationParam::new(token, done).with_message(message);
        told.total = total;
        // A client that has gone is noticed when the answer cannot be sent.
        let _ = self.context.peer.notify_progress(told).await;
    }

    /// Tells a line of the log, if the client wants lines of this level.
    pub async fn log(&self, level: LoggingLevel, logger: &str, data: Value) {
        let wanted = if self.is_modern { self.context.meta.log_level() } else { Some(self.handler.log_level()) };
        if wanted.is_some_and(|wanted| level as u8 >= wanted as u8) {
            let line = LoggingMessageNotificationParam::new(level, data).with_logger(logger);
            let _ = self.context.peer.notify_logging_message(line).await;
        }
    }

    /// The level of the log that the client asked for with this very call.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.context.meta.log_level()
    }

    /// Tells every client that wants to know of a change.
    pub async fn announce(&self, change: &ChangeNotice) {
        self.handler.announce(change).await;
    }
}
