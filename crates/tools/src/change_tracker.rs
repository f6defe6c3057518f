//! Finds out what calls change in a workspace without listing it: code, the user's own tools, and servers.
//!
//! The workspace is scanned before and after such a call, and the differences are added to its output. If contents
//! may be stored, the previous contents are known too, so that the change can be undone. Calls that list their own
//! changes (file tools, commands in an overlay) are credited with exactly those. If two calls that do not list their
//! changes overlapped, it is not known which of them made a change, and the changes of both are marked as unsure.

mod active_calls;
mod compare;
mod snapshot;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex as Turn;
use updraft_run::{FileChange, Reply, ToolOutput};
use updraft_workspace::{Changes, Workspace, ago};

use crate::builtin::changes::{add, by_time};
use crate::builtin::now;
use crate::tool::CallContext;
use active_calls::{Guard, UnderWay};
use compare::compare;
use snapshot::{Entry, MOST, Snapshot};
use store::Store;

/// Bytes of stored contents, including outdated ones, after which a new store is started.
const STORED: u64 = 256 << 20;
/// How long ago a command may have put its changes into the workspace without having reported them yet.
const LANDING: Duration = Duration::from_secs(1);
/// The wait before the scan after a cancelled call: the processes it started are killed, but not waited for.
const LAST_MOMENT: Duration = Duration::from_millis(100);
/// How often the workspace is scanned again because other calls reported changes meanwhile.
const LOOKS: usize = 5;
/// Most paths named as evidence.
const NAMED: usize = 10;

/// Records what calls change without listing it, for all workspaces of a process. Cheap to clone. The default records
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct ChangeWitness(Option<Arc<WitnessInner>>);

#[derive(Debug)]
struct WitnessInner {
    /// The folder where contents are stored while the process lives.
    keeps: Option<PathBuf>,
    workspaces: Mutex<BTreeMap<PathBuf, Arc<WatchedWorkspace>>>,
}

/// The state for one workspace.
#[derive(Debug, Default)]
struct WatchedWorkspace {
    keeps: Option<PathBuf>,
    /// How many scans have been started.
    begun: AtomicU64,
    last: Turn<LastSnapshot>,
    store: Mutex<Option<Arc<Store>>>,
    under_way: Arc<UnderWay>,
}

/// The last scan.
#[derive(Debug, Default)]
struct LastSnapshot {
    number: u64,
    snapshot: Option<Arc<Snapshot>>,
    is_too_large: bool,
}

/// A call that is being watched, or that other calls must know about. It is deregistered when this is dropped.
pub(crate) struct CallWatch(Option<CallWatchInner>);

struct CallWatchInner {
    watched: Arc<WatchedWorkspace>,
    guard: Guard,
    /// The state before the call; `None` for a call that lists its own changes.
    before: Option<PriorSnapshot>,
}

struct PriorSnapshot {
    snapshot: Option<Arc<Snapshot>>,
    at: SystemTime,
}

impl ChangeWitness {
    /// Creates a witness that records changes. If there is a folder, contents are stored there, so that changes can
    /// be undone.
    pub fn new(keeps: Option<PathBuf>) -> Self {
        Self(Some(Arc::new(WitnessInner { keeps, workspaces: Mutex::default() })))
    }

    /// Registers a call before it starts. `is_unseen` says that the call may change files that its output does not
    /// list.
    pub(crate) async fn watch(&self, is_unseen: bool, cx: &CallContext) -> CallWatch {
        let Some(inner) = &self.0 else { return CallWatch(None) };
        let watched = inner.watched(cx.place.workspace.root());
        let guard = watched.under_way.begin(&cx.key, is_unseen);
        let mut before = None;
        if is_unseen {
            let at = now();
            before = Some(PriorSnapshot { snapshot: watched.look(&cx.place.workspace).await, at });
        }
        CallWatch(Some(CallWatchInner { watched, guard, before }))
    }
}

impl WitnessInner {
    fn watched(&self, root: &Path) -> Arc<WatchedWorkspace> {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = || Arc::new(WatchedWorkspace { keeps: self.keeps.clone(), ..WatchedWorkspace::default() });
        Arc::clone(workspaces.entry(root.to_owned()).or_insert_with(watched))
    }
}

impl WatchedWorkspace {
    /// The state of the workspace, not older than this call. Returns `None` if it has too many files. Callers that
    /// wait share a scan that started after they asked.
    async fn look(self: &Arc<Self>, workspace: &Workspace) -> Option<Arc<Snapshot>> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if last.number > begun {
            return last.snapshot.clone();
        }
        if last.is_too_large {
            return None;
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let (this, workspace) = (Arc::clone(self), workspace.clone());
        let known = last.snapshot.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let (store, is_new) = this.store();
            snapshot::look(&workspace, known.as_deref().filter(|_| !is_new), store.as_ref()).map(Arc::new)
        });
        let snapshot = looking.await.ok().flatten();
        *last = LastSnapshot { number, is_too_large: snapshot.is_none(), snapshot };
        last.snapshot.clone()
    }

    /// The store for contents, and whether it is new and empty.
    fn store(&self) -> (Option<Arc<Store>>, bool) {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = store.as_ref().filter(|store| store.len() < STORED) {
            return (Some(Arc::clone(store)), false);
        }
        *store = self.keeps.as_deref().and_then(|folder| Store::make(folder).ok());
        (store.clone(), true)
    }

    /// Tells other watched calls about these changes, so that they do not report them as their own.
    async fn tell_others(self: &Arc<Self>, guard: &Guard, changes: &[FileChange], workspace: &Workspace) {
        if changes.is_empty() || !guard.has_listeners() {
            return;
        }
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (changes, workspace) = (changes.to_vec(), workspace.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let look = |change: FileChange| {
                let now = snapshot::one(&workspace, &change.path, store.as_ref());
                is_as_left(&change, now.as_ref()).then(|| (change.path.into_bytes(), now))
            };
            changes.into_iter().filter_map(look).collect::<Vec<_>>()
        });
        guard.tell(&looking.await.unwrap_or_default());
    }
}

/// Whether a file is still as a change left it. If not, another program has changed it since.
fn is_as_left(change: &FileChange, now: Option<&Entry>) -> bool {
    let Some(now) = now else { return change.now.is_none() && change.after.is_none() };
    match (change.after, now.content.as_ref().and_then(store::Content::bytes)) {
        (Some(after), Some(bytes)) => updraft_workspace::hash(&bytes) == after,
        (_, _) => change.now.is_some_and(|form| form == now.form() || form.kind == updraft_run::FileKind::Folder),
    }
}

impl CallWatch {
    /// Called after the call: returns its reply with the changes it made.
    pub(crate) async fn end(self, reply: Reply, cx: &CallContext) -> Reply {
        let Some(CallWatchInner { watched, guard, before }) = self.0 else { return reply };
        let workspace = &cx.place.workspace;
        let Some(before) = before else {
            if let Reply::Output(output) = &reply {
                watched.tell_others(&guard, &output.changes, workspace).await;
            }
            return reply;
        };
        if reply == Reply::Cancelled {
            tokio::time::sleep(LAST_MOMENT).await;
        }
        let changes = watched.found(&guard, before, workspace).await;
        watched.tell_others(&guard, &changes.list, workspace).await;
        with_changes(reply, changes, cx)
    }
}

impl WatchedWorkspace {
    /// The differences, and why they may be incomplete.
    async fn found(self: &Arc<Self>, guard: &Guard, before: PriorSnapshot, workspace: &Workspace) -> Changes {
        let (mut after, mut ending) = (None, None);
        for _ in 0..LOOKS {
            // Changes that other calls report during the scan may be newer than what the scan saw.
            let told = guard.told();
            if before.snapshot.is_some() {
                after = self.look(workspace).await;
            }
            ending = guard.end(Some(told));
            if ending.is_some() {
                break;
            }
        }
        let ending = ending.or_else(|| guard.end(None)).unwrap_or_default();
        let workspace = workspace.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let (Some(first), Some(after)) = (before.snapshot, after) else {
                let changes = by_time::since(&workspace, before.at);
                let list = changes.list.into_iter().map(|one| FileChange { unsure: ending.has_met, ..one }).collect();
                let why = format!(
                    "the workspace has more than {MOST} files: what changed is known by the times of the first of them"
                );
                return Changes { list, unlisted: Some(why), ..Changes::default() };
            };
            let landing = ago(LANDING);
            let is_unsure = |now: Option<&Entry>| {
                let is_recent = now.is_none_or(|now| now.stamp.changed >= landing);
                ending.has_met || (ending.others_go_on && is_recent)
            };
            let changes = compare(&workspace, &first, &ending.moved, &after, is_unsure);
            let is_partial = first.is_partial || after.is_partial;
            Changes { unlisted: is_partial.then(|| "some folders could not be looked into".to_owned()), ..changes }
        });
        looking.await.unwrap_or_default()
    }
}

/// Adds these changes to a reply. A reply that has no place for them becomes an output with the same message.
fn with_changes(reply: Reply, changes: Changes, cx: &CallContext) -> Reply {
    if changes.list.is_empty() && changes.unlisted.is_none() {
        return reply;
    }
    let failed = |text: String| ToolOutput { text, is_error: true, ..ToolOutput::default() };
    let mut output = match reply {
        Reply::Output(output) => Arc::unwrap_or_clone(output),
        other if changes.list.is_empty() => return other,
        Reply::InDoubt { evidence } => {
            let names: Vec<String> = changes.list.iter().take(NAMED).map(|one| format!("`{}`", one.path)).collect();
            let more = if changes.list.len() > NAMED { " and more" } else { "" };
            return Reply::InDoubt { evidence: format!("{evidence}; changed since: {}{more}", names.join(", ")) };
        }
        Reply::Failed(failure) => failed(failure.message),
        Reply::TimedOut { limit } => failed(format!("stopped: took longer than {} s", limit.0.div_ceil(1000))),
        Reply::Cancelled => failed("stopped: cancelled".to_owned()),
        other => return other,
    };
    add(&mut output, changes, cx);
    Reply::Output(Arc::new(output))
}
