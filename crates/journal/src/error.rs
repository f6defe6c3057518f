//! The errors of the journal, and what a person can do about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ffi;
use updraft_run::{ContentHash, RunId, Timestamp};

use crate::location;

/// Why the journal could not do what was asked. With every error, what was in the journal before is still there.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No run has this name or begins with it.
    #[error("no run is named `{name}`")]
    UnknownRun {
        /// The name that was looked for.
        name: String,
        /// Runs with similar names.
        close: Vec<String>,
    },

    /// More than one run begins like this.
    #[error("`{prefix}` names more than one run: {}", candidates.join(", "))]
    Ambiguous {
        /// The prefix that was looked for.
        prefix: String,
        /// Some of the runs it could be.
        candidates: Vec<String>,
    },

    /// A run with this name already exists.
    #[error("a run named `{0}` already exists")]
    Exists(RunId),

    /// Another process, or another part of this one, is running it.
    #[error("run `{run}` is being run by process {pid}")]
    Owned {
        /// The run.
        run: RunId,
        /// The process.
        pid: u32,
        /// Since when that process has been writing to this journal.
        since: Timestamp,
    },

    /// Another process has taken the lease; nothing was written.
    #[error("another process has taken over run `{0}`")]
    Fenced(RunId),

    /// The run was deleted; nothing was written.
    #[error("run `{0}` was deleted while it ran")]
    Deleted(RunId),

    /// The run does not have this many events.
    #[error("run `{run}` has {events} events; there is no event {at}")]
    NoSuchEvent {
        /// The run.
        run: RunId,
        /// The event that was asked for.
        at: u64,
        /// How many events there are.
        events: u64,
    },

    /// The file is not a journal.
    #[error("`{}` is not an Updraft journal: {why}", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },

    /// The file has the layout of a newer version of Updraft.
    #[error("`{}` has layout {found}, written by Updraft {version}; this one knows layouts up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The newest layout known here.
        known: i64,
        /// The version that wrote it.
        version: String,
    },

    /// The file or its folder cannot be written.
    #[error("cannot write `{}`: {why}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        why: String,
    },

    /// The disk is full.
    #[error("no space left for `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },

    /// The file is on a file system where locks cannot be trusted.
    #[error("`{}` is on a network file system ({kind}), where SQLite's locks cannot be trusted", path.display())]
    Network {
        /// The file.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },

    /// A part of the file is damaged or missing.
    #[error("`{}` is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },

    /// A run's records are damaged or missing from some event on.
    #[error("the journal is damaged: run `{run}`, event {seq}: {why}")]
    DamagedRun {
        /// The run.
        run: RunId,
        /// The first event that cannot be trusted.
        seq: u64,
        /// What is wrong.
        why: String,
    },

    /// The file was deleted or replaced while this process wrote to it.
    #[error("`{}` {why} while it was in use; nothing more is written", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// What happened to it.
        why: &'static str,
    },

    /// One record cannot be read.
    #[error("the record of run `{run}` at event {seq} cannot be read: {why}")]
    Malformed {
        /// The run.
        run: RunId,
        /// The number of the record's first event.
        seq: u64,
        /// What is wrong.
        why: String,
    },

    /// An input in the inbox cannot be read.
    #[error("input {id} left for run `{run}` cannot be read: {why}")]
    BadInput {
        /// The run.
        run: RunId,
        /// The input's number.
        id: i64,
        /// What is wrong.
        why: String,
    },

    /// A value that a record refers to is missing or does not match its hash.
    #[error("the stored value {hash} {why}")]
    BadBlob {
        /// Its hash.
        hash: ContentHash,
        /// What is wrong.
        why: String,
    },

    /// Another process kept the file locked for longer than ten seconds.
    #[error("`{}` is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },

    /// A line of an export cannot be read.
    #[error("line {line} of the export: {why}")]
    BadExport {
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },

    /// An export cannot be written to its destination.
    #[error("the export cannot be written")]
    Unsent {
        /// The error of the system.
        source: Arc<std::io::Error>,
    },

    /// A record or input cannot be encoded as JSON.
    #[error("a record cannot be written as JSON")]
    Unwritable {
        /// Why.
        source: Arc<serde_json::Error>,
    },

    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,

    /// The system refused a file operation.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: Arc<std::io::Error>,
    },

    /// SQLite refused for another reason.
    #[error("SQLite could not use `{}`", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: Arc<rusqlite::Error>,
    },
}

impl Error {
    /// What a person can do about it, if we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::UnknownRun { close, .. } if !close.is_empty() => {
                format!("did you mean {}?", close.join(" or "))
            }
            Error::UnknownRun { .. } => "`updraft runs` lists them".into(),
            Error::Ambiguous { .. } => "give a longer prefix".into(),
            Error::Exists(_) => "import it under another name".into(),
            Error::Owned { run, .. } => {
                format!("follow it with `updraft events {run} --follow`, or end that process first")
            }
            Error::NotAJournal { path, .. } => {
                format!("move `{}` away, or choose another file; it was not changed", path.display())
            }
            Error::Newer { .. } => "install that version or a newer one; the file was not changed".into(),
            Error::ReadOnly { .. } => "make the folder writable, or choose another one".into(),
            Error::Full { .. } => {
                "free some space, for example with `updraft prune --older-than 30d`; everything written before is safe"
                    .into()
            }
            Error::Network { .. } => "keep the journal on a local disk".into(),
            Error::Damaged { path, .. } => format!(
                "keep a copy of `{0}` and its `-wal` file; `sqlite3 {0} .recover` extracts what is left",
                path.display()
            ),
            Error::DamagedRun { run, seq, .. } if *seq > 1 => format!(
                "other runs are not affected; `updraft resume {run} --from-damaged` continues after event {} and discards \
                 what came later (keep a copy of the journal first)",
                seq - 1
            ),
            Error::DamagedRun { run, .. } => {
                format!("other runs are not affected; none of it can be trusted: `updraft rm {run}` removes it")
            }
            Error::Replaced { .. } => {
                "put the file back if you can; what the run did in its last seconds may not be in any journal".into()
            }
            Error::Malformed { run, .. } => {
                format!(
                    "a newer version may be able to read it; other runs are not affected (`updraft rm {run}` removes it)"
                )
            }
            Error::Locked { .. } => "end the process that holds it (a backup, a database viewer)".into(),
            Error::Fenced(_)
            | Error::Deleted(_)
            | Error::NoSuchEvent { .. }
            | Error::BadInput { .. }
            | Error::BadBlob { .. }
            | Error::BadExport { .. }
            | Error::Unsent { .. }
            | Error::Unwritable { .. }
            | Error::Closed
            | Error::Io { .. }
            | Error::Sqlite { .. } => return None,
        };
        Some(hint)
    }

    /// Classifies an error of SQLite.
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path_buf = path.to_path_buf();
        let why = source.to_string();
        let Some(failure) = source.sqlite_error().copied() else {
            return match source {
                // A column has a type that is never written to it.
                rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..) => {
                    Error::Damaged { path: path_buf, why }
                }
                other => Error::Sqlite { path: path_buf, source: other.into() },
            };
        };
        match failure.extended_code & 0xff {
            ffi::SQLITE_FULL => Error::Full { path: path_buf },
            ffi::SQLITE_NOTADB => Error::NotAJournal { path: path_buf, why: "it is not a database".into() },
            // Our statements never change: if one is invalid or violates a constraint, the file is damaged.
            ffi::SQLITE_CORRUPT
            | ffi::SQLITE_ERROR
            | ffi::SQLITE_CONSTRAINT
            | ffi::SQLITE_MISMATCH
            | ffi::SQLITE_TOOBIG => Error::Damaged { path: path_buf, why },
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => Error::Locked { path: path_buf },
            ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN if location::is_full(path) => Error::Full { path: path_buf },
            ffi::SQLITE_IOERR if failure.extended_code == ffi::SQLITE_IOERR_SHORT_READ => {
                Error::Damaged { path: path_buf, why }
            }
            ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM => Error::ReadOnly { path: path_buf, why },
            _ => Error::Sqlite { path: path_buf, source: source.into() },
        }
    }

    /// Classifies an error of the system.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Error::Full { path },
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                Error::ReadOnly { path, why: source.to_string() }
            }
            _ => Error::Io { path, source: source.into() },
        }
    }
}
