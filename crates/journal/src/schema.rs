//! The file's layout: making it, recognising it, connecting to it.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::options::{Options, Sync};
use crate::{Error, place};

/// `UPDT`: tells our files from other SQLite databases.
const APPLICATION: i64 = 0x5550_4454;

/// The layout below. Raised when an older version must no longer write.
pub(crate) const LAYOUT: i64 = 1;

/// How long to wait for another process's lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// `records` is keyed by the number of the record's first event; records without events come before the one that
/// has that number, told apart by `part`. An append touches `runs` only if the run's standing changes.
const TABLES: &str = "
CREATE TABLE meta(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE processes(
    id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, started INTEGER NOT NULL,
    boot TEXT NOT NULL, namespace TEXT NOT NULL, since INTEGER NOT NULL, beat INTEGER NOT NULL
) STRICT;
CREATE TABLE runs(
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, goal TEXT NOT NULL,
    workspace TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL,
    parent TEXT, owner INTEGER, due INTEGER, version TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_created ON runs(created);
CREATE TABLE records(
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL, part INTEGER NOT NULL, events INTEGER NOT NULL, at INTEGER NOT NULL,
    body BLOB NOT NULL, blob BLOB, PRIMARY KEY(run, seq, part)
) WITHOUT ROWID, STRICT;
CREATE TABLE blobs(hash BLOB NOT NULL PRIMARY KEY, len INTEGER NOT NULL, body BLOB) WITHOUT ROWID, STRICT;
CREATE TABLE refs(
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    hash BLOB NOT NULL REFERENCES blobs(hash), PRIMARY KEY(run, hash)
) WITHOUT ROWID, STRICT;
CREATE INDEX refs_by_hash ON refs(hash);
CREATE TABLE inbox(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    key TEXT NOT NULL, at INTEGER NOT NULL, input TEXT NOT NULL, UNIQUE(run, key)
) STRICT;
";

/// A journal's file, and how to reach it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
}

impl Store {
    /// Connects for short reads. The file is opened writable so that the last to close it can tidy up after a crash.
    pub(crate) fn reader(&self) -> Result<Connection, Error> {
        let connection = self.connect()?;
        self.told(connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096;"))?;
        Ok(connection)
    }

    /// Connects for writing; refuses a layout that is too new.
    pub(crate) fn writer(&self) -> Result<Connection, Error> {
        let connection = self.connect()?;
        self.refuse_newer(&connection)?;
        let sync = match self.options.sync {
            Sync::Full => "FULL",
            Sync::Off => "OFF",
        };
        self.told(connection.execute_batch(&format!(
            "PRAGMA synchronous = {sync}; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = {};
             PRAGMA journal_size_limit = {}; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;",
            self.options.checkpoint,
            64 << 20,
        )))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// Lays out a new file, or recognises one. Changes nothing about a file that is not ours or too new.
    pub(crate) fn create(&self) -> Result<(), Error> {
        if self.look()? == Looks::Ours {
            return self.recognise();
        }
        let fresh = !self.path.exists();
        let mut connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let outcome = self.lay_out(&mut connection);
        drop(connection);
        self.told(outcome)?;
        if fresh && let Some(folder) = self.path.parent() {
            place::sync_folder(folder).map_err(|source| Error::io(&self.path, source))?;
        }
        self.recognise()
    }

    fn lay_out(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let begun = Instant::now();
        // Two processes may do this at the same moment, and this change of mode does not wait by itself.
        while let Err(error) = connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")
        {
            if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || begun.elapsed() > PATIENCE {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        connection.execute_batch("PRAGMA synchronous = FULL;")?;
        let layout = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if number(&layout, "schema_version")? == 0 {
            layout.execute_batch(TABLES)?;
            layout.execute("INSERT INTO meta VALUES('version', ?1)", [&self.options.version])?;
            layout.pragma_update(None, "application_id", APPLICATION)?;
            layout.pragma_update(None, "user_version", LAYOUT)?;
        }
        layout.commit()
    }

    /// Says what is wrong with a file that is there, if something is.
    pub(crate) fn recognise(&self) -> Result<(), Error> {
        let connection = self.connect()?;
        let application = self.told(number(&connection, "application_id"))?;
        let layout = self.told(number(&connection, "user_version"))?;
        if application == APPLICATION && layout >= 1 {
            return Ok(());
        }
        let why = if self.told(number(&connection, "schema_version"))? == 0 {
            "it is an empty database"
        } else {
            "it is a database of another program"
        };
        Err(Error::NotAJournal { path: self.path.clone(), why: why.into() })
    }

    fn refuse_newer(&self, connection: &Connection) -> Result<(), Error> {
        let found = self.told(number(connection, "user_version"))?;
        if found <= LAYOUT {
            return Ok(());
        }
        let version = connection.query_row("SELECT value FROM meta WHERE key = 'version'", [], |row| row.get(0));
        let version = version.unwrap_or_else(|_| "of a later date".to_owned());
        Err(Error::Newer { path: self.path.clone(), found, known: LAYOUT, version })
    }

    /// Looks at the first bytes, before SQLite has a chance to change anything.
    pub(crate) fn look(&self) -> Result<Looks, Error> {
        let log = place::beside(&self.path, "-wal");
        let log_len = log.metadata().map_or(0, |about| about.len());
        let mut start = Vec::new();
        match File::open(&self.path) {
            Ok(file) => file.take(100).read_to_end(&mut start).map_err(|source| Error::io(&self.path, source))?,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => 0,
            Err(source) => return Err(Error::io(&self.path, source)),
        };
        match start.as_slice() {
            // SQLite would take the file for a new one and throw the log away.
            [] if log_len > 0 => Err(Error::Damaged {
                path: self.path.clone(),
                why: format!("it is empty, but `{}` is not", log.display()),
            }),
            [] => Ok(Looks::Empty),
            bytes if !bytes.starts_with(b"SQLite format 3\0") => {
                Err(Error::NotAJournal { path: self.path.clone(), why: "it is not a database".into() })
            }
            bytes if bytes.len() < 100 => {
                Err(Error::Damaged { path: self.path.clone(), why: "it was cut off within its first bytes".into() })
            }
            // Laid out by a process that was cut off before it wrote the tables.
            _ if self.has_no_tables()? => Ok(Looks::Empty),
            _ => Ok(Looks::Ours),
        }
    }

    fn has_no_tables(&self) -> Result<bool, Error> {
        let connection = self.connect()?;
        let fresh = number(&connection, "schema_version").and_then(|schema| {
            Ok(schema == 0 && number(&connection, "application_id")? == 0 && number(&connection, "user_version")? == 0)
        });
        self.told(fresh)
    }

    fn connect(&self) -> Result<Connection, Error> {
        self.open(OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open(&self, flags: OpenFlags) -> Result<Connection, Error> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &self.options.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
            None => Connection::open_with_flags(&self.path, flags),
        };
        let connection = self.told(connection)?;
        self.told(connection.busy_timeout(PATIENCE))?;
        Ok(connection)
    }

    /// Turns what SQLite said into an error that names the file.
    pub(crate) fn told<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|source| Error::sqlite(&self.path, source))
    }
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Not there, or with nothing in it yet.
    Empty,
    /// A database, ours or another's.
    Ours,
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// Whether SQLite is one we trust with several processes: those before 3.51.3 could lose a write when two of them
/// restarted the log at the same moment.
#[cfg(test)]
mod tests {
    #[test]
    fn the_bundled_sqlite_is_newer_than_3_51_2() {
        assert!(rusqlite::version_number() > 3_051_002, "{}", rusqlite::version());
    }

    #[test]
    fn a_path_may_hold_anything() {
        let path = std::path::Path::new("/tmp/a b/ü.db");
        assert_eq!(crate::place::beside(path, "-wal"), std::path::Path::new("/tmp/a b/ü.db-wal"));
    }
}
