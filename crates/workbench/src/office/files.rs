//! The workspace's files as programs need them: whole, all of them, and of whatever kind; under the rules of the tools.

use serde_json::{Value, json};
use updraft_run::{Failure, FileChange, FileKind, ToolCall};
use updraft_tools::{HiddenFiles, Workspace, WorkspacePath};

use super::find::WorkspaceFiles;
use super::shapes::{Document, FileList, WorkspaceFileChange};
use crate::fault::Fault;

/// Bytes of a file that is read whole: as many as can be written.
const WHOLE: u64 = 32 << 20;
/// Bytes of a document for a chat.
const FETCHED: u64 = 1 << 20;
/// Files and folders that one listing looks at.
const WALKED: usize = 200_000;

impl WorkspaceFiles {
    /// The text of a file, exactly as it stands there.
    pub async fn read(&self, path: &str) -> Result<String, Fault> {
        self.may("read_file", json!({ "path": path }))?;
        let read = self.look_at(path, |workspace, path| workspace.whole_text(path, WHOLE)).await?;
        if !read.is_whole {
            let (bytes, most) = (read.bytes, WHOLE >> 20);
            return Err(Fault::usage(format!("`{path}` has {bytes} bytes; at most {most} MB are read at once")));
        }
        Ok(read.text)
    }

    /// Whether there is anything at a path.
    pub async fn exists(&self, path: &str) -> Result<bool, Fault> {
        self.may("read_file", json!({ "path": path }))?;
        Ok(self.look_at(path, Workspace::form).await?.is_some())
    }

    /// The files of a folder, and of those within.
    pub async fn list(&self, folder: &str, recursive: bool) -> Result<FileList, Fault> {
        self.may("list_files", json!({ "path": folder, "recursive": recursive }))?;
        let look = move |workspace: &Workspace, folder: &WorkspacePath| {
            workspace.paths(folder, recursive, HiddenFiles::Shown, WALKED)
        };
        let found = self.look_at(folder, look).await?;
        let folders = found.folders.into_iter().map(|folder| format!("{folder}/"));
        Ok(FileList { paths: folders.chain(found.files).collect(), is_cut: found.is_cut })
    }

    /// Every file, for a search, which looks only at those that may be read: its path and, for a link, where it leads.
    pub(super) async fn all(&self) -> Result<Vec<Vec<String>>, Fault> {
        let look = |workspace: &Workspace, root: &WorkspacePath| {
            let files = workspace.paths(root, true, HiddenFiles::LeftOut, WALKED)?.files;
            let located = files.iter().filter_map(|file| workspace.locate(file).ok());
            Ok(located.map(|path| workspace.with_its_target(&path)).collect())
        };
        self.look_at(".", look).await
    }

    /// A document by its path in the workspace.
    pub async fn fetch(&self, id: &str) -> Result<Document, Fault> {
        self.may("read_file", json!({ "path": id }))?;
        let read = self.look_at(id, |workspace, path| workspace.whole_text(path, FETCHED)).await?;
        let cut_from = (!read.is_whole).then_some(read.bytes);
        Ok(Document { id: id.to_owned(), title: id.to_owned(), url: self.url(id), text: read.text, cut_from })
    }

    /// Whether a tool might be called like this.
    fn may(&self, tool: &str, args: Value) -> Result<(), Fault> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        match &prepared.fault {
            Some(fault) => Err(Fault::usage(fault.message.clone())),
            None => self.weigh(tool, &prepared),
        }
    }

    /// Looks at a path where it may wait for the disk.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        path: &str,
        look: impl FnOnce(&Workspace, &WorkspacePath) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Fault> {
        let workspace = self.place.workspace.clone();
        let refused = |failure: Failure| Fault::usage(failure.message);
        let path = workspace.locate(path).map_err(refused)?;
        let looked = tokio::task::spawn_blocking(move || look(&workspace, &path)).await;
        looked.map_err(|error| Fault::usage(format!("the workspace cannot be looked at: {error}")))?.map_err(refused)
    }
}

/// The files among what a call has changed. Folders are not told of: they come and go with what is in them.
pub(super) fn changed(changes: &[FileChange]) -> impl Iterator<Item = WorkspaceFileChange> {
    let is_folder = |change: &&FileChange| {
        let form = change.now.or(change.was);
        form.is_some_and(|form| form.kind == FileKind::Folder)
    };
    changes.iter().filter(move |change| !is_folder(change)).map(|change| {
        // Older tools say only that there is content, not how much.
        let bytes = change.now.map(|form| form.len).or(change.after.map(|_| 0));
        WorkspaceFileChange { path: change.path.clone(), bytes }
    })
}
