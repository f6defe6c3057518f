//! Times in the five fields of cron: minute, hour, day of the month, month, day of the week.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Words that stand for five fields.
const WORDS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// How many days are looked at for the next time: the 29th of February comes after eight years at most.
const FARTHEST: usize = 366 * 9;

/// When something is due. Each field is a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CronTimes {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// If both kinds of days are limited, either is enough.
    is_either_day: bool,
}

impl CronTimes {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let meant = WORDS.iter().find(|(word, _)| *word == text.trim()).map_or(text, |(_, fields)| fields);
        let fields: Vec<&str> = meant.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(format!(
                "`{text}` has {} fields; expected five: minute, hour, day of the month, month, day of the week (\"0 7 * * *\")",
                fields.len()
            ));
        };
        let mut weekday_bits = field("day of the week", weekdays, 0, 7, &DAYS)?;
        // Sunday is 0 and 7.
        weekday_bits = (weekday_bits | (weekday_bits >> 7)) & 0x7f;
        let times = Self {
            minutes: field("minute", minutes, 0, 59, &[])?,
            hours: field("hour", hours, 0, 23, &[])?,
            days: field("day of the month", days, 1, 31, &[])?,
            months: field("month", months, 1, 12, &MONTHS)?,
            weekdays: weekday_bits,
            is_either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        };
        let zone = TimeZone::UTC;
        match times.next_after(Timestamp::UNIX_EPOCH, &zone) {
            Some(_) => Ok(times),
            None => Err(format!("`{text}` is never due")),
        }
    }

    /// The first time after this one. A local time that a change of the clock leaves out counts at the moment after the change,
    /// and one that occurs twice counts once.
    pub(crate) fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let local = after.to_zoned(zone.clone()).datetime();
        let mut date = local.date();
        for _ in 0..FARTHEST {
            if self.has_day(date) {
                let at = |time: Time| zone.to_timestamp(date.to_datetime(time)).ok();
                if let Some(found) = self.times().filter_map(at).find(|at| *at > after) {
                    return Some(found);
                }
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let is_in = |set: u64, value: i8| value >= 0 && set & (1 << value) != 0;
        let (day, weekday) =
            (is_in(self.days, date.day()), is_in(self.weekdays, date.weekday().to_sunday_zero_offset()));
        is_in(self.months, date.month()) && if self.is_either_day { day || weekday } else { day && weekday }
    }

    fn times(&self) -> impl Iterator<Item = Time> {
        let own = *self;
        let hours = (0..24_i8).filter(move |hour| own.hours & (1 << hour) != 0);
        hours.flat_map(move |hour| {
            let minutes = (0..60_i8).filter(move |minute| own.minutes & (1 << minute) != 0);
            minutes.map(move |minute| jiff::civil::time(hour, minute, 0, 0))
        })
    }
}

/// Reads one field: `*`, `5`, `1-5`, `*/15`, `10-30/5`, names, and lists of them.
fn field(what: &str, text: &str, least: u64, most: u64, names: &[&str]) -> Result<u64, String> {
    let wrong =
        || format!("`{text}` is not a {what}; expected from {least} to {most}, `*`, `1-5`, `*/2` or a list of them");
    let value = |word: &str| {
        let named = names.iter().position(|name| word.eq_ignore_ascii_case(name)).map(|at| at as u64);
        // Months begin with 1.
        let value = named.map(|at| at + least).or_else(|| word.parse().ok()).ok_or_else(wrong)?;
        if (least..=most).contains(&value) { Ok(value) } else { Err(wrong()) }
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step: u64 = step.map_or(Ok(1), str::parse).ok().filter(|step| *step > 0).ok_or_else(wrong)?;
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (least, most),
            (_, Some((from, to))) => (value(from)?, value(to)?),
            (one, None) if part.contains('/') => (value(one)?, most),
            (one, None) => (value(one)?, value(one)?),
        };
        if from > to {
            return Err(wrong());
        }
        (from..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).for_each(|at| set |= 1 << at);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(cron: &str, after: &str, zone: &str) -> String {
        let zone = if zone.is_empty() { TimeZone::UTC } else { TimeZone::posix(zone).unwrap() };
        let found = CronTimes::parse(cron).unwrap().next_after(after.parse().unwrap(), &zone).unwrap();
        found.to_zoned(zone).strftime("%Y-%m-%d %H:%M%:z").to_string()
    }

    #[test]
    fn the_next_time_is_found() {
        let next = |cron, after| next(cron, after, "");
        assert_eq!(next("0 7 * * *", "2026-03-01T06:59:59Z"), "2026-03-01 07:00+00:00");
        assert_eq!(next("0 7 * * *", "2026-03-01T07:00:00Z"), "2026-03-02 07:00+00:00");
        assert_eq!(next("*/15 9-17 * * mon-fri", "2026-03-06T17:50:00Z"), "2026-03-09 09:00+00:00");
        assert_eq!(next("30 4 1,15 * 5", "2026-03-02T00:00:00Z"), "2026-03-06 04:30+00:00", "either kind of day");
        assert_eq!(next("0 0 29 feb *", "2026-03-02T00:00:00Z"), "2028-02-29 00:00+00:00");
        assert_eq!(next("0 0 * * 7", "2026-03-02T00:00:00Z"), "2026-03-08 00:00+00:00", "7 is Sunday");
        assert_eq!(next("@monthly", "2026-12-31T23:59:00Z"), "2027-01-01 00:00+00:00");
        assert_eq!(next("50/5 23 * * *", "2026-12-31T23:55:00Z"), "2027-01-01 23:50+00:00");
    }

    #[test]
    fn the_clock_of_the_zone_counts_also_when_it_changes() {
        const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
        let next = |cron, after| next(cron, after, BERLIN);
        assert_eq!(next("0 7 * * *", "2026-03-28T06:00:00Z"), "2026-03-29 07:00+02:00");
        assert_eq!(next("30 2 * * *", "2026-03-28T12:00:00Z"), "2026-03-29 03:30+02:00", "there is no 02:30");
        assert_eq!(next("30 2 * * *", "2026-10-24T12:00:00Z"), "2026-10-25 02:30+02:00");
        assert_eq!(
            next("30 2 * * *", "2026-10-25T00:30:00Z"),
            "2026-10-26 02:30+01:00",
            "it occurs twice and counts once"
        );
    }

    #[test]
    fn what_is_no_time_is_named() {
        let wrong = [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
        ];
        for text in wrong.into_iter().chain(["a * * * *", "* * * * * *", "0 0 30 2 *", "1,, * * * *"]) {
            assert!(CronTimes::parse(text).is_err(), "{text}");
        }
        assert!(CronTimes::parse("0 0 30 2 *").unwrap_err().contains("never due"));
    }
}
