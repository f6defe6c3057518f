//! One examination at a time, for all who ask what works here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use crate::doctor::DoctorCheck;

/// How long the results are shown before everything is examined again.
const FRESH: Duration = Duration::from_secs(5);

/// The results, and when they were there.
type Findings = (Instant, Arc<[DoctorCheck]>);

/// The newest examination. It starts processes, so all who ask meanwhile wait for the same one.
#[derive(Default)]
pub(super) struct SharedExamination(Mutex<ExaminationState>);

#[derive(Default)]
struct ExaminationState {
    last: Option<Findings>,
    /// Those who wait keep it alive. When the last of them leaves, it ends with its processes, and the next who asks begins
    /// another.
    under_way: Option<WeakShared<BoxFuture<'static, Findings>>>,
}

impl SharedExamination {
    /// The results of an examination: a recent one, the one under way, or else this one. May be dropped half way.
    pub(super) async fn checks(
        &self,
        examine: impl Future<Output = Vec<DoctorCheck>> + Send + 'static,
    ) -> Arc<[DoctorCheck]> {
        let waiting = {
            let mut state = self.lock();
            if let Some((at, checks)) = &state.last
                && at.elapsed() < FRESH
            {
                return Arc::clone(checks);
            }
            let under_way = state.under_way.as_ref().and_then(WeakShared::upgrade);
            under_way.filter(|other| other.peek().is_none()).unwrap_or_else(|| {
                let own: Shared<_> = examine.map(|checks| (Instant::now(), Arc::from(checks))).boxed().shared();
                state.under_way = own.downgrade();
                own
            })
        };
        let (at, checks) = waiting.await;
        let mut state = self.lock();
        if state.last.as_ref().is_none_or(|(last, _)| *last < at) {
            state.last = Some((at, Arc::clone(&checks)));
        }
        checks
    }

    fn lock(&self) -> MutexGuard<'_, ExaminationState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts examinations: those that have begun, and those under way.
    #[derive(Clone, Default)]
    struct Counts {
        begun: Arc<AtomicUsize>,
        under_way: Arc<AtomicUsize>,
    }

    struct UnderWay(Arc<AtomicUsize>);

    impl Drop for UnderWay {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    impl Counts {
        /// An examination of half a minute.
        fn examine(&self) -> impl Future<Output = Vec<DoctorCheck>> + Send + 'static {
            let counts = self.clone();
            async move {
                counts.begun.fetch_add(1, Ordering::Relaxed);
                assert_eq!(counts.under_way.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
                let _under_way = UnderWay(Arc::clone(&counts.under_way));
                tokio::time::sleep(Duration::from_secs(30)).await;
                Vec::new()
            }
        }

        fn now(&self) -> (usize, usize) {
            (self.begun.load(Ordering::Relaxed), self.under_way.load(Ordering::Relaxed))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_ask_at_once_or_soon_after_get_one_examination() {
        let (last, counts) = (SharedExamination::default(), Counts::default());
        futures_util::future::join_all((0..50).map(|_| last.checks(counts.examine()))).await;
        last.checks(counts.examine()).await;
        assert_eq!(counts.now(), (1, 0));
        tokio::time::advance(FRESH).await;
        last.checks(counts.examine()).await;
        assert_eq!(counts.now(), (2, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_neither_stops_the_examination_of_others_nor_blocks_the_next() {
        let (last, counts) = (SharedExamination::default(), Counts::default());
        let leaves = |after| tokio::time::timeout(Duration::from_secs(after), last.checks(counts.examine()));
        let begun = Instant::now();
        // The first leaves, and the second still waits no longer than one examination takes.
        let (first, second) = tokio::join!(leaves(10), leaves(40));
        assert!(first.is_err() && second.is_ok());
        assert_eq!((counts.now(), begun.elapsed().as_secs()), ((1, 0), 30));
        // All leave: it ends, and the next who asks gets another from its beginning.
        tokio::time::advance(FRESH).await;
        let (first, second) = tokio::join!(leaves(10), leaves(20));
        assert!(first.is_err() && second.is_err());
        assert_eq!(counts.now(), (2, 0));
        assert!(leaves(40).await.is_ok());
        assert_eq!(counts.now(), (3, 0));
    }
}
