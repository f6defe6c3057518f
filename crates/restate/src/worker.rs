//! A worker: registers its handlers with Restate, joins its workspaces, and keeps the connection.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_engine::Error as EngineError;
use updraft_journal::Blob;
use updraft_run::{Record, RunId};

use crate::blob_store::BlobStore;
use crate::bound_requests::bring_along;
use crate::changes::ChangeLog;
use crate::endpoint::{self, Endpoint};
use crate::hands::Hands;
use crate::hosted_workspace::HostedWorkspace;
use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::limits_object::LIMITS;
use crate::link::{LinkFault, RestateLink};
use crate::messages::ObjectHead;
use crate::restate_home::RestateHome;
use crate::run_log::{FoldedRuns, RunLog};
use crate::runs_object::HEAD;
use crate::service_names::ServiceNames;
use crate::shared_folder::{leave_mark, without_mark};
use crate::workspaces_object::{JoinRequest, LeaveRequest, SHOW, WORKSPACE, WORKSPACES, WorkerCard, WorkspaceCard};

/// How long a worker that starts waits for Restate.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits before it tries once more to join.
const BETWEEN_JOINS: Duration = Duration::from_millis(200);
/// How often a worker looks whether the services that all offer are still served.
const LOOK: Duration = Duration::from_secs(10);
/// How long it waits for them.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it waits before it tries once more to keep large values; each further wait is twice as long.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// The longest such wait: a store that refuses may do so for good.
const LONGEST_BETWEEN: Duration = Duration::from_secs(8);

/// One workspace that a worker works in.
#[derive(Clone, Debug)]
pub struct WorkspaceOptions {
    /// The names of the worker's services for it.
    pub names: ServiceNames,
    /// Its id: the worker's name, unless several workers share it.
    pub id: String,
    /// The folder, or the address of the repository.
    pub folder: String,
    /// Whether its files come from a repository, which every worker clones.
    pub is_repository: bool,
}

/// What a worker is started with.
pub struct WorkerOptions {
    /// Where Restate is, and where it finds this worker.
    pub link: RestateLink,
    /// The workspaces it works in.
    pub workspaces: Vec<WorkspaceOptions>,
    /// Whether other machines have the same folders.
    pub is_shared: bool,
    /// What it can do besides the usual.
    pub labels: BTreeSet<String>,
    /// A random text that is kept with Updraft's own files, by which a worker is recognised.
    pub machine: String,
    /// The name of the machine, for people.
    pub host: String,
    /// A random text that no other process has.
    pub process: String,
    /// Whether it takes the place of a worker of the same name on another machine.
    pub takes_over: bool,
    /// Where large values are kept for all workers.
    pub blobs: Option<BlobStore>,
}

/// Why a worker does not start.
#[derive(Debug, Error)]
pub enum WorkerStartFault {
    /// An address may not be used.
    #[error("{0}")]
    Link(#[from] LinkFault),
    /// It is not a worker of the workspace.
    #[error("{0}")]
    Refused(String),
    /// Its own address cannot be used.
    #[error("this worker cannot listen at `{0}`: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Restate cannot be used.
    #[error("{0}")]
    Call(#[from] CallFault),
}

/// What all workspaces of a worker share.
pub(crate) struct WorkerConnection {
    pub(crate) ingress: Ingress,
    pub(crate) admin: Ingress,
    pub(crate) blobs: Option<BlobStore>,
    pub(crate) machine: String,
    /// A random text that no other process has.
    pub(crate) process: String,
    pub(crate) url: String,
}

/// A worker that Restate calls.
pub struct RestateWorker {
    connection: Arc<WorkerConnection>,
    homes: Vec<Arc<RestateHome>>,
    /// Serves the handlers, and looks after the services that all workers offer.
    _serving: JoinSet<()>,
}

/// A row of Restate's table of state.
#[derive(Deserialize)]
struct StateRow {
    value_utf8: Option<String>,
}

/// A run's object in the same table.
#[derive(Deserialize)]
struct HeadRow {
    service_key: String,
    value_utf8: Option<String>,
}

impl RestateWorker {
    /// Joins the workspaces, serves the handlers, and registers them with Restate. Once `stop` is cancelled, nothing waits
    /// for it any more.
    pub async fn start(options: WorkerOptions, stop: CancellationToken) -> Result<Self, WorkerStartFault> {
        options.link.check()?;
        let WorkerOptions { link, workspaces, blobs, machine, process, .. } = &options;
        let token = link.token.as_deref();
        let (ingress, admin) =
            (Ingress::new(&link.ingress, token, stop.clone())?, Ingress::new(&link.admin, token, stop)?);
        let (url, blobs, machine) = (link.own_url(), blobs.clone(), machine.clone());
        let connection = WorkerConnection { ingress, admin, blobs, machine, process: process.clone(), url };
        let connection = Arc::new(connection);
        let joining: Vec<(String, JoinRequest)> =
            workspaces.iter().map(|workspace| (workspace.id.clone(), options.joining(workspace))).collect();
        // Before Restate calls this worker instead of another one.
        for ((id, request), workspace) in joining.iter().zip(workspaces) {
            connection.check_joining(id, request, !workspace.is_repository).await?;
        }
        let no_listener = |error| WorkerStartFault::Listen(link.listen, error);
        let listener = TcpListener::bind(link.listen).await.map_err(no_listener)?;
        let (mut hosted, mut homes) = (Vec::new(), Vec::new());
        for WorkspaceOptions { names, id, .. } in workspaces {
            let log = RunLog { ingress: connection.ingress.clone(), names: names.clone() };
            let (folded, hands) = (FoldedRuns::default(), Arc::new(Hands::default()));
            let (changes, machine) = (Arc::new(ChangeLog::new(process)), connection.machine.clone());
            let workspace = HostedWorkspace { log, folded, hands, changes, machine };
            homes.push(Arc::new(RestateHome::new(Arc::clone(&connection), id.clone(), &workspace)));
            hosted.push(Arc::new(workspace));
        }
        let endpoint =
            Arc::new(Endpoint { workspaces: hosted, identity: link.identity.clone(), taken: Mutex::default() });
        let mut serving = JoinSet::new();
        serving.spawn(endpoint::serve(listener, Arc::clone(&endpoint)));
        connection.register(PATIENCE).await?;
        serving.spawn(bring_along(connection.admin.clone(), services_of(workspaces)));
        for (id, request) in &joining {
            connection.join(id, request).await?;
        }
        serving.spawn(look_after(Arc::clone(&connection), endpoint, joining));
        Ok(Self { connection, homes, _serving: serving })
    }

    pub(crate) fn connection(&self) -> &Arc<WorkerConnection> {
        &self.connection
    }

    /// The homes of the runs, one for each workspace, in their order.
    pub fn homes(&self) -> &[Arc<RestateHome>] {
        &self.homes
    }

    /// Says that it was stopped, so that new runs go to others.
    pub async fn leave(&self) {
        for home in &self.homes {
            let (name, machine) = (home.names().worker().to_owned(), self.connection.machine.clone());
            let request = LeaveRequest { name, machine };
            let left = self.connection.ask_workspace::<Value>(&home.workspace, "leave", &request, ANSWER).await;
            if let Err(fault) = left {
                tracing::debug!(%fault, "the other workers were not told that this one stops");
            }
        }
    }
}

/// The services of these workspaces, and those that all workers offer.
fn services_of(workspaces: &[WorkspaceOptions]) -> Vec<String> {
    let own = workspaces.iter().flat_map(|WorkspaceOptions { names, .. }| [names.runs(), names.log(), names.hands()]);
    own.chain([WORKSPACES.to_owned(), LIMITS.to_owned()]).collect()
}

impl WorkerOptions {
    fn joining(&self, workspace: &WorkspaceOptions) -> JoinRequest {
        let worker = WorkerCard {
            machine: self.machine.clone(),
            host: self.host.clone(),
            labels: self.labels.clone(),
            is_present: true,
            blobs: self.blobs.as_ref().map(|blobs| blobs.id().to_owned()).unwrap_or_default(),
        };
        JoinRequest {
            name: workspace.names.worker().to_owned(),
            worker,
            folder: workspace.folder.clone(),
            is_shared: self.is_shared || workspace.is_repository,
            takes_over: self.takes_over,
        }
    }
}

/// Registers this worker again if the one that serves the services which all offer does not answer; without the workspaces
/// in which another machine has taken its place meanwhile.
async fn look_after(connection: Arc<WorkerConnection>, endpoint: Arc<Endpoint>, joined: Vec<(String, JoinRequest)>) {
    let Some((first, _)) = joined.first() else { return };
    loop {
        tokio::time::sleep(LOOK).await;
        let shown = connection.ask_workspace::<WorkspaceCard>(first, SHOW, &Value::Null, ANSWER).await;
        let Err(CallFault::Unreachable { why, .. }) = shown else { continue };
        tracing::debug!(why, "registering this worker again");
        let Ok(taken) = connection.taken_places(&joined).await else { continue };
        let has_none = taken.len() == joined.len();
        endpoint.leave_out(taken);
        if has_none {
            return;
        }
        if let Err(fault) = connection.register(ANSWER).await {
            tracing::debug!(%fault, "this worker was not registered again");
        }
    }
}

impl WorkerConnection {
    /// Registers this worker: from then on, Restate calls it.
    async fn register(&self, patience: Duration) -> Result<(), CallFault> {
        self.admin.register(&self.url, patience).await
    }

    /// Joins a workspace. A node of a cluster may hear a little later than others of what was registered.
    async fn join(&self, id: &str, request: &JoinRequest) -> Result<(), WorkerStartFault> {
        let begun = tokio::time::Instant::now();
        loop {
            match self.ask_workspace::<WorkspaceCard>(id, "join", request, PATIENCE).await {
                Ok(_) => return Ok(()),
                Err(CallFault::Refused { status: 404, .. }) if begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(BETWEEN_JOINS).await;
                }
                Err(CallFault::Refused { status: 422, why }) => return Err(WorkerStartFault::Refused(why)),
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// Calls the object of a workspace.
    pub(crate) async fn ask_workspace<T: serde::de::DeserializeOwned>(
        &self,
        workspace: &str,
        handler: &str,
        body: &(impl serde::Serialize + ?Sized),
        patience: Duration,
    ) -> Result<T, CallFault> {
        let target = CallTarget { service: WORKSPACES, key: workspace, handler, idempotency: None };
        self.ingress.call_within(target, &body, Some(patience)).await
    }

    /// What Restate knows of a workspace. Asked of its tables: no worker has to be there.
    async fn card_of(&self, id: &str) -> Result<WorkspaceCard, CallFault> {
        let sql = format!(
            "SELECT value_utf8 FROM state WHERE service_name = '{WORKSPACES}' AND service_key = '{id}' AND key = '{WORKSPACE}'"
        );
        let rows: Vec<StateRow> = self.admin.query(&sql, PATIENCE).await?;
        let stored = rows.into_iter().next().and_then(|row| row.value_utf8);
        let card = stored.map(|stored| serde_json::from_str(&stored)).transpose();
        Ok(card.map_err(|error| CallFault::Unreadable(error.to_string()))?.unwrap_or_default())
    }

    /// The names of this worker whose place another machine has taken.
    async fn taken_places(&self, joined: &[(String, JoinRequest)]) -> Result<BTreeSet<String>, CallFault> {
        let mut taken = BTreeSet::new();
        for (id, request) in joined {
            let card = self.card_of(id).await?;
            if card.workers.get(&request.name).is_some_and(|known| known.machine != self.machine) {
                taken.insert(request.name.clone());
            }
        }
        Ok(taken)
    }

    /// Refuses to join a workspace whose files are elsewhere. A repository is no folder in which workers leave marks.
    async fn check_joining(&self, id: &str, request: &JoinRequest, is_folder: bool) -> Result<(), WorkerStartFault> {
        let mut card = self.card_of(id).await?;
        card.clone().join(request.clone()).map_err(WorkerStartFault::Refused)?;
        if request.is_shared && is_folder {
            let folder = Path::new(&request.folder);
            card.workers.remove(&request.name);
            if let Some(other) = without_mark(folder, &card) {
                return Err(WorkerStartFault::Refused(format!(
                    "`{}` is not the folder that the worker `{other}` has: its mark is missing in it; share the same folder, \
                     and not a copy",
                    request.folder
                )));
            }
            leave_mark(folder, &request.name, &request.worker.machine).map_err(|error| {
                WorkerStartFault::Refused(format!("`{}` cannot be written to: {error}", request.folder))
            })?;
        }
        Ok(())
    }

    /// The runs of a worker with the number of their records, from Restate's tables.
    pub(crate) async fn runs_of(&self, names: &ServiceNames) -> Result<Vec<(RunId, u64)>, CallFault> {
        let sql = format!(
            "SELECT service_key, value_utf8 FROM state WHERE service_name = '{}' AND key = '{HEAD}'",
            names.runs()
        );
        let rows: Vec<HeadRow> = self.admin.query(&sql, PATIENCE).await?;
        let run = |row: HeadRow| {
            let head: ObjectHead = serde_json::from_str(&row.value_utf8?).ok()?;
            let is_whole = head.records > 0 && !head.is_partial;
            Some((RunId::parse(&row.service_key).ok()?, head.records)).filter(|_| is_whole)
        };
        Ok(rows.into_iter().filter_map(run).collect())
    }

    /// Keeps large values for all workers.
    pub(crate) async fn keep_blobs(&self, run: &RunId, blobs: &[Blob]) -> Result<(), EngineError> {
        let Some(store) = &self.blobs else { return Ok(()) };
        let (mut wait, mut told) = (BETWEEN_WRITES, String::new());
        loop {
            let Err(error) = store.put(blobs).await else { return Ok(()) };
            // Without them, the result of something that has happened could not be recorded. So it waits, as for Restate.
            if error != told {
                tracing::warn!(%run, %error, "large values cannot be kept for the other workers now");
            }
            if !self.ingress.waits(wait).await {
                let what = format!("large values could not be kept for the other workers: {error}");
                return Err(EngineError::Home { run: run.clone(), what });
            }
            (wait, told) = ((wait * 2).min(LONGEST_BETWEEN), error);
        }
    }

    /// The large values that records name.
    pub(crate) async fn blobs_in(&self, run: &RunId, records: &[Record]) -> Result<Vec<Blob>, EngineError> {
        let Some(store) = &self.blobs else { return Ok(Vec::new()) };
        let what = |error| format!("large values of all workers cannot be read: {error}");
        store.named_in(records).await.map_err(|error| EngineError::Home { run: run.clone(), what: what(error) })
    }
}
