//! Times, durations and counts, as people write and read them.

use std::time::{Duration, SystemTime};

use updraft_run::{Millis, Timestamp};

/// The current time.
pub fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// A moment as files have it.
pub(crate) fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.0.try_into().unwrap_or_default())
}

/// Reads a duration: `90`, `90s`, `1h30m`, `2d`, `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; expected for instance `90s`, `10m`, `1h30m` or `2d`");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let seconds = match unit.trim() {
            "ms" => 0.001,
            "" | "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            _ => return Err(wrong()),
        };
        total += number * seconds;
        rest = tail;
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// Reads a point in time: a duration ago (`2h`), `today`, `yesterday`, a date, or a date and time.
pub fn ago(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    let zoned = jiff::Zoned::now();
    let midnight = |date: jiff::civil::Date| {
        let at = date.to_zoned(zoned.time_zone().clone()).map_err(|error| error.to_string())?;
        Ok(Timestamp(at.timestamp().as_millisecond()))
    };
    match text {
        "now" => return Ok(now()),
        "today" => return midnight(zoned.date()),
        "yesterday" => return midnight(zoned.date().yesterday().map_err(|error| error.to_string())?),
        _ => {}
    }
    if let Ok(length) = duration(text) {
        return Ok(Timestamp(now().0.saturating_sub(i64::try_from(length.as_millis()).unwrap_or(i64::MAX))));
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp(at.as_millisecond()));
    }
    if let Ok(at) = text.parse::<jiff::civil::DateTime>()
        && let Ok(at) = at.to_zoned(zoned.time_zone().clone())
    {
        return Ok(Timestamp(at.timestamp().as_millisecond()));
    }
    Err(format!(
        "`{text}` is not a time; expected for instance `2h` (ago), `yesterday`, `2026-07-01` or `2026-07-01T12:00`"
    ))
}

fn civil(at: Timestamp) -> Option<jiff::Zoned> {
    Some(jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(jiff::tz::TimeZone::system()))
}

/// Reads a time as programs write it: ISO 8601, in UTC if there is no zone.
pub fn read(text: &str) -> Option<Timestamp> {
    let at = text.parse::<jiff::Timestamp>().ok();
    let civil = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    at.or_else(|| Some(civil()?.timestamp())).map(|at| Timestamp(at.as_millisecond()))
}

/// `2026-07-01 12:00:05`, local time.
pub fn date_time(at: Timestamp) -> String {
    civil(at).map_or_else(|| "?".into(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// `12:00:05.123`, local time.
pub fn clock(at: Timestamp) -> String {
    civil(at).map_or_else(|| "?".into(), |at| at.strftime("%H:%M:%S%.3f").to_string())
}

/// Year, month and day in local time, for folder names.
pub fn day(at: Timestamp) -> String {
    civil(at).map_or_else(|| "unknown".into(), |at| at.strftime("%Y/%m/%d").to_string())
}

/// `2026-07-01T10:00:05.123Z`, for scripts.
pub fn iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}

/// `2026-07-01T10:00:05.120Z`, always with milliseconds, so that texts sort as times do.
pub fn iso_millis(at: Timestamp) -> String {
    let written = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), written)
}

/// `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
pub fn length(millis: Millis) -> String {
    match millis.0 {
        ms @ 0..=9_999 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms @ 10_000..=59_999 => format!("{} s", ms / 1000),
        ms @ 60_000..=3_599_999 => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1000),
        ms => format!("{} h {:02} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `1 step`, `2 steps`.
pub fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `just now`, `5 min ago`, `3 h ago`, or the date.
pub fn since(at: Timestamp, now: Timestamp) -> String {
    match now.since(at).0 / 1000 {
        0..=9 => "just now".into(),
        s @ 10..=89 => format!("{s} s ago"),
        s @ 90..=5_399 => format!("{} min ago", s / 60),
        s @ 5_400..=86_399 => format!("{} h ago", s / 3600),
        s @ 86_400..=604_799 => format!("{} d ago", s / 86_400),
        _ => date_time(at).chars().take(10).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let read =
            ["90", "90s", "1h30m", "2d", "500ms", "1.5h", "10 min"].map(|text| duration(text).unwrap().as_millis());
        assert_eq!(read, [90_000, 90_000, 5_400_000, 172_800_000, 500, 5_400_000, 600_000]);
        assert!(["", "soon", "5x", "-3s", "."].iter().all(|text| duration(text).is_err()));
    }

    #[test]
    fn lengths_of_time_are_written_as_people_read_them() {
        let written = [400, 12_345, 185_000, 7_800_000].map(|ms| length(Millis(ms)));
        assert_eq!(written, ["0.4 s", "12 s", "3 min 05 s", "2 h 10 min"]);
    }
}
