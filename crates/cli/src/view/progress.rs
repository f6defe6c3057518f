//! One line that says how far long work is: a bar on a terminal, a line now and then in a log.

use std::time::{Duration, Instant};

use updraft_run::Millis;

use super::{cut, size};
use crate::{out, time_format};

/// How often the line is drawn on a terminal, and written to a log.
const DRAWN: Duration = Duration::from_millis(100);
const LOGGED: Duration = Duration::from_secs(10);
/// The columns of the bar.
const BAR: usize = 12;

/// How far the work is.
pub(crate) struct WorkProgress {
    /// What is being done, with its counts: `indexing 120 of 6,055 files`.
    pub(crate) what: String,
    /// The share that is done, from 0 to 1.
    pub(crate) share: f64,
    /// The rate, with its unit.
    pub(crate) rate: String,
    /// The time that is left.
    pub(crate) left: Duration,
}

/// The line on standard error.
pub(crate) struct ProgressLine {
    is_quiet: bool,
    is_drawn: bool,
    next: Option<Instant>,
}

impl ProgressLine {
    /// A line that is shown unless there is to be none, from some time on: short work needs none.
    pub(crate) fn new(is_quiet: bool, after: Duration) -> Self {
        Self { is_quiet, is_drawn: false, next: Some(Instant::now() + after) }
    }

    /// Shows how far the work is, if it is time to.
    pub(crate) fn show(&mut self, progress: impl FnOnce() -> WorkProgress) {
        let now = Instant::now();
        if self.is_quiet || self.next.is_some_and(|next| now < next) {
            return;
        }
        let is_terminal = out::can_redraw();
        self.next = Some(now + if is_terminal { DRAWN } else { LOGGED });
        let line = line(&progress(), is_terminal);
        if is_terminal {
            self.is_drawn = true;
            out::draw(&format!("\r\x1b[K{}", cut(&line, size().1.saturating_sub(1))));
        } else {
            out::note(&out::harmless(&line));
        }
    }

    /// Removes the line, so that other text can follow.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            out::draw("\r\x1b[K");
        }
    }
}

fn line(progress: &WorkProgress, with_bar: bool) -> String {
    let WorkProgress { what, share, rate, left } = progress;
    let left = time_format::length(Millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)));
    let percent = (share.clamp(0.0, 1.0) * 100.0).floor();
    let done = (share.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
    let bar = if with_bar { format!("{}{} ", "█".repeat(done), "░".repeat(BAR - done)) } else { String::new() };
    let beginning = format!("{bar}{percent:3.0} %  {what}");
    // Before anything is done, nobody knows how long it takes.
    if *share > 0.0 { format!("{beginning}  {rate}  {left} left") } else { beginning }
}

/// `512 B`, `3.4 KB`, `12.0 MB`.
pub(crate) fn bytes(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0} B"),
        ..1e6 => format!("{:.1} KB", count / 1e3),
        ..1e9 => format!("{:.1} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let progress = WorkProgress {
            what: "indexing 120 of 480 files".into(),
            share: 0.25,
            rate: format!("{}/s", bytes(7_400_000.0)),
            left: Duration::from_secs(75),
        };
        assert_eq!(line(&progress, false), " 25 %  indexing 120 of 480 files  7.4 MB/s  1 min 15 s left");
        assert!(line(&progress, true).starts_with("███░░░░░░░░░  25 %"));
        let begun = WorkProgress { what: "making vectors: 0 of 9".into(), share: 0.0, ..progress };
        assert_eq!(line(&begun, false), "  0 %  making vectors: 0 of 9");
    }
}
