//! Measures how long each step of the set-up takes. Each process of the launcher measures its own.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::protocol::SetupStep;

static DONE: Mutex<(Option<Instant>, Vec<SetupStep>)> = Mutex::new((None, Vec::new()));

/// Restarts the measurement: a child must not report the steps of its parent.
pub(super) fn begin() {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = (Some(Instant::now()), Vec::new());
}

/// Records the time since the last mark under this name.
pub(super) fn mark(name: &str) {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let time = done.0.replace(now).map_or_else(Default::default, |before| now - before);
    done.1.push(SetupStep { name: name.to_owned(), time });
}

/// The steps recorded so far.
pub(super) fn all() -> Vec<SetupStep> {
    DONE.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
}

/// Adds the steps of another process that we waited for.
pub(super) fn adopt(steps: Vec<SetupStep>) {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let theirs = steps.iter().map(|step| step.time).sum();
    done.1.extend(steps);
    // So that our next mark does not count the same time again.
    done.0 = done.0.map(|before| before + theirs);
}
