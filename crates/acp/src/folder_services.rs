//! The services of the folders that sessions work in. Sessions with the same folder, servers, mode and model share one.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use updraft_run::ApprovalMode;
use updraft_workbench::{AppFolders, Fault, Flags, GivenServers, Tell, UpdraftService};

/// What a service is opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceKey {
    pub(crate) folder: PathBuf,
    /// The editor's own MCP servers.
    pub(crate) servers: Option<GivenServers>,
    /// Who decides about calls, if it is not the usual choice.
    pub(crate) approvals: Option<ApprovalMode>,
    /// The model, if it is not the usual one.
    pub(crate) model: Option<String>,
}

/// An open service.
pub(crate) struct FolderService {
    key: ServiceKey,
    pub(crate) service: UpdraftService,
    stop: CancellationToken,
}

/// All open services.
pub(crate) struct FolderServices {
    folders: AppFolders,
    flags: Flags,
    tell: Tell,
    open: Mutex<Vec<Arc<FolderService>>>,
}

impl FolderServices {
    pub(crate) fn new(folders: AppFolders, flags: Flags, tell: Tell) -> Self {
        Self { folders, flags, tell, open: Mutex::default() }
    }

    /// The service with this key, opened if it is not. Those that nobody uses any more are closed.
    pub(crate) async fn get(&self, key: &ServiceKey) -> Result<Arc<FolderService>, Fault> {
        let mut open = self.open.lock().await;
        let known = open.iter().find(|known| known.key == *key).cloned();
        let found = if let Some(known) = known {
            known
        } else {
            let opened = Arc::new(Box::pin(self.begin(key)).await?);
            open.push(Arc::clone(&opened));
            opened
        };
        close_unused(&mut open).await;
        Ok(found)
    }

    async fn begin(&self, key: &ServiceKey) -> Result<FolderService, Fault> {
        let usual = self.flags.clone();
        let flags = Flags {
            model: key.model.clone().or(usual.model),
            approvals: key.approvals.or(usual.approvals),
            servers: key.servers.clone(),
            ..usual
        };
        let stop = CancellationToken::new();
        let opened = UpdraftService::open_idle(&self.folders, &key.folder, flags, stop.clone(), Arc::clone(&self.tell));
        Ok(FolderService { key: key.clone(), service: Box::pin(opened).await?, stop })
    }

    /// Closes the services that nobody uses any more.
    pub(crate) async fn sweep(&self) {
        let mut open = self.open.lock().await;
        close_unused(&mut open).await;
    }

    /// Stops all runs, which can be continued later, and closes all services.
    pub(crate) async fn close(&self) {
        let mut open = self.open.lock().await;
        for one in &*open {
            one.stop.cancel();
        }
        for one in open.drain(..) {
            one.service.clone().close().await;
        }
    }
}

async fn close_unused(open: &mut Vec<Arc<FolderService>>) {
    let (used, unused): (Vec<_>, Vec<_>) = open.drain(..).partition(|one| Arc::strong_count(one) > 1);
    *open = used;
    for one in unused {
        one.stop.cancel();
        one.service.clone().close().await;
    }
}
