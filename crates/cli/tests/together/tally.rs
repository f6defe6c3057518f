//! Counts like the strictest provider: in a sliding window and in fixed ones, all at once.

use std::time::{Duration, Instant};

/// What has arrived so far.
pub(crate) struct Tally {
    pub(crate) most: usize,
    pub(crate) window: Duration,
    pub(crate) began: Instant,
    pub(crate) arrivals: Vec<Instant>,
    pub(crate) answered: usize,
    pub(crate) refused: usize,
}

/// Fixed windows begin at so many moments.
const PHASES: u32 = 8;

impl Tally {
    pub(crate) fn new(most: usize, window: Duration) -> Self {
        Self { most, window, began: Instant::now(), arrivals: Vec::new(), answered: 0, refused: 0 }
    }

    /// Counts one more request, and says whether it is within the limit however one counts.
    pub(crate) fn admits(&mut self) -> bool {
        let now = Instant::now();
        self.arrivals.push(now);
        let sliding = self.arrivals.iter().filter(|moment| now.duration_since(**moment) <= self.window).count();
        let fixed = (0..PHASES).map(|phase| {
            let index = |moment: Instant| {
                let since = moment.duration_since(self.began) + self.window * phase / PHASES;
                since.as_nanos() / self.window.as_nanos()
            };
            self.arrivals.iter().filter(|moment| index(**moment) == index(now)).count()
        });
        let is_admitted = fixed.chain([sliding]).all(|count| count <= self.most);
        if is_admitted {
            self.answered += 1;
        } else {
            self.refused += 1;
        }
        is_admitted
    }
}
