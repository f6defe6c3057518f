//! Tells servers which log messages to send, in the way of each revision.

#![expect(deprecated, reason = "logging is deprecated, but servers still use it")]

use rmcp::model::{ClientRequest, GetMeta as _, LoggingLevel, SetLevelRequestParams};
use rmcp::service::{Peer, RoleClient};

/// Adds to a request which log messages the server should send during it. Without that, servers of the 2026 revisions
/// send none.
pub(super) fn wishing(mut request: ClientRequest) -> ClientRequest {
    request.get_meta_mut().set_log_level(LoggingLevel::Info);
    request
}

/// Sets the log level of a server with a handshake, if it has log messages. Nothing depends on the answer.
pub(super) async fn request_level(peer: Peer<RoleClient>) {
    if peer.peer_info().is_some_and(|info| info.capabilities.logging.is_some()) {
        let _ = peer.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await;
    }
}
