//! The order of the calls of one turn. They take effect as if they had been made one after the other; those whose order
//! cannot be noticed are made at once.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::effect::PreparedCall;
use crate::reply::{FailureKind, Reply};
use crate::step::{CallSlot, Step, StepState, ToolCallOutcome};

/// Which other calls of its turn a call may be made at once with. Order is kept where the workspace carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOrder {
    /// It only reads, or changes nothing here: with others of this kind.
    #[default]
    Reads,
    /// A tool of a server or of the user, which knows what it shares with its neighbours: with others of this kind.
    Serves,
    /// It may change files: with no other.
    Alone,
}

impl CallOrder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_reading(&self) -> bool {
        *self == CallOrder::Reads
    }
}

/// The calls whose turn it is: all before them have ended, and they may be made at once.
pub(crate) fn due_calls(slots: &[CallSlot], prepared: &[PreparedCall]) -> Range<usize> {
    let order = |n: usize| prepared.get(n).map_or(CallOrder::Alone, |call| call.order);
    let Some(from) = slots.iter().position(|slot| !matches!(slot, CallSlot::Closed(_))) else {
        return slots.len()..slots.len();
    };
    if order(from) == CallOrder::Alone {
        return from..from + 1;
    }
    let until = (from..slots.len()).find(|n| order(*n) != order(from));
    from..until.unwrap_or(slots.len())
}

/// Whether a call has ended of which nobody knows what it has done.
pub(crate) fn has_unknown_outcome(slots: &[CallSlot]) -> bool {
    slots.iter().any(|slot| match slot {
        CallSlot::Closed(ToolCallOutcome::Replied(Reply::InDoubt { .. })) => true,
        CallSlot::Closed(ToolCallOutcome::Replied(Reply::Failed(why))) => why.kind == FailureKind::InDoubt,
        CallSlot::Closed(_) | CallSlot::Undecided | CallSlot::Asked | CallSlot::Decided(_) | CallSlot::Open => false,
    })
}

/// The files of edits that follow each other in one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowOfEdits {
    /// Edited by the calls before the last.
    pub before: BTreeSet<String>,
    /// Edited by the last.
    pub own: BTreeSet<String>,
}

impl Step {
    /// Whether something is to be decided about a call whose turn it is.
    pub(crate) fn has_due_calls(&self) -> bool {
        let StepState::Acting { slots, .. } = &self.state else { return false };
        let mut due = due_calls(slots, &self.prepared);
        due.any(|n| matches!(slots[n], CallSlot::Undecided | CallSlot::Decided(_)))
    }

    /// Whether the call with this number is the last that is waited for, and others come after it.
    pub fn holds_others_behind(&self, n: u32) -> bool {
        let StepState::Acting { slots, .. } = &self.state else { return false };
        let ended = |(at, slot): (usize, &CallSlot)| at == n as usize || matches!(slot, CallSlot::Closed(_));
        let due = due_calls(slots, &self.prepared);
        due.contains(&(n as usize)) && due.end < slots.len() && slots[..due.end].iter().enumerate().all(ended)
    }

    /// Whether a call before this one in its turn may have changed something.
    pub fn has_changes_before(&self, n: u32) -> bool {
        self.prepared.iter().take(n as usize).any(|call| !call.order.is_reading())
    }

    /// The edits of a row of which this call is the last: those right before it in its turn that succeeded, and its own.
    /// Empty if another edit follows: who looks at what was edited waits for that.
    pub fn row_of_edits(&self, n: u32) -> RowOfEdits {
        let edits = |n: usize| self.prepared.get(n).map_or(&[][..], |call| &call.writes);
        let n = n as usize;
        if edits(n).is_empty() || !edits(n + 1).is_empty() {
            return RowOfEdits::default();
        }
        let slots = if let StepState::Acting { slots, .. } = &self.state { slots.as_slice() } else { &[] };
        let is_made = |at: &usize| matches!(slots.get(*at), Some(CallSlot::Closed(outcome)) if outcome.is_good());
        let row = (0..n).rev().take_while(|n| !edits(*n).is_empty()).filter(is_made);
        RowOfEdits { before: row.flat_map(edits).cloned().collect(), own: edits(n).iter().cloned().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallOrder::{Alone, Reads, Serves};

    #[test]
    fn calls_of_a_kind_are_made_at_once_and_one_that_changes_files_is_made_alone() {
        let groups = |orders: &[CallOrder]| {
            let prepared: Vec<PreparedCall> =
                orders.iter().map(|order| PreparedCall { order: *order, ..PreparedCall::default() }).collect();
            let mut slots = vec![CallSlot::Undecided; orders.len()];
            let mut groups = Vec::new();
            while slots.contains(&CallSlot::Undecided) {
                let due = due_calls(&slots, &prepared);
                groups.push(due.len());
                slots[due].fill(CallSlot::Closed(ToolCallOutcome::Replied(Reply::Cancelled)));
            }
            groups
        };
        assert_eq!(groups(&[Reads, Reads, Reads]), [3]);
        assert_eq!(groups(&[Serves, Serves]), [2]);
        assert_eq!(groups(&[Alone, Alone]), [1, 1]);
        assert_eq!(groups(&[Reads, Alone, Reads, Reads, Serves, Reads]), [1, 1, 2, 1, 1]);
        assert_eq!(groups(&[]), [0; 0]);
    }
}
