//! How much memory a command takes, also where none of its processes shows it.

use std::time::{Duration, Instant};

use super::attend::time_spent;
use super::held::{Doubt, Held, Machine};
use super::processes::Family;
use super::queued;

/// Between two looks into the sockets, at least, unless the machine has lost so much that it may be there.
const REST: Duration = Duration::from_millis(200);
/// Looking into the sockets takes at most one part in this many of the time.
const SHARE: u32 = 50;

/// What was seen of it so far.
pub(super) struct Memory {
    family: Family,
    /// The most room that the machine has had.
    best: Machine,
    /// When the sockets are looked into again, whatever the machine has lost: others may make room meanwhile.
    next_look: Instant,
    doubt: Doubt,
}

impl Memory {
    pub(super) fn begin(family: Family) -> Memory {
        Memory { family, best: Machine::now(), next_look: Instant::now() + REST, doubt: Doubt::default() }
    }

    /// Whether it takes more than it may. `quick` is what its processes show at once; what takes longer to find is looked
    /// for only where it could matter, and from time to time.
    pub(super) fn is_exceeded(&mut self, limit: u64, quick: u64) -> bool {
        let (gained, lost) = Machine::now().since(&mut self.best);
        let mut queued = Held::default();
        if quick + lost > limit || Instant::now() >= self.next_look {
            let before = time_spent();
            queued = queued::in_sockets(&self.family.members(u64::MAX));
            self.next_look = Instant::now() + REST.max(time_spent().saturating_sub(before) * SHARE);
        }
        let family = self.family;
        let is_too_much =
            |queued: u64| quick + queued + gained > limit && family.memory_shared_once(gained) + queued > limit;
        self.doubt.weigh(queued, lost, is_too_much)
    }
}
