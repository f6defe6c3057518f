//! The index of a workspace's files: where it is, what goes into it, and which model makes its vectors.

mod embedders;
mod pull;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use updraft_journal::hash_of;
use updraft_knowledge::IngestReport;
use updraft_reader::ReadOptions;
use updraft_run::ReadRules;
use updraft_tools::{IndexConfig, WorkspaceIndex};

use crate::confinement;
use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::time_format::count;

pub use embedders::embedder;
pub use pull::{has_minilm, minilm_folder, pull_minilm};

/// The index of a workspace, by its canonical path. Nothing is opened until it is used.
pub fn index(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> WorkspaceIndex {
    let documents = confinement::document_reader(folders, settings);
    let read = move |path: &Path, bytes: &[u8]| {
        documents.read_blocking(bytes, &path.to_string_lossy(), &ReadOptions::default())
    };
    WorkspaceIndex::new(IndexConfig {
        file: file(folders, workspace),
        own: own_folders(folders, workspace),
        rules: ReadRules::of([&settings.effective.rules]),
        read: Arc::new(read),
        embedder: embedder(folders, workspace, settings),
    })
}

/// Files that were handed over with a goal are found by searches even if git ignores them. Hidden files (`.env`) are not:
/// later runs would find them too.
pub(crate) fn note_files(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings, files: &[String]) {
    let is_hidden = |file: &str| file.split('/').any(|name| name.starts_with('.') && name != "." && name != "..");
    let paths: Vec<PathBuf> = files.iter().filter(|file| !is_hidden(file)).map(|file| workspace.join(file)).collect();
    if paths.is_empty() {
        return;
    }
    if let Err(error) = index(folders, workspace, settings).name(&paths) {
        // The run can read them all the same.
        tracing::warn!(%error, "files that were handed over are not indexed");
    }
}

/// The file of a workspace's index.
pub fn file(folders: &AppFolders, workspace: &Path) -> PathBuf {
    let name = hash_of(workspace.as_os_str().as_encoded_bytes()).to_string();
    folders.data.join("knowledge").join(format!("{}.db", &name[..32]))
}

/// Our own folders, unless the workspace is inside of one: the journal is no document.
fn own_folders(folders: &AppFolders, workspace: &Path) -> Vec<PathBuf> {
    let all = [&folders.config, &folders.data, &folders.state];
    let real = all.into_iter().filter_map(|folder| folder.canonicalize().ok());
    real.filter(|folder| !workspace.starts_with(folder)).collect()
}

/// What a pass over the files came to, in one sentence.
pub fn pass_in_words(pass: &IngestReport) -> String {
    let (files, passages) = (count(pass.files, "file"), count(pass.chunks, "passage"));
    let (written, unchanged, removed) = (pass.written, pass.unchanged + pass.same, pass.removed);
    format!("{files}: {written} written in {passages}, {unchanged} unchanged, {removed} removed")
}
