//! Sees what calls change in a workspace by themselves: code, tools of the user's own, and servers.
//!
//! The workspace is looked at before and after such a call, and what is not as it was is told with its output. Where
//! contents may be kept, what was there before is known too, so that the change can be undone. What a call did that tells
//! its own changes (a file tool, a command in an overlay) is taken for its doing and for nobody else's; where two calls
//! that do not were under way at the same time, neither is sure, and both say so.

mod compare;
mod snapshot;
mod store;
mod under_way;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex as Turn;
use updraft_run::{FileChange, Reply, ToolOutput};
use updraft_workspace::{Changes, Workspace, ago};

use crate::builtin::changes::{add, seen};
use crate::builtin::now;
use crate::tool::CallContext;
use compare::compare;
use snapshot::{Entry, MOST, Snapshot};
use store::Store;
use under_way::{Guard, UnderWay};

/// Bytes of contents, old ones too, after which they are gathered anew.
const STORED: u64 = 256 << 20;
/// How long before now a command may have put its changes into the workspace without having told them yet.
const LANDING: Duration = Duration::from_secs(1);
/// What a call started that was stopped is ended, but not waited for.
const LAST_MOMENT: Duration = Duration::from_millis(100);
/// How often the workspace is looked at again because others were at work meanwhile.
const LOOKS: usize = 5;
/// Paths that are named as evidence.
const NAMED: usize = 10;

/// Sees what calls change by themselves, for all workspaces of a process. Cheap to clone. The usual one sees nothing.
#[derive(Clone, Debug, Default)]
pub struct ChangeWitness(Option<Arc<WitnessInner>>);

#[derive(Debug)]
struct WitnessInner {
    /// Where contents are kept while the process lives.
    keeps: Option<PathBuf>,
    workspaces: Mutex<BTreeMap<PathBuf, Arc<WatchedWorkspace>>>,
}

/// One workspace.
#[derive(Debug, Default)]
struct WatchedWorkspace {
    keeps: Option<PathBuf>,
    /// How many looks have begun.
    begun: AtomicU64,
    last: Turn<LastSnapshot>,
    store: Mutex<Option<Arc<Store>>>,
    under_way: Arc<UnderWay>,
}

/// The last look.
#[derive(Debug, Default)]
struct LastSnapshot {
    number: u64,
    snapshot: Option<Arc<Snapshot>>,
    is_too_large: bool,
}

/// A call that is being watched, or that others must know of. Dropping it forgets it.
pub(crate) struct CallWatch(Option<CallWatchInner>);

struct CallWatchInner {
    watched: Arc<WatchedWorkspace>,
    guard: Guard,
    /// What was there before; not of a call that tells its own changes.
    before: Option<PriorSnapshot>,
}

struct PriorSnapshot {
    snapshot: Option<Arc<Snapshot>>,
    at: SystemTime,
}

impl ChangeWitness {
    /// One that sees, and keeps contents in this folder if there is one, so that changes can be undone.
    pub fn new(keeps: Option<PathBuf>) -> Self {
        Self(Some(Arc::new(WitnessInner { keeps, workspaces: Mutex::default() })))
    }

    /// Begins before a call. `is_unseen` says that the call may change what its output does not list.
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
    /// The state of the workspace, no older than this call. Nothing, if there is too much of it. Whoever waits for a look
    /// that began after they asked shares it.
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

    /// Where contents are kept, and whether nothing is in there yet.
    fn store(&self) -> (Option<Arc<Store>>, bool) {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = store.as_ref().filter(|store| store.len() < STORED) {
            return (Some(Arc::clone(store)), false);
        }
        *store = self.keeps.as_deref().and_then(|folder| Store::make(folder).ok());
        (store.clone(), true)
    }

    /// Others that are watched need not think that they made these changes.
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

/// Whether what is there is still what a change left: if not, somebody else has gone on from it.
fn is_as_left(change: &FileChange, now: Option<&Entry>) -> bool {
    let Some(now) = now else { return change.now.is_none() && change.after.is_none() };
    match (change.after, now.content.as_ref().and_then(store::Content::bytes)) {
        (Some(after), Some(bytes)) => updraft_workspace::hash(&bytes) == after,
        (_, _) => change.now.is_some_and(|form| form == now.form() || form.kind == updraft_run::FileKind::Folder),
    }
}

impl CallWatch {
    /// Ends after the call: its reply, with what it changed.
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
    /// What is not as it was, and why that may not be all.
    async fn found(self: &Arc<Self>, guard: &Guard, before: PriorSnapshot, workspace: &Workspace) -> Changes {
        let (mut after, mut ending) = (None, None);
        for _ in 0..LOOKS {
            // What others tell while we look may be newer than what we saw.
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
                let changes = seen::since(&workspace, before.at);
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

/// A reply that tells these changes too. One that cannot tell any becomes an output that says the same.
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
