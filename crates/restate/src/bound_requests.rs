//! Brings requests along that Restate has bound to the address of another worker.
//!
//! A request that has to be tried again goes to the address that was registered last for its service. But once a part of its
//! answer is stored, it goes on going to the address where that came from. If nobody is there any more, a request to an
//! object would block all that follow it.

use std::time::Duration;

use serde::Deserialize;

use crate::ingress::Ingress;

/// When it is looked after the worker has registered itself, one after the other: the nodes of a cluster hear of it at
/// different times, and an attempt that is under way has to end before its request can be moved.
const LOOKS: [Duration; 4] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];
/// How often it is looked then, as long as something is bound or paused: an attempt may take long to end.
const THEN: Duration = Duration::from_mins(1);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// A row of Restate's table of requests.
#[derive(Deserialize)]
struct RequestRow {
    id: String,
}

/// Has the requests to these services tried at the address that was registered last, if they are bound to another one.
/// Returns when there are none left, or the process stops.
pub(crate) async fn bring_along(admin: Ingress, services: Vec<String>) {
    let services: Vec<String> = services.iter().map(|service| format!("'{service}'")).collect();
    let sql = format!(
        "SELECT i.id AS id FROM sys_invocation i JOIN sys_service s ON i.target_service_name = s.name \
         WHERE s.name IN ({}) AND i.status <> 'completed' \
         AND (i.pinned_deployment_id <> s.deployment_id OR i.status = 'paused')",
        services.join(", ")
    );
    bring_all(&admin, &sql, &LOOKS, THEN).await;
}

/// Looks after each of the first waits, and then again and again until a look finds nothing.
async fn bring_all(admin: &Ingress, sql: &str, first: &[Duration], then: Duration) {
    let mut first = first.iter();
    loop {
        let wait = first.next();
        if !admin.waits(*wait.unwrap_or(&then)).await {
            return;
        }
        let bound: Vec<RequestRow> = match admin.query(sql, ANSWER).await {
            Ok(bound) => bound,
            Err(fault) => {
                tracing::debug!(%fault, "requests that are bound to another address are not known");
                continue;
            }
        };
        if bound.is_empty() && wait.is_none() {
            return;
        }
        for RequestRow { id } in bound {
            // One that is tried now is paused when the attempt has failed; it is resumed at the next look then.
            let _ = admin.patch(&format!("/invocations/{id}/pause"), ANSWER).await;
            match admin.patch(&format!("/invocations/{id}/resume?deployment=latest"), ANSWER).await {
                Ok(()) => tracing::info!(id, "a request that was bound to another address is tried here"),
                Err(fault) => tracing::debug!(id, %fault, "a request stays bound to another address for now"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::http::{Method, StatusCode, Uri};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn it_is_looked_until_nothing_is_bound_and_no_longer_than_the_process_lives() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // The attempt ends after the fifth look, which is later than the first ones.
        let (looks, resumed) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (seen, moved) = (Arc::clone(&looks), Arc::clone(&resumed));
        let answer = move |method: Method, uri: Uri| {
            let mut looks = seen.lock().unwrap();
            let body = if method == Method::POST {
                *looks += 1;
                let is_bound = *moved.lock().unwrap() == 0;
                if is_bound { r#"{"rows": [{"id": "inv_1"}]}"# } else { r#"{"rows": []}"# }
            } else if *looks < 5 || uri.path().ends_with("/pause") {
                return std::future::ready((StatusCode::CONFLICT, "{}"));
            } else {
                *moved.lock().unwrap() += 1;
                "{}"
            };
            std::future::ready((StatusCode::OK, body))
        };
        let mut serving = tokio::task::JoinSet::new();
        let router = axum::Router::new().fallback(answer);
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let stop = CancellationToken::new();
        let admin = Ingress::new(&url, None, stop.clone()).unwrap();
        let moment = Duration::from_millis(5);
        bring_all(&admin, "SELECT", &[Duration::ZERO, moment], moment).await;
        assert_eq!((*looks.lock().unwrap(), *resumed.lock().unwrap()), (6, 1));
        *resumed.lock().unwrap() = 0;
        stop.cancel();
        bring_all(&admin, "SELECT", &[], moment).await;
        assert_eq!(*looks.lock().unwrap(), 6, "nothing is asked any more");
    }
}
