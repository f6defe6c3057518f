//! The operations of A2A, whichever binding asks for one.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;
use updraft_run::RunId;

use super::failure::{A2aErrorKind, A2aFailure, A2aResult};
use super::field_names::with_json_names;
use super::task_json::{TaskParts, is_terminal, task};
use super::task_stream::TaskStream;
use super::{A2aState, agent_card, push, send, task_list};
use crate::bearer::ApiCaller;
use crate::users::UserRole;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum A2aOperation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    GetExtendedAgentCard,
}

/// The answer to an operation.
pub(super) enum A2aAnswer {
    Body(Value),
    Stream(Box<TaskStream>),
}

impl A2aOperation {
    /// The operation with this name in JSON-RPC.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "SendMessage" => Self::SendMessage,
            "SendStreamingMessage" => Self::SendStreamingMessage,
            "GetTask" => Self::GetTask,
            "ListTasks" => Self::ListTasks,
            "CancelTask" => Self::CancelTask,
            "SubscribeToTask" => Self::SubscribeToTask,
            "CreateTaskPushNotificationConfig" => Self::CreatePush,
            "GetTaskPushNotificationConfig" => Self::GetPush,
            "ListTaskPushNotificationConfigs" => Self::ListPush,
            "DeleteTaskPushNotificationConfig" => Self::DeletePush,
            "GetExtendedAgentCard" => Self::GetExtendedAgentCard,
            _ => return None,
        })
    }

    /// The role that it needs. Which servers are told about a task is decided by those who administer, as with webhooks:
    /// this machine will send requests there.
    fn needs(self) -> UserRole {
        match self {
            Self::SendMessage | Self::SendStreamingMessage | Self::CancelTask => UserRole::Steer,
            Self::CreatePush | Self::GetPush | Self::ListPush | Self::DeletePush => UserRole::Administer,
            Self::GetTask | Self::ListTasks | Self::SubscribeToTask | Self::GetExtendedAgentCard => UserRole::See,
        }
    }
}

/// Which task is meant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskRequest {
    id: String,
    #[serde(default, deserialize_with = "whole_number")]
    history_length: Option<i64>,
}

/// Performs an operation for a client that has the role for it.
pub(super) async fn perform(
    state: &Arc<A2aState>,
    caller: &ApiCaller,
    origin: &str,
    operation: A2aOperation,
    params: Value,
) -> A2aResult<A2aAnswer> {
    check_role(caller, operation.needs())?;
    if operation.needs() > UserRole::See {
        tracing::info!(user = caller.name(), "A2A {operation:?}");
    }
    let params = with_json_names(params);
    match operation {
        A2aOperation::SendMessage => send::send(state, caller, read(params)?).await.map(A2aAnswer::Body),
        A2aOperation::SendStreamingMessage => {
            let stream = send::send_streaming(state, caller, read(params)?).await?;
            Ok(A2aAnswer::Stream(stream.into()))
        }
        A2aOperation::GetTask => {
            let TaskRequest { id, history_length } = read(params)?;
            let parts = TaskParts { history: history(history_length)?, artifacts: true };
            task(state, &find(state, &id)?, parts).await.map(A2aAnswer::Body)
        }
        A2aOperation::ListTasks => task_list::list(state, read(params)?).await.map(A2aAnswer::Body),
        A2aOperation::CancelTask => {
            let TaskRequest { id, .. } = read(params)?;
            cancel(state, caller, &find(state, &id)?).await.map(A2aAnswer::Body)
        }
        A2aOperation::SubscribeToTask => {
            let TaskRequest { id, .. } = read(params)?;
            let run = find(state, &id)?;
            let now = task(state, &run, TaskParts::ALL).await?;
            if is_terminal(&now) {
                let why = format!("task {run} has ended; `GetTask` gives its result");
                return Err(A2aFailure::new(A2aErrorKind::UnsupportedOperation, why));
            }
            Ok(A2aAnswer::Stream(TaskStream::from_now(state, caller, &run).await?.into()))
        }
        A2aOperation::CreatePush => push::create(state, read(params)?).await.map(A2aAnswer::Body),
        A2aOperation::GetPush => push::get(state, &read(params)?).map(A2aAnswer::Body),
        A2aOperation::ListPush => push::list(state, &read(params)?).map(A2aAnswer::Body),
        A2aOperation::DeletePush => push::delete(state, read(params)?).await.map(A2aAnswer::Body),
        A2aOperation::GetExtendedAgentCard => Ok(A2aAnswer::Body(agent_card::extended(state, origin))),
    }
}

/// Refuses a client that has not this role.
pub(super) fn check_role(caller: &ApiCaller, needed: UserRole) -> A2aResult<()> {
    if caller.role() >= needed {
        return Ok(());
    }
    let why = format!("{}; `updraft serve user` gives roles", caller.role_refusal(needed));
    Err(A2aFailure::new(A2aErrorKind::Forbidden, why))
}

async fn cancel(state: &A2aState, caller: &ApiCaller, run: &RunId) -> A2aResult<Value> {
    let runs = &state.service.runs;
    if runs.head(run)?.status.is_final() {
        let why = format!("task {run} has already ended");
        return Err(A2aFailure::new(A2aErrorKind::TaskNotCancelable, why));
    }
    runs.cancel(run.as_str(), caller.name()).await?;
    task(state, run, TaskParts::ALL).await
}

/// The run that is a task.
pub(super) fn find(state: &A2aState, id: &str) -> A2aResult<RunId> {
    state.service.runs.find(id).map_err(|_| A2aFailure::no_task(id))
}

/// The parameters of an operation. An absent field and `null` are the same in A2A.
pub(super) fn read<T: DeserializeOwned>(params: Value) -> A2aResult<T> {
    let mut params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    if let Some(fields) = params.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(params).map_err(|error| A2aFailure::params(format!("the parameters do not fit: {error}")))
}

/// How many messages a client wants; `None` for all.
pub(super) fn history(length: Option<i64>) -> A2aResult<Option<usize>> {
    let wrong = |_| A2aFailure::params("`historyLength` is not negative");
    length.map(usize::try_from).transpose().map_err(wrong)
}

/// A number, also as a text: so are they in addresses, and ProtoJSON reads both.
pub(super) fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(from)?;
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    number.map(Some).ok_or_else(|| D::Error::custom(format!("`{value}` is not a whole number")))
}
