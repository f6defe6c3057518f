//! Files brought into the workspace's index from a page: one piece of work at a time, with its progress and its result.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use updraft_knowledge::Cancel;
use updraft_run::Timestamp;
use updraft_tools::{IndexProgress, IndexState, IndexWork, Workspace};

use super::UpdraftService;
use crate::fault::{Fault, blocking};
use crate::knowledge;
use crate::time_format::{self, count};

/// How many files that could not be read are named.
const NAMED: usize = 50;

/// The last piece of work, if there was one. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct IngestionState(Arc<Mutex<Option<Ingestion>>>);

/// Files that are or were brought into the index.
#[derive(Clone, Debug)]
pub struct Ingestion {
    /// The file or folder; empty for the whole workspace.
    pub path: String,
    /// When it began.
    pub began: Timestamp,
    /// How far it is.
    pub phase: IngestionPhase,
}

/// How far the work is.
#[derive(Clone, Debug)]
pub enum IngestionPhase {
    /// It is being done.
    Working {
        /// What is being done, with how many of how many.
        what: String,
        /// How much of it is done, from 0 to 1.
        share: f64,
    },
    /// It is done.
    Done(IngestionResult),
    /// It was not done.
    Failed(String),
}

/// What the work came to.
#[derive(Clone, Debug, Default)]
pub struct IngestionResult {
    /// In one sentence.
    pub words: String,
    /// Files that could not be read, and why.
    pub unread: Vec<(String, String)>,
    /// When it ended.
    pub ended: Timestamp,
}

impl IngestionState {
    fn lock(&self) -> MutexGuard<'_, Option<Ingestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, phase: IngestionPhase) {
        if let Some(work) = self.lock().as_mut() {
            work.phase = phase;
        }
    }
}

impl Ingestion {
    /// Whether the work is still being done.
    pub fn is_working(&self) -> bool {
        matches!(self.phase, IngestionPhase::Working { .. })
    }
}

impl UpdraftService {
    /// The work on the index that was last begun from here.
    pub fn ingestion(&self) -> Option<Ingestion> {
        self.files.ingestion.lock().clone()
    }

    /// Begins to bring a file or folder of the workspace into the index, or all of it for an empty path. Only one piece of
    /// work is done at a time.
    pub async fn ingest(&self, path: &str) -> Result<(), Fault> {
        let workspace = self.files.place.workspace.clone();
        let path = path.trim().trim_end_matches('/').to_owned();
        let (around, wanted) = (workspace.clone(), path.clone());
        let places = blocking(move || places_of(&around, &wanted)).await?;
        let state = self.files.ingestion.clone();
        {
            let mut last = state.lock();
            if last.as_ref().is_some_and(Ingestion::is_working) {
                return Err(Fault::usage("files are being brought into the index already; wait until that is done"));
            }
            let phase = IngestionPhase::Working { what: "looking at the files".to_owned(), share: 0.0 };
            *last = Some(Ingestion { path, began: time_format::now(), phase });
        }
        let (index, stop, cancel) = (Arc::clone(&self.files.index), self.runs.stop_token().clone(), Cancel::default());
        let (shown, stopping) = (state.clone(), cancel.clone());
        let work = tokio::task::spawn_blocking(move || {
            let mut progress = |progress: &IndexProgress| shown.set(working(progress));
            let mut task =
                IndexWork { cancel: stopping, vector_time: None, tries_again: true, progress: &mut progress };
            match places.as_slice() {
                [] => index.refresh(&workspace, &mut task),
                places => index.ingest(&workspace, places, &mut task),
            }
        });
        self.runs.in_background(async move {
            let mut work = std::pin::pin!(work);
            let ended = tokio::select! {
                ended = &mut work => ended,
                () = stop.cancelled() => {
                    cancel.cancel();
                    work.await
                }
            };
            state.set(match ended {
                Ok(Ok(found)) => IngestionPhase::Done(result(&found)),
                Ok(Err(error)) => IngestionPhase::Failed(updraft_run::error_chain(&error)),
                Err(error) => IngestionPhase::Failed(format!("the work ended early: {error}")),
            });
        });
        Ok(())
    }
}

/// The file or folder that a path names; none for the whole workspace.
fn places_of(workspace: &Workspace, path: &str) -> Result<Vec<PathBuf>, Fault> {
    if matches!(path, "" | ".") {
        return Ok(Vec::new());
    }
    let found = workspace.locate(path).map_err(|failure| Fault::usage(failure.message))?;
    if workspace.form(&found).map_err(|failure| Fault::usage(failure.message))?.is_none() {
        return Err(Fault::usage(format!("`{path}` does not exist in the workspace")));
    }
    Ok(vec![workspace.root().join(found.to_string())])
}

fn working(progress: &IndexProgress) -> IngestionPhase {
    let (what, share) = match progress {
        IndexProgress::Files(state) => {
            let what = format!("reading {} of {}", state.files, count(state.all_files, "file"));
            (what, state.bytes as f64 / state.all_bytes.max(1) as f64)
        }
        IndexProgress::Vectors(done, all) => {
            (format!("making vectors: {done} of {all}"), *done as f64 / (*all).max(1) as f64)
        }
    };
    IngestionPhase::Working { what, share: share.clamp(0.0, 1.0) }
}

fn result(state: &IndexState) -> IngestionResult {
    let ended = time_format::now();
    let Some(pass) = &state.report else {
        let words = format!("stopped after {} of {}", state.progress.files, count(state.progress.all_files, "file"));
        return IngestionResult { words, ended, ..IngestionResult::default() };
    };
    let vectors = state.vector_fault.as_ref().map(|why| format!("; no vectors: {why}")).unwrap_or_default();
    let words = format!("{}{vectors}", knowledge::pass_in_words(pass));
    IngestionResult { words, unread: pass.failed.iter().take(NAMED).cloned().collect(), ended }
}
