//! Messages about runs for other servers (webhooks): found in the journal, and kept there until they are delivered.
//!
//! A message is an event of a run, so its id and its content are functions of the journal. For each server and run, one
//! stored value says how far the run was looked at and which messages wait; it changes in one transaction. So no message
//! is lost or made twice by a crash. One that was delivered just before a crash is delivered again, with the same id.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use updraft_journal::{Change, ChangeWatcher, Journal, RunFilter, RunSummary, StoredValue};
use updraft_run::{Effect, Event, RunId, Timestamp};

use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::folders;
use crate::settings::{WebhookEndpoint, WebhookEvent};
use crate::time_format;

/// Where the state of a server is stored: the prefix of the scope, and the key of the time when it was first named.
const SCOPE: &str = "webhooks ";
const SINCE: &str = "since";
/// States of runs that nothing was written about for this long are removed, and most of them that are kept.
const KEPT_FOR: Duration = Duration::from_hours(90 * 24);
const MOST_KEPT: usize = 100_000;
/// How often a server looks whether another one still sends.
const LOOK: Duration = Duration::from_secs(1);
/// Most characters of an answer in a message.
const ANSWER: usize = 8_000;

/// The messages for one server.
pub struct WebhookOutbox {
    journal: Journal,
    workspace: String,
    scope: String,
    wanted: Vec<WebhookEvent>,
    /// Nothing is told that happened before the server was named.
    since: Timestamp,
    /// How many events of each run were looked at.
    seen: BTreeMap<RunId, u64>,
    /// What waits, oldest first.
    waiting: BTreeMap<MessagePlace, WebhookEvent>,
    changes: ChangeWatcher,
}

/// The place of a message: its time, its run and its number in the run's journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessagePlace {
    at: i64,
    run: RunId,
    seq: u64,
}

/// A message that is to be delivered.
#[derive(Clone, Debug)]
pub struct WebhookMessage {
    /// The same for every attempt.
    pub id: String,
    /// The content.
    pub body: Value,
    place: MessagePlace,
}

/// The right to send the messages of a workspace. One process has it at a time, until it ends.
#[must_use = "dropping it lets another process send"]
pub struct OutboxTurn {
    _lock: Option<File>,
}

/// What is stored about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RunOutbox {
    /// How many events were looked at.
    seen: u64,
    /// The messages that wait.
    waiting: Vec<StoredMessage>,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredMessage {
    seq: u64,
    at: i64,
    event: WebhookEvent,
}

impl LiveRuns {
    /// Waits until no other process sends the messages of this workspace.
    pub async fn outbox_turn(&self) -> Result<OutboxTurn, Fault> {
        // The lock files are empty and never removed, so that all processes lock the same file.
        let name = format!("webhooks-{}", &hex(self.workspace())[..32]);
        let path = self.journal().path().with_file_name("locks").join(name);
        let file = folders::private_file(&path, OpenOptions::new().write(true));
        let file = file.map_err(|error| Fault::file("open", &path, &error))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(OutboxTurn { _lock: Some(file) }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
                // Some file systems have no locks.
                Err(TryLockError::Error(_)) => return Ok(OutboxTurn { _lock: None }),
            }
        }
    }

    /// The messages for a server.
    pub async fn outbox(&self, endpoint: &WebhookEndpoint) -> Result<WebhookOutbox, Fault> {
        let (journal, workspace) = (self.journal().clone(), self.workspace().to_owned());
        let scope = format!("{SCOPE}{} {workspace}", hex(&endpoint.url));
        let now = time_format::now().0;
        let first = move |known: Option<StoredValue>| match known.and_then(|known| known.value.parse().ok()) {
            Some(since) => (Change::Nothing, since),
            None => (Change::Set(now.to_string()), now),
        };
        let since = Timestamp(journal.change_stored(&scope, SINCE, first).await?);
        journal.sweep_stored(&scope, KEPT_FOR, MOST_KEPT).await?;
        let changes = journal.changes();
        let wanted = endpoint.events.clone();
        let (seen, waiting) = (BTreeMap::new(), BTreeMap::new());
        Ok(WebhookOutbox { journal, workspace, scope, wanted, since, seen, waiting, changes })
    }
}

impl WebhookOutbox {
    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until something was written to the journal.
    pub async fn changed(&mut self) {
        self.changes.next().await;
    }

    /// Looks for new messages in the runs of this workspace.
    pub async fn look(&mut self) -> Result<(), Fault> {
        let (journal, workspace) = (self.journal.clone(), Some(self.workspace.clone()));
        let runs = blocking(move || Ok(journal.list(&RunFilter { workspace, ..RunFilter::default() })?)).await?;
        for run in runs {
            // What was not touched since cannot have messages.
            if run.updated >= self.since && self.seen.get(&run.id).is_none_or(|seen| *seen < run.events) {
                self.look_at(run).await?;
            }
        }
        Ok(())
    }

    async fn look_at(&mut self, run: RunSummary) -> Result<(), Fault> {
        let (journal, scope, id) = (self.journal.clone(), self.scope.clone(), run.id.clone());
        let (wanted, since) = (self.wanted.clone(), self.since);
        let (known, is_changed) = blocking(move || {
            let known = read(journal.stored(&scope, id.as_str())?);
            let found = find(&journal, &id, &known, &wanted, since)?;
            let is_changed = !found.waiting.is_empty() && found != known;
            Ok((if is_changed { found } else { RunOutbox { seen: found.seen, ..known } }, is_changed))
        })
        .await?;
        if is_changed {
            let text = serde_json::to_string(&known).map_err(|error| Fault::failed(error.to_string()))?;
            let set = move |_| (Change::Set(text.clone()), ());
            self.journal.change_stored(&self.scope, run.id.as_str(), set).await?;
        }
        for StoredMessage { seq, at, event } in known.waiting {
            self.waiting.insert(MessagePlace { at, run: run.id.clone(), seq }, event);
        }
        self.seen.insert(run.id, known.seen);
        Ok(())
    }

    /// The oldest message, if one waits. Messages of runs that were removed are dropped.
    pub async fn first(&mut self) -> Result<Option<WebhookMessage>, Fault> {
        while let Some((place, event)) = self.waiting.first_key_value().map(|(place, event)| (place.clone(), *event)) {
            let (journal, at) = (self.journal.clone(), place.clone());
            match blocking(move || content(&journal, &at, event)).await {
                Ok(Some(body)) => {
                    let id = format!("msg_{}", &hex(&format!("{} {} {}", place.run, place.seq, event.word()))[..32]);
                    return Ok(Some(WebhookMessage { id, body, place }));
                }
                Ok(None) | Err(Fault { kind: crate::Kind::Usage, .. }) => drop(self.waiting.pop_first()),
                Err(fault) => return Err(fault),
            }
        }
        Ok(None)
    }

    /// A message was delivered, or is given up.
    pub async fn settle(&mut self, message: &WebhookMessage) -> Result<(), Fault> {
        let (seq, at_least) = (message.place.seq, self.seen.get(&message.place.run).copied().unwrap_or_default());
        let without = move |known: Option<StoredValue>| {
            let mut known = read(known);
            known.waiting.retain(|waiting| waiting.seq != seq);
            known.seen = known.seen.max(at_least).max(seq);
            (Change::Set(serde_json::to_string(&known).unwrap_or_default()), ())
        };
        self.journal.change_stored(&self.scope, message.place.run.as_str(), without).await?;
        self.waiting.remove(&message.place);
        Ok(())
    }
}

fn read(stored: Option<StoredValue>) -> RunOutbox {
    stored.and_then(|stored| serde_json::from_str(&stored.value).ok()).unwrap_or_default()
}

/// What waits in a run, with the messages that are new since it was last looked at.
fn find(
    journal: &Journal,
    id: &RunId,
    known: &RunOutbox,
    wanted: &[WebhookEvent],
    since: Timestamp,
) -> Result<RunOutbox, Fault> {
    let mut found = known.clone();
    journal.read(id, known.seen + 1, &mut |first, record| {
        for (seq, event) in (first..).zip(&record.events).filter(|(seq, _)| *seq > known.seen) {
            found.seen = seq;
            if matches!(event, Event::Forked { .. } | Event::Imported) {
                // What was copied happened in another run.
                found.waiting.retain(|waiting| waiting.seq <= known.seen);
            }
            if let Some(event) = message_of(event).filter(|event| wanted.contains(event) && record.at >= since) {
                found.waiting.push(StoredMessage { seq, at: record.at.0, event });
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The message that an event of a run is, if it is one.
fn message_of(event: &Event) -> Option<WebhookEvent> {
    match event {
        Event::Finished { .. } => Some(WebhookEvent::Ended),
        Event::Wanted { effect: Effect::Question { .. } | Effect::Approval { .. }, .. } => {
            Some(WebhookEvent::NeedsPerson)
        }
        Event::Exhausted { .. } | Event::Halted { .. } => Some(WebhookEvent::NeedsPerson),
        _ => None,
    }
}

/// What a server is told.
fn content(journal: &Journal, place: &MessagePlace, event: WebhookEvent) -> Result<Option<Value>, Fault> {
    let head = journal.head(&place.run)?;
    let mut happened = None;
    journal.read(&place.run, place.seq, &mut |first, record| {
        happened = (first..).zip(record.events).find(|(seq, _)| *seq == place.seq).map(|(_, event)| event);
        ControlFlow::Break(())
    })?;
    let Some(happened) = happened else { return Ok(None) };
    let mut data = json!({ "run": place.run, "seq": place.seq, "goal": head.goal });
    match happened {
        Event::Finished { answer, failed } => {
            data["status"] = head.status.as_str().into();
            data["answer"] = answer.chars().take(ANSWER).collect::<String>().into();
            data["answer_is_cut"] = (answer.chars().count() > ANSWER).into();
            data["failure"] = failed.map(|why| why.message).into();
        }
        Event::Wanted { id, effect: Effect::Question { text, options, .. } } => {
            data["wait"] = json!({ "id": id, "kind": "question", "text": text, "options": options });
        }
        Event::Wanted { id, effect: Effect::Approval { why, .. } } => {
            data["wait"] = json!({ "id": id, "kind": "approval", "text": why });
        }
        Event::Halted { why, .. } => data["wait"] = json!({ "kind": "halted", "text": why.message }),
        _ => data["wait"] = json!({ "kind": "limit", "text": "the run has reached a limit" }),
    }
    let at = time_format::iso(Timestamp(place.at));
    Ok(Some(json!({ "type": event.word(), "timestamp": at, "data": data })))
}

fn hex(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
