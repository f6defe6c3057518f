//! Brings the index up to date: the workspace's files, and what was named beside them.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use updraft_knowledge::{Error, Index, IngestOptions, IngestProgress, IngestReport};
use updraft_workspace::{LinkPolicy, Workspace};

use super::{IndexProgress, IndexState, IndexWork, WorkspaceIndex, storage};
use crate::open_plain::read_plain;

/// A pass that took longer is not made before every search: looking at a huge tree must not take most of the time.
const SHORT: Duration = Duration::from_millis(200);
/// How much longer than it took a pass over a huge tree counts as recent.
const RECENT: u32 = 10;

/// The last complete pass over the workspace that found nothing new: how long looking at the files took.
pub(super) struct LastPass {
    ended: Instant,
    took: Duration,
    state: IndexState,
}

impl LastPass {
    fn is_recent(&self) -> bool {
        self.took > SHORT && self.ended.elapsed() < self.took * RECENT
    }
}

impl WorkspaceIndex {
    /// Makes the index hold the workspace's files, and what was named, as they are now. Files that git ignores, hidden
    /// files, and files that may not be read are left out. A pass that is stopped keeps what it has done.
    pub fn refresh(&self, workspace: &Workspace, work: &mut IndexWork<'_>) -> Result<IndexState, Error> {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.is_recent()) {
            return Ok(last.state.clone());
        }
        let mut paths = vec![workspace.root().to_owned()];
        // What is on a disk that is not there now stays in the index; what was deleted does not.
        let is_there = |path: &PathBuf| path.exists() || path.parent().is_some_and(Path::is_dir);
        paths.extend(self.named().all().into_iter().filter(is_there));
        let state = self.pass(workspace, &paths, work)?;
        let settled = IndexState { replaced: None, ..state.clone() };
        let is_quiet = state.report.as_ref().is_some_and(|report| report.written + report.removed == 0);
        *last = is_quiet.then(|| LastPass { ended: Instant::now(), took: state.looked, state: settled });
        Ok(state)
    }

    /// Brings files and folders in by name, whether or not git ignores them, and keeps them in the index from now on.
    /// The paths are whole and real.
    pub fn ingest(
        &self,
        workspace: &Workspace,
        paths: &[PathBuf],
        work: &mut IndexWork<'_>,
    ) -> Result<IndexState, Error> {
        let is_named = |path: &&PathBuf| path.as_path() != workspace.root();
        self.named().add(&paths.iter().filter(is_named).cloned().collect::<Vec<_>>())?;
        self.pass(workspace, paths, work)
    }

    /// Notes files and folders that the next pass brings in, whether or not git ignores them.
    pub fn name(&self, paths: &[PathBuf]) -> Result<(), Error> {
        self.named().add(paths)
    }

    /// Removes what was brought in by name, with everything below, and returns how many documents that were. Files of
    /// the workspace that git does not ignore come back with the next pass.
    pub fn forget(&self, workspace: &Workspace, paths: &[PathBuf]) -> Result<usize, Error> {
        self.named().remove(paths)?;
        let (mut index, _) = storage::open_or_replace(&self.config.file)?;
        let is_below = |name: &str| paths.iter().any(|path| workspace.root().join(name).starts_with(path));
        let documents = index.documents()?.into_iter().filter(|document| is_below(&document.path));
        let ids: Vec<i64> = documents.map(|document| document.id).collect();
        index.remove(&ids)
    }

    /// Keeps a text as a document of its own, under a title, and returns the path it is listed under. The same title
    /// replaces it.
    pub fn keep_text(
        &self,
        workspace: &Workspace,
        title: &str,
        text: &str,
        work: &mut IndexWork<'_>,
    ) -> Result<PathBuf, Error> {
        let file = self.named().keep(title, text)?;
        self.pass(workspace, std::slice::from_ref(&file), work)?;
        Ok(file)
    }

    /// Whether a document is a text that was kept here, or a file from outside the workspace.
    pub fn is_from_outside(&self, workspace: &Workspace, name: &str) -> bool {
        let path = workspace.root().join(name);
        !path.starts_with(workspace.root()) || path.starts_with(self.named().texts())
    }

    fn pass(&self, workspace: &Workspace, paths: &[PathBuf], work: &mut IndexWork<'_>) -> Result<IndexState, Error> {
        let (mut index, mut replaced) = storage::open_or_replace(&self.config.file)?;
        let mut progress = IngestProgress::default();
        let begun = Instant::now();
        let mut outcome = self.read_files(&mut index, workspace, paths, &mut progress, work);
        if outcome.as_ref().is_err_and(Error::is_damage) {
            drop(index);
            replaced = storage::move_damaged(&self.config.file)?.or(replaced);
            index = storage::open_or_replace(&self.config.file)?.0;
            outcome = self.read_files(&mut index, workspace, paths, &mut progress, work);
        }
        let report = match outcome {
            Err(Error::Cancelled) => None,
            other => Some(other?),
        };
        let looked = begun.elapsed();
        let vector_fault = if report.is_some() { self.fill_vectors(&mut index, work)? } else { None };
        Ok(IndexState { report, progress, vector_fault, replaced, looked })
    }

    fn read_files(
        &self,
        index: &mut Index,
        workspace: &Workspace,
        paths: &[PathBuf],
        last: &mut IngestProgress,
        work: &mut IndexWork<'_>,
    ) -> Result<IngestReport, Error> {
        let root = workspace.root();
        let texts = self.named().texts();
        let admit = |name: &str| {
            let path = root.join(name);
            let is_own = self.config.own.iter().any(|folder| path.starts_with(folder));
            path.starts_with(&texts) || !(is_own || self.config.rules.forbid(name))
        };
        let usual = IngestOptions::new(root, now());
        let load = |path: &Path| load(workspace, path, usual.largest);
        let options = IngestOptions {
            tries_again: work.tries_again,
            admit: &admit,
            load: &load,
            read: &*self.config.read,
            ..usual
        };
        let mut progress = |state: &IngestProgress| {
            last.clone_from(state);
            (work.progress)(&IndexProgress::Files(state.clone()));
        };
        index.ingest(paths, &options, &mut progress, &work.cancel)
    }

    /// Makes the vectors that are missing. A model that fails leaves the words, and the reason is returned.
    fn fill_vectors(&self, index: &mut Index, work: &mut IndexWork<'_>) -> Result<Option<String>, Error> {
        let embedder = match self.embedder() {
            None => return Ok(None),
            Some(Err(why)) => return Ok(Some(why)),
            Some(Ok(embedder)) => embedder,
        };
        let mut progress = |done, all| (work.progress)(&IndexProgress::Vectors(done, all));
        let cancel = work.vector_time.map_or(work.cancel.clone(), |time| work.cancel.at(Instant::now() + time));
        match index.embed(embedder.as_ref(), &mut progress, &cancel) {
            Ok(_) | Err(Error::Cancelled) => Ok(None),
            Err(error @ Error::Embedder { .. }) => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "files are compared with the clock that dates them")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// The bytes of a file. A file of the workspace is opened without following links: a command of an agent could put
/// a link to anywhere in its place.
fn load(workspace: &Workspace, path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let Ok(inside) = path.strip_prefix(workspace.root()) else { return read_plain(path, most) };
    let refused = |failure: updraft_run::Failure| std::io::Error::other(failure.message);
    let located = workspace.locate(&inside.to_string_lossy()).map_err(refused)?;
    let (file, about) = workspace.open_file(&located, LinkPolicy::Never).map_err(refused)?;
    let mut bytes = Vec::with_capacity(about.len.min(most) as usize);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
