//! The layout of the index file: creating it, recognising it, connecting to it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::error::Error;

/// `UPDK`: distinguishes our files from other SQLite databases.
const APPLICATION: i64 = 0x5550_444b;
const LAYOUT: i64 = 1;

/// How long to wait for another process that writes. A batch takes well under a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// The full-text table has no copy of the text: `contentless_delete` lets rows go by their number. Its columns are
/// `stems` (Porter's stems, and pairs of characters for scripts without spaces), `heading` (the same of the title and
/// the headings above) and `parts` (the words inside identifiers). Tokens are made in Rust and separated by spaces;
/// SQLite must not cut them further, so all its categories of visible characters are letters.
///
/// `AUTOINCREMENT`: numbers are never used again, so a pass removes no document that another one has written anew.
const TABLES: &str = "
CREATE TABLE documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT, bytes INTEGER NOT NULL,
    modified INTEGER NOT NULL, hash BLOB NOT NULL, date INTEGER NOT NULL, problem TEXT
) STRICT;
CREATE TABLE chunks(
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, place TEXT NOT NULL, trail TEXT NOT NULL,
    length INTEGER NOT NULL, bytes INTEGER NOT NULL, body ANY NOT NULL
) STRICT;
CREATE INDEX chunks_of ON chunks(document);
CREATE TABLE totals(chunks INTEGER NOT NULL, words INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES(0, 0, 0);
CREATE TABLE vectors(chunk INTEGER PRIMARY KEY, scale REAL NOT NULL, vector BLOB NOT NULL) STRICT;
CREATE TABLE settings(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE VIRTUAL TABLE words USING fts5(
    stems, heading, parts, content = '', contentless_delete = 1,
    tokenize = \"unicode61 remove_diacritics 0 categories 'L* N* M* S* P* Co'\"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
";

/// Connects to the file and creates it if there is none.
pub(crate) fn open(path: &Path) -> Result<Connection, Error> {
    let told = Error::sqlite(path);
    let mut connection = Connection::open(path).map_err(told)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    connection.set_prepared_statement_cache_capacity(64);
    let application = number(&connection, "application_id").map_err(|error| recognise(path, error))?;
    // A database of another program is left as it is, its journal mode too.
    if application == 0 && number(&connection, "schema_version").map_err(told)? == 0 {
        create(&mut connection).map_err(told)?;
    }
    if number(&connection, "application_id").map_err(told)? != APPLICATION {
        let why = "it is a database of another program".to_owned();
        return Err(Error::NotAnIndex { path: path.to_owned(), why });
    }
    let found = number(&connection, "user_version").map_err(told)?;
    if found > LAYOUT {
        return Err(Error::Newer { path: path.to_owned(), found, known: LAYOUT });
    }
    // With NORMAL a power cut may undo the last batches, never damage the file; the next pass ingests them again.
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 8000000;")
        .map_err(told)?;
    Ok(connection)
}

fn recognise(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Error::NotAnIndex { path: path.to_owned(), why: "it is not a database".to_owned() }
        }
        _ => Error::sqlite(path)(error),
    }
}

/// Creates the tables, unless another process did so meanwhile or the database has tables of somebody else.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // Several processes may do this at the same moment, and this change of mode does not wait by itself.
    let mut attempts = 1_000;
    while let Err(error) = connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;") {
        attempts -= 1;
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || attempts == 0 {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let layout = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number(&layout, "schema_version")? == 0 {
        layout.execute_batch(TABLES)?;
        layout.pragma_update(None, "application_id", APPLICATION)?;
        layout.pragma_update(None, "user_version", LAYOUT)?;
    }
    layout.commit()
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
