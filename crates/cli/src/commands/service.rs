//! The part that `mcp serve` and `serve` share: the service for a workspace, and its MCP handler.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::McpHandler;
use updraft_serve::{ServeToken, UpdraftBackend};
use updraft_workbench::{Flags, Notice, RunCallbacks, Tell, UpdraftService};

use super::restate::{self, LiveWorker, WorkerPlace};
use crate::args::{EngineFlags, ServedRunFlags};
use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::{log, out, settings};

/// A running service.
pub(super) struct LiveService {
    pub(super) service: UpdraftService,
    pub(super) handler: McpHandler,
    pub(super) token: ServeToken,
    pub(super) token_file: PathBuf,
    /// The worker of Restate that it is, if it is one.
    worker: Option<LiveWorker>,
    stop: CancellationToken,
}

impl LiveService {
    /// Stops the runs, which the next process resumes, and closes the journal.
    pub(super) async fn close(self) {
        self.stop.cancel();
        if let Some(worker) = &self.worker {
            worker.leave().await;
        }
        self.service.close().await;
    }

    /// Most bytes that the bridge reads at once.
    pub(super) fn bridge_read(&self) -> u64 {
        self.service.settings().effective.serving.bridge_read.value
    }
}

/// The file that holds the token.
pub(super) fn token_file(folders: &AppFolders) -> PathBuf {
    folders.state.join("serve.token")
}

/// Opens the service in a workspace.
pub(super) async fn open(
    folders: &AppFolders,
    served: &ServedRunFlags,
    engine: Option<&EngineFlags>,
    stop: &CancellationToken,
) -> Result<LiveService, CliError> {
    let folder = folders::workspace(served.workspace.as_deref())?;
    let token_file = token_file(folders);
    let token = token(&token_file)?;
    let worker = match engine {
        Some(engine) => {
            let place = WorkerPlace::Folder(folder.clone());
            Some(Box::pin(restate::start(folders, std::slice::from_ref(&place), &engine.restate, stop)).await?)
        }
        None => None,
    };
    let at = worker.as_ref().map(|worker| (worker, 0));
    let service = Box::pin(open_at(folders, &folder, served, at, stop)).await?;
    let backend = UpdraftBackend::new(service.clone(), env!("CARGO_PKG_VERSION"));
    let handler = McpHandler::new(Arc::new(backend), &token.key("request state")).map_err(CliError::failed)?;
    Ok(LiveService { service, handler, token, token_file, worker, stop: stop.clone() })
}

/// Opens the service in a folder, which may be one of a worker's, by its place among them; and continues what the process
/// before has left unfinished.
pub(super) async fn open_at(
    folders: &AppFolders,
    folder: &Path,
    served: &ServedRunFlags,
    worker: Option<(&LiveWorker, usize)>,
    stop: &CancellationToken,
) -> Result<UpdraftService, CliError> {
    let mut callbacks =
        RunCallbacks { stop: stop.clone(), tell: Arc::new(|notice| tell(&notice)), ..RunCallbacks::default() };
    let home = worker.and_then(|(worker, at)| Some((worker, worker.home(at)?)));
    if let Some((worker, home)) = home {
        worker.attend(home, &mut callbacks);
    }
    let service = Box::pin(open_idle_at(folders, folder, served, callbacks)).await?;
    if let Some((worker, home)) = home {
        Box::pin(worker.serve(folders, home, &service)).await?;
    }
    let left = service.resume_unfinished().await?;
    if left > 0 {
        out::note(&format!("continuing {left} interrupted runs"));
    }
    Ok(service)
}

/// Opens the service in a folder, and continues nothing.
pub(super) async fn open_idle_at(
    folders: &AppFolders,
    folder: &Path,
    served: &ServedRunFlags,
    callbacks: RunCallbacks,
) -> Result<UpdraftService, CliError> {
    let flags = Flags {
        model: served.model.clone(),
        approvals: served.permission.approvals(),
        budget: served.spending.budget(),
        confine: served.confine.flags(),
        ..Flags::default()
    };
    log::begin(folders, &settings::WorkspaceSettings::load(folders, folder, &flags)?.effective.log.value);
    Ok(Box::pin(UpdraftService::open_with(folders, folder, flags, callbacks)).await?)
}

/// Prints what schedules do.
pub(super) fn tell_schedules() -> Tell {
    Arc::new(|notice| tell(&notice))
}

/// Prints notices that concern all runs here. Notices about one run are for the client that started it.
fn tell(notice: &Notice) {
    if !matches!(notice, Notice::Model { .. } | Notice::Ignored(_) | Notice::HomeFolder | Notice::Unused(_)) {
        out::note(&out::harmless(&notice.to_string()));
    }
}

/// The token, created at the first start.
fn token(file: &Path) -> Result<ServeToken, CliError> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| CliError::file("make", folder, &error))?;
    }
    ServeToken::keep(file).map_err(|error| CliError::file("use", file, &error))
}
