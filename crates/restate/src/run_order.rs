//! Starts a run on a worker of a workspace, from anywhere that reaches Restate.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_journal::process_number;

use crate::changes::{CHANGED, ChangeQuestion, ChangeReport};
use crate::hosted_workspace::StartedRun;
use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::messages::StartRequest;
use crate::service_names::ServiceNames;
use crate::shared_folder::is_id;
use crate::workspaces_object::{ASSIGN, ChooseRequest, WORKSPACES, WorkspaceCard};

/// How long to wait for a run to begin.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for a sign of life.
const ANSWER: Duration = Duration::from_secs(3);

/// The status of a refusal because no worker is there.
pub const NOBODY: u16 = 503;
/// The status of an order that a worker has, and has not carried out yet.
pub const NOT_BEGUN: u16 = 504;

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedRun {
    /// Its id.
    pub run: String,
    /// The worker that has it.
    pub worker: String,
}

/// Starts a run on a worker that has the label, if one is asked for; the workers that answer get runs in turn. Returns once
/// the goal is safe. `ingress` is Restate's address, `token` what is sent there.
pub async fn order(
    ingress: &str,
    token: Option<&str>,
    workspace: &str,
    label: Option<&str>,
    request: &StartRequest,
) -> Result<OrderedRun, CallFault> {
    if !is_id(workspace) {
        return Err(CallFault::Unreadable(format!("`{workspace}` is not the id of a workspace")));
    }
    let ingress = Ingress::new(ingress, token, CancellationToken::new())?;
    let answering = answering_worker(&ingress, workspace, label).await?;
    let worker = match &request.run {
        Some(run) => assign(&ingress, workspace, run, &answering).await?,
        None => answering.clone(),
    };
    // If it has to be sent again, it is the same run.
    let service = hands_of(&worker)?;
    let target = CallTarget { service: &service, key: "", handler: "start", idempotency: request.run.as_deref() };
    match ingress.call_within::<StartedRun>(target, request, Some(PATIENCE)).await {
        Ok(started) => Ok(OrderedRun { run: started.run, worker }),
        Err(CallFault::Unreachable { .. }) if worker != answering => {
            let why = format!(
                "it was given to the worker `{worker}` before, which does not answer; it begins when that worker is back"
            );
            Err(CallFault::Refused { status: NOBODY, why })
        }
        // It has answered a moment ago, so the order waits there.
        Err(CallFault::Unreachable { why, .. }) => {
            let why = format!("the run was given to the worker `{worker}`, which has not begun it yet ({why})");
            Err(CallFault::Refused { status: NOT_BEGUN, why })
        }
        Err(other) => Err(other),
    }
}

/// A worker that has the label and answers.
async fn answering_worker(ingress: &Ingress, workspace: &str, label: Option<&str>) -> Result<String, CallFault> {
    let mut first = None;
    loop {
        let chosen = choose(ingress, workspace, label).await?.last;
        if answers(ingress, &hands_of(&chosen)?).await? {
            return Ok(chosen);
        }
        // The next one, until it is the turn of the first again.
        if first.as_ref() == Some(&chosen) {
            let why = format!("no worker that could do it answers; asked last was `{chosen}`");
            return Err(CallFault::Refused { status: NOBODY, why });
        }
        first.get_or_insert(chosen);
    }
}

fn hands_of(worker: &str) -> Result<String, CallFault> {
    let unusable = || CallFault::Unreadable(format!("`{worker}` is not the name of a worker"));
    Ok(ServiceNames::new(worker).ok_or_else(unusable)?.hands())
}

/// The worker that a run belongs to: this one, unless the run was given to another one before.
async fn assign(ingress: &Ingress, workspace: &str, run: &str, worker: &str) -> Result<String, CallFault> {
    let target = CallTarget { service: WORKSPACES, key: workspace, handler: ASSIGN, idempotency: Some(run) };
    ingress.call_within(target, &worker, Some(PATIENCE)).await
}

async fn choose(ingress: &Ingress, workspace: &str, label: Option<&str>) -> Result<WorkspaceCard, CallFault> {
    let target = CallTarget { service: WORKSPACES, key: workspace, handler: "choose", idempotency: None };
    let choice = ChooseRequest { label: label.map(str::to_owned) };
    ingress.call_within(target, &choice, Some(PATIENCE)).await
}

/// Whether a worker is there: an order that is sent to one that is away would wait for it.
async fn answers(ingress: &Ingress, service: &str) -> Result<bool, CallFault> {
    // If it is away, the question waits for it; further ones of this process are the same.
    let key = format!("order-{}", process_number());
    let target = CallTarget { service, key: "", handler: CHANGED, idempotency: Some(&key) };
    match ingress.call_within::<ChangeReport>(target, &ChangeQuestion::default(), Some(ANSWER)).await {
        Ok(_) => Ok(true),
        Err(CallFault::Unreachable { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}
