//! Receives questions that MCP servers have for a person, while the run's calls are under way.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use updraft_engine::{Delta, RunWatcher};
use updraft_run::{Effect, EffectAddress, Event, Inquiry, Record, Run, RunId};

/// A question: its address, its text, and what fits as an answer.
pub(crate) type PendingInquiry = (EffectAddress, String, Inquiry);

/// Questions as they arrive.
pub(crate) type InquiryReceiver = Mutex<mpsc::UnboundedReceiver<PendingInquiry>>;

struct InquiryWatch {
    shown: Arc<dyn RunWatcher>,
    send: mpsc::UnboundedSender<PendingInquiry>,
}

/// Wraps a watcher, and passes on the questions that it sees. There are at most as many as the run has open calls.
pub(super) fn overhear(shown: Arc<dyn RunWatcher>) -> (Arc<dyn RunWatcher>, InquiryReceiver) {
    let (send, receive) = mpsc::unbounded_channel();
    (Arc::new(InquiryWatch { shown, send }), Mutex::new(receive))
}

impl RunWatcher for InquiryWatch {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        if self.shown.is_watching() {
            self.shown.record(id, first, record, run);
        }
        for event in &record.events {
            if let Event::Wanted { id, effect: Effect::Question { text, inquiry: Some(inquiry), .. } } = event
                && run.open().contains_key(id)
            {
                // If nobody receives it, nobody is asked.
                let _ = self.send.send((id.clone(), text.clone(), (**inquiry).clone()));
            }
        }
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.shown.delta(id, at, delta);
    }

    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.shown.said(id, at, line);
    }

    fn printed(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.shown.printed(id, at, line);
    }
}
