//! A histogram of durations with fixed limits, as Prometheus takes it.

use updraft_run::Millis;

/// The upper limits of the buckets in milliseconds: from a read of a file to a model that thinks for minutes.
pub(super) const LIMITS: [u64; 12] = [10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

/// How many durations fell below each limit, and their sum.
#[derive(Clone, Debug, Default)]
pub(super) struct DurationHistogram {
    /// One count for each limit, and one for what is longer.
    counts: [u64; LIMITS.len() + 1],
    sum: u64,
}

impl DurationHistogram {
    pub(super) fn add(&mut self, took: Millis) {
        let bucket = LIMITS.iter().position(|limit| took.0 <= *limit).unwrap_or(LIMITS.len());
        self.counts[bucket] += 1;
        self.sum = self.sum.saturating_add(took.0);
    }

    /// How many durations are at most as long as each limit; the last is the number of all.
    pub(super) fn cumulative(&self) -> [u64; LIMITS.len() + 1] {
        let mut sum = 0;
        self.counts.map(|count| {
            sum += count;
            sum
        })
    }

    pub(super) fn seconds(&self) -> f64 {
        self.sum as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_all_longer_ones() {
        let mut histogram = DurationHistogram::default();
        for took in [10, 11, 400_000] {
            histogram.add(Millis(took));
        }
        let counts = histogram.cumulative();
        assert_eq!((counts[0], counts[1], counts[LIMITS.len() - 1], counts[LIMITS.len()]), (1, 2, 2, 3));
        assert!((histogram.seconds() - 400.021).abs() < 1e-9);
    }
}
