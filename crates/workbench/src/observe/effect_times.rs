//! When the model calls and tool calls of runs began and ended, from the events of their journals.

use std::collections::BTreeMap;

use updraft_run::{Effect, EffectAddress, EffectKind, Event, Millis, Reply, Timestamp};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectSort {
    /// An answer of a model.
    Ask,
    /// A tool call.
    Call,
}

/// A model call or tool call that has ended.
#[derive(Debug)]
pub(crate) struct EndedEffect<'a> {
    pub(crate) id: &'a EffectAddress,
    pub(crate) sort: EffectSort,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
    /// `None` if the process that performed it ended.
    pub(crate) reply: Option<&'a Reply>,
}

impl EndedEffect<'_> {
    pub(crate) fn took(&self) -> Millis {
        self.ended.since(self.began)
    }

    /// How it ended, in one word of a short list.
    pub(crate) fn outcome(&self) -> &'static str {
        match self.reply {
            None | Some(Reply::InDoubt { .. }) => "unknown",
            Some(Reply::Output(output)) if output.is_error => "failed",
            Some(Reply::Failed(_)) => "failed",
            Some(Reply::TimedOut { .. }) => "timed_out",
            Some(Reply::Cancelled) => "cancelled",
            Some(_) => "done",
        }
    }

    /// The kind of error it ended with, if it did.
    pub(crate) fn error(&self) -> Option<&'static str> {
        match self.reply {
            None | Some(Reply::InDoubt { .. }) => Some("in_doubt"),
            Some(Reply::Output(output)) if output.is_error => Some("tool"),
            Some(Reply::Failed(why)) => Some(why.kind.name()),
            Some(Reply::TimedOut { .. }) => Some("timeout"),
            Some(Reply::Cancelled) => Some("cancelled"),
            Some(_) => None,
        }
    }
}

/// The open model calls and tool calls of one run. A read begins when it is wanted, and so does a model call: that it has begun
/// is written together with its reply. Anything else says when it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectTimes(BTreeMap<EffectAddress, (EffectSort, Timestamp)>);

impl EffectTimes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next event of the run, and returns what ended with it.
    pub(crate) fn see<'a>(&mut self, at: Timestamp, event: &'a Event) -> Option<EndedEffect<'a>> {
        match event {
            Event::Wanted { id, effect } => {
                let sort = match effect {
                    Effect::Ask => EffectSort::Ask,
                    Effect::Call => EffectSort::Call,
                    Effect::Prepare | Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => {
                        return None;
                    }
                };
                self.0.insert(id.clone(), (sort, at));
                None
            }
            Event::Begun { id, .. } => {
                let (sort, began) = self.0.entry(id.clone()).or_insert((sort_of(id.kind), at));
                if *sort == EffectSort::Call {
                    *began = at;
                }
                None
            }
            Event::Replied { id, reply, .. } => {
                let (sort, began) = self.0.remove(id)?;
                Some(EndedEffect { id, sort, began, ended: at, reply: Some(reply) })
            }
            Event::Interrupted { id, .. } => {
                let (sort, began) = self.0.get_mut(id)?;
                // The next attempt begins now.
                let began = std::mem::replace(began, at);
                Some(EndedEffect { id, sort: *sort, began, ended: at, reply: None })
            }
            _ => None,
        }
    }
}

/// The sort of an effect whose wish was written by an earlier process.
fn sort_of(kind: EffectKind) -> EffectSort {
    match kind {
        EffectKind::Call | EffectKind::Guard => EffectSort::Call,
        EffectKind::Ask | EffectKind::Approve | EffectKind::Judge | EffectKind::Compact => EffectSort::Ask,
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::{EffectFacts, Failure, FailureKind};

    use super::*;

    #[test]
    fn a_model_call_lasts_from_its_wish_to_its_reply() {
        let id = "a/0/0/ask.0".parse::<EffectAddress>().unwrap();
        let mut times = EffectTimes::default();
        let begun = Event::Begun { id: id.clone(), attempt: 1, epoch: 1, facts: EffectFacts::default() };
        assert!(times.see(Timestamp(1_000), &Event::Wanted { id: id.clone(), effect: Effect::Ask }).is_none());
        assert!(times.see(Timestamp(1_400), &begun).is_none());
        let reply = Reply::Failed(Failure::new(FailureKind::Model, "gone"));
        let replied = Event::Replied { id: id.clone(), attempt: 1, reply, prepared: Vec::new() };
        assert_eq!(times.see(Timestamp(1_400), &replied).unwrap().took(), Millis(400));
        assert!(times.is_empty());
    }

    #[test]
    fn an_attempt_after_an_interruption_is_timed_from_there() {
        let id = "a/0/0/ask.0".parse::<EffectAddress>().unwrap();
        let mut times = EffectTimes::default();
        times.see(Timestamp(0), &Event::Wanted { id: id.clone(), effect: Effect::Ask });
        let cut = Event::Interrupted { id: id.clone(), attempt: 1 };
        assert_eq!(times.see(Timestamp(70), &cut).unwrap().took(), Millis(70));
        assert_eq!(times.see(Timestamp(100), &cut).unwrap().took(), Millis(30));
    }
}
