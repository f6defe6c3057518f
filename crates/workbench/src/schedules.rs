//! Schedules: goals and recipes that begin by themselves at certain times, stored with the journal, one list for each workspace.
//!
//! | file | what it is about |
//! |---|---|
//! | `cron.rs` | times in the five fields of cron |
//! | `due.rs` | which runs are due at a moment, which were missed, which overlap |
//! | `work.rs` | what is done then |
//! | `../service/scheduler.rs` | carries them out while a server is open |

mod cron;
mod due;
mod work;

use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use updraft_journal::{Change, Journal, StoredValue};
use updraft_run::Timestamp;

use crate::fault::Fault;
use crate::folders::unguessable;
use crate::time_format;
use cron::CronTimes;
pub use due::{DueRun, ScheduleNote};
pub use work::ScheduleWork;

/// Where they are stored: the scope is this and the workspace.
const SCOPE: &str = "schedules:";
const KEY: &str = "all";
/// The time zone of this machine, whatever it is then.
const SYSTEM: &str = "system";
/// The shortest interval.
const SHORTEST: Duration = Duration::from_secs(1);
/// The most schedules of a workspace.
const MOST: usize = 1_000;

/// A goal or a recipe that begins by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name, unique in the workspace.
    pub name: String,
    /// What the ids of its runs are made from, so that they cannot be guessed and each time has one.
    secret: String,
    /// When it is due.
    pub timing: ScheduleTiming,
    /// The time zone of the times, by its name.
    pub zone: String,
    /// What is done.
    pub work: ScheduleWork,
    /// What becomes of times at which no server was there.
    pub missed: MissedPolicy,
    /// What becomes of times at which its last run has not ended.
    pub overlap: OverlapPolicy,
    /// Nothing is due until it is resumed.
    pub paused: bool,
    /// When it was made.
    pub created: Timestamp,
    /// When it is due next.
    pub next: Option<Timestamp>,
    /// Runs that are due and have not begun, oldest first.
    #[serde(default)]
    pub waiting: Vec<DueRun>,
    /// The run that began last.
    #[serde(default)]
    pub last: Option<DueRun>,
    /// What happened to it lately besides runs that began, newest last.
    #[serde(default)]
    pub notes: Vec<ScheduleNote>,
}

/// When a schedule is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleTiming {
    /// At the times of five cron fields.
    Cron(String),
    /// Again and again after this many milliseconds.
    Every(u64),
}

/// What becomes of times at which no server was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedPolicy {
    /// One run makes up for all of them.
    #[default]
    RunOnce,
    /// They are left out.
    Skip,
}

/// What becomes of times at which the last run has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapPolicy {
    /// They are left out.
    #[default]
    Skip,
    /// Their runs begin one after the other.
    Queue,
}

/// What a new schedule is made from.
#[derive(Clone, Debug, Default)]
pub struct NewSchedule {
    /// Its name; without one, it gets a number.
    pub name: Option<String>,
    /// Five cron fields.
    pub cron: Option<String>,
    /// The interval, if it has no cron fields.
    pub every: Option<Duration>,
    /// The name of the time zone; that of this machine without one.
    pub zone: Option<String>,
    /// What is done.
    pub work: ScheduleWork,
    /// What becomes of times at which no server was there.
    pub missed: MissedPolicy,
    /// What becomes of times at which the last run has not ended.
    pub overlap: OverlapPolicy,
}

impl ScheduleTiming {
    /// The first time after this one.
    fn next_after(&self, after: Timestamp, zone: &TimeZone, created: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(text) => {
                let after = jiff::Timestamp::from_millisecond(after.0).ok()?;
                let next = CronTimes::parse(text).ok()?.next_after(after, zone)?;
                Some(Timestamp(next.as_millisecond()))
            }
            Self::Every(millis) => {
                let every = i64::try_from((*millis).max(1)).ok()?;
                let past = after.0.saturating_sub(created.0).max(0);
                Some(Timestamp(created.0.checked_add((past / every + 1).checked_mul(every)?)?))
            }
        }
    }

    /// In words for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Cron(text) => text.clone(),
            Self::Every(millis) => format!("every {}", time_format::length(updraft_run::Millis(*millis))),
        }
    }
}

impl Schedule {
    /// Makes a schedule, unless its times or its name are wrong.
    pub fn new(new: NewSchedule, now: Timestamp) -> Result<Self, Fault> {
        let NewSchedule { name, cron, every, zone, work, missed, overlap } = new;
        let timing = match (cron, every) {
            (Some(cron), None) => {
                CronTimes::parse(&cron).map_err(Fault::usage)?;
                ScheduleTiming::Cron(cron)
            }
            (None, Some(every)) if every < SHORTEST => {
                return Err(Fault::usage("the interval is too short; expected at least 1s"));
            }
            (None, Some(every)) => ScheduleTiming::Every(every.as_millis() as u64),
            _ => return Err(Fault::usage("expected either five cron fields or an interval")),
        };
        let own_zone = || TimeZone::system().iana_name().unwrap_or(SYSTEM).to_owned();
        let zone = zone.unwrap_or_else(own_zone);
        let times = zone_named(&zone)?;
        if let Some(name) = &name {
            let is_fine = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
            if !(1..=64).contains(&name.len()) || !name.chars().all(is_fine) {
                return Err(Fault::usage(format!("`{name}` cannot be a name; use letters, digits, `-` and `_`")));
            }
        }
        let next = timing.next_after(now, &times, now);
        Ok(Self {
            name: name.unwrap_or_default(),
            secret: unguessable(16).map_err(Fault::failed)?,
            timing,
            zone,
            work,
            missed,
            overlap,
            paused: false,
            created: now,
            next,
            waiting: Vec::new(),
            last: None,
            notes: Vec::new(),
        })
    }

    fn times(&self) -> TimeZone {
        // A zone that is gone from this machine is better than none.
        zone_named(&self.zone).unwrap_or_else(|_| TimeZone::system())
    }

    /// The next times, at most this many.
    pub fn next_times(&self, most: usize) -> Vec<Timestamp> {
        let (zone, mut times) = (self.times(), Vec::new());
        let mut at = self.next.filter(|_| !self.paused);
        while let Some(time) = at.filter(|_| times.len() < most) {
            times.push(time);
            at = self.timing.next_after(time, &zone, self.created);
        }
        times
    }

    /// A time in its zone: `2026-07-01 07:00 Europe/Berlin`.
    pub fn local(&self, at: Timestamp) -> String {
        let Ok(at) = jiff::Timestamp::from_millisecond(at.0) else { return "?".to_owned() };
        let form = if matches!(self.timing, ScheduleTiming::Cron(_)) { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d %H:%M:%S" };
        let zone = if self.zone == SYSTEM { "" } else { self.zone.as_str() };
        format!("{} {zone}", at.to_zoned(self.times()).strftime(form)).trim_end().to_owned()
    }

    /// Stops it until it is resumed, or resumes it. Times in between are not made up for.
    pub fn pause(&mut self, paused: bool, now: Timestamp) {
        if self.paused && !paused {
            self.next = self.timing.next_after(now, &self.times(), self.created);
        }
        self.paused = paused;
    }
}

fn zone_named(name: &str) -> Result<TimeZone, Fault> {
    if name == SYSTEM {
        return Ok(TimeZone::system());
    }
    TimeZone::get(name).map_err(|error| {
        Fault::usage(format!("the time zone `{name}` is not known here: {error}"))
            .hint("expected for instance Europe/Berlin or UTC")
    })
}

/// The schedules of a workspace. Blocks on the disk.
pub fn list(journal: &Journal, workspace: &Path) -> Result<Vec<Schedule>, Fault> {
    read(journal.stored(&scope(workspace), KEY)?.as_ref()).map_err(Fault::failed)
}

/// The workspaces that have schedules. Blocks on the disk.
pub fn workspaces(journal: &Journal) -> Result<Vec<String>, Fault> {
    let scopes = journal.stored_scopes(SCOPE)?;
    Ok(scopes.into_iter().filter_map(|scope| Some(scope.strip_prefix(SCOPE)?.to_owned())).collect())
}

/// Adds a schedule and returns it with its name.
pub async fn add(journal: &Journal, workspace: &Path, schedule: Schedule) -> Result<Schedule, Fault> {
    let added = change(journal, workspace, move |all| {
        let mut own = schedule.clone();
        if all.len() >= MOST {
            return Err(format!("there are {MOST} schedules already"));
        }
        if own.name.is_empty() {
            let is_free = |name: &String| all.iter().all(|one| one.name != *name);
            own.name = (1..=MOST + 1).map(|n| format!("s{n}")).find(is_free).unwrap_or_default();
        }
        if all.iter().any(|one| one.name == own.name) {
            return Err(format!("there is a schedule `{}` already", own.name));
        }
        all.push(own.clone());
        Ok(own)
    });
    added.await?.map_err(Fault::usage)
}

/// Changes one schedule; fails if there is none of that name.
pub async fn change_one<T: Send + 'static>(
    journal: &Journal,
    workspace: &Path,
    name: &str,
    change_it: impl Fn(&mut Schedule) -> T + Send + 'static,
) -> Result<T, Fault> {
    let wanted = name.to_owned();
    let changed = change(journal, workspace, move |all| {
        let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
        all.iter_mut().find(|one| one.name == wanted).map(&change_it).ok_or(names)
    });
    changed.await?.map_err(|names| unknown(name, &names))
}

/// Removes a schedule. Runs that have begun go on.
pub async fn remove(journal: &Journal, workspace: &Path, name: &str) -> Result<(), Fault> {
    let wanted = name.to_owned();
    let removed = change(journal, workspace, move |all| {
        let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
        all.retain(|one| one.name != wanted);
        if all.len() < names.len() { Ok(()) } else { Err(names) }
    });
    removed.await?.map_err(|names| unknown(name, &names))
}

/// Changes the list in one transaction. The closure may be called again.
pub(crate) async fn change<T: Send + 'static>(
    journal: &Journal,
    workspace: &Path,
    change_all: impl Fn(&mut Vec<Schedule>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let scope = scope(workspace);
    let changed = journal.change_stored(&scope, KEY, move |stored| {
        let before = match read(stored.as_ref()) {
            Ok(before) => before,
            // What cannot be read is not written over.
            Err(why) => return (Change::Nothing, Err(why)),
        };
        let mut all = before.clone();
        let answer = change_all(&mut all);
        let change = match serde_json::to_string(&all) {
            _ if all == before => Change::Nothing,
            _ if all.is_empty() => Change::Remove,
            Ok(text) => Change::Set(text),
            Err(_) => Change::Nothing,
        };
        (change, Ok(answer))
    });
    changed.await?.map_err(Fault::failed)
}

fn scope(workspace: &Path) -> String {
    format!("{SCOPE}{}", workspace.display())
}

fn read(stored: Option<&StoredValue>) -> Result<Vec<Schedule>, String> {
    let Some(stored) = stored else { return Ok(Vec::new()) };
    let why = |error| format!("the schedules cannot be read; a newer version may have written them: {error}");
    serde_json::from_str(&stored.value).map_err(why)
}

fn unknown(name: &str, names: &[String]) -> Fault {
    let hint = match names {
        [] => "`updraft schedule` makes one; schedules belong to a folder, which --workspace names".to_owned(),
        names => format!("known are {}", names.join(", ")),
    };
    Fault::usage(format!("there is no schedule `{name}` in this folder")).hint(hint)
}
