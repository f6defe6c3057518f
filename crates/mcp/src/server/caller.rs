//! The client that makes a call: its capabilities, and how to send it progress and log messages during the call.

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

/// The client that makes a call.
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
        // Revisions are dates, so they can be compared as text.
        let is_modern = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Self { context, handler: handler.clone(), capabilities, is_modern, unwanted: CancellationToken::new() }
    }

    /// The capabilities that the client declares.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Whether the client is of the era without sessions, in which a question is returned as a result.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether the client can show a form to a person.
    pub fn can_ask(&self) -> bool {
        // A client of an early revision declares `{}` and means forms.
        self.capabilities.elicitation.as_ref().is_some_and(|how| how.form.is_some() || how.url.is_none())
    }

    /// Whether a call may become a task.
    pub fn takes_tasks(&self) -> bool {
        self.capabilities.supports_tasks()
    }

    /// Cancelled when the client cancels the call. A client that merely disconnects may come back for the result, and
    /// does not cancel it.
    pub fn unwanted(&self) -> &CancellationToken {
        &self.unwanted
    }

    pub(super) fn forsake(&self) {
        if !self.handler.session().has_left.load(Ordering::Relaxed) {
            self.unwanted.cancel();
        }
    }

    /// Reports progress of the call, if the client has asked for it. `done` must grow.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let mut told = ProgressNotificationParam::new(token, done).with_message(message);
        told.total = total;
        // If the client is gone, that is noticed when the answer cannot be sent.
        let _ = self.context.peer.notify_progress(told).await;
    }

    /// Sends a log message, if the client has asked for this level.
    pub async fn log(&self, level: LoggingLevel, logger: &str, data: Value) {
        let wanted = if self.is_modern { self.context.meta.log_level() } else { Some(self.handler.log_level()) };
        if wanted.is_some_and(|wanted| level as u8 >= wanted as u8) {
            let line = LoggingMessageNotificationParam::new(level, data).with_logger(logger);
            let _ = self.context.peer.notify_logging_message(line).await;
        }
    }

    /// The log level that the client set with this call.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.context.meta.log_level()
    }

    /// Notifies every subscribed client of a change.
    pub async fn announce(&self, change: &ChangeNotice) {
        self.handler.announce(change).await;
    }
}
