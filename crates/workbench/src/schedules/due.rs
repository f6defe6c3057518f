//! Which runs of a schedule are due at a moment, which times were missed, and which overlap. Decides without a clock.

use serde::{Deserialize, Serialize};
use updraft_journal::hash_of;
use updraft_run::{RunId, Timestamp};

use super::{MissedPolicy, OverlapPolicy, Schedule, ScheduleTiming};

/// A time is missed if nobody looked within this many milliseconds.
const GRACE: i64 = 60_000;
/// If the next time is this many milliseconds behind those that should come first, the clock was set back.
const SET_BACK: i64 = 3_600_000;
/// Times are counted up to this number.
const COUNTED: usize = 1_000;
/// The most runs that wait for others to end.
const WAITING: usize = 100;
/// The most notes that are kept.
const NOTES: usize = 20;

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueRun {
    /// When it was due.
    pub due: Timestamp,
    /// The run's id, which follows from the schedule and the time.
    pub run: RunId,
    /// A person wants it now, so it waits for no other.
    #[serde(default)]
    pub now: bool,
}

/// Something that happened to a schedule, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleNote {
    /// When it was noticed.
    pub at: Timestamp,
    /// What.
    pub text: String,
}

impl Schedule {
    /// Claims what is due: moves on to the next time, adds the run that is to begin, and notes what was missed or left out.
    /// `is_busy` says that its last run has not ended. Returns the notes.
    pub(crate) fn claim(&mut self, now: Timestamp, is_busy: bool) -> Vec<String> {
        if let Some(next) = self.next_after_set_back(now) {
            self.next = Some(next);
            let text = format!("the clock was set back; next at {}", self.local(next));
            self.note(now, text.clone());
            return vec![text];
        }
        let Some(first) = self.next.filter(|next| !self.paused && *next <= now) else { return Vec::new() };
        let (zone, mut said) = (self.times(), Vec::new());
        let (count, last) = self.due_times(first, now, &zone);
        self.next = self.timing.next_after(now, &zone, self.created);
        let is_on_time = now.0.saturating_sub(last.0) <= self.grace();
        let is_capped = count == COUNTED;
        let missed = count - usize::from(is_on_time && !is_capped);
        let makes_up = self.missed == MissedPolicy::RunOnce;
        if missed > 0 {
            let times = match missed {
                1 => format!("the time {} was missed", self.local(first)),
                n => {
                    let at_least = if is_capped { "at least " } else { "" };
                    format!("{at_least}{n} times since {} were missed", self.local(first))
                }
            };
            let how = match (makes_up, is_on_time) {
                (false, _) => "skipped",
                (true, true) => "made up for by the run that is due now",
                (true, false) => "made up for by one run",
            };
            said.push(format!("{times}; {how}"));
        }
        if is_on_time || makes_up {
            said.extend(self.add_run(last, is_busy));
        }
        for text in &said {
            self.note(now, text.clone());
        }
        said
    }

    /// Whether something is to be claimed.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let is_reached = !self.paused && self.next.is_some_and(|next| next <= now);
        is_reached || self.next_after_set_back(now).is_some()
    }

    /// The next time, if the one that was found is far behind it: a clock that was years ahead for a moment, as at the start of a
    /// machine without battery, must not silence a schedule for years. A time that comes a second time has its run already.
    fn next_after_set_back(&self, now: Timestamp) -> Option<Timestamp> {
        let known = self.next.filter(|_| !self.paused)?;
        let (zone, created) = (self.times(), self.created.min(now));
        let next = self.timing.next_after(now, &zone, created)?;
        // A clock that is corrected by seconds may pass one time again.
        let second = self.timing.next_after(next, &zone, created)?;
        (known.0.saturating_sub(second.0) > SET_BACK).then_some(next)
    }

    /// Adds the run of a time, or says why not.
    fn add_run(&mut self, due: Timestamp, is_busy: bool) -> Option<String> {
        let run = self.run_at(due);
        let earlier = self.last.as_ref().map(|last| last.run.as_str()).unwrap_or_default();
        match self.overlap {
            OverlapPolicy::Skip if is_busy => {
                Some(format!("the time {} was skipped: run {earlier} has not ended", self.local(due)))
            }
            OverlapPolicy::Skip if !self.waiting.is_empty() => {
                Some(format!("the time {} was skipped: an earlier run has not begun", self.local(due)))
            }
            OverlapPolicy::Queue if self.waiting.len() >= WAITING => {
                Some(format!("the time {} was skipped: {WAITING} runs are waiting", self.local(due)))
            }
            OverlapPolicy::Skip | OverlapPolicy::Queue => {
                self.waiting.push(DueRun { due, run, now: false });
                None
            }
        }
    }

    /// Adds a run that a person wants now, unless too many wait.
    pub fn run_now(&mut self, now: Timestamp) -> Option<DueRun> {
        let due = DueRun { due: now, run: self.run_at(now), now: true };
        let has_room = self.waiting.len() < WAITING;
        has_room.then(|| self.waiting.push(due.clone()))?;
        Some(due)
    }

    /// The run that begins next, if any does. While it is paused, only what a person wants now begins.
    pub(crate) fn ready(&self, is_busy: bool) -> Option<&DueRun> {
        self.waiting.iter().find(|due| due.now || !(is_busy || self.paused))
    }

    /// Records that a run has begun, or why it could not. Another server may have recorded it already, and others since; returns
    /// whether it is news.
    pub(crate) fn begun(&mut self, due: &DueRun, failed: Option<&str>, now: Timestamp) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|own| own.run != due.run);
        let is_news = self.waiting.len() < before;
        match failed.filter(|_| is_news) {
            None if is_news => self.last = Some(due.clone()),
            None => {}
            Some(why) => self.note(now, format!("the run due at {} did not begin: {why}", self.local(due.due))),
        }
        is_news
    }

    fn note(&mut self, at: Timestamp, text: String) {
        self.notes.push(ScheduleNote { at, text });
        let more = self.notes.len().saturating_sub(NOTES);
        self.notes.drain(..more);
    }

    /// The id of the run of a time: always the same, so that there is one run for each.
    fn run_at(&self, due: Timestamp) -> RunId {
        let hash = hash_of(format!("{} {}", self.secret, due.0).as_bytes()).0;
        let mut bits = [0; 10];
        bits.copy_from_slice(&hash[..10]);
        RunId::from_bits(bits)
    }

    /// How many times are due from the first to now, and the last of them.
    fn due_times(&self, first: Timestamp, now: Timestamp, zone: &jiff::tz::TimeZone) -> (usize, Timestamp) {
        let next = |after| self.timing.next_after(after, zone, self.created).filter(|next| *next <= now);
        let count = std::iter::successors(Some(first), |at| next(*at)).take(COUNTED).count();
        // From a moment shortly before now, so that a year of minutes is not gone through.
        let windows = [3_600_000, 86_400_000, 32 * 86_400_000, 370 * 86_400_000].map(|ago| Timestamp(now.0 - ago));
        let near = windows.into_iter().find_map(|from| next(from.max(Timestamp(first.0 - 1))));
        let last = std::iter::successors(near, |at| next(*at)).take(100_000).last();
        (count, last.unwrap_or(first))
    }

    fn grace(&self) -> i64 {
        match self.timing {
            ScheduleTiming::Cron(_) => GRACE,
            ScheduleTiming::Every(millis) => i64::try_from(millis).map_or(GRACE, |every| every.min(GRACE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NewSchedule;
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn daily(missed: MissedPolicy, overlap: OverlapPolicy) -> Schedule {
        let new = NewSchedule {
            name: Some("daily".into()),
            cron: Some("0 7 * * *".into()),
            zone: Some("UTC".into()),
            missed,
            overlap,
            ..NewSchedule::default()
        };
        Schedule::new(new, at("2026-03-01T12:00:00Z")).unwrap()
    }

    fn dues(schedule: &Schedule) -> Vec<Timestamp> {
        schedule.waiting.iter().map(|due| due.due).collect()
    }

    #[test]
    fn each_time_is_claimed_once() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        assert!(own.claim(at("2026-03-02T06:59:59Z"), false).is_empty() && own.waiting.is_empty());
        assert!(own.claim(at("2026-03-02T07:00:01Z"), false).is_empty());
        assert_eq!(dues(&own), [at("2026-03-02T07:00:00Z")]);
        // After a kill, what was claimed is as it was, and its run has the same id.
        let again: Schedule = serde_json::from_str(&serde_json::to_string(&own).unwrap()).unwrap();
        assert_eq!(again.waiting[0].run, own.run_at(at("2026-03-02T07:00:00Z")));
        assert!(own.claim(at("2026-03-02T07:00:02Z"), false).is_empty());
        assert_eq!(own.waiting.len(), 1);
        let due = own.ready(false).unwrap().clone();
        own.begun(&due, None, at("2026-03-02T07:00:02Z"));
        assert_eq!((own.last.as_ref(), own.waiting.len()), (Some(&due), 0));
        assert_eq!(own.next, Some(at("2026-03-03T07:00:00Z")));
    }

    #[test]
    fn missed_times_are_said_and_made_up_for_once_or_skipped() {
        let later = at("2026-03-05T09:00:00Z");
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        let said = own.claim(later, false);
        assert_eq!(said, ["4 times since 2026-03-02 07:00 UTC were missed; made up for by one run"]);
        assert_eq!(dues(&own), [at("2026-03-05T07:00:00Z")]);
        assert_eq!(own.notes[0].text, said[0]);
        let mut own = daily(MissedPolicy::Skip, OverlapPolicy::Skip);
        assert_eq!(own.claim(later, false), ["4 times since 2026-03-02 07:00 UTC were missed; skipped"]);
        assert_eq!((dues(&own), own.next), (Vec::new(), Some(at("2026-03-06T07:00:00Z"))));
        let mut own = daily(MissedPolicy::Skip, OverlapPolicy::Skip);
        let said = own.claim(at("2026-03-03T07:00:10Z"), false);
        assert_eq!(said, ["the time 2026-03-02 07:00 UTC was missed; skipped"]);
        assert_eq!(dues(&own), [at("2026-03-03T07:00:00Z")], "the one that is due now is not missed");
        // A server that comes back after years does not go through all of them.
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        assert!(own.claim(at("2036-03-05T09:00:00Z"), false)[0].starts_with("at least 1000 times"));
        assert_eq!(dues(&own), [at("2036-03-05T07:00:00Z")]);
    }

    #[test]
    fn times_that_overlap_are_skipped_or_wait() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        own.last = Some(DueRun { due: at("2026-03-01T07:00:00Z"), run: RunId::parse("busy").unwrap(), now: false });
        let said = own.claim(at("2026-03-02T07:00:00Z"), true);
        assert_eq!(said, ["the time 2026-03-02 07:00 UTC was skipped: run busy has not ended"]);
        assert!(own.waiting.is_empty());
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Queue);
        for day in ["2026-03-02T07:00:00Z", "2026-03-03T07:00:00Z"] {
            assert!(own.claim(at(day), true).is_empty());
        }
        assert_eq!(own.waiting.len(), 2);
        assert_eq!((own.ready(true), own.ready(false).map(|due| due.due)), (None, Some(at("2026-03-02T07:00:00Z"))));
        let wanted = own.run_now(at("2026-03-03T08:00:00Z")).unwrap();
        assert_eq!(own.ready(true), Some(&wanted), "a person does not wait for others");
    }

    #[test]
    fn nothing_begins_during_a_pause_but_what_a_person_wants() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Queue);
        own.claim(at("2026-03-02T07:00:00Z"), true);
        own.pause(true, at("2026-03-02T08:00:00Z"));
        assert_eq!(own.ready(false), None, "what waited begins after the pause");
        let wanted = own.run_now(at("2026-03-02T09:00:00Z")).unwrap();
        assert_eq!(own.ready(true), Some(&wanted));
        own.begun(&wanted, None, at("2026-03-02T09:00:01Z"));
        own.pause(false, at("2026-03-02T10:00:00Z"));
        assert_eq!(own.ready(false).map(|due| due.due), Some(at("2026-03-02T07:00:00Z")));
    }

    #[test]
    fn a_server_that_is_slow_to_record_a_run_changes_nothing() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        own.claim(at("2026-03-02T07:00:00Z"), false);
        let first = own.ready(false).unwrap().clone();
        own.begun(&first, None, at("2026-03-02T07:00:01Z"));
        own.claim(at("2026-03-03T07:00:00Z"), false);
        let second = own.ready(false).unwrap().clone();
        own.begun(&second, None, at("2026-03-03T07:00:01Z"));
        // Another server began the first one too, and says so only now.
        assert!(!own.begun(&first, None, at("2026-03-03T07:00:02Z")));
        assert!(!own.begun(&first, Some("it is there already"), at("2026-03-03T07:00:02Z")));
        assert_eq!((own.last.as_ref(), own.notes.len()), (Some(&second), 0));
    }

    #[test]
    fn a_person_cannot_fill_the_list_of_runs_that_wait() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        let begun = (0..1_000).filter_map(|n| own.run_now(Timestamp(n))).count();
        assert_eq!((begun, own.waiting.len()), (WAITING, WAITING));
    }

    #[test]
    fn a_clock_that_was_ahead_for_a_moment_does_not_silence_a_schedule() {
        let mut own = daily(MissedPolicy::Skip, OverlapPolicy::Skip);
        assert_eq!(own.claim(at("2036-03-05T09:00:00Z"), false).len(), 1);
        let back = at("2026-03-03T09:00:00Z");
        assert!(own.is_due(back));
        assert_eq!(own.claim(back, false), ["the clock was set back; next at 2026-03-04 07:00 UTC"]);
        assert!(!own.is_due(back) && own.claim(back, false).is_empty());
        own.claim(at("2026-03-04T07:00:00Z"), false);
        assert_eq!(dues(&own), [at("2026-03-04T07:00:00Z")]);
        // Seconds are nothing.
        assert!(!own.is_due(at("2026-03-04T06:59:55Z")));
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let mut own = daily(MissedPolicy::RunOnce, OverlapPolicy::Skip);
        own.pause(true, at("2026-03-01T13:00:00Z"));
        assert!(own.claim(at("2026-03-04T08:00:00Z"), false).is_empty() && own.next_times(3).is_empty());
        own.pause(false, at("2026-03-04T08:00:00Z"));
        assert_eq!(own.next_times(2), [at("2026-03-05T07:00:00Z"), at("2026-03-06T07:00:00Z")]);
    }
}
