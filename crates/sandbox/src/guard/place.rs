//! What kind of folder a walk is in, and what of a name counts there.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use crate::names;

/// What kind of folder we are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Ordinary,
    /// Installed packages bring settings for the editors of those who made them. Nobody opens them there, and moving them
    /// away would break every install. Repositories in here count as anywhere.
    Packages,
    /// A folder of a repository, and its path within.
    Repository(PathBuf),
    /// A folder all of whose files are guarded.
    Guarded {
        why: &'static str,
        top: PathBuf,
    },
}

impl Place {
    pub(super) fn may_hold_repositories(&self) -> bool {
        matches!(self, Place::Ordinary | Place::Packages)
    }

    /// What a folder in an ordinary one is.
    pub(super) fn within(&self, folder: &Path) -> Place {
        let is_packages = folder.file_name().is_some_and(|name| name == "node_modules" || name == "site-packages");
        if is_packages || *self == Place::Packages { Place::Packages } else { Place::Ordinary }
    }
}

/// A repository by its name, or by what git would recognise it by under any other.
pub(super) fn is_repository(path: &Path, names: &[(OsString, FileType)]) -> bool {
    let has = |wanted: &str| names.iter().any(|(name, _)| name == wanted);
    let by_name = path.file_name().is_some_and(|name| names::is_repository_name(&name.to_string_lossy()));
    let by_head = has("HEAD") && (has("objects") || has("refs") || has("commondir"));
    // One that others share may lack a head of its own.
    by_name || by_head || (has("objects") && has("refs"))
}

/// A repository that is not a folder leads to another one.
pub(super) fn why_repository(name: &str, is_folder: bool) -> Option<&'static str> {
    (!is_folder && names::is_repository_name(name)).then_some("git follows it to another repository")
}

pub(super) fn why_guarded(folder: &str, name: &str, is_folder: bool) -> Option<&'static str> {
    let link = || (!is_folder).then(|| names::why_link_guarded(folder, name)).flatten();
    names::why_guarded(folder, name).or_else(|| why_repository(name, is_folder)).or_else(link)
}

/// What a folder of a repository is: one of its own, or one that may hold repositories of submodules and worktrees.
pub(super) fn inside_repository(inside: &Path, name: &OsStr) -> Place {
    let within = inside.join(name);
    let is_known = ["hooks", "info", "objects"].iter().any(|known| within == Path::new(known));
    if is_known { Place::Repository(within) } else { Place::Ordinary }
}

/// Loose objects and packs: many, and nothing that anyone opens.
pub(super) fn is_object_store(name: &str) -> bool {
    let is_loose = name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_loose || name == "pack" || name == "info"
}

/// A relative path from a folder, without leaving the root of the walk.
pub(super) fn below(base: &Path, path: &Path) -> Option<PathBuf> {
    let mut whole = base.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir => whole.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!whole.as_os_str().is_empty()).then_some(whole)
}
