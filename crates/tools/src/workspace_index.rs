//! The index of a workspace's files, as tools, programs and people use it: opened when it is first needed, and brought
//! up to date before it is searched.
//!
//! | file | what it is about |
//! |---|---|
//! | `refresh.rs` | bringing the files in: which ones, and how they are opened |
//! | `storage.rs` | opening the file, and making it again if it is damaged |
//! | `describe.rs` | what was found, in words and as data |
//! | `named_paths.rs` | what people named to be indexed, beyond the workspace's own files |

mod describe;
mod named_paths;
mod refresh;
mod storage;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use updraft_knowledge::{
    Cancel, DocumentEntry, Embedder, Error, Index, IngestProgress, IngestReport, SearchAnswer, SearchMethod,
    SearchRequest, Totals,
};
use updraft_reader::{Document, ReadError};
use updraft_run::ReadRules;
use updraft_workspace::Workspace;

pub(crate) use describe::on_one_line;
pub use describe::{address_of, path_pattern, reasons_for};
use named_paths::NamedPaths;
use refresh::LastPass;
use storage::OpenIndex;

/// Turns the bytes of a file into a document.
pub type ReadDocument = dyn Fn(&Path, &[u8]) -> Result<Document, ReadError> + Send + Sync;
/// Loads the model that makes vectors; an error says what to do.
pub type LoadEmbedder = dyn Fn() -> Result<Arc<dyn Embedder>, String> + Send + Sync;

/// How long after a failure the model for vectors is tried again.
const TRIED_AGAIN: Duration = Duration::from_mins(1);
/// Most passages that are looked at to find some that may be shown.
const LOOKED_AT: usize = 1_000;

/// Where the index of a workspace is, and what goes into it.
#[derive(Clone)]
pub struct IndexConfig {
    /// The index's file.
    pub file: PathBuf,
    /// Folders of the program's own, whose files are not indexed.
    pub own: Vec<PathBuf>,
    /// Files that may not be read are not indexed.
    pub rules: ReadRules,
    /// Reads a file.
    pub read: Arc<ReadDocument>,
    /// Loads the model that makes vectors, if one is set.
    pub embedder: Option<Arc<LoadEmbedder>>,
}

/// The index of one workspace. Cheap until it is used.
pub struct WorkspaceIndex {
    config: IndexConfig,
    /// For searches only: a pass has a connection of its own, so that searches do not wait for it.
    searching: Mutex<Option<OpenIndex>>,
    /// One pass at a time in this process.
    last: Mutex<Option<LastPass>>,
    embedder: Mutex<EmbedderState>,
}

/// The model that makes vectors, as far as it has been loaded.
#[derive(Default)]
enum EmbedderState {
    #[default]
    Unloaded,
    Ready(Arc<dyn Embedder>),
    Failed(Instant, String),
}

/// Long work on an index: who may stop it, and who hears how far it is.
pub struct IndexWork<'a> {
    /// Stops it; what is done by then is kept.
    pub cancel: Cancel,
    /// Most time for making vectors; if absent, it takes as long as it takes.
    pub vector_time: Option<Duration>,
    /// Whether files that could not be read are tried again.
    pub tries_again: bool,
    /// Hears how far it is.
    pub progress: &'a mut dyn FnMut(&IndexProgress),
}

/// How far a pass is.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexProgress {
    /// Files are being read.
    Files(IngestProgress),
    /// Vectors are being made: how many are done, and of how many.
    Vectors(u64, u64),
}

/// The state of an index after a pass.
#[derive(Clone, Debug, Default)]
pub struct IndexState {
    /// What the pass did; absent if it was stopped.
    pub report: Option<IngestReport>,
    /// How far it came.
    pub progress: IngestProgress,
    /// Why the model that is set for vectors made none.
    pub vector_fault: Option<String>,
    /// Where the previous index is, which was damaged and has been replaced.
    pub replaced: Option<PathBuf>,
    /// How long it took to look at the files and to read those that had changed.
    pub looked: Duration,
}

impl IndexState {
    /// Whether every file is in the index as it is now.
    pub fn is_whole(&self) -> bool {
        self.report.is_some()
    }
}

/// What a search found, and in what.
#[derive(Clone, Debug, Default)]
pub struct IndexAnswer {
    /// What was found.
    pub answer: SearchAnswer,
    /// The state of the index.
    pub state: IndexState,
    /// How much is in the index.
    pub totals: Totals,
}

impl WorkspaceIndex {
    /// The index that a configuration describes. Opens nothing.
    pub fn new(config: IndexConfig) -> Self {
        Self { config, searching: Mutex::new(None), last: Mutex::new(None), embedder: Mutex::default() }
    }

    /// The index's file.
    pub fn file(&self) -> &Path {
        &self.config.file
    }

    /// Brings the index up to date and searches it. Files that `rules` forbid are left out. A damaged index is made
    /// again.
    pub fn find(
        &self,
        workspace: &Workspace,
        request: &SearchRequest,
        rules: &ReadRules,
        work: &mut IndexWork<'_>,
    ) -> Result<IndexAnswer, Error> {
        let mut state = self.refresh(workspace, work)?;
        let found = match self.search(request, rules) {
            Err(error) if error.is_damage() => {
                let replaced = self.replace()?;
                state = self.refresh(workspace, work)?;
                state.replaced = replaced.or(state.replaced);
                self.search(request, rules)
            }
            other => other,
        };
        let (answer, fault) = found?;
        state.vector_fault = state.vector_fault.or(fault);
        Ok(IndexAnswer { answer, state, totals: self.totals()? })
    }

    /// Searches the index as it is. If the model for vectors fails, words decide, and the reason is returned too.
    pub fn search(&self, request: &SearchRequest, rules: &ReadRules) -> Result<(SearchAnswer, Option<String>), Error> {
        let embedder = if request.method == SearchMethod::Words { None } else { self.embedder() };
        let (embedder, fault) = match embedder {
            Some(Ok(embedder)) => (Some(embedder), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        match self.search_with(request, rules, embedder.as_deref()) {
            Err(error @ Error::Embedder { .. }) if request.method == SearchMethod::Hybrid => {
                Ok((self.search_with(request, rules, None)?, Some(error.to_string())))
            }
            found => Ok((found?, fault)),
        }
    }

    fn search_with(
        &self,
        request: &SearchRequest,
        rules: &ReadRules,
        embedder: Option<&dyn Embedder>,
    ) -> Result<SearchAnswer, Error> {
        let wanted = if request.limit == 0 { 10 } else { request.limit };
        let mut limit = wanted;
        loop {
            let request = SearchRequest { limit, ..request.clone() };
            let mut answer = self.with_open(|index| index.search(&request, embedder))?;
            let found = answer.passages.len();
            answer.passages.retain(|passage| !rules.forbid(&passage.path));
            if answer.passages.len() >= wanted || found < limit || limit >= LOOKED_AT {
                answer.passages.truncate(wanted);
                return Ok(answer);
            }
            limit *= 4;
        }
    }

    /// The documents of the index, by path, without those that `rules` forbid.
    pub fn documents(&self, rules: &ReadRules) -> Result<Vec<DocumentEntry>, Error> {
        let mut documents = self.with_open(Index::documents)?;
        documents.retain(|document| !rules.forbid(&document.path));
        Ok(documents)
    }

    /// What a document says, as it was indexed; `None` if it is not in the index or has no text.
    pub fn text_of(&self, path: &str) -> Result<Option<String>, Error> {
        let chunks = self.with_open(|index| match index.document(path)? {
            Some(document) => index.chunks_of(document.id),
            None => Ok(Vec::new()),
        })?;
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.trim_end()).collect();
        Ok((!texts.is_empty()).then(|| texts.join("\n\n") + "\n"))
    }

    /// Whether there is anything to find in it, or anything was named for it. A file that does not exist is not made.
    pub fn has_documents(&self) -> bool {
        let is_filled = || self.file().exists() && self.totals().is_ok_and(|totals| totals.documents > 0);
        !self.named().all().is_empty() || is_filled()
    }

    /// How much is in the index.
    pub fn totals(&self) -> Result<Totals, Error> {
        self.with_open(Index::totals)
    }

    /// The model that makes vectors, loaded when it is first needed. After a failure it is tried again, but not for every
    /// search.
    fn embedder(&self) -> Option<Result<Arc<dyn Embedder>, String>> {
        let load = self.config.embedder.as_ref()?;
        let mut state = self.embedder.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            EmbedderState::Ready(embedder) => return Some(Ok(Arc::clone(embedder))),
            EmbedderState::Failed(at, why) if at.elapsed() < TRIED_AGAIN => return Some(Err(why.clone())),
            EmbedderState::Unloaded | EmbedderState::Failed(..) => {}
        }
        let loaded = load();
        *state = match &loaded {
            Ok(embedder) => EmbedderState::Ready(Arc::clone(embedder)),
            Err(why) => EmbedderState::Failed(Instant::now(), why.clone()),
        };
        Some(loaded)
    }

    fn with_open<T>(&self, work: impl FnOnce(&Index) -> Result<T, Error>) -> Result<T, Error> {
        let mut open = self.searching.lock().unwrap_or_else(PoisonError::into_inner);
        work(storage::current(&mut open, &self.config.file)?)
    }

    /// Moves a damaged index aside, unless another process did so, and returns where it is now.
    fn replace(&self) -> Result<Option<PathBuf>, Error> {
        *self.searching.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        storage::move_damaged(&self.config.file)
    }

    fn named(&self) -> NamedPaths {
        NamedPaths::beside(&self.config.file)
    }
}
