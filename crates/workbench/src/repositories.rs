//! Git repositories as the place of runs' files: each run works in a clone of its own, and what it changes is pushed to a
//! branch of its own.
//!
//! | file | what it is about |
//! |---|---|
//! | `address.rs` | the address of a repository, and which are accepted |
//! | `git_program.rs` | the program `git`, without hooks, and without settings that agents could have written |
//! | `mirror.rs` | this machine's copy of a repository |
//! | `run_clone.rs` | the clone of a run, which is made from it |
//! | `clone_index.rs` | the list of the clone's files, without repositories within it |
//! | `saved_files.rs` | what a run changed, as a commit on its branch, pushed |
//! | `run_branch.rs` | what is noted about a run's branch |

mod address;
mod clone_index;
mod git_program;
mod mirror;
mod run_branch;
mod run_clone;
mod saved_files;

use updraft_run::RunId;

pub use address::RepositoryAddress;
pub use mirror::RepositoryMirror;
pub use run_branch::RunBranch;
pub use run_clone::RestoredClone;
pub use saved_files::{PushFault, SavedFiles};

use crate::folders::AppFolders;
use crate::settings::TrustedWorkspaces;

/// The folder with the mirrors and clones, in that of Updraft's state.
const FOLDER: &str = "repositories";
/// The folder with the clones, in that of a mirror.
const CLONES: &str = "runs";

/// The name of a run's branch.
pub fn branch_of(run: &RunId) -> String {
    format!("updraft/{run}")
}

/// Removes the clone of a run that is removed for good.
pub(crate) fn forget_clone(folders: &AppFolders, run: &RunId) {
    let mirrors = std::fs::read_dir(folders.state.join(FOLDER)).into_iter().flatten().flatten();
    for folder in mirrors.map(|mirror| mirror.path().join(CLONES).join(run.as_str())).filter(|folder| folder.is_dir()) {
        end_trust(folders, &folder);
        // What is left does no harm.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Ends the trust in the clone that a folder of a run holds.
fn end_trust(folders: &AppFolders, folder: &std::path::Path) {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    for clone in std::fs::read_dir(real).into_iter().flatten().flatten() {
        let _ = TrustedWorkspaces::load(folders).remove(&clone.path());
    }
}

#[cfg(test)]
mod tests;
