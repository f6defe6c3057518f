//! The text of answers while models write them: pieces for those who watch, and the whole for those who come later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use updraft_engine::Delta;
use updraft_run::{EffectAddress, Event, Record};

/// Most bytes of live text that a new watcher is told.
const LIVE_TEXT: usize = 256 << 10;

/// A piece of a model's answer while it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveText {
    /// The question that the model answers.
    pub address: EffectAddress,
    /// The piece.
    pub text: Arc<str>,
    /// What it is.
    pub kind: LiveTextKind,
}

/// What a piece of live text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTextKind {
    /// More of the answer.
    Text,
    /// More of the reasoning.
    Reasoning,
    /// The whole answer so far: it replaces what was shown.
    Whole,
    /// A remark about the question, such as that it waits or that a call is being written.
    Status,
}

impl LiveText {
    /// What watchers are told of a piece, if anything.
    pub(super) fn of(at: &EffectAddress, delta: &Delta<'_>) -> Option<Self> {
        let (text, kind) = match delta {
            Delta::Text(text) => ((*text).into(), LiveTextKind::Text),
            Delta::Reasoning(text) => ((*text).into(), LiveTextKind::Reasoning),
            Delta::Call(name) => (format!("writes a call of {name}").into(), LiveTextKind::Status),
            Delta::Waiting(why) => ((*why).into(), LiveTextKind::Status),
            Delta::Again(_) => ("".into(), LiveTextKind::Whole),
            _ => return None,
        };
        Some(Self { address: at.clone(), text, kind })
    }
}

/// The text of the answers that are being written, each from its beginning: whoever comes later can read along.
#[derive(Default)]
pub(super) struct WrittenTexts(pub(super) BTreeMap<EffectAddress, String>);

impl WrittenTexts {
    /// A piece of an answer has arrived.
    pub(super) fn add(&mut self, at: &EffectAddress, delta: &Delta<'_>) {
        match delta {
            Delta::Text(text) => {
                let whole = self.0.entry(at.clone()).or_default();
                if whole.len() < LIVE_TEXT {
                    whole.push_str(text);
                }
            }
            Delta::Again(_) => drop(self.0.remove(at)),
            _ => {}
        }
    }

    /// Those of which something is written, each as a whole.
    pub(super) fn whole(&self) -> Vec<LiveText> {
        let whole = |(at, text): (&EffectAddress, &String)| LiveText {
            address: at.clone(),
            text: text.as_str().into(),
            kind: LiveTextKind::Whole,
        };
        self.0.iter().filter(|(_, text)| !text.is_empty()).map(whole).collect()
    }

    /// Removes those that a record has.
    pub(super) fn forget(&mut self, record: &Record) {
        for event in &record.events {
            if let Event::Replied { id, .. } = event {
                self.0.remove(id);
            }
        }
    }
}

pub(super) fn lock(texts: &Mutex<WrittenTexts>) -> MutexGuard<'_, WrittenTexts> {
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}
