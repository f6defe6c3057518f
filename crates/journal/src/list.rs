//! Lists runs, and finds them by a prefix of their names.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row, params};
use updraft_run::{RunId, Timestamp};

use crate::chain::{self, ChainHash};
use crate::records::RecordPosition;
use crate::run_header::{LeaseOwner, RunFilter, RunSummary, Status};
use crate::schema::JournalFile;
use crate::writer::{known, owner};

/// The columns of a run's row, except its owner.
pub(crate) const RUN_COLUMNS: &str =
    "r.name, r.goal, r.workspace, r.model, r.status, r.created, r.parent, r.due, r.version, r.id";

/// Which of them the row's hash covers: all, including the key.
pub(crate) const RUN_SUMMED: Range<usize> = 0..10;

/// Those columns, the row's hash, the run's last record, and the process that holds its lease.
const SUMMARY: &str =
    "r.sum, e.seq, e.part, e.events, e.at, p.id, p.pid, p.started, p.boot, p.namespace, p.since, p.beat
FROM runs r
LEFT JOIN records e ON e.id =
    (SELECT id FROM records WHERE id >= r.id << 40 AND id < (r.id + 1) << 40 ORDER BY id DESC LIMIT 1)
LEFT JOIN processes p ON p.id = r.owner";

/// One run.
pub(crate) fn head(connection: &Connection, store: &JournalFile, run: &RunId) -> rusqlite::Result<Option<RunSummary>> {
    let mut owners = OwnerCache::default();
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS}, {SUMMARY} WHERE r.name = ?1"))?
        .query_row([run.as_str()], |row| summary(row, store, &mut owners))
        .optional()
}

/// The runs that the filter accepts, newest first, with their keys.
pub(crate) fn list(
    connection: &Connection,
    store: &JournalFile,
    filter: &RunFilter,
) -> rusqlite::Result<Vec<(i64, RunSummary)>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {RUN_COLUMNS}, {SUMMARY} WHERE r.created >= ?1 AND r.created < ?2 AND (?3 IS NULL OR r.status = ?3)
         AND (?4 IS NULL OR r.due <= ?4) AND (?6 IS NULL OR r.workspace = ?6)
         ORDER BY r.created DESC, r.id DESC LIMIT ?5"
    ))?;
    let mut owners = OwnerCache::default();
    let rows = statement.query_map(
        params![
            filter.since.map_or(i64::MIN, |at| at.0),
            filter.until.map_or(i64::MAX, |at| at.0),
            filter.status.map(Status::as_str),
            filter.due.map(|at| at.0),
            filter.limit.map_or(-1, |limit| limit as i64),
            filter.workspace,
        ],
        |row| Ok((row.get(9)?, summary(row, store, &mut owners)?)),
    )?;
    rows.collect()
}

/// Whether a process is alive is checked once per list, not once per run.
type OwnerCache = HashMap<i64, LeaseOwner>;

fn summary(row: &Row<'_>, store: &JournalFile, owners: &mut OwnerCache) -> rusqlite::Result<RunSummary> {
    let created = Timestamp(row.get(5)?);
    let end = match row.get::<_, Option<i64>>(11)? {
        Some(seq) => RecordPosition { seq, part: row.get(12)? }.after(row.get(13)?),
        None => RecordPosition::START,
    };
    let owner = match row.get::<_, Option<i64>>(15)? {
        Some(id) => Some(match owners.get(&id) {
            Some(owner) => *owner,
            None => *owners.entry(id).or_insert(owner(&known(row, 15)?, store)),
        }),
        None => None,
    };
    Ok(RunSummary {
        id: run_id(row, 0)?,
        goal: row.get(1)?,
        workspace: row.get(2)?,
        model: row.get(3)?,
        status: if row_is_whole(row)? { Status::from_word(row.get_ref(4)?.as_str()?) } else { Status::Damaged },
        created,
        updated: row.get::<_, Option<i64>>(14)?.map_or(created, Timestamp),
        events: end.events(),
        parent: row.get::<_, Option<String>>(6)?.and_then(|name| RunId::parse(&name).ok()),
        due: row.get::<_, Option<i64>>(7)?.map(Timestamp),
        version: row.get(8)?,
        owner,
    })
}

/// Whether the row has not changed since it was written. Rows of older versions have no hash.
fn row_is_whole(row: &Row<'_>) -> rusqlite::Result<bool> {
    let sum: Option<ChainHash> = row.get(10)?;
    Ok(sum.is_none() || sum == Some(chain::sum(row, RUN_SUMMED)?))
}

/// The keys and names of all runs.
pub(crate) fn keys(connection: &Connection) -> rusqlite::Result<HashMap<i64, String>> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM runs NOT INDEXED")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// A run id in a column.
pub(crate) fn run_id(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    let text = row.get_ref(column)?.as_str()?;
    RunId::parse(text)
        .map_err(|bad| rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(bad)))
}

/// Finished runs, of one workspace or of all, whose last record is older than `before`.
pub(crate) fn finished(
    connection: &Connection,
    before: Timestamp,
    workspace: Option<&str>,
) -> rusqlite::Result<Vec<RunId>> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM runs r WHERE status IN ('done', 'unproved', 'not_done', 'failed', 'cancelled') AND ?1 >
         coalesce((SELECT at FROM records WHERE id >= r.id << 40 AND id < (r.id + 1) << 40 ORDER BY id DESC LIMIT 1),
         created)
         AND (?2 IS NULL OR workspace = ?2)
         ORDER BY created, id",
    )?;
    statement.query_map(params![before.0, workspace], |row| run_id(row, 0))?.collect()
}

/// The runs that a prefix may refer to.
pub(crate) enum PrefixMatch {
    One(RunId),
    Several(Vec<String>),
    None { close: Vec<String> },
}

/// The run with this name or, if there is none, those whose names begin with it.
pub(crate) fn find(connection: &Connection, prefix: &str) -> rusqlite::Result<PrefixMatch> {
    // Greater than every character an id can have.
    let end = format!("{prefix}\u{7f}");
    let mut statement =
        connection.prepare_cached("SELECT name FROM runs WHERE name >= ?1 AND name < ?2 ORDER BY name LIMIT 8")?;
    let names = statement.query_map([prefix, &end], |row| run_id(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(match names.as_slice() {
        [] => PrefixMatch::None { close: close(connection, prefix)? },
        [one] => PrefixMatch::One(one.clone()),
        [first, ..] if first.as_str() == prefix => PrefixMatch::One(first.clone()),
        several => PrefixMatch::Several(several.iter().map(ToString::to_string).collect()),
    })
}

/// Names among the last thousand runs that differ by one or two characters.
fn close(connection: &Connection, wanted: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM runs ORDER BY id DESC LIMIT 1000")?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let shown = wanted.chars().count();
    let distance = |name: &str| {
        let beginning: String = name.chars().take(shown).collect();
        slips(wanted, &beginning).min(slips(wanted, name))
    };
    let mut near: Vec<(usize, String)> = names.into_iter().map(|name| (distance(&name), name)).collect();
    near.retain(|(slips, _)| *slips <= 2 && *slips < shown);
    near.sort();
    Ok(near.into_iter().take(3).map(|(_, name)| name).collect())
}

/// How many characters must be added, removed or changed to get from one word to the other.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted_letter_by_letter() {
        let counted = [("abc", "abc"), ("abc", "abd"), ("abc", "ab"), ("", "ab"), ("kitten", "sitting")];
        assert_eq!(counted.map(|(one, other)| slips(one, other)), [0, 1, 1, 2, 3]);
    }
}
