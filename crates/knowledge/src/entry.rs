//! Documents as they go into the index, and as they are listed.

use rusqlite::types::Value;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use updraft_reader::Document;

use crate::chunk::{Chunk, chunks};
use crate::pack::Packer;
use crate::text::{each_word, parts, stem};

/// A document that is ready to be stored: cut into chunks, its words counted.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// The path it is listed under, unique in the index.
    pub path: String,
    /// The kind of file, as the reader names it.
    pub kind: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// The size of the file.
    pub bytes: u64,
    /// When the file was last changed, in nanoseconds since 1970; 0 if that is not known well enough to rely on it.
    pub modified: i64,
    /// The SHA-256 of the file.
    pub hash: [u8; 32],
    /// The date that filters compare, in seconds since 1970.
    pub date: i64,
    /// Why the file could not be read, or not in full.
    pub problem: Option<String>,
    pub(crate) chunks: Vec<IndexedChunk>,
}

/// A chunk with the words it is found by, separated by spaces.
#[derive(Clone, Debug)]
pub(crate) struct IndexedChunk {
    pub chunk: Chunk,
    pub stems: String,
    pub heading: String,
    pub parts: String,
    pub words: usize,
    /// The text as it is stored.
    pub body: Value,
}

/// A document of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentEntry {
    /// Its number. Numbers are never used again.
    pub id: i64,
    /// Where it was read from.
    pub path: String,
    /// The kind of file.
    pub kind: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// The size of the file.
    pub bytes: u64,
    /// When the file was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// The SHA-256 of the file.
    pub hash: Vec<u8>,
    /// The date that filters compare, in seconds since 1970.
    pub date: i64,
    /// Why the file could not be read, or not in full.
    pub problem: Option<String>,
}

/// How much is in an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Documents, those that could not be read included.
    pub documents: i64,
    /// Chunks.
    pub chunks: i64,
    /// Words in all chunks.
    pub words: i64,
    /// Bytes of text in all chunks.
    pub bytes: i64,
    /// Chunks that have a vector.
    pub vectors: i64,
}

impl NewDocument {
    /// Prepares what a reader found in a file. It is found by the words of its name too.
    pub fn new(path: &str, content: &[u8], document: &Document) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let heading = format!("{} {name}", document.title.as_deref().unwrap_or_default());
        let mut packer = Packer::new();
        let chunk = |chunk| IndexedChunk::new(chunk, &heading, &mut packer);
        let chunks = chunks(document).into_iter().map(chunk).collect();
        Self {
            kind: serde_json::to_value(document.kind)
                .ok()
                .and_then(|kind| kind.as_str().map(str::to_owned))
                .unwrap_or_default(),
            title: document.title.clone(),
            problem: (!document.warnings.is_empty()).then(|| document.warnings.join("\n")),
            chunks,
            ..Self::unread(path, content)
        }
    }

    /// A file without text that can be searched. It is listed, and not tried again until it changes.
    pub(crate) fn unread(path: &str, content: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            kind: "unknown".to_owned(),
            title: None,
            bytes: content.len() as u64,
            modified: 0,
            hash: Sha256::digest(content).into(),
            date: 0,
            problem: None,
            chunks: Vec::new(),
        }
    }

    /// How many chunks it has.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
}

impl IndexedChunk {
    fn new(chunk: Chunk, heading: &str, packer: &mut Packer) -> Self {
        let mut stems = String::with_capacity(chunk.text.len());
        let mut inside = String::new();
        let mut count = 0;
        each_word(&chunk.text, |folded, range| {
            count += 1;
            push(&mut stems, &stem(folded));
            for part in parts(&chunk.text[range]) {
                push(&mut inside, &stem(&part));
            }
        });
        let mut above = String::new();
        for line in std::iter::once(heading).chain(chunk.trail.iter().map(String::as_str)) {
            each_word(line, |folded, _| push(&mut above, &stem(folded)));
        }
        Self { body: packer.pack(&chunk.text), words: count, stems, heading: above, parts: inside, chunk }
    }
}

fn push(list: &mut String, word: &str) {
    if !list.is_empty() {
        list.push(' ');
    }
    list.push_str(word);
}

impl DocumentEntry {
    pub(crate) fn of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            path: row.get(1)?,
            kind: row.get(2)?,
            title: row.get(3)?,
            bytes: row.get::<_, i64>(4)? as u64,
            modified: row.get(5)?,
            hash: row.get(6)?,
            date: row.get(7)?,
            problem: row.get(8)?,
        })
    }
}
