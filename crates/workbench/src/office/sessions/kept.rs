//! Conversations on disk, so that one goes on after a restart: a file each, readable by its owner alone.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;
use updraft_run::Origins;

/// What was said in a conversation, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// Questions and their answers.
    pub(super) turns: VecDeque<(String, String)>,
    /// Runs and their questions, where the answer is not known yet.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) open: VecDeque<(String, String)>,
    /// Where words of the answers came from.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub(super) origins: Origins,
}

/// Where conversations of a workspace are kept.
pub(super) struct Kept {
    folder: PathBuf,
    workspace: String,
    /// How long a conversation may rest.
    age: Duration,
}

#[derive(Serialize, Deserialize)]
struct Written {
    workspace: String,
    #[serde(flatten)]
    said: Said,
}

impl Kept {
    pub(super) fn new(folder: PathBuf, workspace: String, age: Duration) -> Self {
        Self { folder, workspace, age }
    }

    /// The file of a conversation; nothing for what is no id of ours, which may be a path.
    fn file(&self, id: &str) -> Option<PathBuf> {
        let is_ours = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| self.folder.join(id))
    }

    /// What was said in a conversation of this workspace that has not rested too long.
    pub(super) fn read(&self, id: &str) -> Option<Said> {
        let file = self.file(id)?;
        let age = std::fs::metadata(&file).ok()?.modified().ok()?.elapsed().unwrap_or_default();
        let written: Written = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        (age < self.age && written.workspace == self.workspace).then_some(written.said)
    }

    /// Keeps what was said. Where it cannot be written, the conversation goes on until the next restart.
    pub(super) fn write(&self, id: &str, said: &Said) {
        let Some(file) = self.file(id) else { return };
        let written = Written { workspace: self.workspace.clone(), said: said.clone() };
        let write = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let making = file.with_extension("new");
            let mut made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&making)?;
            made.write_all(&serde_json::to_vec(&written)?)?;
            std::fs::rename(making, &file)
        };
        if let Err(error) = write() {
            warn!(%error, "a conversation could not be kept on disk");
        }
    }

    pub(super) fn forget(&self, id: &str) {
        if let Some(file) = self.file(id) {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Removes those that have rested too long, of every workspace.
    pub(super) fn sweep(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let changed = entry.metadata().and_then(|about| about.modified());
            if changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= self.age)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    const AGE: Duration = Duration::from_mins(30);
    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn said() -> Said {
        let turns = VecDeque::from([("What is it?".to_owned(), "A loom.".to_owned())]);
        Said { turns, origins: Origins::of("https://a.example/page"), ..Said::default() }
    }

    #[test]
    fn a_conversation_is_found_again_in_its_own_workspace_only() {
        let folder = tempfile::tempdir().unwrap();
        let kept = |workspace: &str| Kept::new(folder.path().join("sessions"), workspace.to_owned(), AGE);
        assert_eq!(kept("/one").read(ID), None);
        kept("/one").write(ID, &said());
        assert_eq!(kept("/one").read(ID), Some(said()));
        assert_eq!(kept("/other").read(ID), None);
        let mode = std::fs::metadata(folder.path().join("sessions").join(ID)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        kept("/one").forget(ID);
        assert_eq!(kept("/one").read(ID), None);
    }

    #[test]
    fn one_that_rests_too_long_is_not_read_and_is_swept_away() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path().to_owned(), "/one".to_owned(), AGE);
        kept.write(ID, &said());
        let file = std::fs::File::options().write(true).open(folder.path().join(ID)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(kept.read(ID), None);
        kept.sweep();
        assert!(!folder.path().join(ID).exists());
    }

    #[test]
    fn what_is_no_id_of_ours_names_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path().join("sessions"), "/one".to_owned(), AGE);
        for id in ["../sessions/0123456789abcdef012345", "", "guessed", "0123456789abcdef0123456789abcde/"] {
            kept.write(id, &said());
            assert_eq!(kept.read(id), None, "{id}");
        }
        assert!(!folder.path().join("sessions").exists());
    }
}
