//! Stores the log of each run, and the large values it refers to, safely on disk.
//!
//! A [`Journal`] is one SQLite file and, next to it, a folder of large values. A run is a list of
//! [`Record`](updraft_run::Record)s in it. Only the process that holds a run's [`Lease`] may add to it; any process may
//! read it, follow it, or send an input to the process that holds the lease.
//!
//! ```
//! use updraft_journal::{Batch, Journal, JournalOptions, RunHeader};
//! use updraft_run::{Event, Input, Record, RunId, Timestamp};
//!
//! # async fn example(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
//! let journal = Journal::open(&folder.join("journal.db"), JournalOptions::default())?;
//! let head = RunHeader::new(RunId::parse("tidy-up")?, "tidy up", Timestamp(1_000));
//! let told = Record {
//!     at: Timestamp(1_000),
//!     input: Input::Tell { message: "hello".into() },
//!     events: vec![Event::Told { message: "hello".into() }],
//! };
//! let lease = journal.create(head, Batch::of(vec![told])).await?; // on disk from here on
//! assert_eq!(journal.load(lease.run())?.len(), 1);
//! journal.release(lease).await?;
//! journal.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Where things are:
//!
//! | file | what it is about |
//! |---|---|
//! | `journal.rs`, `lease.rs`, `options.rs` | the public interface |
//! | `batch.rs`, `run_header.rs`, `error.rs` | what is written, what is returned, what can go wrong |
//! | `writer.rs` and `writer/` | the one thread that writes, and one file for each kind of job |
//! | `reader_pool.rs`, `records.rs`, `list.rs` | short reads |
//! | `change_watcher.rs`, `tail.rs` | notifications about what others write |
//! | `chain.rs`, `run_ends.rs` | noticing damage: hashes, and the last known end of each run |
//! | `blobs.rs`, `value_file.rs` | values too large for a row, as files |
//! | `schema.rs`, `location.rs`, `process.rs` | the file's layout, where it may be, which processes are alive |
//! | `stored.rs` | small values of other parts of the program |
//! | `reserved_space.rs` | reserved space for a full disk |
//! | `fork.rs`, `export.rs` | copying a run, and exporting it as lines of JSON |

mod batch;
mod blobs;
mod chain;
mod change_watcher;
mod error;
mod export;
mod fork;
mod journal;
mod lease;
mod list;
mod location;
mod options;
mod process;
mod reader_pool;
mod records;
mod reserved_space;
mod run_ends;
mod run_header;
mod schema;
mod stored;
mod tail;
mod value_file;
mod writer;

pub use batch::{Batch, Blob, hash_of};
pub use change_watcher::ChangeWatcher;
pub use error::Error;
pub use export::{Export, parse_export};
pub use journal::Journal;
pub use lease::Lease;
pub use options::{JournalOptions, SyncMode, WriterStats};
pub use run_header::{LeaseOwner, PendingInput, RunFilter, RunHeader, RunSummary, SendOutcome, Status};
pub use stored::{Change, StoredEntry, StoredValue};
pub use tail::Tail;
pub use value_file::{FileReaders, process_number, write_value_file};
