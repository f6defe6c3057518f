//! Parses what providers say about their limits: in headers, each in its own way, and Gemini in the body of a refusal.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Timestamp};
use reqwest::header::{DATE, HeaderMap};

use crate::retry::{date, retry_after};

/// The headers for what remains of a limit, and for when it is reset. Anthropic sends dates, the others durations.
const PAIRS: [(&str, &str); 7] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
];

/// How long a provider that refused a request because of its limits asks us to wait.
pub fn reset_after(headers: &HeaderMap) -> Option<Duration> {
    let millis = || text(headers, "retry-after-ms")?.parse::<f64>().ok();
    let asked = millis().and_then(|millis| Duration::try_from_secs_f64(millis / 1_000.0).ok());
    asked
        .or_else(|| retry_after(headers))
        .or_else(|| exhausted_for(headers))
        // Something was too little, although nothing is quite used up; nothing changes before the first reset.
        .or_else(|| PAIRS.iter().filter_map(|(_, reset)| reset_of(headers, reset)).min())
}

/// How long until everything that is used up is reset, if a provider that answered has said that something is.
pub fn exhausted_for(headers: &HeaderMap) -> Option<Duration> {
    let used_up = PAIRS.iter().filter(|(remaining, _)| text(headers, remaining).is_some_and(|left| left == "0"));
    used_up.filter_map(|(_, reset)| reset_of(headers, reset)).max()
}

/// The time until a reset: a duration (`6m0s`), a date, seconds, or seconds or milliseconds since 1970.
fn reset_of(headers: &HeaderMap, name: &str) -> Option<Duration> {
    /// Larger numbers are points in time: as seconds this is 2001, as a wait it would be 31 years.
    const A_MOMENT: f64 = 1e9;
    /// Larger numbers are points in time in milliseconds: as seconds this would be the year 5138.
    const IN_MILLIS: f64 = 1e11;

    let value = text(headers, name)?;
    let moment = match value.parse::<f64>() {
        Ok(number) if number >= IN_MILLIS => number / 1_000.0,
        Ok(number) if number >= A_MOMENT => number,
        Ok(number) => return Duration::try_from_secs_f64(number).ok(),
        Err(_) => match value.parse::<Timestamp>() {
            Ok(date) => seconds(date),
            Err(_) => return length(value),
        },
    };
    // Measured against the server's own clock, which may differ from ours.
    let now = date(text(headers, DATE.as_str())?)?;
    Duration::try_from_secs_f64((moment - seconds(now)).max(0.0)).ok()
}

fn seconds(date: Timestamp) -> f64 {
    date.as_millisecond() as f64 / 1_000.0
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A duration in Go's format: `6m0s`, `1h2m3.5s`, `250ms`.
fn length(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {

    use super::*;

    const DATE_THEN: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, expected) in [
            ("6m0s", Some(millis(360_000))),
            ("1s", Some(millis(1_000))),
            ("250ms", Some(millis(250))),
            ("1h2m3.5s", Some(millis(3_723_500))),
            ("2m59.56s", Some(millis(179_560))),
            ("13s", Some(millis(13_000))),
            ("0s", Some(millis(0))),
            ("", None),
            ("6m0", None),
            ("soon", None),
            ("-5s", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(length(text), expected, "{text}");
        }
    }

    #[test]
    fn openai_tells_what_is_used_up_and_until_when() {
        let said = headers(&[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "250ms"),
            ("x-ratelimit-remaining-tokens", "1499"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(exhausted_for(&said), Some(millis(250)));
        assert_eq!(reset_after(&said), Some(millis(250)));

        let left = headers(&[
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "7"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(exhausted_for(&left), None, "something is left of everything");
        assert_eq!(reset_after(&left), Some(millis(1_000)), "a refusal all the same");
    }

    #[test]
    fn anthropic_gives_dates_which_are_measured_against_its_own_clock() {
        let pairs = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:50Z"),
            ("anthropic-ratelimit-output-tokens-remaining", "0"),
            ("anthropic-ratelimit-output-tokens-reset", "1994-11-06T09:49:57+01:00"),
            ("anthropic-ratelimit-input-tokens-remaining", "10"),
            ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:59:57Z"),
            DATE_THEN,
        ];
        assert_eq!(exhausted_for(&headers(&pairs)), Some(millis(20_000)));
        assert_eq!(exhausted_for(&headers(&pairs[..6])), None, "without its clock a date says nothing");
    }

    #[test]
    fn a_plain_reset_is_seconds_or_a_moment() {
        let date = ("date", "Thu, 29 Feb 2024 00:00:00 GMT");
        for (reset, expected) in
            [("12", 12_000), ("0.5", 500), ("1709164830", 30_000), ("1709164800250", 250), ("1709164790", 0)]
        {
            let said = headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset), date]);
            assert_eq!(exhausted_for(&said), Some(millis(expected)), "{reset}");
        }
    }

    #[test]
    fn what_is_asked_outright_comes_first() {
        let said = [("retry-after-ms", "1500"), ("retry-after", "7"), ("x-ratelimit-reset", "12")];
        assert_eq!(reset_after(&headers(&said)), Some(millis(1_500)));
        assert_eq!(reset_after(&headers(&said[1..])), Some(millis(7_000)));
        assert_eq!(reset_after(&headers(&said[2..])), Some(millis(12_000)));
        assert_eq!(reset_after(&headers(&[])), None);
    }
}
