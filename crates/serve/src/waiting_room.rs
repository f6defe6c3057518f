//! Limits connections that have not shown the token yet: there are few, they have little time, and a new one replaces
//! the oldest.
//!
//! Any program on this machine can connect. It must not be able to keep others out, or to use much of our memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long a connection has to show the token, from the first byte to the last.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The set of waiting connections. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WaitingRoom {
    most: usize,
    waiting: Arc<Mutex<WaitingState>>,
}

#[derive(Default)]
struct WaitingState {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// A waiting connection, until it is dropped.
pub(crate) struct WaitingConnection {
    room: WaitingRoom,
    number: u64,
    leave: CancellationToken,
}

impl WaitingRoom {
    /// Creates a room for at most this many connections. A program that knows the token shows it at once, so many
    /// waiting connections are suspicious.
    pub(crate) fn for_at_most(most: usize) -> WaitingRoom {
        WaitingRoom { most, waiting: Arc::default() }
    }

    /// Adds a new connection. If there are too many, the one that has waited longest must leave.
    pub(crate) fn enter(&self) -> WaitingConnection {
        let leave = CancellationToken::new();
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(number, leave.clone());
        if waiting.connections.len() > self.most
            && let Some((_, oldest)) = waiting.connections.pop_first()
        {
            oldest.cancel();
        }
        WaitingConnection { room: self.clone(), number, leave }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingConnection {
    /// Waits until this connection has to leave, because of newer connections or because its time is over.
    pub(crate) fn must_leave(&self) -> impl Future<Output = ()> + Send + use<> {
        let leave = self.leave.clone();
        async move {
            let _ = tokio::time::timeout(PATIENCE, leave.cancelled()).await;
        }
    }
}

impl Drop for WaitingConnection {
    fn drop(&mut self) {
        self.room.lock().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_gives_way_and_everyone_leaves_in_the_end() {
        let room = WaitingRoom::for_at_most(128);
        let connections: Vec<WaitingConnection> = (0..130).map(|_| room.enter()).collect();
        let left = connections.iter().map(|connection| connection.leave.is_cancelled()).collect::<Vec<_>>();
        assert_eq!(left.iter().position(|left| !left), Some(2));
        assert!(left.iter().skip(2).all(|left| !left));
        connections[2].must_leave().await;
        drop(connections);
        assert!(room.lock().connections.is_empty());
    }
}
