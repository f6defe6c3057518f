//! The clients that are notified of changes: through a long request in the new era, through a session in the old one.

#![expect(deprecated, reason = "the level of the log leaves the protocol, and clients of earlier revisions set it")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use rmcp::model::{LoggingLevel, ResourceUpdatedNotificationParam};
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeNotice {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of the resource with this address.
    Resource(String),
}

/// One client of the old era, with its subscriptions.
pub(super) struct ClientSession {
    /// Whether its end of the stream is closed.
    pub(super) has_left: AtomicBool,
    pub(super) level: Mutex<LoggingLevel>,
    pub(super) followed: Mutex<BTreeSet<String>>,
    peer: OnceLock<Peer<RoleServer>>,
}

impl Default for ClientSession {
    fn default() -> Self {
        Self {
            has_left: AtomicBool::new(false),
            level: Mutex::new(LoggingLevel::Info),
            followed: Mutex::default(),
            peer: OnceLock::new(),
        }
    }
}

/// All subscribers.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<SubscriberTable>);

#[derive(Default)]
struct SubscriberTable {
    next: u64,
    listening: BTreeMap<u64, SubscriptionSink>,
    sessions: Vec<Weak<ClientSession>>,
}

impl Subscribers {
    /// Registers a listener until it leaves. Returns its number.
    pub(super) fn listen(&self, sink: SubscriptionSink) -> u64 {
        let mut known = lock(&self.0);
        known.next += 1;
        let number = known.next;
        known.listening.insert(number, sink);
        number
    }

    /// Removes a listener.
    pub(super) fn leave(&self, number: u64) {
        lock(&self.0).listening.remove(&number);
    }

    /// Registers a session of the old era.
    pub(super) fn meet(&self, session: &Arc<ClientSession>, peer: Peer<RoleServer>) {
        if session.peer.set(peer).is_ok() {
            let mut known = lock(&self.0);
            known.sessions.retain(|session| session.strong_count() > 0);
            known.sessions.push(Arc::downgrade(session));
        }
    }

    /// Notifies everyone who subscribed to the change.
    pub(super) async fn announce(&self, change: &ChangeNotice) {
        let (listening, sessions) = {
            let known = lock(&self.0);
            let sessions = known.sessions.iter().filter_map(Weak::upgrade);
            (known.listening.values().cloned().collect::<Vec<_>>(), sessions.collect::<Vec<_>>())
        };
        for sink in listening {
            // The sink itself skips changes that were not subscribed to.
            let _ = match change {
                ChangeNotice::Tools => sink.notify_tool_list_changed().await,
                ChangeNotice::Prompts => sink.notify_prompt_list_changed().await,
                ChangeNotice::Resources => sink.notify_resource_list_changed().await,
                ChangeNotice::Resource(uri) => sink.notify_resource_updated(uri).await,
            };
        }
        for session in sessions {
            let Some(peer) = session.peer.get() else { continue };
            // A client that is gone is removed with its session.
            let _ = match change {
                ChangeNotice::Tools => peer.notify_tool_list_changed().await,
                ChangeNotice::Prompts => peer.notify_prompt_list_changed().await,
                ChangeNotice::Resources => peer.notify_resource_list_changed().await,
                ChangeNotice::Resource(uri) if lock(&session.followed).contains(uri) => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
                }
                ChangeNotice::Resource(_) => Ok(()),
            };
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
