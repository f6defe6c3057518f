//! Tracks which calls are in progress in a workspace, which of them overlapped, and what they report to each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::compare::ChangesByOthers;
use super::snapshot::Entry;

/// The calls in progress in one workspace.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    all: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    number: u64,
    key: String,
    /// Whether it may change files that it does not list.
    is_unseen: bool,
    /// Whether another such call was in progress at the same time.
    has_met: bool,
    moved: ChangesByOthers,
    /// How often other calls have reported changes to it.
    told: u64,
}

impl Call {
    /// Whether one of the two calls was made by the code of the other, which waits for it.
    fn is_kin(&self, other: &Call) -> bool {
        let is_within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        is_within(&self.key, &other.key) || is_within(&other.key, &self.key)
    }
}

/// One call in progress, until this is dropped.
pub(super) struct Guard {
    calls: Arc<UnderWay>,
    number: u64,
}

/// What is known about a call at its end.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Whether another call that does not list its changes either overlapped with it.
    pub(super) has_met: bool,
    /// Whether calls that list their changes are still in progress.
    pub(super) others_go_on: bool,
    /// The changes that other calls have reported.
    pub(super) moved: ChangesByOthers,
}

impl UnderWay {
    /// Registers a call. The key of a call that code made is the key of the code's call, followed by a number.
    pub(super) fn begin(self: &Arc<Self>, key: &str, is_unseen: bool) -> Guard {
        let mut calls = self.calls();
        calls.next += 1;
        let number = calls.next;
        let mut new =
            Call { number, key: key.to_owned(), is_unseen, has_met: false, moved: ChangesByOthers::new(), told: 0 };
        for other in calls.all.iter_mut().filter(|other| is_unseen && other.is_unseen) {
            if !other.is_kin(&new) {
                (other.has_met, new.has_met) = (true, true);
            }
        }
        calls.all.push(new);
        Guard { calls: Arc::clone(self), number }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    /// The calls that must be told what a call changed: all watched calls, or, if the call does not list its changes
    /// itself, only those that wait for it or that it waits for.
    fn listeners(&mut self, number: u64) -> Vec<&mut Call> {
        let Some(at) = self.all.iter().position(|call| call.number == number) else { return Vec::new() };
        let (before, rest) = self.all.split_at_mut(at);
        let Some((own, after)) = rest.split_first_mut() else { return Vec::new() };
        let others = before.iter_mut().chain(after);
        others.filter(|other| other.is_unseen && (!own.is_unseen || own.is_kin(other))).collect()
    }
}

impl Guard {
    pub(super) fn has_listeners(&self) -> bool {
        !self.calls.calls().listeners(self.number).is_empty()
    }

    /// Reports to other calls the state of some paths after this call changed them.
    pub(super) fn tell(&self, moved: &[(Vec<u8>, Option<Entry>)]) {
        for other in self.calls.calls().listeners(self.number) {
            other.moved.extend(moved.iter().cloned());
            other.told += 1;
        }
    }

    /// How often other calls have reported changes to it.
    pub(super) fn told(&self) -> u64 {
        let calls = self.calls.calls();
        calls.all.iter().find(|call| call.number == self.number).map_or(0, |call| call.told)
    }

    /// What is known at the end of the call; `None` if the number of reports to it is no longer `told`.
    pub(super) fn end(&self, told: Option<u64>) -> Option<Ending> {
        let mut calls = self.calls.calls();
        let at = calls.all.iter().position(|call| call.number == self.number)?;
        if told.is_some_and(|told| told != calls.all[at].told) {
            return None;
        }
        let others_go_on = calls.all.iter().any(|other| !other.is_unseen && !other.is_kin(&calls.all[at]));
        let own = &mut calls.all[at];
        Some(Ending { has_met: own.has_met, others_go_on, moved: std::mem::take(&mut own.moved) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.calls.calls().all.retain(|call| call.number != self.number);
    }
}
