//! Tracks the open requests of one connection, to tell expected answers from answers that nobody waits for.
//!
//! On the wire, every request has an id that cannot be guessed. So a server that miscounts, or answers requests it has
//! not read, never hits the id of another request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use sha2::{Digest, Sha256};

use crate::error::cut;

/// Maximum number of cancelled requests that are remembered, so that their late answers do not count as violations.
const GIVEN_UP: usize = 1_024;
/// Maximum burst of messages that no request asked for: more than any server needs.
const BURST: f64 = 5_000.0;
/// The allowed rate of such messages in the long run, per second.
const RATE: f64 = 500.0;

/// A server's violations of the protocol on one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolViolations {
    /// Lines that are not messages.
    pub garbage: u64,
    /// The first such line, truncated.
    pub first_garbage: Option<String>,
    /// Answers to requests that were never made, or that were answered before.
    pub strays: u64,
    /// Messages that were too large to read.
    pub oversized: u64,
    /// Whether it sent too many messages and was cut off.
    pub floods: bool,
}

impl ProtocolViolations {
    /// One sentence for each kind of violation; empty for a server that behaves.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(first) = &self.first_garbage {
            words.push(format!("{} lines of its output are not messages, the first: {first}", self.garbage));
        }
        if self.strays > 0 {
            words.push(format!("{} answers to requests that were never made or already answered", self.strays));
        }
        if self.oversized > 0 {
            words.push(format!("{} messages were too large", self.oversized));
        }
        if self.floods {
            words.push("it sent more messages or lines than anybody asked for, and was cut off".to_owned());
        }
        words
    }
}

/// The open requests of one connection.
#[derive(Default)]
pub(super) struct RequestLedger(Mutex<LedgerState>);

struct LedgerState {
    /// The id that the SDK uses, by the id on the wire.
    open: BTreeMap<String, RequestId>,
    secret: [u8; 16],
    count: u64,
    given_up: VecDeque<String>,
    /// Whether a request that was given up was answered after all, with a result.
    is_late: bool,
    misdeeds: ProtocolViolations,
    room: f64,
    filled: Instant,
    /// Until when the server has asked us to send no requests.
    alone_until: Option<Instant>,
}

impl Default for LedgerState {
    fn default() -> Self {
        let mut secret = [0; 16];
        // Without randomness, ids can be guessed; nothing else is lost.
        let _ = getrandom::fill(&mut secret);
        Self {
            open: BTreeMap::new(),
            secret,
            count: 0,
            given_up: VecDeque::new(),
            is_late: false,
            misdeeds: ProtocolViolations::default(),
            room: BURST,
            filled: Instant::now(),
            alone_until: None,
        }
    }
}

/// What to do with an incoming message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MessageVerdict {
    /// A request waits for it, or it is a notification that may matter.
    Take,
    /// No request waits for it.
    Drop,
    /// There are too many such messages: the connection is closed.
    Flood,
}

impl RequestLedger {
    /// Notes that the server has asked for a pause.
    pub(super) fn leave_alone(&self, seconds: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).alone_until =
            Instant::now().checked_add(Duration::from_secs(seconds));
    }

    /// The remaining time of the pause that the server asked for.
    pub(super) fn left_alone_for(&self) -> Duration {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner).alone_until;
        until.map(|until| until.saturating_duration_since(Instant::now())).unwrap_or_default()
    }

    pub(super) fn misdeeds(&self) -> ProtocolViolations {
        self.book().misdeeds.clone()
    }

    /// Registers an outgoing message, and gives it its id on the wire.
    pub(super) fn sends(&self, message: &mut TxJsonRpcMessage<RoleClient>) {
        let mut book = self.book();
        match message {
            JsonRpcMessage::Request(request) => {
                // A slow server gets `initialize` while the request in the new style still waits in its pipe.
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    book.give_up_all();
                }
                let wire = book.next();
                let known = std::mem::replace(&mut request.id, wire.clone());
                book.open.insert(key(&wire), known);
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut note.notification
                    && let Some(id) = &mut cancelled.params.request_id
                    && let Some(wire) = book.give_up(id)
                {
                    *id = wire;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Classifies an incoming message, and restores the id that its request has for the SDK.
    pub(super) fn receives(&self, message: &mut RxJsonRpcMessage<RoleClient>) -> MessageVerdict {
        let mut book = self.book();
        let is_answer = matches!(message, JsonRpcMessage::Response(_));
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&mut response.id),
            JsonRpcMessage::Error(error) => error.id.as_mut(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some(id) = id else { return book.unasked(1.0, MessageVerdict::Take) };
        if let Some(known) = book.open.remove(&key(id)) {
            *id = known;
            return MessageVerdict::Take;
        }
        let wire = key(id);
        if book.given_up.contains(&wire) {
            book.given_up.retain(|other| *other != wire);
            book.is_late |= is_answer;
        } else {
            book.misdeeds.strays += 1;
        }
        book.unasked(1.0, MessageVerdict::Drop)
    }

    /// Whether a cancelled request was answered after all, and not with an error.
    pub(super) fn was_answered_late(&self) -> bool {
        self.book().is_late
    }

    /// Whether a request still waits for this answer.
    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        self.book().open.contains_key(&key(id))
    }

    pub(super) fn garbage(&self, line: &[u8]) -> MessageVerdict {
        let mut book = self.book();
        book.misdeeds.garbage += 1;
        if book.misdeeds.first_garbage.is_none() {
            book.misdeeds.first_garbage = Some(cut(&String::from_utf8_lossy(&line[..line.len().min(400)]), 200));
        }
        book.unasked(1.0, MessageVerdict::Drop)
    }

    /// Empty lines are harmless, except for an endless stream of them.
    pub(super) fn blank(&self) -> MessageVerdict {
        self.book().unasked(1.0, MessageVerdict::Drop)
    }

    pub(super) fn stray(&self) {
        self.book().misdeeds.strays += 1;
    }

    pub(super) fn oversized(&self) {
        self.book().misdeeds.oversized += 1;
    }

    /// Counts messages that no request asked for, without looking into them.
    pub(super) fn unasked(&self, count: usize) -> MessageVerdict {
        if count == 0 { MessageVerdict::Take } else { self.book().unasked(count as f64, MessageVerdict::Take) }
    }

    /// Takes back such a count, because the bytes turned out to be a message that is counted by itself.
    pub(super) fn give_back(&self, count: usize) {
        let mut book = self.book();
        book.room = BURST.min(book.room + count as f64);
    }

    /// Notes that the server was cut off.
    pub(super) fn cut_off(&self) {
        self.book().misdeeds.floods = true;
    }

    /// Whether it was cut off for sending too much.
    pub(super) fn has_flooded(&self) -> bool {
        self.book().misdeeds.floods
    }

    fn book(&self) -> std::sync::MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    /// An id that cannot be guessed, and that every language can represent exactly.
    fn next(&mut self) -> RequestId {
        self.count += 1;
        let mut hash = Sha256::new();
        hash.update(self.secret);
        hash.update(self.count.to_le_bytes());
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.finalize()[..8]);
        RequestId::Number(i64::from_le_bytes(bytes) & ((1 << 52) - 1))
    }

    /// Removes a request, and returns its id on the wire.
    fn give_up(&mut self, id: &RequestId) -> Option<RequestId> {
        let wire = self.open.iter().find(|(_, known)| *known == id).map(|(wire, _)| wire.clone())?;
        self.open.remove(&wire);
        self.given_up.push_back(wire.clone());
        if self.given_up.len() > GIVEN_UP {
            self.given_up.pop_front();
        }
        wire.parse().ok().map(RequestId::Number)
    }

    fn give_up_all(&mut self) {
        self.given_up.extend(std::mem::take(&mut self.open).into_keys());
    }

    /// Counts messages that no request asked for.
    fn unasked(&mut self, count: f64, otherwise: MessageVerdict) -> MessageVerdict {
        let now = Instant::now();
        self.room = BURST.min(self.room + now.duration_since(self.filled).as_secs_f64() * RATE);
        self.filled = now;
        self.room -= count;
        if self.room >= 0.0 {
            return otherwise;
        }
        self.misdeeds.floods = true;
        MessageVerdict::Flood
    }
}

/// Some servers return a numeric id as a string.
fn key(id: &RequestId) -> String {
    id.to_string()
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
    use serde_json::json;

    use super::*;

    fn sent(ledger: &RequestLedger, id: u32, method: &str) -> serde_json::Value {
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut message: ClientJsonRpcMessage = serde_json::from_value(message).unwrap();
        ledger.sends(&mut message);
        serde_json::to_value(&message).unwrap()["id"].clone()
    }

    fn came(ledger: &RequestLedger, message: serde_json::Value) -> MessageVerdict {
        let mut message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
        ledger.receives(&mut message)
    }

    #[test]
    fn a_slow_server_that_was_asked_in_both_ways_may_answer_both() {
        let ledger = RequestLedger::default();
        let (new, old) = (sent(&ledger, 0, "server/discover"), sent(&ledger, 1, "initialize"));
        let refusal = json!({"jsonrpc": "2.0", "id": new, "error": {"code": -32601, "message": "no such method"}});
        assert_eq!(came(&ledger, refusal), MessageVerdict::Drop);
        assert!(!ledger.was_answered_late());
        let about =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}});
        assert_eq!(came(&ledger, json!({"jsonrpc": "2.0", "id": old, "result": about})), MessageVerdict::Take);
        assert_eq!(ledger.misdeeds(), ProtocolViolations::default());
    }

    #[test]
    fn one_that_answers_the_new_way_late_is_known() {
        let ledger = RequestLedger::default();
        let (new, old) = (sent(&ledger, 0, "server/discover"), sent(&ledger, 1, "initialize"));
        assert_eq!(came(&ledger, json!({"jsonrpc": "2.0", "id": new, "result": {}})), MessageVerdict::Drop);
        let refusal = json!({"jsonrpc": "2.0", "id": old, "error": {"code": -32601, "message": "no such method"}});
        assert_eq!(came(&ledger, refusal), MessageVerdict::Take);
        assert!(ledger.was_answered_late());
    }
}
