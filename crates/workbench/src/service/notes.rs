//! Small texts that a face keeps in the journal's file, by key: what belongs to it alone and must outlive the process.

use std::time::Duration;

use updraft_journal::{Change, Journal, StoredEntry, StoredValue};
use updraft_run::Timestamp;

use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::time_format;

/// How long a note is kept, and how many of a face.
const AGE: Duration = Duration::from_hours(400 * 24);
const MOST: usize = 20_000;

/// A note, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceNote {
    /// The folder.
    pub workspace: String,
    /// Its key.
    pub key: String,
    /// The text.
    pub text: String,
    /// When it was written.
    pub written: Timestamp,
}

pub(super) fn scope(face: &str, workspace: &str) -> String {
    format!("note {face} {workspace}")
}

/// The notes of a face in all workspaces, those written last first. Blocks on the disk.
pub(super) fn everywhere(journal: &Journal, face: &str) -> Result<Vec<FaceNote>, Fault> {
    let (prefix, now) = (scope(face, ""), time_format::now().0);
    let note = |StoredEntry { scope, key, stored }: StoredEntry| FaceNote {
        workspace: scope.strip_prefix(&prefix).unwrap_or_default().to_owned(),
        key,
        text: stored.value,
        written: Timestamp(now.saturating_sub(i64::try_from(stored.age.as_millis()).unwrap_or(i64::MAX))),
    };
    Ok(journal.stored_under(&prefix)?.into_iter().map(note).collect())
}

impl LiveRuns {
    /// Notes of different workspaces are apart.
    fn note_scope(&self, face: &str) -> String {
        scope(face, self.workspace())
    }

    /// Keeps a text. When this returns, it is on disk.
    pub async fn keep_note(&self, face: &str, key: &str, text: String) -> Result<(), Fault> {
        let scope = self.note_scope(face);
        self.journal().change_stored(&scope, key, move |_| (Change::Set(text.clone()), ())).await?;
        Ok(self.journal().sweep_stored(&scope, AGE, MOST).await?)
    }

    /// Changes a text, or makes one, in one transaction. The change is given the text as it is; `None` leaves it so. It may
    /// be called more than once. Gives the text as it is then.
    pub async fn change_note(
        &self,
        face: &str,
        key: &str,
        change: impl Fn(Option<&str>) -> Option<String> + Send + 'static,
    ) -> Result<Option<String>, Fault> {
        let scope = self.note_scope(face);
        let change = move |stored: Option<StoredValue>| {
            let known = stored.map(|stored| stored.value);
            match change(known.as_deref()) {
                Some(text) => (Change::Set(text.clone()), Some(text)),
                None => (Change::Nothing, known),
            }
        };
        let text = self.journal().change_stored(&scope, key, change).await?;
        self.journal().sweep_stored(&scope, AGE, MOST).await?;
        Ok(text)
    }

    /// A text that was kept.
    pub fn note(&self, face: &str, key: &str) -> Result<Option<String>, Fault> {
        Ok(self.journal().stored(&self.note_scope(face), key)?.map(|stored| stored.value))
    }

    /// Forgets a text; false if there was none.
    pub async fn drop_note(&self, face: &str, key: &str) -> Result<bool, Fault> {
        let forget = |stored: Option<_>| (Change::Remove, stored.is_some());
        Ok(self.journal().change_stored(&self.note_scope(face), key, forget).await?)
    }
}
