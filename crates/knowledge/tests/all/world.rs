//! A folder with files, and an index of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use updraft_knowledge::{Cancel, Index, IngestOptions, IngestReport, Passage, SearchAnswer, SearchRequest};

/// A workspace that is removed with the test.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        Self { folder }
    }

    /// A workspace with some files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("index.db")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    pub(crate) fn index(&self) -> Index {
        Index::open(&self.database()).unwrap()
    }

    pub(crate) fn ingest(&self) -> IngestReport {
        ingest(&mut self.index(), &self.root())
    }

    /// Brings the files in and searches.
    pub(crate) fn search(&self, text: &str) -> SearchAnswer {
        self.ingest();
        search(&self.index(), text)
    }
}

/// A pass over a folder at a time when all its files are old enough to rely on.
pub(crate) fn ingest(index: &mut Index, root: &Path) -> IngestReport {
    let options = IngestOptions::new(root, later());
    index.ingest(&[root.to_owned()], &options, &mut |_| {}, &Cancel::default()).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "files have the time of this machine")]
pub(crate) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_hours(1)
}

pub(crate) fn search(index: &Index, text: &str) -> SearchAnswer {
    index.search(&SearchRequest { text: text.to_owned(), ..SearchRequest::default() }, None).unwrap()
}

/// `path place`, best first.
pub(crate) fn places(answer: &SearchAnswer) -> Vec<String> {
    let place = |passage: &Passage| format!("{} {}", passage.path, passage.place);
    answer.passages.iter().map(place).collect()
}

/// All that an index holds, in a form that can be compared: documents with their chunks.
pub(crate) fn contents(index: &Index) -> Vec<String> {
    let mut lines = Vec::new();
    for document in index.documents().unwrap() {
        lines.push(format!("{} {} {:?}", document.path, document.kind, document.hash));
        for chunk in index.chunks_of(document.id).unwrap() {
            lines.push(format!("{} {:?} {}", chunk.place, chunk.trail, chunk.text));
        }
    }
    lines
}
