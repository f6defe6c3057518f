//! Hears what a run needs from a person, while the run goes on.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use updraft_engine::{Delta, RunWatcher};
use updraft_run::{EffectAddress, EffectKind, Event, Record, Run, RunId};

use super::ask::PersonQuestion;

/// News about what is needed.
pub(crate) enum QuestionNews {
    /// The run asks. Its plan is not among this: it is shown in another way.
    Asked {
        /// What it needs.
        question: Box<PersonQuestion>,
        /// Nothing else is under way: the run comes to rest.
        is_last: bool,
    },
    /// It has its answer.
    Settled(EffectAddress),
}

/// News as they arrive.
pub(crate) type QuestionReceiver = Mutex<mpsc::UnboundedReceiver<QuestionNews>>;

struct QuestionWatch {
    shown: Arc<dyn RunWatcher>,
    send: mpsc::UnboundedSender<QuestionNews>,
}

/// Wraps a watcher, and passes on the questions that it sees. There are at most as many as the run has open calls.
pub(super) fn overhear(shown: Arc<dyn RunWatcher>) -> (Arc<dyn RunWatcher>, QuestionReceiver) {
    let (send, receive) = mpsc::unbounded_channel();
    (Arc::new(QuestionWatch { shown, send }), Mutex::new(receive))
}

impl RunWatcher for QuestionWatch {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        if self.shown.is_watching() {
            self.shown.record(id, first, record, run);
        }
        for event in &record.events {
            let news = match event {
                Event::Wanted { id, effect } if run.open().contains_key(id) && run.plan_approval() != Some(id) => {
                    PersonQuestion::of(run, id, effect)
                        .map(|question| QuestionNews::Asked { question: Box::new(question), is_last: run.is_at_rest() })
                }
                Event::Replied { id, .. } if id.kind != EffectKind::Call => Some(QuestionNews::Settled(id.clone())),
                _ => None,
            };
            // If nobody receives it, nobody is asked.
            if let Some(news) = news {
                let _ = self.send.send(news);
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
