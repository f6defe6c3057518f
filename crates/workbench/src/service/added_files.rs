//! Files that people add to the workspace from a page.

use serde_json::json;
use updraft_run::{ApprovalMode, Failure, Origins, Permission, Rights, RunSettings, ToolCall};
use updraft_tools::WriteOutcome;

use super::search::WorkspaceFiles;
use super::service_types::WorkspaceFileChange;
use crate::fault::Fault;

/// The tool whose rules count.
const WRITE: &str = "write_file";
/// How many names are tried.
const NAMES: u32 = 1_000;

impl WorkspaceFiles {
    /// Adds a file to a folder of the workspace and gives its path. If the name is taken, the file gets a number: nothing
    /// is ever replaced. What the rules deny to `write_file` is denied here; what they would ask about is not asked, since
    /// the person who would be asked is the one who adds the file.
    pub async fn add(&self, folder: &str, name: &str, content: Vec<u8>) -> Result<String, Fault> {
        if self.settings.approvals == ApprovalMode::ReadOnly {
            return Err(Fault::usage("files cannot be added: the server was started with `--mode read-only`"));
        }
        self.may_add(&format!("{folder}/{name}"))?;
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

    fn may_add(&self, path: &str) -> Result<(), Fault> {
        if self.settings.deny.iter().any(|denied| denied == WRITE) {
            return Err(Fault::usage(format!("files cannot be added: `{WRITE}` is denied by `deny` in the settings")));
        }
        let args = json!({ "path": path, "content": "" });
        let call = ToolCall { id: "1".into(), name: WRITE.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        if let Some(fault) = prepared.fault {
            return Err(Fault::usage(fault.message));
        }
        // Somebody is there to be asked.
        let attended = RunSettings { approvals: ApprovalMode::Ask, ..self.settings.clone() };
        match Rights::of(&attended, &[]).weigh(WRITE, &prepared, &Origins::default()) {
            Permission::Denied(failure) => Err(Fault::usage(failure.message)),
            Permission::Allowed | Permission::Asked(_) => Ok(()),
        }
    }
}
