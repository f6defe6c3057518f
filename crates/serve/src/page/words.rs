//! Small pieces that many parts of the page show: statuses, times, texts that are cut, element ids.

use std::fmt::Write as _;

use maud::{Markup, html};
use serde_json::Value;
use updraft_run::{EffectAddress, Millis, Status, StepId, Timestamp};
use updraft_workbench::time_format;
pub(super) use updraft_workbench::time_format::count;

/// The most characters of a text that are shown without being asked for.
const LONGEST: usize = 20_000;

/// The status of a run, with a sign, so that its colour is not all it shows.
pub(super) fn run_status(status: Status) -> Markup {
    let sign = match status {
        Status::Running | Status::New => "●",
        Status::Waiting => "?",
        Status::Paused | Status::Exhausted => "❙❙",
        Status::Done | Status::Unproved => "✓",
        Status::Cancelled | Status::Cancelling => "–",
        _ => "✗",
    };
    let words = if status == Status::Waiting { "needs you" } else { status.in_words() };
    html! { span.status data-status=(status.as_str()) { span.sign aria-hidden="true" { (sign) } " " (words) } }
}

/// The status of a step.
pub(super) fn step_status(status: &str) -> Markup {
    let sign = match status {
        "completed" => "✓",
        "failed" => "✗",
        "running" => "●",
        "waiting" => "?",
        "ready" => "○",
        "skipped" | "cancelled" => "–",
        _ => "·",
    };
    html! { span.status data-status=(status) { span.sign aria-hidden="true" { (sign) } " " (status) } }
}

/// A point in time, as people read it; scripts may show it otherwise.
pub(super) fn moment(at: Timestamp) -> Markup {
    html! { time datetime=(time_format::iso(at)) { (time_format::date_time(at)) } }
}

/// A point in time within a day.
pub(super) fn clock(at: Timestamp) -> Markup {
    let clock = time_format::clock(at);
    html! { time datetime=(time_format::iso(at)) { (clock.split('.').next().unwrap_or(&clock)) } }
}

/// How long something took.
pub(super) fn took(from: Timestamp, to: Timestamp) -> String {
    time_format::length(to.since(from))
}

/// A length of time in milliseconds.
pub(super) fn length(millis: u64) -> String {
    time_format::length(Millis(millis))
}

/// The beginning of a text in one line.
pub(super) fn short(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let cut: String = line.chars().take(most).collect();
    if cut.len() < text.trim().len() { format!("{}…", cut.trim_end()) } else { cut }
}

/// A text as it is, cut if it is very long.
pub(super) fn verbatim(text: &str) -> Markup {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    html! {
        pre { (&text[..end]) }
        @if end < text.len() { p.cut { "Cut here: " (text.len() - end) " more bytes." } }
    }
}

/// A value as indented JSON; a text as it is.
pub(super) fn value(value: &Value) -> Markup {
    match value {
        Value::String(text) => verbatim(text),
        other => verbatim(&serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

/// A sentence of ours, with what stands between backticks as code.
pub(super) fn ticked(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // Without a partner, a backtick is itself.
    let is_paired = parts.len() % 2 == 1;
    html! {
        @if is_paired {
            @for (n, part) in parts.iter().enumerate() { @if n % 2 == 1 { code { (part) } } @else { (part) } }
        } @else { (text) }
    }
}

/// The element id of an effect. Addresses contain `/`, which selectors do not like.
pub(super) fn effect_id(at: &EffectAddress) -> String {
    format!("a-{}", at.to_string().replace(['/', '.'], "-"))
}

/// A step's id inside an element id.
pub(super) fn step_key(step: &StepId) -> String {
    step.as_str().replace('.', "-dot-")
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Encodes a text for the query of an address.
pub(super) fn query(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            made.push(byte as char);
        } else {
            let _ = write!(made, "%{byte:02X}");
        }
    }
    made
}
