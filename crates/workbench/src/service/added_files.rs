//! Files that people add to the workspace from a page.

use updraft_run::{ApprovalMode, Failure};
use updraft_tools::WriteOutcome;

use super::search::WorkspaceFiles;
use super::service_types::WorkspaceFileChange;
use crate::fault::Fault;

/// How many names are tried.
const NAMES: u32 = 1_000;

impl WorkspaceFiles {
    /// Adds a file to a folder of the workspace and gives its path. If the name is taken, the file gets a number: nothing
    /// is ever replaced.
    pub async fn add(&self, folder: &str, name: &str, content: Vec<u8>) -> Result<String, Fault> {
        if self.settings.approvals == ApprovalMode::ReadOnly {
            return Err(Fault::usage("files cannot be added: the server was started with `--mode read-only`"));
        }
        let (workspace, folder, name) = (self.place.workspace.clone(), folder.to_owned(), name.to_owned());
        let bytes = content.len() as u64;
        let added = tokio::task::spawn_blocking(move || {
            let (stem, ending) = match name.rsplit_once('.') {
                Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
                _ => (name.as_str(), String::new()),
            };
            for n in 1..=NAMES {
                let number = if n == 1 { String::new() } else { format!("-{n}") };
                let path = workspace.locate_for_writing(&format!("{folder}/{stem}{number}{ending}"))?;
                if workspace.form(&path)?.is_some() {
                    continue;
                }
                if let WriteOutcome::Done(_) = workspace.replace(&path, &content, None, false)? {
                    return Ok(Some(path.to_string()));
                }
            }
            Ok(None)
        });
        let added = added.await.map_err(|error| Fault::failed(format!("the file could not be added: {error}")))?;
        let added = added.map_err(|failure: Failure| Fault::usage(failure.message))?;
        let path = added.ok_or_else(|| Fault::usage("there are too many files with this name"))?;
        // There may be no receiver.
        let _ = self.changed.send(WorkspaceFileChange { path: path.clone(), bytes: Some(bytes) });
        Ok(path)
    }
}
