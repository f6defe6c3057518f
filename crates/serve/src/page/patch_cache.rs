//! The newest patches, each made once for all who watch the same part of a run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::OnceCell;
use updraft_run::{RunId, StepId};

use super::run_page::RunTab;

/// How many patches, and how many bytes of them, are kept for watchers that want the same.
const KEPT: usize = 1_024;
const KEPT_BYTES: usize = 16 << 20;

/// What one watcher looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WatchedPart {
    pub(super) tab: RunTab,
    pub(super) step: Option<StepId>,
}

/// Which patch: of which run, from which position to which, for whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatchKey {
    pub(super) run: RunId,
    pub(super) after: u64,
    pub(super) until: u64,
    pub(super) part: WatchedPart,
}

/// A patch as it goes over the line: the bytes of an event, which all watchers share.
pub(super) struct FramedPatch {
    /// The position that it leads to.
    pub(super) position: u64,
    pub(super) frame: Bytes,
}

type SharedPatch = Arc<OnceCell<Arc<FramedPatch>>>;

/// The newest patches.
#[derive(Default)]
pub(crate) struct PatchCache(Mutex<PatchCacheState>);

/// A patch that is there or being made. Its bytes count from the moment it is there.
#[derive(Default)]
struct CachedPatch {
    cell: SharedPatch,
    bytes: usize,
}

#[derive(Default)]
struct PatchCacheState {
    patches: BTreeMap<PatchKey, CachedPatch>,
    /// The oldest comes first.
    order: VecDeque<PatchKey>,
    /// The sum over all patches.
    bytes: usize,
}

impl PatchCacheState {
    /// Forgets the oldest patches until the others are within the limits.
    fn shrink(&mut self) {
        while self.order.len() > KEPT || (self.bytes > KEPT_BYTES && self.order.len() > 1) {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.patches.remove(&oldest).map_or(0, |patch| patch.bytes);
        }
    }
}

impl PatchCache {
    fn state(&self) -> MutexGuard<'_, PatchCacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cell(&self, key: &PatchKey) -> SharedPatch {
        let mut state = self.state();
        if let Some(patch) = state.patches.get(key) {
            return Arc::clone(&patch.cell);
        }
        let patch = CachedPatch::default();
        let cell = Arc::clone(&patch.cell);
        state.patches.insert(key.clone(), patch);
        state.order.push_back(key.clone());
        state.shrink();
        cell
    }

    /// The patch of a key. If it has to be made, others who want the same wait for it.
    pub(super) async fn get_or_make<Error>(
        &self,
        key: &PatchKey,
        make: impl AsyncFnOnce() -> Result<Arc<FramedPatch>, Error>,
    ) -> Result<Arc<FramedPatch>, Error> {
        let cell = self.cell(key);
        let mut is_mine = false;
        let made = cell
            .get_or_try_init(async || {
                is_mine = true;
                make().await
            })
            .await
            .map(Arc::clone)?;
        if is_mine {
            let mut state = self.state();
            // It may have been forgotten while it was made, and even begun anew.
            let known = state.patches.get_mut(key).filter(|patch| Arc::ptr_eq(&patch.cell, &cell));
            if let Some(patch) = known {
                patch.bytes = made.frame.len();
                state.bytes += made.frame.len();
                state.shrink();
            }
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn key(after: u64) -> PatchKey {
        let part = WatchedPart { tab: RunTab::Graph, step: None };
        PatchKey { run: RunId::from_bits([7; 10]), after, until: after + 1, part }
    }

    fn patch(bytes: usize) -> Arc<FramedPatch> {
        Arc::new(FramedPatch { position: 0, frame: vec![b'x'; bytes].into() })
    }

    async fn fill(cache: &PatchCache, after: u64, bytes: usize) -> usize {
        let made = cache.get_or_make(&key(after), async || Ok::<_, Infallible>(patch(bytes))).await;
        made.unwrap_or_else(|never| match never {}).frame.len()
    }

    /// How many patches are kept and how large they are, which the account must agree with.
    fn kept(cache: &PatchCache) -> (usize, usize) {
        let state = cache.state();
        let sizes = state.patches.values().filter_map(|patch| patch.cell.get()).map(|made| made.frame.len());
        assert_eq!(state.bytes, sizes.sum::<usize>());
        assert_eq!(state.patches.len(), state.order.len());
        (state.patches.len(), state.bytes)
    }

    #[tokio::test]
    async fn a_patch_is_made_once_and_the_oldest_are_forgotten_by_number_and_by_size() {
        let cache = PatchCache::default();
        assert_eq!((fill(&cache, 1, 10).await, fill(&cache, 1, 99).await), (10, 10));
        for after in 0..3_000 {
            fill(&cache, after, 10).await;
        }
        assert_eq!(kept(&cache), (KEPT, KEPT * 10));
        for after in 0..100 {
            fill(&cache, 10_000 + after, 1 << 20).await;
            let (_, bytes) = kept(&cache);
            assert!(bytes <= KEPT_BYTES, "{bytes}");
        }
        assert_eq!(kept(&cache), (16, 16 << 20));
        // One that is larger than all may be is kept as long as it is the newest.
        fill(&cache, 20_000, KEPT_BYTES + 1).await;
        assert_eq!(kept(&cache), (1, KEPT_BYTES + 1));
        fill(&cache, 20_001, 3).await;
        assert_eq!(kept(&cache), (1, 3));
    }

    #[tokio::test]
    async fn a_patch_that_is_forgotten_while_it_is_made_does_not_count() {
        let cache = PatchCache::default();
        let slow = async || {
            for after in 0..2_000 {
                fill(&cache, after, 10).await;
            }
            // The same is begun anew, and is there first.
            fill(&cache, 5_000, 20).await;
            Ok::<_, Infallible>(patch(1_000))
        };
        let made = cache.get_or_make(&key(5_000), slow).await;
        assert_eq!(made.unwrap_or_else(|never| match never {}).frame.len(), 1_000);
        assert_eq!(kept(&cache), (KEPT, KEPT * 10 + 10));
        let failed = cache.get_or_make(&key(6_000), async || Err::<Arc<FramedPatch>, _>("no")).await;
        assert_eq!(failed.err(), Some("no"));
        assert_eq!(fill(&cache, 6_000, 30).await, 30, "a failure is not kept");
        kept(&cache);
    }
}
