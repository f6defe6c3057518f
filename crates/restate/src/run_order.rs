//! Starts a run on a worker of a workspace, from anywhere that reaches Restate.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::hosted_workspace::StartedRun;
use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::messages::StartRequest;
use crate::service_names::ServiceNames;
use crate::shared_folder::is_id;
use crate::workspaces_object::{ChooseRequest, WORKSPACES, WorkspaceCard};

/// How long to wait for a worker.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedRun {
    /// Its id.
    pub run: String,
    /// The worker that has it.
    pub worker: String,
}

/// Starts a run on a worker that has the label, if one is asked for; the workers get runs in turn. Returns once the goal is
/// safe. `ingress` is Restate's address, `token` what is sent there.
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
    let target = CallTarget { service: WORKSPACES, key: workspace, handler: "choose", idempotency: None };
    let choice = ChooseRequest { label: label.map(str::to_owned) };
    let card: WorkspaceCard = ingress.call_within(target, &choice, Some(PATIENCE)).await?;
    let unusable = || CallFault::Unreadable(format!("`{}` is not the name of a worker", card.last));
    let service = ServiceNames::new(&card.last).ok_or_else(unusable)?.hands();
    // If it has to be sent again, it is the same run.
    let target = CallTarget { service: &service, key: "", handler: "start", idempotency: request.run.as_deref() };
    let started: StartedRun = ingress.call_within(target, request, Some(PATIENCE)).await?;
    Ok(OrderedRun { run: started.run, worker: card.last })
}
