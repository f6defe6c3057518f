//! Times, and what is said about many of them.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970: the clock that both processes share.
pub(crate) fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// Delays in milliseconds.
#[derive(Default)]
pub(crate) struct DelayList(Vec<f64>);

impl DelayList {
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        self.0.push(to.saturating_sub(from) as f64 / 1_000.0);
    }

    pub(crate) fn sort(&mut self) {
        self.0.sort_by(f64::total_cmp);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The value below which this share of them is, once they are sorted.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get(((last as f64) * share).round() as usize).copied().unwrap_or_default()
    }
}

/// Prints ours beside the floor.
pub(crate) fn compare(ours: &mut DelayList, floor: &mut DelayList) {
    ours.sort();
    floor.sort();
    println!("{:>28} {:>10} {:>10} {:>8}", "delivery of an event", "ours ms", "bare ms", "ratio");
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("most", 1.0)] {
        let (one, other) = (ours.at(share), floor.at(share));
        println!("{name:>28} {one:>10.1} {other:>10.1} {:>8.2}", one / other.max(0.001));
    }
}
