//! Brings requests along that Restate has bound to the address of another worker.
//!
//! A request that has to be tried again goes to the address that was registered last for its service. But once a part of its
//! answer is stored, it goes on going to the address where that came from. If nobody is there any more, a request to an
//! object would block all that follow it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::worker::WorkerConnection;

/// When it is looked after the worker has registered itself, one after the other: the nodes of a cluster hear of it at
/// different times, and an attempt that is under way has to end before its request can be moved.
const LOOKS: [Duration; 4] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// A row of Restate's table of requests.
#[derive(Deserialize)]
struct RequestRow {
    id: String,
}

/// Has the requests to these services tried at the address that was registered last, if they are bound to another one.
pub(crate) async fn bring_along(connection: Arc<WorkerConnection>, services: Vec<String>) {
    let services: Vec<String> = services.iter().map(|service| format!("'{service}'")).collect();
    let sql = format!(
        "SELECT i.id AS id FROM sys_invocation i JOIN sys_service s ON i.target_service_name = s.name \
         WHERE s.name IN ({}) AND i.status <> 'completed' \
         AND (i.pinned_deployment_id <> s.deployment_id OR i.status = 'paused')",
        services.join(", ")
    );
    for wait in LOOKS {
        tokio::time::sleep(wait).await;
        let bound: Vec<RequestRow> = match connection.admin.query(&sql, ANSWER).await {
            Ok(bound) => bound,
            Err(fault) => {
                tracing::debug!(%fault, "requests that are bound to another address are not known");
                continue;
            }
        };
        for RequestRow { id } in bound {
            // One that is tried now is paused when the attempt has failed; it is resumed at the next look then.
            let _ = connection.admin.patch(&format!("/invocations/{id}/pause"), ANSWER).await;
            match connection.admin.patch(&format!("/invocations/{id}/resume?deployment=latest"), ANSWER).await {
                Ok(()) => tracing::info!(id, "a request that was bound to another address is tried here"),
                Err(fault) => tracing::debug!(id, %fault, "a request stays bound to another address for now"),
            }
        }
    }
}
