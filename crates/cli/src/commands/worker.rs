//! `updraft worker`: carries out runs that Restate keeps, in folders and clones of repositories, without a page.

use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use updraft_run::RunId;
use updraft_workbench::repositories::{RepositoryAddress, branch_of};

use super::restate::{RepositoryRuns, WorkerPlace};
use super::{restate, service};
use crate::args::{ServedRunFlags, WorkerArgs, WorkerCommand, WorkerStartArgs};
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::signals::Signals;
use crate::{out, runtime};

pub(crate) fn run(folders: &AppFolders, args: WorkerArgs) -> CliResult {
    match &args.command {
        Some(WorkerCommand::Start(start)) => runtime::block_on(start_run(folders, start)),
        None => runtime::block_on(work(folders, args)),
    }
}

/// Works until a signal arrives.
async fn work(folders: &AppFolders, args: WorkerArgs) -> CliResult {
    let WorkerArgs { workspaces, trust_repositories, restate: flags, model, permission, spending, confine, .. } = args;
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let mut given = Vec::new();
    for place in &workspaces {
        given.push(WorkerPlace::find(place)?);
    }
    if given.is_empty() {
        given.push(WorkerPlace::Folder(folders::workspace(None)?));
    }
    let worker = Box::pin(restate::start(folders, &given, &flags, &stop)).await?;
    let (mut services, mut repositories) = (Vec::new(), Vec::new());
    for (at, place) in given.iter().enumerate() {
        let mut served = ServedRunFlags {
            workspace: None,
            model: model.clone(),
            permission: permission.clone(),
            spending: spending.clone(),
            confine: confine.clone(),
        };
        match place {
            WorkerPlace::Folder(folder) => {
                served.workspace = Some(folder.clone());
                let opened = Box::pin(service::open_at(folders, folder, &served, Some((&worker, at)), &stop)).await?;
                opened.runs.keep_schedules(service::tell_schedules());
                services.push(opened);
            }
            WorkerPlace::Repository(_) => {
                let opening = RepositoryRuns::open(folders, &worker, at, served, trust_repositories);
                repositories.push(Box::pin(opening).await?);
            }
        }
    }
    out::note("ready");
    let code = signals.first().await;
    worker.leave().await;
    for runs in repositories {
        runs.close().await;
    }
    for service in services {
        service.close().await;
    }
    Ok(code)
}

async fn start_run(folders: &AppFolders, args: &WorkerStartArgs) -> CliResult {
    let started = Box::pin(restate::start_order(folders, args)).await?;
    let named = args.workspace.as_deref().and_then(Path::to_str);
    let run = RunId::parse(&started.run).ok().filter(|_| named.is_some_and(RepositoryAddress::is_meant));
    let branch = run.map(|run| branch_of(&run));
    if args.json {
        let mut line = json!({ "run": started.run, "worker": started.worker });
        if let Some(branch) = branch {
            line["branch"] = branch.into();
        }
        out::json(&line);
    } else {
        out::line(&started.run);
        out::note(&format!("run {} has begun on worker `{}`", started.run, started.worker));
        if let Some(branch) = branch {
            out::note(&format!("what it changes will be on the branch {branch}"));
        }
    }
    Ok(CliExitCode::Done)
}
