//! Brings files into the index, and keeps it as the files are.

mod report;
mod walk;
mod work;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use updraft_reader::{Document, ReadError, ReadOptions};

use crate::cancel::Cancel;
use crate::entry::{DocumentEntry, NewDocument};
use crate::error::Error;
use crate::index::Index;

pub use report::{IngestProgress, IngestReport};
use walk::FileEntry;
use work::Outcome;

/// Documents of one transaction: few enough that others who write wait only briefly, and little is done again after a
/// crash.
const BATCH_DOCUMENTS: usize = 200;
const BATCH_CHUNKS: usize = 2_000;

/// Turns the bytes of a file into a document. Runs on several threads at once.
pub type ReadFile<'a> = dyn Fn(&Path, &[u8]) -> Result<Document, ReadError> + Sync + 'a;

/// Gets the bytes of a file. Runs on several threads at once.
pub type LoadFile<'a> = dyn Fn(&Path) -> std::io::Result<Vec<u8>> + Sync + 'a;

/// Whether a file may be in the index, by the path it would be listed under.
pub type AdmitFile<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// How files are brought in.
pub struct IngestOptions<'a> {
    /// The workspace. Files inside are listed by their path from here, others by their whole path.
    pub root: &'a Path,
    /// The time now. A file that changed a moment ago is looked at again by the next pass.
    pub now: SystemTime,
    /// Files larger than this many bytes are listed, not read.
    pub largest: u64,
    /// How many files are read at once.
    pub threads: usize,
    /// Whether files that could not be read, or not in full, are read again although they have not changed.
    pub tries_again: bool,
    /// Files that it refuses are left out, and removed if they were in the index.
    pub admit: &'a AdmitFile<'a>,
    /// Gets the bytes of a file.
    pub load: &'a LoadFile<'a>,
    /// Reads a file; where binary formats are to be parsed in a process of their own, this is the place.
    pub read: &'a ReadFile<'a>,
}

/// Reads a file in this process.
pub fn read_here(path: &Path, content: &[u8]) -> Result<Document, ReadError> {
    updraft_reader::read(content, &path.to_string_lossy(), &ReadOptions::default())
}

impl<'a> IngestOptions<'a> {
    /// Reads in this process, on as many threads as there are processors.
    pub fn new(root: &'a Path, now: SystemTime) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            root,
            now,
            largest: 64 << 20,
            threads,
            tries_again: false,
            admit: &|_| true,
            load: &|path| std::fs::read(path),
            read: &read_here,
        }
    }
}

impl Index {
    /// Makes the index hold the files below `paths` as they are now: new and changed ones are read, unchanged ones cost
    /// a look at size and time, and those that are gone are removed. Files that `.gitignore` names are left out.
    ///
    /// Every batch is a transaction. A pass that is stopped or killed leaves whole documents, and the next goes on from
    /// there. Several passes over the same files may run at once; each file is written once.
    pub fn ingest(
        &mut self,
        paths: &[PathBuf],
        options: &IngestOptions<'_>,
        progress: &mut dyn FnMut(&IngestProgress),
        cancel: &Cancel,
    ) -> Result<IngestReport, Error> {
        let known = self.known()?;
        let (files, mut report) = walk::files(paths, options, cancel)?;
        let present: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        // Only documents that were known before the files were looked for: others may have come since.
        let gone = known.values().filter(|entry| !present.contains(entry.path.as_str()));
        let gone: Vec<i64> =
            gone.filter(|entry| walk::is_below(&entry.path, paths, options)).map(|entry| entry.id).collect();
        report.files = files.len() as u64;
        let changed: Vec<&FileEntry> = {
            let is_tried_again = |known: Option<&DocumentEntry>| {
                options.tries_again && known.is_some_and(|known| known.problem.is_some())
            };
            let is_changed = |file: &&FileEntry| {
                let known = known.get(&file.name);
                !file.is_same(known) || is_tried_again(known)
            };
            files.iter().filter(is_changed).collect()
        };
        report.unchanged = (files.len() - changed.len()) as u64;
        self.ingest_changed(&changed, &known, options, &mut report, progress, cancel)?;
        for batch in gone.chunks(BATCH_DOCUMENTS) {
            cancel.check()?;
            report.removed += self.remove(batch)? as u64;
        }
        Ok(report)
    }

    fn known(&self) -> Result<HashMap<String, DocumentEntry>, Error> {
        Ok(self.documents()?.into_iter().map(|entry| (entry.path.clone(), entry)).collect())
    }

    fn ingest_changed(
        &mut self,
        changed: &[&FileEntry],
        known: &HashMap<String, DocumentEntry>,
        options: &IngestOptions<'_>,
        report: &mut IngestReport,
        progress: &mut dyn FnMut(&IngestProgress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let mut state = IngestProgress::of(changed);
        let begun = Instant::now();
        let mut batch: Vec<NewDocument> = Vec::new();
        let outcome = work::read_all(changed, known, options, cancel, &mut |file, outcome| {
            match outcome {
                Outcome::Document(document) => batch.push(*document),
                Outcome::Failed(why) => report.failed.push((file.name.clone(), why)),
            }
            let chunks: usize = batch.iter().map(NewDocument::chunk_count).sum();
            if batch.len() >= BATCH_DOCUMENTS || chunks >= BATCH_CHUNKS {
                report.take(&batch, self.put(&batch)?);
                batch.clear();
            }
            state.advance(file, begun.elapsed());
            progress(&state);
            Ok(())
        });
        // A pass that is stopped keeps what it has read: large files may be all that there is time for.
        if matches!(outcome, Ok(()) | Err(Error::Cancelled)) {
            report.take(&batch, self.put(&batch)?);
        }
        outcome
    }
}
