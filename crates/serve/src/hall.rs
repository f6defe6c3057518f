//! Those who have connected and not shown the token yet: few, for a short time, and the oldest gives way to a new one.
//!
//! Any program of this machine can connect. It must be able to keep neither others out nor much of our memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long someone has to show the token, from the first byte to the last.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Where they wait. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WaitingRoom {
    most: usize,
    waiting: Arc<Mutex<WaitingState>>,
}

#[derive(Default)]
struct WaitingState {
    next: u64,
    guests: BTreeMap<u64, CancellationToken>,
}

/// One who waits, until it is dropped.
pub(crate) struct WaitingConnection {
    hall: WaitingRoom,
    number: u64,
    leave: CancellationToken,
}

impl WaitingRoom {
    /// One for so many at once. Whoever knows the token shows it at once, so many who wait are up to no good.
    pub(crate) fn for_at_most(most: usize) -> WaitingRoom {
        WaitingRoom { most, waiting: Arc::default() }
    }

    /// Takes in someone new. Whoever has waited longest leaves if there are too many.
    pub(crate) fn enter(&self) -> WaitingConnection {
        let leave = CancellationToken::new();
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.guests.insert(number, leave.clone());
        if waiting.guests.len() > self.most
            && let Some((_, oldest)) = waiting.guests.pop_first()
        {
            oldest.cancel();
        }
        WaitingConnection { hall: self.clone(), number, leave }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingConnection {
    /// Waits until this one has to leave, because others have come or because the time is over.
    pub(crate) fn must_leave(&self) -> impl Future<Output = ()> + Send + use<> {
        let leave = self.leave.clone();
        async move {
            let _ = tokio::time::timeout(PATIENCE, leave.cancelled()).await;
        }
    }
}

impl Drop for WaitingConnection {
    fn drop(&mut self) {
        self.hall.lock().guests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_gives_way_and_everyone_leaves_in_the_end() {
        let hall = WaitingRoom::for_at_most(128);
        let guests: Vec<WaitingConnection> = (0..130).map(|_| hall.enter()).collect();
        let left = guests.iter().map(|guest| guest.leave.is_cancelled()).collect::<Vec<_>>();
        assert_eq!(left.iter().position(|left| !left), Some(2));
        assert!(left.iter().skip(2).all(|left| !left));
        guests[2].must_leave().await;
        drop(guests);
        assert!(hall.lock().guests.is_empty());
    }
}
