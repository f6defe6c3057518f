//! Attempts to escape: each with a real process, at every level, as root and as an ordinary user.
//!
//! Every attempt is first made without a sandbox, where it must succeed: only then does it show anything that it fails
//! inside. What this machine does not let anyone do is said aloud and not counted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod place;
#[path = "../support/mod.rs"]
mod support;
mod table;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use place::{Came, Place, Who, is_root};
use support::levels;
use table::{Attempt, By, Lower};
use updraft_sandbox::SandboxLevel;

/// Makes all attempts of a class, some at a time, and names those that went otherwise than they should.
fn make_all(attempts: &[Attempt], who: Who, at_least: usize) {
    if who == Who::Root && !is_root() {
        return aloud("attempts as root: these tests do not run as root");
    }
    let levels: Vec<SandboxLevel> = levels().collect();
    let fitting: Vec<&Attempt> = attempts.iter().filter(|attempt| fits(attempt.by, who)).collect();
    let (next, shown) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(attempt) = fitting.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if Place::new(who).make(attempt, SandboxLevel::None) == Came::Nowhere {
                        aloud(&format!("`{}` as {who:?}: nobody can do that here", attempt.name));
                        continue;
                    }
                    shown.fetch_add(1, Ordering::Relaxed);
                    let came: Vec<String> = levels.iter().filter_map(|level| wrong_at(attempt, who, *level)).collect();
                    wrong.lock().unwrap().extend(came);
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), [""; 0]);
    let shown = shown.into_inner();
    let names: Vec<String> = levels.iter().map(ToString::to_string).collect();
    say(&format!("-- {shown} attempts that succeed without a sandbox, made as {who:?} at: {}\n", names.join(", ")));
    assert!(shown >= at_least, "only {shown} of {} attempts show anything", fitting.len());
}

fn fits(by: By, who: Who) -> bool {
    match by {
        By::Anyone => true,
        By::Root => who == Who::Root,
        By::User => who == Who::User && is_root(),
    }
}

fn wrong_at(attempt: &Attempt, who: Who, level: SandboxLevel) -> Option<String> {
    let wanted = match (level, attempt.lower) {
        (SandboxLevel::Landlock, Lower::Passes) => Came::Through,
        (SandboxLevel::Full | SandboxLevel::Landlock | SandboxLevel::None, _) => Came::Nowhere,
    };
    let came = Place::new(who).make(attempt, level);
    (came != wanted).then(|| format!("{level} as {who:?}: `{}` came {came:?}", attempt.name))
}

fn aloud(text: &str) {
    say(&format!("!! SKIP: {text}\n"));
}

/// Past the test runner's capture.
fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

macro_rules! classes {
    ($($name:ident: $table:ident, $root:literal as root, $user:literal as user;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn are_contained_as_root() {
                make_all(table::$table, Who::Root, $root);
            }

            #[test]
            fn are_contained_as_an_ordinary_user() {
                make_all(table::$table, Who::User, $user);
            }
        })*
    };
}

// How many must be shown on any machine: more than sixty for each of the two. The rest depends on the kernel.
classes! {
    reads: READS, 20 as root, 15 as user;
    writes: WRITES, 22 as root, 17 as user;
    files_that_run_later: LATER, 26 as root, 26 as user;
    ways_into_the_network: NETWORK, 6 as root, 5 as user;
    processes_and_limits: PROCESSES, 12 as root, 12 as user;
    calls_to_the_kernel: KERNEL, 12 as root, 2 as user;
}
