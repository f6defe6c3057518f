//! A workbench that stays open while one run follows another, so that MCP servers are not started again for each.

use std::path::Path;

use updraft_workbench::{RunCallbacks, Workbench, WorkspaceSettings};

use crate::args::RunArgs;
use crate::fault::CliError;
use crate::folders::AppFolders;

/// The workbench of the last run, if another can use it.
#[derive(Default)]
pub(crate) struct KeptWorkbench {
    open: Option<(String, Workbench)>,
}

impl KeptWorkbench {
    /// The workbench for a run with these arguments. If settings have changed since the last one, or the run needs other
    /// tools, the workbench is opened again.
    pub(super) async fn open(
        &mut self,
        folders: &AppFolders,
        folder: &Path,
        args: &RunArgs,
        callbacks: RunCallbacks,
    ) -> Result<&mut Workbench, CliError> {
        let flags = super::flags(args);
        let WorkspaceSettings { effective, trust_state, ignored, .. } =
            WorkspaceSettings::load(folders, folder, &flags)?;
        // What the tools and their rights depend on.
        let agents = (&args.agent, args.by_generalist);
        let mut basis = format!("{} {flags:?} {agents:?} {effective:?} {trust_state:?} {ignored:?}", folder.display());
        if args.plan_first {
            // Its tools are held to reading.
            basis.clear();
        }
        let bench = match self.open.take() {
            Some((known, mut bench)) if known == basis && !basis.is_empty() => {
                bench.set_callbacks(callbacks)?;
                bench
            }
            other => {
                if let Some((_, bench)) = other {
                    bench.close().await;
                }
                Workbench::open(folders, folder, flags, callbacks)?
            }
        };
        Ok(&mut self.open.insert((basis, bench)).1)
    }

    /// The name of the model that a run with these arguments would have.
    pub(crate) async fn model(
        &mut self,
        folders: &AppFolders,
        folder: &Path,
        args: &RunArgs,
    ) -> Result<String, CliError> {
        let bench = Box::pin(self.open(folders, folder, args, RunCallbacks::default())).await?;
        Ok(bench.model().await?.spec.clone())
    }

    /// Stops the servers, and closes the journal.
    pub(crate) async fn close(&mut self) {
        if let Some((_, bench)) = self.open.take() {
            bench.close_with_journal().await;
        }
    }
}
