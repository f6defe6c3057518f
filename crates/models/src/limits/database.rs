//! The small SQLite database in which processes record their requests.
//!
//! Its content is worthless after a reboot, so nothing is synced; the write-ahead log keeps it consistent when a
//! process is killed.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::process::{self, ProcessLife};
use super::rules::{AccountState, EarlierRequest, RateVerdict, RateWait, when};
use super::{RateLimit, file};

/// A waiting request that is this late has stopped or died, and is skipped.
const LATE: Duration = Duration::from_secs(1);

/// A waiting request that is this late has lost its place in the queue.
const LOST: Duration = Duration::from_mins(1);

/// How often to look for processes that were killed.
const SWEEP: Duration = Duration::from_secs(1);

/// After this time, a request of a process whose state cannot be checked has surely ended.
const LONGEST_REQUEST: Duration = Duration::from_mins(15);

/// The longest pause: a caller that must wait for hours should get an error instead.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// What one request asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdmissionRequest<'a> {
    pub(super) account: &'a str,
    pub(super) limit: &'a RateLimit,
    pub(super) tokens: u64,
}

/// The result of asking for admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AdmissionResult {
    /// The request may be sent, under this id.
    Go(i64),
    /// The request has this place in the queue.
    Wait { place: i64, wait: RateWait, sleep: Duration },
}

/// The open database, in a file or in memory.
#[derive(Debug)]
pub(super) struct LimiterDatabase {
    connection: Connection,
    window: Duration,
    swept: Duration,
}

impl LimiterDatabase {
    /// Opens the file, and creates it if there is none; without a path the database is in memory.
    pub(super) fn open(path: Option<&Path>, window: Duration, now: Duration) -> rusqlite::Result<Self> {
        let connection = match path {
            Some(path) => file::open(path)?,
            None => file::in_memory(now)?,
        };
        let mut database = Self { connection, window, swept: now };
        database.sweep(now)?;
        Ok(database)
    }

    /// Admits a request, or gives it a place in the queue. A request that already has a place passes it.
    pub(super) fn ask(
        &mut self,
        ask: AdmissionRequest<'_>,
        place: Option<i64>,
        now: Duration,
    ) -> rusqlite::Result<AdmissionResult> {
        let window = self.window;
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let standing = standing(&change, ask.account, place, window, now)?;
        let step = match when(standing, ask.limit, ask.tokens, window, now) {
            RateVerdict::Go => AdmissionResult::Go(go(&change, ask, place, now)?),
            RateVerdict::Wait(wait) => {
                let sleep = wait.sleep(now);
                let place = stay(&change, ask, place, now + sleep)?;
                AdmissionResult::Wait { place, wait, sleep }
            }
        };
        change.commit()?;
        if matches!(step, AdmissionResult::Wait { .. }) && now.saturating_sub(self.swept) >= SWEEP {
            self.sweep(now)?;
        }
        Ok(step)
    }

    /// Notes that the server has answered: it has counted the request, at the latest now.
    pub(super) fn heard(&self, request: i64, now: Duration) -> rusqlite::Result<()> {
        let mut update =
            self.connection.prepare_cached("UPDATE requests SET until = ?2 WHERE id = ?1 AND until IS NULL")?;
        update.execute(params![request, nanos(now + self.window + slack(self.window))]).map(drop)
    }

    /// Notes how many tokens the request used.
    pub(super) fn used(&self, request: i64, tokens: u64) -> rusqlite::Result<()> {
        let mut update = self.connection.prepare_cached("UPDATE requests SET tokens = ?2 WHERE id = ?1")?;
        update.execute(params![request, tokens.min(i64::MAX as u64) as i64]).map(drop)
    }

    /// Notes that the request is over.
    pub(super) fn end(&self, request: i64, now: Duration) -> rusqlite::Result<()> {
        let sql = "UPDATE requests SET is_open = 0, until = coalesce(until, ?2) WHERE id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![request, nanos(unheard(now, self.window))]).map(drop)
    }

    /// Gives up a place in the queue.
    pub(super) fn leave(&self, place: i64) -> rusqlite::Result<()> {
        self.connection.prepare_cached("DELETE FROM waiting WHERE id = ?1")?.execute([place]).map(drop)
    }

    /// Notes that no request of this account is sent before then.
    pub(super) fn pause(&self, account: &str, until: Duration) -> rusqlite::Result<()> {
        let sql = "INSERT INTO accounts(name, paused) VALUES(?1, ?2)
                   ON CONFLICT(name) DO UPDATE SET paused = max(paused, excluded.paused)";
        self.connection.prepare_cached(sql)?.execute(params![account, nanos(until)]).map(drop)
    }

    /// The pauses that are not over.
    pub(super) fn pauses(&self, now: Duration) -> rusqlite::Result<Vec<(String, Duration)>> {
        let mut select = self.connection.prepare_cached("SELECT name, paused FROM accounts WHERE paused > ?1")?;
        let pauses = select.query_map([nanos(now)], |row| Ok((row.get(0)?, believable(moment(row, 1)?, now))))?;
        pauses.collect()
    }

    /// Ends the requests of processes that were killed.
    fn sweep(&mut self, now: Duration) -> rusqlite::Result<()> {
        self.swept = now;
        let open: Vec<(String, Duration)> = {
            let sql = "SELECT process, max(at) FROM requests WHERE is_open = 1 OR until IS NULL GROUP BY process";
            let mut select = self.connection.prepare_cached(sql)?;
            select.query_map([], |row| Ok((row.get(0)?, moment(row, 1)?)))?.collect::<rusqlite::Result<_>>()?
        };
        for (process, at) in open {
            let is_gone = match process::life_of(&process) {
                ProcessLife::Alive => false,
                ProcessLife::Gone => true,
                ProcessLife::Unknown => now.saturating_sub(at) > LONGEST_REQUEST,
            };
            if is_gone {
                tracing::debug!(process, "ending the requests of a process that is gone");
                let sql = "UPDATE requests SET is_open = 0, until = coalesce(until, ?2)
                           WHERE process = ?1 AND (is_open = 1 OR until IS NULL)";
                self.connection.execute(sql, params![process, nanos(unheard(now, self.window))])?;
            }
        }
        Ok(())
    }
}

/// A margin, because our clock and the server's do not run at exactly the same speed, and the edges of a window may
/// belong to it.
fn slack(window: Duration) -> Duration {
    window / 200
}

/// Until when a request counts that ended without a response: parts of it may still arrive at the server.
fn unheard(end: Duration, window: Duration) -> Duration {
    end + window + window / 20
}

/// What a request with this place, or a new one at the end of the queue, has to wait for.
fn standing(
    change: &Transaction<'_>,
    account: &str,
    place: Option<i64>,
    window: Duration,
    now: Duration,
) -> rusqlite::Result<AccountState> {
    change
        .prepare_cached("DELETE FROM requests WHERE account = ?1 AND is_open = 0 AND until <= ?2")?
        .execute(params![account, nanos(now)])?;
    change.prepare_cached("DELETE FROM waiting WHERE due <= ?1")?.execute([nanos(now.saturating_sub(LOST))])?;

    let row = change
        .prepare_cached("SELECT last, paused FROM accounts WHERE name = ?1")?
        .query_row([account], |row| Ok((row.get::<_, Option<i64>>(0)?, moment(row, 1)?)))
        .optional()?;
    let (last, paused) = row.unwrap_or_default();

    let mut select = change.prepare_cached("SELECT until, tokens, is_open FROM requests WHERE account = ?1")?;
    let requests = select.query_map([account], |row| {
        let until: Option<i64> = row.get(0)?;
        let latest = unheard(now, window);
        Ok(EarlierRequest {
            until: until.map(|until| duration(until).min(latest)),
            tokens: row.get::<_, i64>(1)?.unsigned_abs(),
            is_open: row.get(2)?,
        })
    })?;

    let sql = "SELECT tokens FROM waiting WHERE account = ?1 AND id < ?2 AND due > ?3 ORDER BY id";
    let mut ahead = change.prepare_cached(sql)?;
    let late = nanos(now.saturating_sub(LATE));
    let ahead = ahead.query_map(params![account, place.unwrap_or(i64::MAX), late], |row| row.get::<_, i64>(0))?;

    Ok(AccountState {
        requests: requests.collect::<rusqlite::Result<_>>()?,
        ahead: ahead.map(|tokens| tokens.map(i64::unsigned_abs)).collect::<rusqlite::Result<_>>()?,
        last: last.map(duration),
        paused: believable(paused, now),
    })
}

fn go(change: &Transaction<'_>, ask: AdmissionRequest<'_>, place: Option<i64>, now: Duration) -> rusqlite::Result<i64> {
    if let Some(place) = place {
        change.prepare_cached("DELETE FROM waiting WHERE id = ?1")?.execute([place])?;
    }
    let last = "INSERT INTO accounts(name, last) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET last = excluded.last";
    change.prepare_cached(last)?.execute(params![ask.account, nanos(now)])?;
    let request = "INSERT INTO requests(account, process, at, tokens) VALUES(?1, ?2, ?3, ?4)";
    change.prepare_cached(request)?.insert(params![ask.account, process::own(), nanos(now), tokens(ask)])
}

fn stay(
    change: &Transaction<'_>,
    ask: AdmissionRequest<'_>,
    place: Option<i64>,
    due: Duration,
) -> rusqlite::Result<i64> {
    // A request that was taken for lost and comes back gets its old place again.
    let sql = "INSERT INTO waiting(id, account, tokens, due) VALUES(?1, ?2, ?3, ?4)
               ON CONFLICT(id) DO UPDATE SET due = excluded.due RETURNING id";
    change.prepare_cached(sql)?.query_row(params![place, ask.account, tokens(ask), nanos(due)], |row| row.get(0))
}

fn tokens(ask: AdmissionRequest<'_>) -> i64 {
    ask.tokens.min(i64::MAX as u64) as i64
}

/// A pause, limited to the longest possible: if the clock was set back, it would seem longer.
fn believable(paused: Duration, now: Duration) -> Duration {
    paused.min(now + LONGEST_PAUSE)
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    row.get(column).map(duration)
}

fn duration(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0) as u64)
}

fn nanos(moment: Duration) -> i64 {
    moment.as_nanos().min(i64::MAX as u128) as i64
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
