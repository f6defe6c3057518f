//! The layout of the database file: creating it, recognising it, connecting to it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Error, ErrorCode, TransactionBehavior, ffi};

use super::clock;

/// `UPDL`: distinguishes our files from other SQLite databases.
const APPLICATION: u32 = 0x5550_444c;

/// How long to wait for another process, which needs the file for microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Times are nanoseconds since boot.
const TABLES: &str = "
CREATE TABLE boot(id TEXT NOT NULL) STRICT;
CREATE TABLE accounts(
    name TEXT NOT NULL PRIMARY KEY, last INTEGER, paused INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID, STRICT;
CREATE TABLE requests(
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, process TEXT NOT NULL, at INTEGER NOT NULL,
    tokens INTEGER NOT NULL, until INTEGER, is_open INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX requests_of ON requests(account);
CREATE TABLE waiting(
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, tokens INTEGER NOT NULL, due INTEGER NOT NULL
) STRICT;
";

/// Connects to the file, and creates it if there is none. If a power cut corrupted a file of ours, it is created again.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    match connect(path) {
        Err(error) if is_broken(&error) && is_ours(path) => {
            for rest in ["", "-wal", "-shm"] {
                let mut name = path.as_os_str().to_owned();
                name.push(rest);
                let _ = fs::remove_file(PathBuf::from(name));
            }
            connect(path)
        }
        outcome => outcome,
    }
}

/// The same without a file. Its ids differ from all others: requests that began with a file that has failed since must
/// not end requests of this database.
pub(super) fn in_memory(now: Duration) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    lay_out(&mut connection)?;
    let numbers = "INSERT INTO sqlite_sequence(name, seq) VALUES('requests', ?1), ('waiting', ?1)";
    connection.execute(numbers, [now.as_nanos() as i64])?;
    Ok(connection)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // Several processes may do this at the same moment, and this change of mode does not wait by itself.
    let mut attempts = 200;
    while let Err(error) = connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;") {
        attempts -= 1;
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || attempts == 0 {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    lay_out(&mut connection)?;
    Ok(connection)
}

/// Creates the tables, and empties those of an earlier boot, whose clock was different.
fn lay_out(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(32);
    let layout = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: i64 = layout.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i64 = layout.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if tables == 0 {
        layout.execute_batch(TABLES)?;
        layout.pragma_update(None, "application_id", i64::from(APPLICATION))?;
        layout.execute("INSERT INTO boot VALUES(?1)", [clock::boot()])?;
    } else if application != i64::from(APPLICATION) {
        let what = "it is a database of another program".to_owned();
        return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOTADB), Some(what)));
    }
    let is_of_this_boot: bool =
        layout.query_row("SELECT EXISTS(SELECT 1 FROM boot WHERE id = ?1)", [clock::boot()], |row| row.get(0))?;
    if !is_of_this_boot {
        layout.execute_batch("DELETE FROM boot; DELETE FROM accounts; DELETE FROM requests; DELETE FROM waiting;")?;
        layout.execute("INSERT INTO boot VALUES(?1)", [clock::boot()])?;
    }
    layout.commit()
}

fn is_broken(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether the first bytes are those of a file of ours: other files are never removed.
fn is_ours(path: &Path) -> bool {
    let mut head = [0; 72];
    let is_read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    is_read && head.starts_with(b"SQLite format 3\0") && head[68..] == APPLICATION.to_be_bytes()
}
