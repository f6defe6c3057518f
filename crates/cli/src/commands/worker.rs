//! `updraft worker`: carries out runs that Restate keeps, in one or several folders, without a page.

use serde_json::json;
use tokio_util::sync::CancellationToken;

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
    let WorkerArgs { workspaces, restate: flags, model, permission, spending, confine, .. } = args;
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let mut given = Vec::new();
    for folder in &workspaces {
        given.push(folders::workspace(Some(folder))?);
    }
    if given.is_empty() {
        given.push(folders::workspace(None)?);
    }
    let worker = Box::pin(restate::start(folders, &given, &flags, &stop)).await?;
    let mut services = Vec::new();
    for (at, folder) in given.iter().enumerate() {
        let served = ServedRunFlags {
            workspace: Some(folder.clone()),
            model: model.clone(),
            permission: permission.clone(),
            spending: spending.clone(),
            confine: confine.clone(),
        };
        let opened = Box::pin(service::open_at(folders, folder, &served, Some((&worker, at)), &stop)).await?;
        opened.runs.keep_schedules(service::tell_schedules());
        services.push(opened);
    }
    out::note("ready");
    let code = signals.first().await;
    worker.leave().await;
    for service in services {
        service.close().await;
    }
    Ok(code)
}

async fn start_run(folders: &AppFolders, args: &WorkerStartArgs) -> CliResult {
    let started = Box::pin(restate::start_order(folders, args)).await?;
    if args.json {
        out::json(&json!({ "run": started.run, "worker": started.worker }));
    } else {
        out::line(&started.run);
        out::note(&format!("run {} has begun on worker `{}`", started.run, started.worker));
    }
    Ok(CliExitCode::Done)
}
