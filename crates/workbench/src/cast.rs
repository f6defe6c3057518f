//! The agents and prompts of a workspace.

use std::path::Path;

use updraft_engine::{Agents, FolderTrust, Prompts};
use updraft_tools::Dispatcher;

use crate::fault::Fault;
use crate::places::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::{servers, tools};

/// The agents and prompts: compiled in, the user's, and the workspace's as far as it is trusted.
pub fn load(places: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Result<(Agents, Prompts), Fault> {
    let own = workspace.join(".updraft");
    let mut agents = Agents::compiled_in()?;
    let mut prompts = Prompts::compiled_in();
    agents.override_from(&places.config.join("agents"), FolderTrust::Full)?;
    prompts.override_from(&places.config.join("prompts"))?;
    if settings.standing.is_trusted() {
        agents.override_from(&own.join("agents"), FolderTrust::Full)?;
        prompts.override_from(&own.join("prompts"))?;
    } else {
        agents.override_from(&own.join("agents"), FolderTrust::NarrowOnly)?;
    }
    Ok((agents, prompts))
}

/// The agents as a run would have them, without asking any server: a name that could be of one is let pass.
pub async fn usable(places: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Result<Agents, Fault> {
    let (mut agents, _) = load(places, workspace, settings)?;
    let dispatcher = tools::dispatcher(places, workspace, settings).await?;
    leave_out_mistaken(places, settings, workspace, &mut agents, &dispatcher);
    Ok(agents)
}

/// Leaves out the agents whose files name tools or servers that are not there.
pub(crate) fn leave_out_mistaken(
    places: &AppFolders,
    settings: &WorkspaceSettings,
    workspace: &Path,
    agents: &mut Agents,
    dispatcher: &Dispatcher,
) {
    // Those that come with the program name nothing else; only others are worth a look at the servers' files.
    if agents.iter().any(|agent| agent.file.is_some()) {
        let configured = servers::configured(places, settings, workspace);
        servers::leave_out_mistaken(agents, &dispatcher.registry(), &configured);
    }
}
