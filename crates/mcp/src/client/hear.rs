//! Telling servers which of their log messages we want to hear, in the way of each revision.

#![expect(deprecated, reason = "logging is deprecated, but servers still use it")]

use rmcp::model::{ClientRequest, GetMeta as _, LoggingLevel, SetLevelRequestParams};
use rmcp::service::{Peer, RoleClient};

/// A request that says which messages the server shall send meanwhile. Without that, those of 2026 send none.
pub(super) fn wishing(mut request: ClientRequest) -> ClientRequest {
    request.get_meta_mut().set_log_level(LoggingLevel::Info);
    request
}

/// Says it once to a server with a handshake, if it has log messages. Nothing depends on the answer.
pub(super) async fn wish(peer: Peer<RoleClient>) {
    if peer.peer_info().is_some_and(|info| info.capabilities.logging.is_some()) {
        let _ = peer.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await;
    }
}
