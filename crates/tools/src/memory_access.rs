//! The long-term memory as tools, programs and people use it: opened when it is first needed.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use updraft_knowledge::{Embedder, Error, Memory, MemoryScope, MemoryStore};

use crate::builtin::now;
use crate::workspace_index::LoadEmbedder;

/// The memory of a user. Cheap until it is used.
pub struct MemoryAccess {
    file: PathBuf,
    load: Option<Arc<LoadEmbedder>>,
    embedder: OnceLock<Option<Arc<dyn Embedder>>>,
    open: Mutex<Option<MemoryStore>>,
}

impl MemoryAccess {
    /// The memory in a file. Opens nothing. `load` loads the model that makes vectors, if one is set.
    pub fn new(file: PathBuf, load: Option<Arc<LoadEmbedder>>) -> Self {
        Self { file, load, embedder: OnceLock::new(), open: Mutex::new(None) }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Does something with the memory. The file is created if there is none.
    pub fn with<T>(&self, work: impl FnOnce(&mut MemoryStore) -> Result<T, Error>) -> Result<T, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match &mut *open {
            Some(store) => store,
            empty => {
                make_folder(&self.file)?;
                empty.insert(MemoryStore::open(&self.file)?)
            }
        };
        work(store)
    }

    /// The memories of these scopes that fit a question best.
    pub fn find(&self, question: &str, scopes: &[MemoryScope], most: usize) -> Result<Vec<Memory>, Error> {
        if !self.file.exists() {
            return Ok(Vec::new());
        }
        let embedder = self.embedder.get_or_init(|| self.load.as_ref().and_then(|load| load().ok()));
        let found = self.with(|store| store.recall(question, scopes, most, embedder.as_deref()))?;
        Ok(found.into_iter().map(|(memory, _)| memory).collect())
    }

    /// Counts a use of these memories now.
    pub fn count_use(&self, ids: &[i64]) -> Result<(), Error> {
        if ids.is_empty() { Ok(()) } else { self.with(|store| store.touch(ids, seconds_now())) }
    }
}

/// The time in seconds since 1970.
pub fn seconds_now() -> i64 {
    now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// Memories are the user's own business: nobody else may read them.
fn make_folder(file: &Path) -> Result<(), Error> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })
}
