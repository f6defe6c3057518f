//! Writes what a plan takes over. Trust in the workspace ends first, and each file or folder appears whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use super::collector::link_on_the_way;
use super::{ImportContent, ImportFate, ImportItem, ImportPlan, ImportScope};
use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::servers::ServerListFile;
use crate::settings::TrustedWorkspaces;
use crate::untrusted;

/// Most bytes of a file in a folder that is copied; larger ones were refused when the plan was made.
const LARGEST: u64 = 8 << 20;

pub(super) fn write(plan: &mut ImportPlan, app: &AppFolders) -> Result<bool, Fault> {
    let is_in_workspace = plan.news().any(|item| item.scope == ImportScope::Workspace);
    // Documents are followed without being trusted anew, so nothing may be written while the workspace is trusted.
    let was_trusted = is_in_workspace && TrustedWorkspaces::load(app).remove(&plan.workspace)?;
    let ImportPlan { items, workspace } = plan;
    let mut lists: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter_mut().enumerate() {
        let ImportFate::New { to, content } = &item.fate else { continue };
        let written = match content {
            ImportContent::Text(text) if item.scope == ImportScope::User => {
                folders::replace_private(to, text.as_bytes())
            }
            ImportContent::Text(text) => make_folder(item.scope, workspace, to).and_then(|()| put(to, text)),
            ImportContent::Folder(files) => {
                make_folder(item.scope, workspace, to).and_then(|()| copy(&item.from, to, files))
            }
            ImportContent::Server(_) => {
                lists.entry(to.clone()).or_default().push(at);
                continue;
            }
        };
        if let Err(fault) = written {
            item.fate = ImportFate::Failed(fault.message);
        }
    }
    for (file, entries) in lists {
        let added = add_servers(&file, workspace, entries.iter().filter_map(|at| items.get(*at)));
        if let Err(fault) = added {
            for at in entries {
                items[at].fate = ImportFate::Failed(fault.message.clone());
            }
        }
    }
    Ok(was_trusted)
}

/// Adds entries to one file of servers.
fn add_servers<'a>(file: &Path, workspace: &Path, entries: impl Iterator<Item = &'a ImportItem>) -> Result<(), Fault> {
    let mut list: Option<ServerListFile> = None;
    for item in entries {
        let ImportFate::New { content: ImportContent::Server(server), .. } = &item.fate else { continue };
        let list = if let Some(list) = &mut list {
            list
        } else {
            make_folder(item.scope, workspace, file)?;
            list.insert(ServerListFile::read(file)?)
        };
        list.insert(&item.name, server);
    }
    list.map_or(Ok(()), |list| list.save(file))
}

/// Makes the folder of a place. In a workspace no link may lead elsewhere: it may have changed since the plan was made.
fn make_folder(scope: ImportScope, workspace: &Path, to: &Path) -> Result<(), Fault> {
    if let Some(link) = link_on_the_way(workspace, to).filter(|_| scope == ImportScope::Workspace) {
        return Err(Fault::failed(format!("could not write `{}`: {link}", to.display())));
    }
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(|error| Fault::file("create", folder, &error))
}

/// What is not complete yet: under a name that nobody can guess, and for everybody to read.
fn draft(mode: u32) -> Builder<'static, 'static> {
    let mut draft = Builder::new();
    draft.prefix(".updraft-").suffix(".new");
    #[cfg(unix)]
    draft.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    draft
}

/// Writes a file of the workspace, which people share as they share its other files.
fn put(to: &Path, text: &str) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::file("write", to, &error);
    let mut file = draft(0o644).tempfile_in(to.parent().unwrap_or(to)).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist_noclobber(to).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Copies files into a new folder beside the place, which is then renamed: half a copy is never taken for the whole.
fn copy(from: &Path, to: &Path, files: &[PathBuf]) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::file("write", to, &error);
    let folder = draft(0o755).tempdir_in(to.parent().unwrap_or(to)).map_err(failed)?;
    for file in files {
        let (source, target) = (from.join(file), folder.path().join(file));
        let bytes = untrusted::read(&source, LARGEST).map_err(|error| Fault::file("read", &source, &error))?;
        fs::create_dir_all(target.parent().unwrap_or(&target)).map_err(failed)?;
        fs::write(&target, bytes).map_err(failed)?;
        // Scripts stay executable.
        let rights = fs::metadata(&source).map_err(failed)?.permissions();
        fs::set_permissions(&target, rights).map_err(failed)?;
    }
    // A folder that exists is not replaced, unless it is empty.
    fs::rename(folder.path(), to).map_err(failed)?;
    let _ = folder.keep();
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::other_tools::ImportKind;

    #[test]
    fn a_link_that_appears_after_the_plan_is_not_followed_and_the_rest_is_written() {
        let kept = tempfile::tempdir().unwrap();
        let root = kept.path().canonicalize().unwrap();
        let (workspace, outside) = (root.join("ws"), root.join("outside"));
        for folder in [&workspace, &outside] {
            fs::create_dir(folder).unwrap();
        }
        let item = |to: &str, content: ImportContent| ImportItem {
            tool: "Cursor",
            scope: ImportScope::Workspace,
            kind: ImportKind::Command,
            name: to.to_owned(),
            from: workspace.join("from"),
            fate: ImportFate::New { to: workspace.join(to), content },
            remarks: Vec::new(),
        };
        fs::create_dir(workspace.join("from")).unwrap();
        fs::write(workspace.join("from/SKILL.md"), "x").unwrap();
        let (text, folder) =
            (|| ImportContent::Text("x".to_owned()), || ImportContent::Folder(vec!["SKILL.md".into()]));
        let items = vec![
            item(".updraft/commands/a.md", text()),
            item(".updraft/skills/there", folder()),
            item(".updraft/skills/new", folder()),
            item(".context/b.md", text()),
            item(".context/there.md", text()),
        ];
        let mut plan = ImportPlan { items, workspace: workspace.clone() };
        fs::create_dir_all(workspace.join(".updraft/skills/there/mine")).unwrap();
        fs::create_dir(workspace.join(".context")).unwrap();
        fs::write(workspace.join(".context/there.md"), "mine").unwrap();
        symlink(&outside, workspace.join(".updraft/commands")).unwrap();
        plan.carry_out(&AppFolders::under(&root.join("home"))).unwrap();
        let fates: Vec<bool> = plan.items.iter().map(|item| matches!(item.fate, ImportFate::New { .. })).collect();
        assert_eq!(fates, [false, false, true, true, false]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(workspace.join(".context/there.md")).unwrap(), "mine");
        assert!(workspace.join(".updraft/skills/new/SKILL.md").is_file());
        let drafts = [".updraft/skills", ".context"].map(|name| fs::read_dir(workspace.join(name)).unwrap().count());
        assert_eq!(drafts, [2, 2], "nothing is left of what failed");
    }
}
