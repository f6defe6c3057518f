//! How long each step of a set-up takes, for those who ask. Each process of the launcher counts its own.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::order::SetupStep;

static DONE: Mutex<(Option<Instant>, Vec<SetupStep>)> = Mutex::new((None, Vec::new()));

/// Starts counting anew: in a child, what its parent counted is not its own.
pub(super) fn begin() {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = (Some(Instant::now()), Vec::new());
}

/// Says what the time since the last mark was spent on.
pub(super) fn mark(name: &str) {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let time = done.0.replace(now).map_or_else(Default::default, |before| now - before);
    done.1.push(SetupStep { name: name.to_owned(), time });
}

/// What was counted so far.
pub(super) fn all() -> Vec<SetupStep> {
    DONE.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
}

/// Adds what another process counted, which we waited for.
pub(super) fn adopt(steps: Vec<SetupStep>) {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let theirs = steps.iter().map(|step| step.time).sum();
    done.1.extend(steps);
    // So that our next mark does not count the same time again.
    done.0 = done.0.map(|before| before + theirs);
}
