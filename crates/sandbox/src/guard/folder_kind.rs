//! The kind of folder that a walk is in, and which names are guarded there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use updraft_workspace::guarded_names;

/// The kind of the current folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FolderKind {
    Ordinary,
    /// A folder of installed packages. They contain settings for the editors of their authors, which have no effect
    /// there, and moving them away would break every installation. Repositories in it are guarded as anywhere.
    Packages,
    /// A folder of a repository. All other guarded names are guarded in it too: a few files make any folder a
    /// repository.
    Repository {
        /// Its path within the repository.
        inside: PathBuf,
        /// Whether the repository is an installed package.
        is_package: bool,
    },
    /// A folder all of whose files are guarded.
    Guarded {
        why: &'static str,
        top: PathBuf,
    },
}

impl FolderKind {
    pub(super) fn may_hold_repositories(&self) -> bool {
        matches!(self, FolderKind::Ordinary | FolderKind::Packages)
    }

    pub(super) fn is_package(&self) -> bool {
        matches!(self, FolderKind::Packages | FolderKind::Repository { is_package: true, .. })
    }

    /// The kind of a subfolder: one that git itself reads, or one that may contain further repositories.
    pub(super) fn within(&self, name: &OsStr) -> FolderKind {
        let is_package = self.is_package();
        if let FolderKind::Repository { inside, .. } = self {
            let within = inside.join(name);
            if guarded_names::LOOKED_INTO_BY_GIT.iter().any(|known| within == Path::new(known)) {
                return FolderKind::Repository { inside: within, is_package };
            }
        }
        if is_package || is_packages(name) { FolderKind::Packages } else { FolderKind::Ordinary }
    }
}

/// Whether a folder with this name holds installed packages.
pub(super) fn is_packages(name: &OsStr) -> bool {
    name == "node_modules" || name == "site-packages"
}

/// Whether a folder is a repository, by its name or by the entries by which git recognizes one.
pub(super) fn is_repository(name: &str, names: &[(OsString, FileType)]) -> bool {
    let has = |wanted: &str| names.iter().any(|(name, _)| name == wanted);
    let by_name = guarded_names::is_repository_name(name);
    let by_head = has("HEAD") && (has("objects") || has("refs") || has("commondir"));
    // A repository that shares its objects may have no HEAD of its own.
    by_name || by_head || (has("objects") && has("refs"))
}

/// A repository name that is not a folder points to another repository.
pub(super) fn why_repository(name: &str, is_folder: bool) -> Option<&'static str> {
    (!is_folder && guarded_names::is_repository_name(name))
        .then_some("it points git to another repository, with hooks and settings of its own")
}

pub(super) fn why_guarded(folder: &str, name: &str, is_folder: bool) -> Option<&'static str> {
    let link = || (!is_folder).then(|| guarded_names::why_link_guarded(folder, name)).flatten();
    guarded_names::why_guarded(folder, name).or_else(|| why_repository(name, is_folder)).or_else(link)
}
