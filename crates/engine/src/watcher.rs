//! Watchers of runs: told about every record once it is on disk, and about live output.

use std::str::Chars;
use std::sync::atomic::{AtomicUsize, Ordering};

use updraft_models::Delta;
use updraft_run::{EffectAddress, Record, Run, RunId};
use updraft_tools::CallLog;

/// Watches runs. Called from the loop that drives the run, so it must not block.
pub trait RunWatcher: Send + Sync {
    /// Whether it needs to be called at all: if not, nothing is copied for it.
    fn is_watching(&self) -> bool {
        true
    }

    /// A record is on disk; `first` is the number of its first event, `run` the run after it.
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run);

    /// A part of a model's answer has arrived. It may be lost, and is not in the journal.
    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>);

    /// A tool reports its progress: one short line without control sequences for the terminal. It may be lost, is not
    /// in the journal, and is called from the thread the tool runs on.
    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        let _ = (id, at, line);
    }

    /// A called program prints a line. The same applies as to `said`. Only for people who watch while it runs; the
    /// whole output comes with the reply.
    fn printed(&self, id: &RunId, at: &EffectAddress, line: &str) {
        let _ = (id, at, line);
    }
}

/// How many lines of one call are passed on.
const LINES: usize = 1_000;
/// How many characters of one line.
const LONGEST: usize = 500;

/// Passes on the progress lines of one call, with limits, because a tool may print anything without end.
pub(crate) fn telling(tell: impl Fn(&str) + Send + Sync + 'static) -> CallLog {
    let count = AtomicUsize::new(0);
    CallLog::to(move |text| {
        for line in text.lines().map(plain).filter(|line| !line.is_empty()) {
            match count.fetch_add(1, Ordering::Relaxed) {
                told if told < LINES => tell(&line),
                LINES => tell("further lines are not shown"),
                _ => return,
            }
        }
    })
}

/// Passes on what a called program prints, without a limit on lines: only the last lines are ever shown.
pub(crate) fn showing(show: impl Fn(&str) + Send + Sync + 'static) -> CallLog {
    CallLog::to(move |text| {
        for line in text.lines().map(plain).filter(|line| !line.is_empty()) {
            show(&line);
        }
    })
}

/// A line without terminal control sequences or invisible characters, cut to size.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.trim_end().chars();
    let mut count = 0;
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\u{9b}' => skip_until(&mut chars, |c| matches!(c, '@'..='~')),
            '\t' => plain.push(' '),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c if count < LONGEST => {
                plain.push(c);
                count += 1;
            }
            _ => {
                plain.push('…');
                break;
            }
        }
    }
    plain
}

/// Skips what follows an escape character: a sequence up to its last character, a string up to its end, or one
/// character.
fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.next() {
        Some('[') => skip_until(chars, |c| matches!(c, '@'..='~')),
        Some(']' | 'P' | '_' | '^' | 'X') => skip_until(chars, |c| matches!(c, '\u{7}' | '\u{9c}' | '\\')),
        Some(_) | None => {}
    }
}

fn skip_until(chars: &mut Chars<'_>, is_last: impl Fn(char) -> bool) {
    let _ = chars.find(|c| is_last(*c));
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatcher;

impl RunWatcher for NoWatcher {
    fn is_watching(&self) -> bool {
        false
    }
    fn record(&self, _: &RunId, _: u64, _: &Record, _: &Run) {}
    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        let told = ["\u{1b}[2J\u{1b}[31mred\u{1b}[0m", "\u{1b}]0;title\u{7}a\u{8}b\r", "\u{9b}5Ac\u{202e}d", "e\u{1b}"];
        assert_eq!(told.map(plain), ["red", "ab", "cd", "e"]);
        assert_eq!(plain(&"x".repeat(1_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_tool_that_prints_without_end_is_cut() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = Arc::clone(&heard);
        let log = telling(move |line| ears.lock().unwrap().push(line.to_owned()));
        log.line(&"a\nb\n\n".repeat(5_000));
        log.line("c");
        let heard = heard.lock().unwrap();
        assert_eq!((heard.len(), heard[1].as_str()), (LINES + 1, "b"));
        assert!(heard[LINES].contains("not shown"));
    }
}
