//! Reads and lists files of any kind for programs, under the same rules as the agents' tools.

use std::io::Read as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Failure, FailureKind, FileChange, FileKind, ToolCall};
use updraft_tools::{HiddenFiles, LinkPolicy, Workspace, WorkspacePath};

use super::search::WorkspaceFiles;
use super::service_types::{FetchedDocument, FileList, WorkspaceFileChange};
use crate::fault::Fault;

/// Most bytes of a file that is read whole: as many as can be written.
const WHOLE: u64 = 32 << 20;
/// Most bytes of a document for a chat.
const FETCHED: u64 = 1 << 20;
/// Most files and folders that one listing visits.
const WALKED: usize = 200_000;

impl WorkspaceFiles {
    /// The text of a file, unchanged.
    pub async fn read(&self, path: &str) -> Result<String, Fault> {
        self.may("read_file", json!({ "path": path }))?;
        let read = self.look_at(path, |workspace, path| workspace.whole_text(path, WHOLE)).await?;
        if !read.is_whole {
            let (bytes, most) = (read.bytes, WHOLE >> 20);
            return Err(Fault::usage(format!("`{path}` has {bytes} bytes; at most {most} MB are read at once")));
        }
        Ok(read.text)
    }

    /// The content of a file of any kind; `None` if it has more bytes than this.
    pub async fn bytes(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>, Fault> {
        self.may("read_file", json!({ "path": path }))?;
        let look = move |workspace: &Workspace, path: &WorkspacePath| {
            let (file, about) = workspace.open_file(path, LinkPolicy::Inside)?;
            let mut bytes = Vec::with_capacity(about.len.min(most) as usize);
            let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| Failure::new(FailureKind::Tool, format!("`{path}` could not be read: {error}")))?;
            Ok(bytes)
        };
        let bytes = self.look_at(path, look).await?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }

    /// Whether a file or folder exists at a path.
    pub async fn exists(&self, path: &str) -> Result<bool, Fault> {
        self.may("read_file", json!({ "path": path }))?;
        Ok(self.look_at(path, Workspace::form).await?.is_some())
    }

    /// The files of a folder, and of its subfolders if `recursive`.
    pub async fn list(&self, folder: &str, recursive: bool) -> Result<FileList, Fault> {
        self.may("list_files", json!({ "path": folder, "recursive": recursive }))?;
        let look = move |workspace: &Workspace, folder: &WorkspacePath| {
            workspace.paths(folder, recursive, HiddenFiles::Shown, WALKED)
        };
        let found = self.look_at(folder, look).await?;
        let folders = found.folders.into_iter().map(|folder| format!("{folder}/"));
        Ok(FileList { paths: folders.chain(found.files).collect(), is_cut: found.is_cut })
    }

    /// A document by its path: a text file as it is, anything else, and what was ingested from outside the workspace, as
    /// it is in the index.
    pub async fn fetch(&self, id: &str) -> Result<FetchedDocument, Fault> {
        let is_inside = self.place.workspace.locate(id).is_ok();
        let read = if is_inside {
            self.may("read_file", json!({ "path": id }))?;
            self.look_at(id, |workspace, path| workspace.whole_text(path, FETCHED)).await
        } else {
            Err(Fault::usage(format!("`{id}` is neither in the workspace nor in its index")))
        };
        let (text, cut_from) = match read {
            Ok(read) => (read.text, (!read.is_whole).then_some(read.bytes)),
            Err(fault) => self.indexed(id).await?.ok_or(fault)?,
        };
        Ok(FetchedDocument { id: id.to_owned(), title: id.to_owned(), url: self.url(id), text, cut_from })
    }

    /// The text of a document as it was indexed, and its size if that is only the beginning.
    async fn indexed(&self, id: &str) -> Result<Option<(String, Option<u64>)>, Fault> {
        if self.read_rules().forbid(id) {
            return Ok(None);
        }
        self.may("retrieve", json!({ "query": "-" }))?;
        let (index, path) = (Arc::clone(&self.index), id.to_owned());
        let found = tokio::task::spawn_blocking(move || index.text_of(&path)).await;
        let found = found.map_err(|error| Fault::usage(format!("the index cannot be read: {error}")))?;
        let found = found.map_err(|error| Fault::usage(updraft_run::error_chain(&error)))?;
        Ok(found.map(|mut text| {
            let (whole, most) = (text.len(), text.floor_char_boundary(FETCHED as usize));
            text.truncate(most);
            (text, (most < whole).then_some(whole as u64))
        }))
    }

    /// Whether the rules allow this call.
    fn may(&self, tool: &str, args: Value) -> Result<(), Fault> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        match &prepared.fault {
            Some(fault) => Err(Fault::usage(fault.message.clone())),
            None => self.weigh(tool, &prepared),
        }
    }

    /// Does something at a path on a thread that may block on the disk.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        path: &str,
        look: impl FnOnce(&Workspace, &WorkspacePath) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Fault> {
        let workspace = self.place.workspace.clone();
        let refused = |failure: Failure| Fault::usage(failure.message);
        let path = workspace.locate(path).map_err(refused)?;
        let looked = tokio::task::spawn_blocking(move || look(&workspace, &path)).await;
        looked.map_err(|error| Fault::usage(format!("the workspace cannot be read: {error}")))?.map_err(refused)
    }
}

/// The files among the changes of a call. Folders are left out: they come and go with their files.
pub(super) fn changed(changes: &[FileChange]) -> impl Iterator<Item = WorkspaceFileChange> {
    let is_folder = |change: &&FileChange| {
        let form = change.now.or(change.was);
        form.is_some_and(|form| form.kind == FileKind::Folder)
    };
    changes.iter().filter(move |change| !is_folder(change)).map(|change| {
        // Older tools report that there is content, but not how much.
        let bytes = change.now.map(|form| form.len).or(change.after.map(|_| 0));
        WorkspaceFileChange { path: change.path.clone(), bytes }
    })
}
