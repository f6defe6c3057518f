//! Collects the answers to a batch until it is complete, because they are sent together.

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde_json::Value;

use super::parse::{IncomingMessage, open_in_batch};

/// Batches that are not completely answered yet.
#[derive(Default)]
pub(super) struct PendingBatches(Vec<PendingBatch>);

#[derive(Default)]
struct PendingBatch {
    /// Requests without an answer.
    waiting: Vec<RequestId>,
    answers: Vec<String>,
}

impl PendingBatches {
    /// Splits a batch: returns its messages, and its answer if it is already complete.
    pub(super) fn open(&mut self, all: Vec<Value>) -> (Vec<ClientJsonRpcMessage>, Option<String>) {
        let (mut batch, mut messages) = (PendingBatch::default(), Vec::new());
        for one in all {
            match open_in_batch(one) {
                IncomingMessage::Message(message) => {
                    if let JsonRpcMessage::Request(request) = &*message {
                        batch.waiting.push(request.id.clone());
                    }
                    messages.push(*message);
                }
                IncomingMessage::Refused(refused) => batch.answers.push(refused.answer()),
                IncomingMessage::Ignored => {}
            }
        }
        self.0.push(batch);
        (messages, self.finished())
    }

    /// Stores an answer that belongs to a batch. Returns what is to be written now.
    pub(super) fn give(&mut self, message: &ServerJsonRpcMessage, text: String) -> Option<String> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some(batch) = id.and_then(|id| self.take(id)) else { return Some(text) };
        batch.answers.push(text);
        self.finished()
    }

    /// Stops waiting for the answer to a cancelled request. Returns what is to be written now.
    pub(super) fn notice(&mut self, message: &ClientJsonRpcMessage) -> Option<String> {
        let JsonRpcMessage::Notification(notification) = message else { return None };
        let ClientNotification::CancelledNotification(cancelled) = &notification.notification else { return None };
        self.take(cancelled.params.request_id.as_ref()?)?;
        self.finished()
    }

    /// Removes this request from the batch that waits for its answer, and returns the batch.
    fn take(&mut self, id: &RequestId) -> Option<&mut PendingBatch> {
        self.0.iter_mut().find_map(|batch| {
            let at = batch.waiting.iter().position(|waiting| waiting == id)?;
            batch.waiting.swap_remove(at);
            Some(batch)
        })
    }

    /// The answers of a complete batch. A batch of notifications has none.
    fn finished(&mut self) -> Option<String> {
        let at = self.0.iter().position(|batch| batch.waiting.is_empty())?;
        let batch = self.0.swap_remove(at);
        (!batch.answers.is_empty()).then(|| format!("[{}]", batch.answers.join(",")))
    }
}
