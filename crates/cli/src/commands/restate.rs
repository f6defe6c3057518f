//! What `worker` and `serve --engine restate` share: runs are kept by Restate, and this process is one of its workers.

mod blobs;
mod limits;
mod repository_runs;
mod start_orders;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_engine::RunHome;
use updraft_models::SharedLimits;
use updraft_restate::{
    IdentityKeys, RestateHome, RestateLink, RestateWorker, RunProjector, ServiceNames, Waker, WorkerOptions,
    WorkerStartFault, WorkspaceOptions, make_shared_workspace_id, shared_workspace_id,
};
use updraft_workbench::repositories::{RepositoryAddress, RepositoryMirror};
use updraft_workbench::{RunCallbacks, UpdraftService};

use self::limits::RestateLimits;
use crate::args::RestateFlags;
use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::{journal, out};

pub(super) use blobs::check as check_blobs;
pub(super) use repository_runs::RepositoryRuns;
pub(super) use start_orders::start_order;

/// The longest part of a folder's name in the name of its worker.
const LONGEST_NAME: usize = 24;

/// Where the files of a worker's runs are.
#[derive(Clone, Debug)]
pub(super) enum WorkerPlace {
    /// In a folder, by its canonical path.
    Folder(PathBuf),
    /// In a git repository, which is cloned for each run.
    Repository(RepositoryAddress),
}

impl WorkerPlace {
    /// A folder, or the address of a repository.
    pub(super) fn find(given: &Path) -> Result<Self, CliError> {
        match given.to_str().filter(|text| RepositoryAddress::is_meant(text)) {
            Some(text) => Ok(WorkerPlace::Repository(RepositoryAddress::parse(text)?)),
            None => Ok(WorkerPlace::Folder(folders::workspace(Some(given))?)),
        }
    }

    /// A short name for it, of letters, digits and `-`.
    fn name(&self) -> String {
        let name = match self {
            WorkerPlace::Folder(folder) => folder.file_name().map(|name| name.to_string_lossy().into_owned()),
            WorkerPlace::Repository(address) => Some(address.name()),
        };
        let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        name.unwrap_or_default().chars().filter(plain).take(LONGEST_NAME).collect()
    }

    fn address(&self) -> String {
        match self {
            WorkerPlace::Folder(folder) => folder.display().to_string(),
            WorkerPlace::Repository(address) => address.to_string(),
        }
    }
}

/// A worker that Restate calls.
pub(super) struct LiveWorker {
    worker: RestateWorker,
    /// The repositories, at the places of those workspaces that are some.
    repositories: Vec<Option<Arc<RepositoryMirror>>>,
    limits: Arc<dyn SharedLimits>,
    /// Restate's address, and what is sent there.
    ingress: (String, Option<String>),
    is_shared: bool,
    stop: CancellationToken,
    /// Held as long as the worker runs.
    _locks: Vec<File>,
}

/// Starts the worker of these workspaces: Restate can call it from here on.
pub(super) async fn start(
    folders: &AppFolders,
    workspaces: &[WorkerPlace],
    flags: &RestateFlags,
    stop: &CancellationToken,
) -> Result<LiveWorker, CliError> {
    let identity = IdentityKeys::parse(&flags.identity_keys).map_err(|fault| CliError::usage(fault.to_string()))?;
    let link = RestateLink {
        ingress: flags.restate.clone(),
        admin: flags.restate_admin.clone(),
        token: flags.restate_token.as_deref().map(read_token).transpose()?,
        listen: flags.worker_listen,
        url: flags.worker_url.clone(),
        identity,
    };
    // Before anything is written to the folders.
    link.check().map_err(|fault| CliError::usage(fault.to_string()).hint(fault.hint()))?;
    let machine = machine(folders)?;
    let options = WorkerOptions {
        workspaces: workspace_options(workspaces, flags, &machine)?,
        is_shared: flags.shared,
        labels: flags.labels.iter().map(|label| label.trim().to_owned()).filter(|label| !label.is_empty()).collect(),
        machine,
        host: host(),
        process: random(8)?,
        takes_over: flags.take_over,
        blobs: match &flags.blobs {
            Some(place) => Some(blobs::open(place, stop).await?),
            None => None,
        },
        link,
    };
    let names = options.workspaces.iter().map(|workspace| workspace.names.worker());
    let locks = names.map(|name| lock(folders, name)).collect::<Result<Vec<File>, CliError>>()?;
    let repositories = open_repositories(folders, workspaces, &options).await?;
    let (said, ingress) = (announcement(&options), (options.link.ingress.clone(), options.link.token.clone()));
    let worker = RestateWorker::start(options, stop.clone()).await.map_err(not_started)?;
    out::note(&said);
    for (place, home) in workspaces.iter().zip(worker.homes()) {
        if let WorkerPlace::Folder(folder) = place {
            start_orders::note_workspace(folders, folder, home.workspace())?;
        }
    }
    let limits = Arc::new(RestateLimits::new(worker.limits()));
    let is_shared = flags.shared;
    Ok(LiveWorker { worker, repositories, limits, ingress, is_shared, stop: stop.clone(), _locks: locks })
}

/// Refuses a second process of a worker: Restate would call the one that came last, and runs of the other would stand still.
/// The lock files are empty and never removed, so that all processes lock the same file.
fn lock(folders: &AppFolders, name: &str) -> Result<File, CliError> {
    let path = folders.state.join("locks").join(format!("worker-{name}"));
    let file = folders::private_file(&path, OpenOptions::new().write(true));
    let file = file.map_err(|error| CliError::file("open", &path, &error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(CliError::usage(format!("a worker `{name}` runs already on this machine"))
                .hint("stop it first, or give this one another --worker-name"))
        }
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

fn not_started(fault: WorkerStartFault) -> CliError {
    match fault {
        WorkerStartFault::Link(fault) => CliError::usage(fault.to_string()).hint(fault.hint()),
        WorkerStartFault::Refused(why) => CliError::usage(why),
        fault @ WorkerStartFault::Listen(..) => CliError::failed(fault.to_string())
            .hint("another worker or program may use that address: stop it, or name another one with --worker-listen"),
        WorkerStartFault::Call(fault) => CliError::failed(format!("the worker could not be started: {fault}"))
            .hint("start Restate first, and name its addresses with --restate and --restate-admin"),
    }
}

/// Says what the worker is, and where its files are.
fn announcement(options: &WorkerOptions) -> String {
    let WorkerOptions { link, workspaces, is_shared, labels, blobs, .. } = options;
    let place = link.url.clone().unwrap_or_else(|| link.listen.to_string());
    let mut lines = vec![format!("runs are kept by Restate at {}; this is a worker of it, at {place}", link.ingress)];
    for WorkspaceOptions { names, id, folder, is_repository } in workspaces {
        let files = match (is_repository, is_shared) {
            (true, _) => "cloned for each run, and pushed to a branch of its own",
            (false, true) => "shared with other machines",
            (false, false) => "on this machine only",
        };
        lines.push(format!("  worker `{}` of workspace `{id}`: {folder}, {files}", names.worker()));
    }
    if !labels.is_empty() {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        lines.push(format!("  labels: {}", labels.join(", ")));
    }
    lines.extend(blobs.as_ref().map(|blobs| format!("  large values are also in {}", blobs.place())));
    lines.join("\n")
}

impl LiveWorker {
    /// The home of the runs of a folder, by its place among the folders.
    pub(super) fn home(&self, at: usize) -> Option<&Arc<RestateHome>> {
        self.worker.homes().get(at)
    }

    /// Says that runs are kept there.
    pub(super) fn attend(&self, home: &Arc<RestateHome>, callbacks: &mut RunCallbacks) {
        callbacks.home = Some(Arc::clone(home) as Arc<dyn RunHome>);
        callbacks.limits = Some(Arc::clone(&self.limits));
    }

    /// Lets a service continue and start the runs of its folder, after those that are missing here were copied.
    pub(super) async fn serve(
        &self,
        folders: &AppFolders,
        home: &Arc<RestateHome>,
        service: &UpdraftService,
    ) -> Result<(), CliError> {
        let mut projector = RunProjector::new(Arc::clone(home), journal::open(folders)?);
        copy_missing(&projector).await;
        if self.is_shared {
            projector.follow_once().await;
            service.runs.in_background(projector.follow(self.stop.clone()));
        } else {
            projector.close().await;
        }
        let runs = service.runs.clone();
        let waker: Waker = Arc::new(move |run, handed| {
            let runs = runs.clone();
            Box::pin(async move { runs.continue_run(&run, &handed).await.map_err(|fault| fault.message) })
        });
        home.serve_with(waker, start_orders::starter(&service.runs));
        let (ingress, token) = self.ingress.clone();
        service.runs.place_with(start_orders::placer(ingress, token, home.workspace().to_owned()));
        Ok(())
    }

    /// Says that the worker was stopped.
    pub(super) async fn leave(&self) {
        self.worker.leave().await;
    }
}

/// Copies the runs of this worker that are missing in the journal here. Returns whether all of them are there now.
async fn copy_missing(projector: &RunProjector) -> bool {
    let copied = projector.copy_own().await;
    match &copied {
        Ok(0) => {}
        Ok(copied) => out::note(&format!("{copied} runs of this worker were copied from Restate")),
        Err(fault) => out::note(&format!("runs that are missing here were not copied from Restate: {fault}")),
    }
    copied.is_ok()
}

/// Copies the repositories to this machine. Refused if one of them cannot be used.
async fn open_repositories(
    folders: &AppFolders,
    workspaces: &[WorkerPlace],
    options: &WorkerOptions,
) -> Result<Vec<Option<Arc<RepositoryMirror>>>, CliError> {
    let mut opened = Vec::new();
    for (place, workspace) in workspaces.iter().zip(&options.workspaces) {
        opened.push(match place {
            WorkerPlace::Folder(_) => None,
            WorkerPlace::Repository(address) => {
                let worker = workspace.names.worker();
                Some(Arc::new(RepositoryMirror::open(folders, worker, address.clone()).await?))
            }
        });
    }
    Ok(opened)
}

/// What is known about each workspace: the worker's name for it, and its id.
fn workspace_options(
    workspaces: &[WorkerPlace],
    flags: &RestateFlags,
    machine: &str,
) -> Result<Vec<WorkspaceOptions>, CliError> {
    let mut options = Vec::new();
    let mut known = BTreeSet::new();
    for place in workspaces {
        let name = match &flags.worker_name {
            Some(name) if workspaces.len() == 1 => name.clone(),
            Some(name) => format!("{name}-{}", place.name()),
            None => usual_name(machine, place),
        };
        let names = ServiceNames::new(&name).ok_or_else(|| {
            CliError::usage(format!("`{name}` cannot be the name of a worker"))
                .hint("use 1 to 40 letters, digits, `_` and `-`")
        })?;
        if !known.insert(name.clone()) {
            return Err(CliError::usage(format!("two of the folders would have the worker `{name}`"))
                .hint("leave out --worker-name, or start a worker for each"));
        }
        let id = match place {
            WorkerPlace::Repository(address) => address.id(),
            WorkerPlace::Folder(folder) if flags.shared => {
                let made = make_shared_workspace_id(folder, &random(8)?);
                made.map_err(|error| CliError::file("write to", folder, &error))?
            }
            WorkerPlace::Folder(folder) if shared_workspace_id(folder).is_some() => {
                return Err(CliError::usage(format!("`{}` is shared with other machines", folder.display()))
                    .hint("add --shared and --blobs; if it no longer is, remove its folder .updraft-shared"));
            }
            WorkerPlace::Folder(_) => name,
        };
        let is_repository = matches!(place, WorkerPlace::Repository(_));
        options.push(WorkspaceOptions { names, id, folder: place.address(), is_repository });
    }
    Ok(options)
}

/// The name of the worker of a workspace: the same at every start, and another for another workspace or machine.
fn usual_name(machine: &str, place: &WorkerPlace) -> String {
    let hash = updraft_journal::hash_of(format!("{machine}\n{}", place.address()).as_bytes()).to_string();
    format!("{}-{}", place.name(), &hash[..8])
}

/// A random text by which the workers of this machine are recognised, made at the first start.
fn machine(folders: &AppFolders) -> Result<String, CliError> {
    let file = folders.state.join("worker.id");
    match std::fs::read_to_string(&file) {
        Ok(known) if !known.trim().is_empty() => Ok(known.trim().to_owned()),
        Ok(_) | Err(_) => {
            let made = random(16)?;
            std::fs::create_dir_all(&folders.state).map_err(|error| CliError::file("make", &folders.state, &error))?;
            folders::replace_private(&file, made.as_bytes())?;
            Ok(made)
        }
    }
}

/// The name of this machine, for people.
#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The same on Windows. Untested.
#[cfg(not(unix))]
fn host() -> String {
    folders::set("COMPUTERNAME").unwrap_or_default()
}

fn random(bytes: usize) -> Result<String, CliError> {
    folders::unguessable(bytes).map_err(CliError::failed)
}

/// A token from its file.
pub(super) fn read_token(file: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(file).map_err(|error| CliError::file("read", file, &error))?;
    let token = text.trim();
    if token.is_empty() || token.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(CliError::usage(format!("`{}` does not hold a token: one line without spaces", file.display())));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_the_same_name_at_every_start_and_others_have_other_names() {
        let usual = |machine: &str, folder: &str| usual_name(machine, &WorkerPlace::Folder(folder.into()));
        let name = usual("m1", "/home/ann/my shop");
        assert_eq!(name, usual("m1", "/home/ann/my shop"));
        assert!(name.starts_with("myshop-") && ServiceNames::new(&name).is_some(), "{name}");
        assert_ne!(name, usual("m2", "/home/ann/my shop"));
        assert_ne!(name, usual("m1", "/home/bob/my shop"));
        let place = WorkerPlace::find(Path::new("https://git.example/team/shop.git#dev")).unwrap();
        let name = usual_name("m1", &place);
        assert!(name.starts_with("shop-") && ServiceNames::new(&name).is_some(), "{name}");
    }
}
