//! Finds out which processes are alive. A process is identified by its id, its start time, the machine's boot and its
//! pid namespace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use updraft_run::Timestamp;

/// How long a process that we cannot see may go without a heartbeat before it counts as gone: three beats, in
/// milliseconds.
const SILENCE: u64 = 15_000;

/// A day, in milliseconds.
const DAY: u64 = 86_400_000;

/// Identifies a process uniquely, even after a reboot or from another container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: u32,
    /// Clock ticks from boot to its start: a later process with the same id has another value.
    pub(crate) started: i64,
    pub(crate) boot: String,
    pub(crate) namespace: String,
}

/// This process. If the system does not tell (no `/proc`), the texts are empty and only heartbeats count.
pub(crate) fn own() -> &'static ProcessIdentity {
    static OWN: LazyLock<ProcessIdentity> = LazyLock::new(|| {
        let pid = std::process::id();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        ProcessIdentity {
            pid,
            started: start_of(pid).unwrap_or_default(),
            boot: boot.trim().to_owned(),
            namespace: namespace.to_string_lossy().into_owned(),
        }
    });
    &OWN
}

/// A process as its row in the journal describes it.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRow {
    pub(crate) id: i64,
    pub(crate) identity: ProcessIdentity,
    pub(crate) since: Timestamp,
    pub(crate) beat: Timestamp,
}

impl ProcessRow {
    /// Whether its row and all its leases can be removed: we can see that it is gone, or it sent no heartbeat for a
    /// day. A process that is only silent may come back (after the machine slept), so its leases are taken one by one,
    /// when needed.
    pub(crate) fn is_surely_gone(&self, journal: &Path, now: Timestamp) -> bool {
        let is_silent = now.0.abs_diff(self.beat.0) > DAY;
        !self.is_alive(journal, now) && (self.can_be_seen() || is_silent)
    }

    /// Whether it is still running. Checks the process itself if possible, otherwise its last heartbeat.
    pub(crate) fn is_alive(&self, journal: &Path, now: Timestamp) -> bool {
        let (own, other) = (own(), &self.identity);
        if !self.can_be_seen() {
            // A heartbeat from the future means that the clock was set back, not that the process is alive.
            return now.0.abs_diff(self.beat.0) <= SILENCE;
        }
        if own == other {
            return here().contains(&(journal.to_path_buf(), self.id));
        }
        start_of(other.pid) == Some(other.started)
    }

    /// Whether it was started under the same boot and in the same namespace as this process.
    fn can_be_seen(&self) -> bool {
        let (own, other) = (own(), &self.identity);
        !own.boot.is_empty() && own.boot == other.boot && own.namespace == other.namespace
    }
}

/// When a process started. Returns `None` if it does not exist or has ended.
fn start_of(pid: u32) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    started_in(&stat)
}

/// Field 22 of `/proc/PID/stat`. Returns `None` for a zombie process.
fn started_in(stat: &str) -> Option<i64> {
    // The name in parentheses may contain anything, including parentheses and spaces.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" | "x" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

type PresentRows = BTreeSet<(PathBuf, i64)>;

/// The rows of writers in this process. A writer that was dropped is gone although the process is alive.
fn here() -> std::sync::MutexGuard<'static, PresentRows> {
    static HERE: Mutex<PresentRows> = Mutex::new(BTreeSet::new());
    HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this exists, the row counts as alive.
#[derive(Debug)]
pub(crate) struct Presence(PathBuf, i64);

impl Presence {
    pub(crate) fn of(journal: &Path, id: i64) -> Self {
        here().insert((journal.to_path_buf(), id));
        Self(journal.to_path_buf(), id)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        here().remove(&(self.0.clone(), self.1));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const STAT: &str = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2";

    #[test]
    fn a_start_time_is_found_behind_a_name_full_of_parentheses() {
        assert_eq!(started_in(STAT), Some(987_654));
    }

    #[test]
    fn a_zombie_has_ended() {
        assert_eq!(started_in(&STAT.replace(" S ", " Z ")), None);
    }

    #[test]
    fn a_process_of_another_machine_lives_as_long_as_it_beats() {
        let identity = ProcessIdentity { boot: "elsewhere".into(), ..own().clone() };
        let known = ProcessRow { id: 1, identity, since: Timestamp(0), beat: Timestamp(100_000) };
        let alive = |now| known.is_alive(Path::new("j.db"), Timestamp(now));
        assert!(alive(100_000) && alive(115_000));
        assert!(!alive(115_001));
        assert!(!alive(50_000), "a beat from far in the future");
    }

    #[test]
    fn a_process_of_this_machine_lives_as_long_as_it_is_there_however_long_it_is_silent() {
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get() as u32;
        let started = start_of(parent).unwrap();
        let known = |started| ProcessRow {
            id: 1,
            identity: ProcessIdentity { pid: parent, started, ..own().clone() },
            since: Timestamp(0),
            beat: Timestamp(0),
        };
        assert!(known(started).is_alive(Path::new("j.db"), Timestamp(i64::MAX)));
        assert!(!known(started + 1).is_alive(Path::new("j.db"), Timestamp(0)), "the id was given to another process");
    }
}
