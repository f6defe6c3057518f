//! The agents and prompts of a workspace.

use std::path::Path;

use futures_util::future::BoxFuture;
use updraft_engine::{Agents, FolderTrust, Prompts};
use updraft_tools::Dispatcher;

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::{servers, tools};

/// Loads the agents and prompts: the built-in ones, the user's, and the workspace's as far as it is trusted.
pub fn load(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Result<(Agents, Prompts), Fault> {
    let own = workspace.join(".updraft");
    let mut agents = Agents::compiled_in()?;
    let mut prompts = Prompts::compiled_in();
    agents.override_from(&folders.config.join("agents"), FolderTrust::Full)?;
    prompts.override_from(&folders.config.join("prompts"))?;
    if settings.trust_state.is_trusted() {
        agents.override_from(&own.join("agents"), FolderTrust::Full)?;
        prompts.override_from(&own.join("prompts"))?;
    } else {
        agents.override_from(&own.join("agents"), FolderTrust::NarrowOnly)?;
    }
    Ok((agents, prompts))
}

/// The agents as a run would have them, without asking any server: a name that may belong to a server's tool is
/// accepted.
pub fn usable<'a>(
    folders: &'a AppFolders,
    workspace: &'a Path,
    settings: &'a WorkspaceSettings,
) -> BoxFuture<'a, Result<Agents, Fault>> {
    Box::pin(async move {
        let (mut agents, _) = load(folders, workspace, settings)?;
        let dispatcher = tools::dispatcher(folders, workspace, settings).await?;
        leave_out_mistaken(folders, settings, workspace, &mut agents, &dispatcher);
        Ok(agents)
    })
}

/// Leaves out the agents whose files name tools or servers that do not exist.
pub(crate) fn leave_out_mistaken(
    folders: &AppFolders,
    settings: &WorkspaceSettings,
    workspace: &Path,
    agents: &mut Agents,
    dispatcher: &Dispatcher,
) {
    // The built-in agents name only built-in tools; the servers' files are read only if there are other agents.
    if agents.iter().any(|agent| agent.file.is_some()) {
        let configured = servers::configured(folders, settings, workspace);
        servers::leave_out_mistaken(agents, &dispatcher.registry(), &configured);
    }
}
