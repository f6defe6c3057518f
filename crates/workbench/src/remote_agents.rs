//! Agents on other servers: what their files say, with tokens from the environment.

use std::path::Path;

use updraft_engine::Agent;
use updraft_tools::{AgentToken, RemoteAgentConfig};

use crate::agents;
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;

/// The agents of a workspace that work on other servers. One whose token is not set is asked without, and says so. Files that
/// cannot be read are a fault of new runs, which say so; a stored run goes on without them.
pub(crate) fn of(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    certificates: &[u8],
) -> Vec<RemoteAgentConfig> {
    let Ok((agents, _)) = agents::load(folders, workspace, settings) else { return Vec::new() };
    let config = |agent: &Agent| {
        let remote = agent.remote.as_ref()?;
        let token = remote.token_env.as_deref().and_then(folders::set).map(|token| AgentToken::new(&token));
        Some(RemoteAgentConfig {
            name: agent.name.clone(),
            purpose: agent.purpose.clone(),
            url: remote.url.clone(),
            tenant: remote.tenant.clone(),
            token,
            certificates: certificates.to_vec(),
        })
    };
    agents.iter().filter_map(config).collect()
}
