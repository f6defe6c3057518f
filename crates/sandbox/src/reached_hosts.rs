//! The hosts that a child connected to, as recorded by the proxy.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most connections whose hosts are recorded.
const MOST: usize = 10_000;

/// The hosts that a child connected to through the proxy, in order. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ReachedHosts(Arc<Mutex<Vec<String>>>);

impl ReachedHosts {
    /// The current position, for [`ReachedHosts::since`].
    pub fn mark(&self) -> usize {
        self.all().len()
    }

    /// The hosts connected to since that position, without duplicates.
    pub fn since(&self, mark: usize) -> Vec<String> {
        let names: BTreeSet<String> = self.all().iter().skip(mark).cloned().collect();
        names.into_iter().collect()
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no proxy"))]
    pub(crate) fn add(&self, name: &str) {
        let mut all = self.all();
        if all.len() < MOST {
            all.push(name.trim_end_matches('.').to_ascii_lowercase());
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
