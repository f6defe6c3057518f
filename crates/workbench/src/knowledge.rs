//! The index of a workspace's files: where it is, and what goes into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use updraft_journal::hash_of;
use updraft_knowledge::read_here;
use updraft_run::ReadRules;
use updraft_tools::{IndexConfig, WorkspaceIndex};

use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;

/// The index of a workspace, by its canonical path. Nothing is opened until it is used.
pub fn index(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> WorkspaceIndex {
    WorkspaceIndex::new(IndexConfig {
        file: file(folders, workspace),
        own: own_folders(folders, workspace),
        rules: ReadRules::of([&settings.effective.rules]),
        // The one place that decides how files are parsed for the index.
        read: Arc::new(read_here),
        embedder: None,
    })
}

/// The file of a workspace's index.
pub fn file(folders: &AppFolders, workspace: &Path) -> PathBuf {
    let name = hash_of(workspace.as_os_str().as_encoded_bytes()).to_string();
    folders.data.join("knowledge").join(format!("{}.db", &name[..32]))
}

/// Our own folders, if they are inside the workspace: the journal is no document.
fn own_folders(folders: &AppFolders, workspace: &Path) -> Vec<PathBuf> {
    let all = [&folders.config, &folders.data, &folders.state];
    let real = all.into_iter().filter_map(|folder| folder.canonicalize().ok());
    real.filter(|folder| folder != workspace && folder.starts_with(workspace)).collect()
}
