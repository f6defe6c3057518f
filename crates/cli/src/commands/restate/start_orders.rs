//! Runs that are ordered through Restate: sent by `worker start` or any other program, and started by a worker.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use updraft_engine::HandedEffect;
use updraft_restate::{
    CallFault, NOBODY, NOT_BEGUN, OrderedRun, RunStarter, StartFault, StartRequest, check_address, nodes_of, order,
    shared_workspace_id,
};
use updraft_run::{ApprovalMode, RunId, RunMode};
use updraft_workbench::service::{LiveRuns, OrderFace, RunOrder, RunPlacer};
use updraft_workbench::{Fault, Kind};

use super::{WorkerPlace, read_token};
use crate::args::WorkerStartArgs;
use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::journal;

/// Where it is said why a worker has not begun a run.
const WHY_NOT_BEGUN: &str = "the worker goes on trying, and its log says what it waits for";

/// Starts runs that were ordered.
pub(super) fn starter(runs: &LiveRuns) -> RunStarter {
    let runs = runs.clone();
    Arc::new(move |id, request| {
        let runs = runs.clone();
        Box::pin(async move { Box::pin(begin(&runs, id, request)).await })
    })
}

pub(super) async fn begin(runs: &LiveRuns, id: RunId, request: StartRequest) -> Result<(), StartFault> {
    if runs.find(id.as_str()).is_ok() {
        // It was begun before, and perhaps this worker ended in the middle of that.
        let nothing = HandedEffect { records: 0, effect: None };
        return runs.continue_run(&id, &nothing).await.map(drop).map_err(|fault| StartFault::Later(fault.message));
    }
    let order = run_order(request).map_err(StartFault::Refused)?;
    let begun = runs.order_as(id, order).await;
    begun.map(drop).map_err(|fault| start_fault(&fault))
}

/// Tells a mistake in the order from something that may pass.
pub(super) fn start_fault(fault: &Fault) -> StartFault {
    let why = fault.in_one_line();
    if matches!(fault.kind, Kind::Failed | Kind::Unavailable) {
        StartFault::Later(why)
    } else {
        StartFault::Refused(why)
    }
}

/// An order as it travelled.
fn run_order(request: StartRequest) -> Result<RunOrder, String> {
    let StartRequest { goal, agent, model, files, swarm, plan_first, requirements, variables, plan, .. } = request;
    let mode = match (agent, swarm) {
        (Some(_), true) => return Err("`agent` and `swarm` exclude each other".to_owned()),
        (Some(agent), false) => RunMode::Agent(agent),
        (None, true) => RunMode::Swarm,
        (None, false) => RunMode::Plan,
    };
    let strict =
        |word: String| ApprovalMode::from_word(&word).ok_or_else(|| format!("`{word}` is not a kind of approvals"));
    let follows = request.follows.map(|id| RunId::parse(&id).map_err(|error| error.to_string())).transpose()?;
    let approvals = request.approvals.map(strict).transpose()?;
    let order = RunOrder { goal, mode, model, files, approvals, plan_first, follows, ..RunOrder::default() };
    Ok(RunOrder { requirements, variables, plan, face: OrderFace::Api, ..order })
}

/// An order as it travels.
fn start_request(id: &RunId, order: RunOrder) -> Result<StartRequest, Fault> {
    let RunOrder { goal, asked, pictures, mode, model, approvals, plan_first, files, requirements, .. } = order;
    if !asked.is_empty() || !pictures.is_empty() {
        return Err(Fault::usage("a goal with pictures or attachments cannot be sent to another worker"));
    }
    let (agent, swarm) = match mode {
        RunMode::Agent(agent) => (Some(agent), false),
        RunMode::Swarm => (None, true),
        RunMode::Plan | RunMode::Given => (None, false),
    };
    let (approvals, follows) = (approvals.map(|mode| mode.word().to_owned()), order.follows.map(|id| id.to_string()));
    let (run, variables, plan) = (Some(id.to_string()), order.variables, order.plan);
    let request = StartRequest { run, goal, agent, model, files, swarm, approvals, ..StartRequest::default() };
    Ok(StartRequest { plan_first, follows, requirements, variables, plan, ..request })
}

/// Starts runs on workers of a workspace by their labels.
pub(super) fn placer(ingress: String, token: Option<String>, workspace: String) -> RunPlacer {
    let sender = Arc::new((ingress, token, workspace));
    Arc::new(move |id, new| {
        let sender = Arc::clone(&sender);
        Box::pin(async move {
            let (ingress, token, workspace) = &*sender;
            let label = new.label.clone();
            let request = start_request(&id, new)?;
            let ordered = order(ingress, token.as_deref(), workspace, label.as_deref(), &request).await;
            ordered.map(drop).map_err(|fault| match fault {
                CallFault::Refused { status: NOBODY, why } => {
                    Fault::new(Kind::Unavailable, why).hint("start that worker again")
                }
                CallFault::Refused { status: NOT_BEGUN, why } => Fault::new(Kind::Unavailable, why).hint(WHY_NOT_BEGUN),
                CallFault::Refused { why, .. } => Fault::usage(why),
                other => Fault::failed(format!("run {id} was not started, or nobody could say so: {other}")),
            })
        })
    })
}

/// Sends an order to a worker.
pub(in crate::commands) async fn start_order(
    folders: &AppFolders,
    args: &WorkerStartArgs,
) -> Result<OrderedRun, CliError> {
    let token = args.restate_token.as_deref().map(read_token).transpose()?;
    for node in nodes_of(&args.restate) {
        check_address(node, token.is_some()).map_err(|fault| CliError::usage(fault.to_string()).hint(fault.hint()))?;
    }
    let workspace = match &args.workspace_id {
        Some(id) => id.clone(),
        None => workspace_id(folders, args.workspace.as_deref())?,
    };
    // With an id it is the same run if it has to be sent again.
    let id = match &args.id {
        Some(id) => id.clone(),
        None => journal::new_id()?.to_string(),
    };
    let request = StartRequest {
        run: Some(id.clone()),
        goal: args.goal.clone(),
        agent: args.agent.clone(),
        model: args.model.clone(),
        files: args.file.clone(),
        ..StartRequest::default()
    };
    let ordered = order(&args.restate, token.as_deref(), &workspace, args.label.as_deref(), &request).await;
    ordered.map_err(|fault| match fault {
        CallFault::Refused { status: 404, .. } => {
            CliError::failed("Restate knows no worker of Updraft").hint("start one: `updraft worker`")
        }
        CallFault::Refused { status: NOBODY, why } => {
            CliError::failed(why).hint("start one again: `updraft worker` in the folder of the workspace")
        }
        CallFault::Refused { status: NOT_BEGUN, why } => CliError::failed(why)
            .hint(format!("do not send it again without --id {id}: with that it is the same run"))
            .hint(WHY_NOT_BEGUN),
        CallFault::Refused { why, .. } => CliError::usage(why),
        other => CliError::failed(other.to_string()).hint(format!(
            "start Restate and a worker, and name Restate with --restate; it may have been accepted, so ask again with --id {id}"
        )),
    })
}

/// The file that notes the id of a folder's workspace.
fn noted(folders: &AppFolders, folder: &Path) -> PathBuf {
    let hash = updraft_journal::hash_of(folder.as_os_str().as_encoded_bytes()).to_string();
    folders.state.join("worker-workspaces").join(&hash[..16])
}

/// Notes the id of the workspace that a worker of this machine has in a folder.
pub(super) fn note_workspace(folders: &AppFolders, folder: &Path, id: &str) -> Result<(), CliError> {
    let file = noted(folders, folder);
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(|error| CliError::file("make", parent, &error))?;
    }
    Ok(folders::replace_private(&file, id.as_bytes())?)
}

/// The id of the workspace in a folder: of a shared one, or of the last worker here. That of a repository follows from its
/// address.
fn workspace_id(folders: &AppFolders, folder: Option<&Path>) -> Result<String, CliError> {
    let folder = match folder.map(WorkerPlace::find).transpose()? {
        Some(WorkerPlace::Repository(address)) => return Ok(address.id()),
        Some(WorkerPlace::Folder(folder)) => folder,
        None => folders::workspace(None)?,
    };
    let known = || std::fs::read_to_string(noted(folders, &folder)).ok();
    shared_workspace_id(&folder).or_else(known).map(|id| id.trim().to_owned()).ok_or_else(|| {
        CliError::usage(format!("no worker of this machine has worked in `{}`", folder.display()))
            .hint("start one there: `updraft worker`; or name the workspace of another machine: --workspace-id ID")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_sent() {
        let variables = [("colour".to_owned(), serde_json::json!("blue"))].into();
        let sent = RunOrder {
            goal: "Weave it".into(),
            mode: RunMode::Swarm,
            approvals: Some(ApprovalMode::ReadOnly),
            plan_first: true,
            follows: Some(RunId::parse("r0").unwrap()),
            requirements: vec!["file cloth.txt exists".into()],
            variables,
            plan: Some(serde_json::json!({"steps": []})),
            face: OrderFace::Api,
            label: Some("gpu".into()),
            ..RunOrder::default()
        };
        let request = start_request(&RunId::parse("r1").unwrap(), sent.clone()).unwrap();
        assert_eq!(request.run.as_deref(), Some("r1"));
        let text = serde_json::to_string(&request).unwrap();
        let arrived = run_order(serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(format!("{arrived:?}"), format!("{:?}", RunOrder { label: None, ..sent }));
        let wrong = StartRequest { approvals: Some("none".into()), ..StartRequest::default() };
        assert!(run_order(wrong).unwrap_err().contains("`none`"));
    }
}
