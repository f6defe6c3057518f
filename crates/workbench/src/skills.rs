//! The skills of a workspace: which folders are looked at, and which skills agents may use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use updraft_engine::{FoundSkill, SkillEntry, find_skills};

use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::tools;

/// The folders of a workspace that hold skills: ours, and those that other programs use.
pub const SKILL_FOLDERS: [&str; 3] = [".updraft/skills", ".agents/skills", ".claude/skills"];

/// All skills, the user's own first, with what is wrong with those that cannot be used. Skills are instructions, so a
/// workspace's count only if it is trusted and no run has written text from outside to them.
pub fn of(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Vec<FoundSkill> {
    let mut all = vec![folders.config.join("skills")];
    if settings.is_still_trusted(folders, workspace) {
        all.extend(SKILL_FOLDERS.iter().map(|folder| workspace.join(folder)));
    }
    let mut found = find_skills(&all);
    let marks = tools::marks(folders).book(&workspace.display().to_string()).all().unwrap_or_default();
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    for skill in found.iter_mut().filter(|skill| skill.folder.starts_with(workspace)) {
        // Links inside the workspace are common: programs share their skills that way.
        let real = skill.folder.canonicalize().unwrap_or_default();
        let is_marked = |path: &str| marks.iter().any(|mark| updraft_run::paths_meet(&mark.path, path));
        match real.strip_prefix(&root).map(|path| path.display().to_string()) {
            Err(_) => skill.skill = Err(vec!["it is a link to a folder outside of the workspace".to_owned()]),
            Ok(path) if is_marked(&path) => {
                let fault = "a run has written text from outside to it (`updraft permissions`)";
                skill.skill = Err(vec![fault.to_owned()]);
            }
            Ok(_) => {}
        }
    }
    found
}

/// The skills that agents may use.
pub(crate) fn usable(found: &[FoundSkill]) -> Vec<SkillEntry> {
    found.iter().filter_map(|one| one.skill.clone().ok()).collect()
}

/// The folder of each skill by its name.
pub(crate) fn by_name(found: &[FoundSkill]) -> BTreeMap<String, PathBuf> {
    let named = found.iter().filter_map(|one| Some((one.skill.as_ref().ok()?.name.clone(), one.folder.clone())));
    named.collect()
}
