//! Measures how much memory a command uses, including memory that none of its processes reports.

use std::time::{Duration, Instant};

use super::processes::ProcessFamily;
use super::socket_memory;
use super::supervise::time_spent;
use super::unnamed::{ByteEstimate, DoubtTimer, MachineMemory, sum};

/// The shortest time between two checks of the sockets, unless their content can decide at once.
const REST: Duration = Duration::from_millis(200);
/// Checking the sockets takes at most this fraction (one in this many) of the time. If their content can decide, they
/// are checked at every tick, and the ticks are limited to their own fraction.
const SHARE: u32 = 50;

/// The measurements so far.
pub(super) struct MemoryMeter {
    family: ProcessFamily,
    /// The best values of the machine's memory so far.
    best: MachineMemory,
    /// The result of the last check of the sockets, valid until the next one.
    queued: ByteEstimate,
    /// When the sockets are checked again, even if the machine has lost no memory: others may free memory meanwhile.
    next_look: Instant,
    doubt: DoubtTimer,
}

impl MemoryMeter {
    pub(super) fn begin(family: ProcessFamily) -> MemoryMeter {
        let next_look = Instant::now() + REST;
        MemoryMeter {
            family,
            best: MachineMemory::now(),
            queued: ByteEstimate::default(),
            next_look,
            doubt: DoubtTimer::default(),
        }
    }

    /// Whether the command uses more than its limit. `quick` is what its processes report directly. What takes longer
    /// to find is checked only if it could decide, and from time to time.
    pub(super) fn is_exceeded(&mut self, limit: u64, quick: u64) -> bool {
        let (gained, lost) = MachineMemory::now().since(&mut self.best);
        if self.matters(limit, quick, gained, lost) || Instant::now() >= self.next_look {
            let before = time_spent();
            self.queued = socket_memory::in_sockets(&self.family.members(u64::MAX));
            self.next_look = Instant::now() + REST.max(time_spent().saturating_sub(before) * SHARE);
        }
        let family = self.family;
        let is_too_much = |queued: u64| {
            sum([quick, queued, gained]) > limit && sum([family.memory_shared_once(gained), queued]) > limit
        };
        self.doubt.weigh(self.queued, lost, is_too_much)
    }

    /// Whether the content of the sockets can decide now: they may hold as much as the machine has lost, or what they
    /// held at the last check would be too much.
    fn matters(&self, limit: u64, quick: u64, gained: u64, lost: u64) -> bool {
        sum([quick, lost]) > limit || sum([quick, self.queued.within(lost), gained]) > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_last_look_left_in_question_is_looked_at_again_at_once() {
        let mut memory = MemoryMeter::begin(ProcessFamily::Descendants);
        assert!(memory.matters(100, 50, 0, 60), "the machine has lost so much");
        assert!(!memory.matters(100, 50, 30, 40), "nothing was seen");
        memory.queued = ByteEstimate { bytes: 0, perhaps: u64::MAX };
        assert!(memory.matters(100, 50, 30, 40), "or the doubt would begin anew at every second tick");
        memory.queued = ByteEstimate { bytes: 60, perhaps: 0 };
        assert!(memory.matters(100, 50, 0, 0));
        assert!(memory.matters(u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX), "and no sum begins again at nothing");
    }

    #[test]
    fn what_was_seen_holds_until_the_next_look() {
        let mut memory = MemoryMeter::begin(ProcessFamily::Descendants);
        let seen = ByteEstimate { bytes: 7, perhaps: 0 };
        (memory.queued, memory.next_look) = (seen, Instant::now() + Duration::from_hours(1));
        assert!(!memory.is_exceeded(u64::MAX, 0));
        assert_eq!(memory.queued, seen);
    }
}
