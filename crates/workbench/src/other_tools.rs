//! What people have set up for other coding agents, and how it is taken over: instructions, rules, skills, commands, agents and MCP
//! servers. A plan is made without writing anything; what it would write can be shown first.
//!
//! Nothing becomes trusted by it: what comes from a workspace goes into the same workspace, whose trust ends before anything is
//! written, and what comes from the user's home goes into the user's configuration. Keys are never copied.

mod agent_files;
mod collector;
mod command_files;
mod documents;
mod places;
mod rule_files;
mod server_lists;
mod settings_files;
mod skill_folders;
mod writing;

use std::path::{Path, PathBuf};

use updraft_mcp::config::WrittenServer;

use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use collector::{ImportCollector, ImportPlace};
use places::{IN_HOME, IN_WORKSPACE, OF_PROJECT, SourceKind, ToolPlace};

/// Where something was found, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportScope {
    /// The workspace, and its `.updraft` and `.context`.
    Workspace,
    /// The user's home, and the configuration folder.
    User,
}

impl ImportScope {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            ImportScope::Workspace => "workspace",
            ImportScope::User => "user",
        }
    }
}

/// What something is for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportKind {
    /// A document that agents follow.
    Instructions,
    /// A skill.
    Skill,
    /// A command of the console.
    Command,
    /// An agent.
    Agent,
    /// An MCP server.
    Server,
    /// Settings, which mean something else here.
    Settings,
}

impl ImportKind {
    /// All kinds.
    pub const ALL: [ImportKind; 6] = [
        ImportKind::Instructions,
        ImportKind::Skill,
        ImportKind::Command,
        ImportKind::Agent,
        ImportKind::Server,
        ImportKind::Settings,
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            ImportKind::Instructions => "instructions",
            ImportKind::Skill => "skill",
            ImportKind::Command => "command",
            ImportKind::Agent => "agent",
            ImportKind::Server => "server",
            ImportKind::Settings => "settings",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportItem {
    /// Whose it is.
    pub tool: &'static str,
    /// Where it was found.
    pub scope: ImportScope,
    /// What it is for us.
    pub kind: ImportKind,
    /// Its name here.
    pub name: String,
    /// Its file or folder.
    pub from: PathBuf,
    /// What becomes of it.
    pub fate: ImportFate,
    /// What is different here, one sentence each.
    pub remarks: Vec<String>,
}

/// What becomes of something that was found.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportFate {
    /// It is used where it is; in words.
    Used(String),
    /// It was taken over before.
    Present(PathBuf),
    /// It would be written to this place.
    New {
        /// The file or folder.
        to: PathBuf,
        /// What would be written.
        content: ImportContent,
    },
    /// It is not taken over, and why.
    LeftOut(String),
    /// It could not be written, and why.
    Failed(String),
}

/// What is written when something is taken over.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportContent {
    /// A file with this text.
    Text(String),
    /// A copy of a folder: these files, relative to it.
    Folder(Vec<PathBuf>),
    /// An entry in a file of servers.
    Server(Box<WrittenServer>),
}

/// Everything that was found, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportPlan {
    /// By tool, then in the order of the places that were looked at.
    pub items: Vec<ImportItem>,
    workspace: PathBuf,
}

impl ImportPlan {
    /// Looks at a workspace and at the user's home. Nothing is written.
    pub fn of(app: &AppFolders, workspace: &Path, scopes: &[ImportScope]) -> Self {
        let home = folders::home().and_then(|home| home.canonicalize().ok());
        let mut items = Vec::new();
        // In the home folder itself, the user's own files are meant.
        if scopes.contains(&ImportScope::Workspace) && home.as_deref() != Some(workspace) {
            let mut found = collect(ImportCollector::new(ImportPlace::of_workspace(app, workspace)), IN_WORKSPACE);
            if let Some(home) = &home {
                found = collect(found.in_place(ImportPlace::of_project(app, home, workspace)), OF_PROJECT);
            }
            items.extend(found.items);
        }
        if let Some(home) = home.filter(|_| scopes.contains(&ImportScope::User)) {
            let found = collect(ImportCollector::new(ImportPlace::of_user(app, &home, workspace)), IN_HOME);
            items.extend(found.items);
        }
        Self { items, workspace: workspace.to_owned() }
    }

    /// What would be written, or was.
    pub fn news(&self) -> impl Iterator<Item = &ImportItem> {
        self.items.iter().filter(|item| matches!(item.fate, ImportFate::New { .. }))
    }

    /// Writes what is new; what cannot be written is `Failed` afterwards. Returns whether the workspace was trusted, which it is not any
    /// more if something was to be written to it.
    pub fn carry_out(&mut self, app: &AppFolders) -> Result<bool, Fault> {
        writing::write(self, app)
    }
}

fn collect(mut found: ImportCollector, sources: &[ToolPlace]) -> ImportCollector {
    for source in sources {
        found.look_at(source.tool);
        match source.kind {
            SourceKind::Document(name) => documents::collect(&mut found, source.path, name),
            SourceKind::Rules => rule_files::collect(&mut found, source.path),
            SourceKind::Skills => skill_folders::collect(&mut found, source.path),
            SourceKind::Commands => command_files::collect(&mut found, source.path),
            SourceKind::Agents => agent_files::collect(&mut found, source.path),
            SourceKind::Servers => server_lists::collect(&mut found, source.path),
            SourceKind::ProjectServers => server_lists::collect_of_project(&mut found, source.path),
            SourceKind::Settings(known) => settings_files::collect(&mut found, source.path, known),
        }
    }
    found
}
