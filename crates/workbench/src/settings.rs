//! The settings of a workspace: read from files, the environment and flags, then merged into one set of values.
//!
//! Defaults < the user's file < the workspace's (which can only tighten, unless it is trusted) < environment < flags.

mod browser;
mod dotenv;
mod effective;
mod hooks;
mod knowledge;
mod layer;
mod log;
mod memory;
mod models;
mod origin;
mod reading;
mod remembered;
mod rules;
mod sandbox;
mod search;
mod serving;
mod spending;
mod telemetry;
mod tools;
mod trust;
mod web;
mod webhooks;
mod working;
mod written;

use std::path::{Path, PathBuf};

use updraft_run::Rule;

pub(crate) use dotenv::read as read_dotenv;
pub use effective::EffectiveSettings;
pub(crate) use hooks::HookSetting;
pub(crate) use knowledge::EmbeddingChoice;
pub(crate) use layer::SettingsLayer;
pub use log::RunLogSettings;
pub use memory::MemorySettings;
pub use models::limit_in_words;
pub(crate) use origin::SettingOrigin;
pub use origin::SettingValue;
pub use remembered::{RememberedRules, keep as keep_always};
pub use sandbox::SandboxSettings;
pub(crate) use sandbox::{WrittenNetwork, WrittenSandbox};
pub(crate) use search::SearchSettings;
pub use serving::ServeSettings;
pub use telemetry::TelemetrySettings;
pub use tools::ToolSettings;
pub use trust::{TrustContent, TrustState, TrustedWorkspaces, too_much};
pub use webhooks::{WebhookEndpoint, WebhookEvent};
pub(crate) use written::{WrittenSettings, said};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::{Flags, GivenServers};

/// The settings for a workspace, and whether it is trusted.
pub struct WorkspaceSettings {
    /// The merged values.
    pub effective: EffectiveSettings,
    /// Whether the workspace is trusted.
    pub trust_state: TrustState,
    /// Settings that were ignored, one line each.
    pub ignored: Vec<String>,
    /// MCP servers that were given for this call.
    pub(crate) given_servers: Option<GivenServers>,
}

impl WorkspaceSettings {
    /// Reads and merges all settings for this workspace.
    pub fn load(folders: &AppFolders, workspace: &Path, flags: &Flags) -> Result<Self, Fault> {
        let standing = TrustedWorkspaces::load(folders).trust_state(workspace);
        let own = workspace.join(".updraft").join("config.toml");
        let mut layers = vec![SettingsLayer::file(&folders.settings(), SettingOrigin::User)?];
        // If the workspace is the configuration folder itself, its file is not read twice.
        if own != folders.settings() {
            let origin = if standing.is_trusted() { SettingOrigin::Workspace } else { SettingOrigin::Stranger };
            layers.push(SettingsLayer::file(&own, origin)?);
        }
        layers.push(SettingsLayer::environment()?);
        layers.push(SettingsLayer::flags(flags.written()?));
        let mut meant = EffectiveSettings::default();
        let mut ignored = Vec::new();
        for layer in &layers {
            meant.take(layer, &mut ignored)?;
        }
        if !standing.is_trusted() {
            meant.leave_relative_programs(&mut ignored);
        }
        meant.rules.allow.extend(RememberedRules::load(folders).rules(workspace));
        meant.rules.deny.extend(not_our_own(folders, workspace));
        Ok(Self { effective: meant, trust_state: standing, ignored, given_servers: flags.servers.clone() })
    }

    /// Whether the workspace is trusted and the trust was not ended since these settings were read. (What was read then stays in use.)
    pub(crate) fn is_still_trusted(&self, folders: &AppFolders, workspace: &Path) -> bool {
        self.trust_state.is_trusted() && TrustedWorkspaces::load(folders).has(workspace)
    }

    /// A one-line message about what is ignored in the workspace.
    pub fn notice(&self) -> Option<String> {
        let mut left = self.ignored.clone();
        left.extend(self.trust_state.ignored());
        if left.is_empty() {
            return None;
        }
        let why = if self.trust_state == TrustState::Changed { "changed since it was trusted" } else { "not trusted" };
        Some(format!("workspace {why}; ignored: {} (`updraft trust` puts them into effect)", left.join(", ")))
    }
}

/// Rules that keep tools from writing Updraft's own files, if the workspace contains them.
fn not_our_own(folders: &AppFolders, workspace: &Path) -> Vec<Rule> {
    let rule = |path: PathBuf| {
        let within = path.strip_prefix(workspace).ok().filter(|within| !within.as_os_str().is_empty())?;
        let from = "Updraft itself uses this file".to_owned();
        Some(Rule { tool: "write_file".into(), pattern: Some(within.display().to_string()), from })
    };
    folders.own_files().into_iter().filter_map(rule).collect()
}
