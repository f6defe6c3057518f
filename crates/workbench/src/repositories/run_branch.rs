//! What is noted in the journal about the branch of a run: where it is, and whether it was pushed.

use serde::{Deserialize, Serialize};
use updraft_journal::{Change, Journal};
use updraft_run::RunId;

use crate::fault::Fault;

/// Where the journal keeps it.
const SCOPE: &str = "git branches";
/// How many digits of a commit people need.
const SHORT: usize = 12;

/// The branch with what a run has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBranch {
    /// The address of the repository.
    pub repository: String,
    /// The branch.
    pub branch: String,
    /// The commit that was pushed; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why the last changes are not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What could not be committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl RunBranch {
    /// The branch of a run, if it has one.
    pub fn of(journal: &Journal, run: &RunId) -> Result<Option<Self>, Fault> {
        let stored = journal.stored(SCOPE, run.as_str())?;
        Ok(stored.and_then(|stored| serde_json::from_str(&stored.value).ok()))
    }

    /// Notes it.
    pub async fn note(&self, journal: &Journal, run: &RunId) -> Result<(), Fault> {
        let text = serde_json::to_string(self).map_err(|error| Fault::failed(error.to_string()))?;
        Ok(journal.change_stored(SCOPE, run.as_str(), move |_| (Change::Set(text.clone()), ())).await?)
    }

    /// Forgets that of a run that is removed.
    pub(crate) async fn forget(journal: &Journal, run: &RunId) {
        if !journal.stored(SCOPE, run.as_str()).is_ok_and(|stored| stored.is_some()) {
            return;
        }
        // If this fails, only the note stays.
        let _ = journal.change_stored(SCOPE, run.as_str(), |_| (Change::Remove, ())).await;
    }

    /// The same for people, in one line.
    pub fn in_words(&self) -> String {
        let Self { repository, branch, commit, problem, left_out } = self;
        let words = match commit {
            Some(commit) => format!("{branch} at {} of {repository}", short(commit)),
            None if problem.is_some() => format!("none yet at {repository}"),
            None => format!("none, since nothing was changed in the files of {repository}"),
        };
        let problem = problem.as_ref().map(|problem| format!("; not pushed: {problem}")).unwrap_or_default();
        let left_out = if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
        words + &problem + &left_out
    }
}

/// A commit as people write it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}
