//! `serve --engine restate`: runs are kept by Restate, and this process is one of its workers.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_restate::{RestateHome, RestateOptions, ServiceNames, Waker, nodes_of};
use updraft_workbench::UpdraftService;

use crate::args::EngineFlags;
use crate::fault::CliError;
use crate::folders::AppFolders;
use crate::out;

/// Starts the worker: Restate can call it from here on.
pub(super) async fn start(
    folders: &AppFolders,
    folder: &Path,
    flags: &EngineFlags,
    stop: &CancellationToken,
) -> Result<Arc<RestateHome>, CliError> {
    let EngineFlags { restate, restate_admin, worker_listen, worker_name, .. } = flags;
    for url in nodes_of(restate).chain(nodes_of(restate_admin)) {
        if !is_on_this_machine(url) {
            return Err(beyond(url));
        }
    }
    if !worker_listen.ip().is_loopback() {
        return Err(beyond(&worker_listen.to_string()));
    }
    let name = worker_name.clone().unwrap_or_else(|| usual_name(folders, folder));
    let names = ServiceNames::new(&name).ok_or_else(|| {
        CliError::usage(format!("`{name}` cannot be the name of a worker"))
            .hint("use 1 to 40 letters, digits, `_` and `-`")
    })?;
    let options =
        RestateOptions { ingress: restate.clone(), admin: restate_admin.clone(), listen: *worker_listen, names };
    let home = RestateHome::start(options, stop.clone()).await.map_err(|fault| {
        CliError::failed(format!("the worker could not be started: {fault}")).hint(
            "start Restate first, name its addresses with --restate and --restate-admin, or another --worker-listen",
        )
    })?;
    out::note(&format!("runs are kept by Restate at {restate}; this is its worker `{name}`, at {worker_listen}"));
    Ok(Arc::new(home))
}

/// Lets the service continue runs for which Restate hands something over.
pub(super) fn serve_hands(home: &RestateHome, service: &UpdraftService) {
    let runs = service.runs.clone();
    let waker: Waker = Arc::new(move |run, handed| {
        let runs = runs.clone();
        Box::pin(async move { runs.continue_run(&run, &handed).await.map_err(|fault| fault.message) })
    });
    home.wake_with(waker);
}

/// Whether an address is one of this machine. Requests are not signed, so nobody else may reach them.
fn is_on_this_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

fn beyond(address: &str) -> CliError {
    CliError::usage(format!("`{address}` is not an address of this machine"))
        .hint("requests between Restate and workers are not signed yet, so both have to be on one machine")
}

/// The name of the worker of a folder: the same at every start, and another for another folder.
fn usual_name(folders: &AppFolders, folder: &Path) -> String {
    let place = format!("{}\n{}", folders.state.display(), folder.display());
    let hash = updraft_journal::hash_of(place.as_bytes()).to_string();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(24).collect();
    format!("{name}-{}", &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_machines_are_known() {
        let here = ["http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:9070", "http://127.0.0.1"];
        assert_eq!(here.map(is_on_this_machine), [true; 4]);
        let there =
            ["http://10.0.0.1:8080", "http://127.0.0.1.example.com", "https://restate.example", "http://x@127.0.0.1:1"];
        assert_eq!(there.map(is_on_this_machine), [false; 4]);
    }
}
