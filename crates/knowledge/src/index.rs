//! The index of a workspace: one SQLite file with documents, their chunks, and what is needed to find them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use updraft_reader::SourcePlace;

use crate::chunk::Chunk;
use crate::entry::{DocumentEntry, NewDocument, Totals};
use crate::error::Error;
use crate::pack::Unpacker;
use crate::schema;
use crate::search::WordCounts;
use crate::vectors::{VectorCache, touch};

/// Documents that can be searched. Several processes may use the same file at once: writers wait for each other, and
/// readers see the last complete batch.
pub struct Index {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) vectors: Mutex<Option<VectorCache>>,
    pub(crate) word_counts: WordCounts,
    /// The most vectors that are all compared with every question.
    pub(crate) most_exact: usize,
}

/// More vectors than this are compared by their signs first: about 40 MB and 10 ms a question if they are not.
const MOST_EXACT: usize = 100_000;

impl Index {
    /// Opens the file and creates it if there is none.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            connection: schema::open(path)?,
            path: path.to_owned(),
            vectors: Mutex::new(None),
            word_counts: WordCounts::default(),
            most_exact: MOST_EXACT,
        })
    }

    /// Compares vectors by their signs first from this many on; for measuring what that loses.
    #[must_use]
    pub fn with_most_exact(mut self, vectors: usize) -> Self {
        self.most_exact = vectors;
        self
    }

    /// Stores documents in one transaction: after a crash all of them are there or none. A document with the same path
    /// is replaced; one that has the same content keeps its chunks. Returns how many were written.
    pub fn put(&mut self, documents: &[NewDocument]) -> Result<usize, Error> {
        self.write(|batch| {
            let mut written = 0;
            for document in documents {
                written += usize::from(put_one(batch, document)?);
            }
            Ok(written)
        })
    }

    /// Removes documents in one transaction, and returns how many there were.
    pub fn remove(&mut self, ids: &[i64]) -> Result<usize, Error> {
        self.write(|batch| {
            let mut removed = 0;
            for id in ids {
                removed += remove_one(batch, *id)?;
            }
            Ok(removed)
        })
    }

    /// All documents, by path.
    pub fn documents(&self) -> Result<Vec<DocumentEntry>, Error> {
        self.read(|connection| {
            let mut rows = connection.prepare_cached(
                "SELECT id, path, kind, title, bytes, modified, hash, date, problem FROM documents ORDER BY path",
            )?;
            rows.query_map([], DocumentEntry::of_row)?.collect()
        })
    }

    /// The document at a path.
    pub fn document(&self, path: &str) -> Result<Option<DocumentEntry>, Error> {
        self.read(|connection| {
            let mut rows = connection.prepare_cached(
                "SELECT id, path, kind, title, bytes, modified, hash, date, problem FROM documents WHERE path = ?1",
            )?;
            rows.query_row([path], DocumentEntry::of_row).optional()
        })
    }

    /// The chunks of a document in order.
    pub fn chunks_of(&self, document: i64) -> Result<Vec<Chunk>, Error> {
        self.read(|connection| {
            let mut rows =
                connection.prepare_cached("SELECT body, place, trail FROM chunks WHERE document = ?1 ORDER BY id")?;
            let mut unpacker = Unpacker::new();
            let chunk = |row: &rusqlite::Row<'_>| {
                let trail: String = row.get(2)?;
                let text = unpacker.unpack(row.get_ref(0)?)?.to_owned();
                Ok(Chunk { text, place: place(&row.get::<_, String>(1)?), trail: trail_of(&trail) })
            };
            rows.query_map([document], chunk)?.collect()
        })
    }

    /// How much is in the index.
    pub fn totals(&self) -> Result<Totals, Error> {
        self.read(|connection| {
            let sql = "SELECT chunks, words, bytes, (SELECT count(*) FROM documents), (SELECT count(*) FROM vectors) FROM totals";
            connection.query_row(sql, [], |row| {
                Ok(Totals {
                    chunks: row.get(0)?,
                    words: row.get(1)?,
                    bytes: row.get(2)?,
                    documents: row.get(3)?,
                    vectors: row.get(4)?,
                })
            })
        })
    }

    /// Merges the parts that many batches have left, so that searching reads fewer pages, and gives free pages back.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.read(|connection| {
            connection.execute_batch("INSERT INTO words(words) VALUES('optimize');")?;
            // Each row it returns is a page that was given back.
            let mut pages = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = pages.query([])?;
            while pages.next()?.is_some() {}
            Ok(())
        })
    }

    /// Checks the file: SQLite's own checks, and that every chunk is in the table of words and counted.
    pub fn check(&self) -> Result<(), Error> {
        let why = self.read(|connection| {
            let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
            connection.execute_batch("INSERT INTO words(words) VALUES('integrity-check');")?;
            let sql = "SELECT (SELECT count(*) FROM chunks) = chunks AND (SELECT count(*) FROM words_docsize) = chunks
                FROM totals";
            let is_counted: bool = connection.query_row(sql, [], |row| row.get(0))?;
            Ok(if is_counted { found } else { "chunks and words differ".to_owned() })
        })?;
        if why == "ok" { Ok(()) } else { Err(Error::NotAnIndex { path: self.path.clone(), why }) }
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        work(&self.connection).map_err(Error::sqlite(&self.path))
    }

    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let told = Error::sqlite(&self.path);
        let batch = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        let outcome = work(&batch).map_err(told)?;
        batch.commit().map_err(told)?;
        Ok(outcome)
    }
}

/// Whether the document was written: not if another process has stored the same content meanwhile.
pub(crate) fn put_one(batch: &Transaction<'_>, document: &NewDocument) -> rusqlite::Result<bool> {
    let mut find = batch.prepare_cached("SELECT id, hash, problem FROM documents WHERE path = ?1")?;
    let known: Option<(i64, Vec<u8>, Option<String>)> =
        find.query_row([&document.path], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    if let Some((id, hash, problem)) = known {
        if hash == document.hash && problem == document.problem {
            let mut touch = batch.prepare_cached("UPDATE documents SET modified = ?2, date = ?3 WHERE id = ?1")?;
            touch.execute(params![id, document.modified, document.date])?;
            return Ok(false);
        }
        remove_one(batch, id)?;
    }
    let mut insert = batch.prepare_cached(
        "INSERT INTO documents(path, kind, title, bytes, modified, hash, date, problem) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let id = insert.insert(params![
        document.path,
        document.kind,
        document.title,
        document.bytes as i64,
        document.modified,
        document.hash.as_slice(),
        document.date,
        document.problem,
    ])?;
    let mut chunk = batch.prepare_cached(
        "INSERT INTO chunks(document, place, trail, length, bytes, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut words = batch.prepare_cached("INSERT INTO words(rowid, stems, heading, parts) VALUES(?1, ?2, ?3, ?4)")?;
    let mut count = (0, 0, 0);
    for one in &document.chunks {
        let place = serde_json::to_string(&one.chunk.place).unwrap_or_default();
        let trail = one.chunk.trail.join(
            "
",
        );
        let bytes = one.chunk.text.len() as i64;
        let row = chunk.insert(params![id, place, trail, one.words as i64, bytes, one.body])?;
        words.execute(params![row, one.stems, one.heading, one.parts])?;
        count = (count.0 + 1, count.1 + one.words as i64, count.2 + bytes);
    }
    add_totals(batch, count)?;
    Ok(true)
}

pub(crate) fn remove_one(batch: &Transaction<'_>, id: i64) -> rusqlite::Result<usize> {
    let count = batch
        .prepare_cached(
            "SELECT count(*), ifnull(sum(length), 0), ifnull(sum(bytes), 0) FROM chunks WHERE document = ?1",
        )?
        .query_row([id], |row| Ok((-row.get::<_, i64>(0)?, -row.get::<_, i64>(1)?, -row.get::<_, i64>(2)?)))?;
    let of = "(SELECT id FROM chunks WHERE document = ?1)";
    batch.prepare_cached(&format!("DELETE FROM words WHERE rowid IN {of}"))?.execute([id])?;
    if batch.prepare_cached(&format!("DELETE FROM vectors WHERE chunk IN {of}"))?.execute([id])? > 0 {
        touch(batch)?;
    }
    batch.prepare_cached("DELETE FROM chunks WHERE document = ?1")?.execute([id])?;
    add_totals(batch, count)?;
    batch.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])
}

fn add_totals(batch: &Transaction<'_>, (chunks, words, bytes): (i64, i64, i64)) -> rusqlite::Result<()> {
    let sql = "UPDATE totals SET chunks = chunks + ?1, words = words + ?2, bytes = bytes + ?3";
    batch.prepare_cached(sql)?.execute([chunks, words, bytes]).map(drop)
}

/// A place as it was stored.
pub(crate) fn place(json: &str) -> SourcePlace {
    serde_json::from_str(json).unwrap_or_default()
}

/// A trail as it was stored: one heading a line.
pub(crate) fn trail_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
