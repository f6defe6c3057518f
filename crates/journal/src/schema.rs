//! The layout of the database file: creating it, checking it, connecting to it.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::options::{JournalOptions, SyncMode};
use crate::run_ends::RunEndsFile;
use crate::{Error, location, reserved_space};

/// `UPDT`: distinguishes our files from other SQLite databases.
const APPLICATION: i64 = 0x5550_4454;

/// The version of the layout below. Raised when an older version must no longer write: versions that know only layout 1
/// would add records without hashes.
pub(crate) const LAYOUT: i64 = 2;

/// What layout 2 added to layout 1: hashes. Older rows have none, and are not checked.
const HASHES: [(&str, &str); 3] = [("records", "chain"), ("runs", "sum"), ("inbox", "sum")];

/// SQLite's smallest page: every database has at least this many bytes.
const SHORTEST: u64 = 512;

/// The number of pages after which the log is copied into the main file if there is hardly space for a log.
const CRAMPED_CHECKPOINT: u32 = 50;

/// How long to wait for another process's lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// `records` is keyed by one number made of three: the run, the number of the record's first event, and `part`, which
/// distinguishes records without events from the one that has that number. So a run's next record comes directly after
/// its last, and an append fills one page after the other. It changes `runs` only if the run's status changes.
const TABLES: &str = "
CREATE TABLE meta(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE processes(
    id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, started INTEGER NOT NULL,
    boot TEXT NOT NULL, namespace TEXT NOT NULL, since INTEGER NOT NULL, beat INTEGER NOT NULL
) STRICT;
CREATE TABLE runs(
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, goal TEXT NOT NULL,
    workspace TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL,
    parent TEXT, owner INTEGER, due INTEGER, version TEXT NOT NULL, sum BLOB
) STRICT;
CREATE TABLE records(
    id INTEGER PRIMARY KEY, events INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL, blob BLOB,
    run INTEGER AS (id >> 40), seq INTEGER AS ((id >> 12) & 268435455), part INTEGER AS (id & 4095), chain BLOB
) STRICT;
CREATE TABLE blobs(hash BLOB NOT NULL PRIMARY KEY, len INTEGER NOT NULL, body BLOB) WITHOUT ROWID, STRICT;
CREATE TABLE refs(
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    hash BLOB NOT NULL REFERENCES blobs(hash), PRIMARY KEY(run, hash)
) WITHOUT ROWID, STRICT;
CREATE TABLE inbox(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    key TEXT NOT NULL, at INTEGER NOT NULL, input TEXT NOT NULL, sum BLOB, UNIQUE(run, key)
) STRICT;
";

/// A process of an older version that has the file open can continue a run only as long as none of its records has a
/// hash.
const KEEP_OUT: &str = "
CREATE TRIGGER keep_hashes BEFORE INSERT ON records WHEN NEW.chain IS NULL AND (
    SELECT chain FROM records WHERE id < NEW.id AND id >= NEW.id >> 40 << 40 ORDER BY id DESC LIMIT 1
) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a newer version of Updraft works on this run: end this process, and start that version'); END;
";

/// A journal's file, and how to connect to it.
#[derive(Clone, Debug)]
pub(crate) struct JournalFile {
    pub(crate) path: PathBuf,
    pub(crate) options: JournalOptions,
}

impl JournalFile {
    /// Connects for short reads. The file is opened writable so that the last process to close it can clean up after a
    /// crash.
    pub(crate) fn reader(&self) -> Result<Connection, Error> {
        let connection = self.connect()?;
        self.explain(imitate_hashes(&connection))?;
        self.explain(connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096;"))?;
        Ok(connection)
    }

    /// Connects for writing. Refuses a layout that is too new.
    pub(crate) fn writer(&self) -> Result<Connection, Error> {
        let mut connection = self.connect()?;
        self.refuse_newer(&connection)?;
        self.explain(add_hashes(&mut connection, &self.options.version))?;
        let sync = match self.options.sync {
            SyncMode::Full => "FULL",
            SyncMode::Off => "OFF",
        };
        self.explain(connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {sync}; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = {};
             PRAGMA journal_size_limit = {}; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;",
            if reserved_space::is_cramped(&self.path) { CRAMPED_CHECKPOINT } else { self.options.checkpoint },
            64 << 20,
        )))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// Creates the layout of a new file, or checks an existing one, and connects to it for reading. A file that is not
    /// ours is not changed.
    pub(crate) fn create(&self) -> Result<Connection, Error> {
        if let Some(connection) = self.recognise()? {
            return Ok(connection);
        }
        let fresh = !self.path.exists();
        if fresh && self.options.vfs.is_none() && self.place_whole()? {
            return self.recognise()?.ok_or_else(|| self.other("it is still empty"));
        }
        let mut connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let outcome = self.lay_out(&mut connection);
        drop(connection);
        self.explain(outcome)?;
        if fresh && let Some(folder) = self.path.parent() {
            location::sync_folder(folder).map_err(|source| Error::io(&self.path, source))?;
        }
        self.recognise()?.ok_or_else(|| self.other("it is still empty"))
    }

    /// Creates a new file in one piece: built in memory, written to a temporary file, synced, and moved into place
    /// unless another process was faster. This needs one flush instead of the dozen that building it in place takes.
    /// SQLite flushes the folder when it creates the log, before anything is acknowledged.
    fn place_whole(&self) -> Result<bool, Error> {
        // A process that was cut off has left a log here; SQLite deals with that when the file is created the ordinary
        // way.
        if ["-journal", "-wal"].iter().any(|rest| location::beside(&self.path, rest).exists()) {
            return Ok(false);
        }
        let image = self.explain(image_of(&self.options.version))?;
        let aside = location::beside(&self.path, &format!("-new-{}", std::process::id()));
        let written = location::create_private(&aside).and_then(|mut file| {
            file.write_all(&image)?;
            file.sync_data()
        });
        let placed = written.and_then(|()| std::fs::hard_link(&aside, &self.path));
        let _ = std::fs::remove_file(&aside);
        // A folder without hard links, or a full disk: the ordinary way works, or reports what is wrong.
        Ok(placed.is_ok())
    }

    fn lay_out(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let begun = Instant::now();
        // Two processes may do this at the same time, and this change of mode does not wait for locks by itself.
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
            layout.execute_batch(KEEP_OUT)?;
            layout.execute("INSERT INTO meta VALUES('version', ?1)", [&self.options.version])?;
            layout.pragma_update(None, "application_id", APPLICATION)?;
            layout.pragma_update(None, "user_version", LAYOUT)?;
        }
        layout.commit()
    }

    /// Connects to a file for reading. Returns `None` if it is still empty, and an error if it is not ours.
    pub(crate) fn recognise(&self) -> Result<Option<Connection>, Error> {
        if self.is_empty()? {
            return Ok(None);
        }
        let connection = self.reader()?;
        let application = self.explain(number(&connection, "application_id"))?;
        let layout = self.explain(number(&connection, "user_version"))?;
        if application == APPLICATION && layout >= 1 {
            self.refuse_torn(&connection)?;
            return Ok(Some(connection));
        }
        let has_tables = self.explain(number(&connection, "schema_version"))? != 0;
        if has_tables || application != 0 || layout != 0 {
            return Err(self.other("it is a database of another program"));
        }
        // Created by a process that was cut off before it wrote the tables.
        Ok(None)
    }

    /// Whether the file has no bytes at all. Checked before SQLite can change anything, and without opening the file:
    /// closing it would drop the locks that this process may hold on it.
    fn is_empty(&self) -> Result<bool, Error> {
        let log = location::beside(&self.path, "-wal");
        let len = |path: &std::path::Path| path.metadata().map_or(0, |about| about.len());
        let known = if len(&self.path) == 0 { RunEndsFile::beside(&self.path).all().len() } else { 0 };
        match len(&self.path) {
            0 if known > 0 => Err(Error::Damaged {
                path: self.path.clone(),
                why: format!(
                    "it is empty or missing, although it had {known} runs (to start over, remove `{}` as well)",
                    RunEndsFile::beside(&self.path).path().display()
                ),
            }),
            // SQLite would treat the file as new and discard the log.
            0 if len(&log) > 0 => Err(Error::Damaged {
                path: self.path.clone(),
                why: format!("it is empty, but `{}` is not", log.display()),
            }),
            0 => Ok(true),
            // Too short to be in use by any process, so it may be opened.
            1..SHORTEST if self.begins_like_a_database() => {
                Err(Error::Damaged { path: self.path.clone(), why: "it ends within its first bytes".into() })
            }
            1..SHORTEST => Err(self.other("it is not a database")),
            SHORTEST.. => Ok(false),
        }
    }

    /// Refuses a file whose last page is incomplete, because SQLite would read the missing part as zeros. If there is a
    /// log, the page may be in it.
    fn refuse_torn(&self, connection: &Connection) -> Result<(), Error> {
        let page = self.explain(number(connection, "page_size"))?.max(1) as u64;
        let has_log = location::beside(&self.path, "-wal").metadata().is_ok_and(|about| about.len() > 0);
        match self.path.metadata() {
            Ok(about) if !has_log && about.len() % page != 0 => Err(Error::Damaged {
                path: self.path.clone(),
                why: format!("it ends within a page, at byte {}", about.len()),
            }),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn begins_like_a_database(&self) -> bool {
        std::fs::read(&self.path).is_ok_and(|bytes| bytes.iter().zip(b"SQLite format 3\0").all(|(a, b)| a == b))
    }

    fn other(&self, why: &str) -> Error {
        Error::NotAJournal { path: self.path.clone(), why: why.into() }
    }

    fn refuse_newer(&self, connection: &Connection) -> Result<(), Error> {
        let found = self.explain(number(connection, "user_version"))?;
        if found <= LAYOUT {
            return Ok(());
        }
        let version = connection.query_row("SELECT value FROM meta WHERE key = 'version'", [], |row| row.get(0));
        let version = version.unwrap_or_else(|_| "of a later date".to_owned());
        Err(Error::Newer { path: self.path.clone(), found, known: LAYOUT, version })
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
        let connection = self.explain(connection)?;
        self.explain(connection.busy_timeout(PATIENCE))?;
        Ok(connection)
    }

    /// Converts an error of SQLite into one that names the file.
    pub(crate) fn explain<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|source| Error::sqlite(&self.path, source))
    }
}

/// The bytes of a new journal.
fn image_of(version: &str) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
    connection.execute_batch(TABLES)?;
    connection.execute_batch(KEEP_OUT)?;
    connection.execute("INSERT INTO meta VALUES('version', ?1)", [version])?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", LAYOUT)?;
    let mut image = connection.serialize("main")?.to_vec();
    // Bytes 18 and 19 of the header: 2 means that changes go to a write-ahead log.
    for place in image.iter_mut().skip(18).take(2) {
        *place = 2;
    }
    Ok(image)
}

/// Makes a file of layout 1 readable like one of layout 2, without changing it.
fn imitate_hashes(connection: &Connection) -> rusqlite::Result<()> {
    if number(connection, "user_version")? != 1 {
        return Ok(());
    }
    connection.execute_batch("PRAGMA temp_store = MEMORY;")?;
    HASHES.iter().try_for_each(|(table, column)| {
        // If the file has the column by the time it is read, the file's own column comes first.
        let view = format!("CREATE TEMP VIEW {table} AS SELECT *, NULL AS {column} FROM main.{table}");
        connection.execute_batch(&view)
    })
}

/// Converts a file of layout 1 to layout 2.
fn add_hashes(connection: &mut Connection, version: &str) -> rusqlite::Result<()> {
    if number(connection, "user_version")? != 1 {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number(&change, "user_version")? == 1 {
        for (table, column) in HASHES {
            change.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} BLOB"))?;
        }
        change.execute_batch(KEEP_OUT)?;
        change.execute("UPDATE meta SET value = ?1 WHERE key = 'version'", [version])?;
        change.pragma_update(None, "user_version", LAYOUT)?;
    }
    change.commit()
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    /// SQLite up to 3.51.2 could lose a write when two processes restarted the log at the same moment.
    #[test]
    fn the_bundled_sqlite_is_newer_than_3_51_2() {
        assert!(rusqlite::version_number() > 3_051_002, "{}", rusqlite::version());
    }
}
