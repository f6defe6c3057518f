//! Stores contents of files in an unnamed file, which disappears with the process, however that ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The store for contents.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    end: Mutex<u64>,
}

/// A stored content.
#[derive(Clone, Debug)]
pub(super) struct Content {
    store: Arc<Store>,
    at: u64,
    len: usize,
}

impl Store {
    /// Creates an empty store, on the disk of this folder.
    pub(super) fn make(folder: &Path) -> io::Result<Arc<Store>> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Arc::new(Store { file: tempfile::tempfile_in(folder)?, end: Mutex::default() }))
    }

    /// Bytes in the store, including contents that are no longer needed.
    pub(super) fn len(&self) -> u64 {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(self: &Arc<Self>, bytes: &[u8]) -> io::Result<Content> {
        let at = {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            let at = *end;
            *end += bytes.len() as u64;
            at
        };
        self.file.write_all_at(bytes, at)?;
        Ok(Content { store: Arc::clone(self), at, len: bytes.len() })
    }
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }

    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.len];
        self.store.file.read_exact_at(&mut bytes, self.at).ok()?;
        Some(bytes)
    }
}
