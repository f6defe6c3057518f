//! Writes what a plan takes over. Trust in the workspace ends first, and each file or folder appears whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use updraft_mcp::config::WrittenServer;

use super::{ImportContent, ImportFate, ImportPlan, ImportScope};
use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::servers::ServerListFile;
use crate::settings::TrustedWorkspaces;
use crate::untrusted;

/// Most bytes of a file in a folder that is copied; larger ones were refused when the plan was made.
const LARGEST: u64 = 8 << 20;

pub(super) fn write(plan: &ImportPlan, app: &AppFolders) -> Result<bool, Fault> {
    let is_in_workspace = plan.news().any(|item| item.scope == ImportScope::Workspace);
    // Documents are followed without being trusted anew, so nothing may be written while the workspace is trusted.
    let was_trusted = is_in_workspace && TrustedWorkspaces::load(app).remove(&plan.workspace)?;
    let mut lists: BTreeMap<PathBuf, Vec<(&str, &WrittenServer)>> = BTreeMap::new();
    for item in plan.news() {
        let ImportFate::New { to, content } = &item.fate else { continue };
        match content {
            ImportContent::Text(text) if item.scope == ImportScope::User => {
                folders::replace_private(to, text.as_bytes())?;
            }
            ImportContent::Text(text) => put(to, text)?,
            ImportContent::Folder(files) => copy(&item.from, to, files)?,
            ImportContent::Server(server) => {
                lists.entry(to.clone()).or_default().push((item.name.as_str(), server.as_ref()));
            }
        }
    }
    for (file, servers) in lists {
        if file.starts_with(&plan.workspace) {
            make_folder(&file)?;
        }
        let mut list = ServerListFile::read(&file)?;
        for (name, server) in servers {
            list.insert(name, server);
        }
        list.save(&file)?;
    }
    Ok(was_trusted)
}

/// Writes a file of the workspace, which people share as they share its other files.
fn put(to: &Path, text: &str) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::file("write", to, &error);
    make_folder(to)?;
    let draft = draft_of(to);
    let mut file = fs::File::create(&draft).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&draft, to).map_err(failed)
}

fn make_folder(file: &Path) -> Result<(), Fault> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|error| Fault::file("create", folder, &error))
}

/// The name of what is not complete yet.
fn draft_of(to: &Path) -> PathBuf {
    to.with_file_name(format!(".updraft-{}.new", to.file_name().unwrap_or_default().to_string_lossy()))
}

/// Copies files into a new folder beside the place, which is then renamed: half a copy is never taken for the whole.
fn copy(from: &Path, to: &Path, files: &[PathBuf]) -> Result<(), Fault> {
    let draft = draft_of(to);
    let failed = |error: std::io::Error| Fault::file("write", to, &error);
    if draft.exists() {
        fs::remove_dir_all(&draft).map_err(failed)?;
    }
    for file in files {
        let (source, target) = (from.join(file), draft.join(file));
        let bytes = untrusted::read(&source, LARGEST).map_err(|error| Fault::file("read", &source, &error))?;
        fs::create_dir_all(target.parent().unwrap_or(&draft)).map_err(failed)?;
        fs::write(&target, bytes).map_err(failed)?;
        // Scripts stay executable.
        let rights = fs::metadata(&source).map_err(failed)?.permissions();
        fs::set_permissions(&target, rights).map_err(failed)?;
    }
    fs::rename(&draft, to).map_err(failed)
}
