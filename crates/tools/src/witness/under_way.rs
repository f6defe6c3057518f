//! Which calls are under way in a workspace, who met whom, and what each is told of the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::compare::ChangesByOthers;
use super::snapshot::Entry;

/// The calls that are under way in one workspace.
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
    /// It may change what it does not tell.
    is_unseen: bool,
    /// Another of that kind was under way at the same time.
    has_met: bool,
    moved: ChangesByOthers,
    /// How often it was told something.
    told: u64,
}

impl Call {
    /// Whether one of them was made by the code of the other, so that the other waits for it.
    fn is_kin(&self, other: &Call) -> bool {
        let is_within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        is_within(&self.key, &other.key) || is_within(&other.key, &self.key)
    }
}

/// One call that is under way, until this is dropped.
pub(super) struct Guard {
    calls: Arc<UnderWay>,
    number: u64,
}

/// What is known of a call at its end.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Another call that does not tell its changes either was under way at some time.
    pub(super) has_met: bool,
    /// Calls that tell their changes are still under way.
    pub(super) others_go_on: bool,
    /// What others have told.
    pub(super) moved: ChangesByOthers,
}

impl UnderWay {
    /// A call begins. Its key is that of the call that made it, and a number, if code made it.
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
    /// Those that must be told what a call changed: all that are watched, or only those that wait for it if it cannot be
    /// sure itself.
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

    /// Tells others what some paths are since this call changed them.
    pub(super) fn tell(&self, moved: &[(Vec<u8>, Option<Entry>)]) {
        for other in self.calls.calls().listeners(self.number) {
            other.moved.extend(moved.iter().cloned());
            other.told += 1;
        }
    }

    /// How often it was told something.
    pub(super) fn told(&self) -> u64 {
        let calls = self.calls.calls();
        calls.all.iter().find(|call| call.number == self.number).map_or(0, |call| call.told)
    }

    /// What is known at its end; nothing if it was told something more than so often.
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
