//! Finds passages again: files are cut into chunks, indexed in one SQLite file, and searched by words and by meaning.
//!
//! ```
//! use std::time::SystemTime;
//! use updraft_knowledge::{Index, NewDocument, SearchRequest};
//! use updraft_reader::{Block, BlockKind, Document, DocumentKind, SourcePlace};
//!
//! let folder = tempfile::tempdir()?;
//! let mut index = Index::open(&folder.path().join("index.db"))?;
//! let text = "The harbour of Brest has two tidal constituents of note.".to_owned();
//! let block = Block { place: SourcePlace::lines(3, 3), kind: BlockKind::Paragraph, text };
//! let document =
//!     Document { kind: DocumentKind::Text, title: None, blocks: vec![block], warnings: Vec::new() };
//! index.put(&[NewDocument::new("tides.txt", b"", &document)])?;
//!
//! let request = SearchRequest { text: "tides in harbors".to_owned(), ..SearchRequest::default() };
//! let answer = index.search(&request, None)?;
//! assert_eq!(answer.passages[0].place.to_string(), "line 3");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to read | file |
//! |---|---|
//! | the file and its tables | `schema.rs`, `index.rs`, `entry.rs`, `pack.rs` |
//! | cutting documents | `chunk.rs` |
//! | words, stems, pairs of characters | `text.rs` |
//! | bringing files in | `ingest.rs` |
//! | searching | `search.rs` |
//! | what is remembered between runs | `memory.rs` |
//! | vectors | `vectors.rs` |
//! | a model that makes them, feature `minilm` | `minilm.rs` |
//! | measuring | `evaluate.rs` |

mod cancel;
mod chunk;
mod entry;
mod error;
mod evaluate;
mod index;
mod ingest;
mod memory;
#[cfg(feature = "minilm")]
mod minilm;
mod pack;
mod schema;
mod search;
mod text;
mod vectors;

pub use cancel::Cancel;
pub use chunk::{Chunk, chunks};
pub use entry::{DocumentEntry, NewDocument, Totals};
pub use error::Error;
pub use evaluate::{Collection, CollectionReport, SearchQuality};
pub use index::Index;
pub use ingest::{AdmitFile, IngestOptions, IngestProgress, IngestReport, LoadFile, ReadFile, read_here};
pub use memory::{LONGEST_MEMORY, Memory, MemoryScope, MemoryStore, NewMemory, rank};
#[cfg(feature = "minilm")]
pub use minilm::MiniLm;
pub use search::{
    DocumentFilter, MatchForm, Passage, Reasons, SearchAnswer, SearchMethod, SearchRequest, Snippet, WordMatch,
};
pub use vectors::Embedder;
