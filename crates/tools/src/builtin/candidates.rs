//! The tools for candidates, which work in copies of the workspace: look at what one changed, test them, keep one.

mod diff;
mod keep;
mod test;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{Failure, FailureKind, RunId, StepId};
use updraft_workspace::{Place, WorkspaceCopy};

use crate::limits::ToolLimits;
use crate::tool::Tool;

pub(super) fn tools(copies: PathBuf, run_command: Arc<dyn Tool>, limits: &ToolLimits) -> [Arc<dyn Tool>; 3] {
    let store = Arc::new(CandidateStore { copies, file: limits.file });
    [
        Arc::new(diff::CandidateDiff::new(Arc::clone(&store))),
        Arc::new(test::TestCandidates::new(Arc::clone(&store), run_command)),
        Arc::new(keep::KeepCandidate::new(store)),
    ]
}

/// The arguments of a tool about one candidate.
#[derive(Deserialize)]
struct ChosenCandidate {
    candidate: String,
}

impl ChosenCandidate {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": { "candidate": { "type": "string", "description": "Its name, as listed under \"Candidates\"." } },
            "required": ["candidate"],
            "additionalProperties": false
        })
    }
}

/// Where the copies are: a folder for each run, in it one for each candidate.
struct CandidateStore {
    copies: PathBuf,
    /// Most bytes of a file that is compared or kept.
    file: usize,
}

impl CandidateStore {
    /// The candidate with this name: the run's id, `/`, and the step's id. It must be a copy of this workspace.
    fn open(&self, name: &str, place: &Place) -> Result<WorkspaceCopy, Failure> {
        let folder = self.folder_of(name).ok_or_else(|| {
            let why = format!("`{name}` is not a candidate; use one of the names under \"Candidates\"");
            Failure::new(FailureKind::Validation, why)
        })?;
        WorkspaceCopy::open(&folder, &place.workspace)
    }

    fn folder_of(&self, name: &str) -> Option<PathBuf> {
        let (run, step) = name.trim().split_once('/')?;
        let (run, step) = (RunId::parse(run).ok()?, StepId::parse(step).ok()?);
        Some(self.copies.join(run.as_str()).join(step.as_str()))
    }

    /// Removes the copies of a run.
    fn remove(&self, run: &str) {
        if RunId::parse(run).is_err() || self.copies == Path::new("") {
            return;
        }
        match std::fs::remove_dir_all(self.copies.join(run)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, run, "could not remove the copies of the workspace");
            }
            _ => {}
        }
    }
}
