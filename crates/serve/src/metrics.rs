//! `/metrics`: the metrics of runs and of this process, for Prometheus.
//!
//! Whoever asks shows the server's token or that of a user of any role, as `Authorization: Bearer TOKEN`.

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use updraft_workbench::UpdraftService;
use updraft_workbench::observe::{MetricKind, MetricsText};

use crate::admission::AdmissionSlot;
use crate::bearer::BearerAccess;
use crate::process_figures::ProcessFigures;
use crate::route_handler::handler;

/// The route, for whoever may look at runs.
pub(crate) fn router(service: UpdraftService, access: BearerAccess) -> Router {
    Router::new().route("/metrics", get(handler(show))).layer(from_fn_with_state(access, check)).with_state(service)
}

async fn check(
    State(access): State<BearerAccess>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    match access.caller(request.headers()) {
        Ok(_) => {
            slot.let_in();
            next.run(request).await
        }
        Err(refusal) => {
            let headers = [(header::WWW_AUTHENTICATE, "Bearer realm=\"updraft\""), (header::CONNECTION, "close")];
            (refusal.status, headers, format!("{}\n", refusal.why)).into_response()
        }
    }
}

async fn show(State(service): State<UpdraftService>) -> Response {
    // Runs are counted in the journal, which is on disk.
    let written = tokio::task::spawn_blocking(move || {
        let mut text = MetricsText::default();
        let version = env!("CARGO_PKG_VERSION");
        text.begin("updraft_build_info", MetricKind::Gauge, "The version of the program.");
        text.sample(&[("version", version)], 1.0);
        service.write_metrics(&mut text)?;
        if let Some(process) = ProcessFigures::now() {
            process.write(&mut text);
        }
        Ok::<_, updraft_workbench::Fault>(text.finish())
    });
    let headers = [(header::CONTENT_TYPE, MetricsText::TYPE), (header::CACHE_CONTROL, "no-store")];
    match written.await {
        Ok(Ok(text)) => (headers, text).into_response(),
        Ok(Err(fault)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{fault}\n")).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
