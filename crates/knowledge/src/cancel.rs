//! Stops long work from another thread, or at a moment that was set before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::Error;

/// A switch that its holders share. Work looks at it between files and batches.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    is_cancelled: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Cancel {
    /// The same switch, which also counts as used from a moment on.
    #[must_use]
    pub fn at(&self, moment: Instant) -> Self {
        let until = self.until.map_or(moment, |until| until.min(moment));
        Self { is_cancelled: Arc::clone(&self.is_cancelled), until: Some(until) }
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
