//! Messages that begin a task or continue one.
//!
//! The same message sent again leads to the same task, also after this process was killed: the id of the run is stored
//! with a hash of the message before the run begins.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use updraft_run::{RunId, RunMode, Status, Verdict};
use updraft_workbench::service::{KeyedRun, OrderFace, PendingQuestion, RunOrder, RunView};

use super::A2aState;
use super::failure::{A2aErrorKind, A2aFailure, A2aResult};
use super::operations::{check_role, find, history};
use super::push;
use super::sent_message::{SendConfiguration, SendRequest, SentMessage};
use super::task_json::{TaskParts, TaskPlace, asked, is_working, task};
use super::task_note::{TaskNote, add_to_context, tasks_in};
use super::task_stream::{TaskStream, position};
use crate::bearer::ApiCaller;
use crate::page::uploads::FOLDER;
use crate::page::words::hex;
use crate::run_follower::{FollowerNews, RunFollower};
use crate::users::UserRole;
use crate::wait_words::decision;

/// Where a message has led.
struct MessageTarget {
    run: RunId,
    /// The events that the run had before the message; absent if it had the message already.
    before: Option<u64>,
}

/// Sends a message, and waits until the task has ended or needs input, unless the client does not want to wait.
pub(super) async fn send(state: &Arc<A2aState>, caller: &ApiCaller, request: SendRequest) -> A2aResult<Value> {
    let parts = TaskParts { history: history(request.configuration.history_length)?, artifacts: true };
    let waits = !request.configuration.return_immediately.unwrap_or_default();
    let MessageTarget { run, .. } = deliver(state, caller, request).await?;
    let mut follower = RunFollower::new(&state.service.runs, &run, state.stop.clone())?;
    let mut now = task(state, &run, parts).await?;
    while waits && is_working(&now) {
        if matches!(follower.next().await?, FollowerNews::ServerStops) {
            let why = "the server is stopping; the task continues when it is back: ask for it with `GetTask`";
            return Err(A2aFailure::new(A2aErrorKind::Internal, why));
        }
        now = task(state, &run, parts).await?;
    }
    Ok(json!({ "task": now }))
}

/// Sends a message, and follows the task.
pub(super) async fn send_streaming(
    state: &Arc<A2aState>,
    caller: &ApiCaller,
    request: SendRequest,
) -> A2aResult<TaskStream> {
    let parts = TaskParts { history: history(request.configuration.history_length)?, artifacts: false };
    let MessageTarget { run, before } = deliver(state, caller, request).await?;
    let Some(before) = before else {
        let parts = TaskParts { artifacts: true, ..parts };
        return TaskStream::while_working(state, caller, &run, parts).await;
    };
    // What has happened since comes as updates.
    let mut first = task(state, &run, parts).await?;
    let begun = if before == 0 { "TASK_STATE_SUBMITTED" } else { "TASK_STATE_WORKING" };
    first["status"] = json!({ "state": begun, "timestamp": first["status"]["timestamp"] });
    TaskStream::after(state, caller, &run, (before, first))
}

/// Delivers a message to the run that it is for.
async fn deliver(state: &Arc<A2aState>, caller: &ApiCaller, request: SendRequest) -> A2aResult<MessageTarget> {
    let SendRequest { tenant, message: sent, configuration } = request;
    let SendConfiguration { task_push_notification_config: push, .. } = configuration;
    if push.is_some() {
        check_role(caller, UserRole::Administer)?;
    }
    let message = SentMessage::read(&sent)?;
    let target = if message.task.is_empty() {
        begin(state, caller, &tenant, (message, sent)).await?
    } else {
        let run = find(state, &message.task)?;
        let before = position(state, &run).await?;
        let is_new = go_on(state, caller, &run, (message, sent)).await?;
        MessageTarget { run, before: is_new.then_some(before) }
    };
    if let Some(config) = push {
        push::create(state, config.of_task(target.run.as_str())).await?;
    }
    Ok(target)
}

/// Begins a task, unless this message has begun one before.
async fn begin(
    state: &A2aState,
    caller: &ApiCaller,
    tenant: &str,
    (message, sent): (SentMessage, Value),
) -> A2aResult<MessageTarget> {
    let runs = &state.service.runs;
    let hash = |text: &str| hex(&Sha256::digest(text));
    let key = hash(&format!("a2a\0{}\0{tenant}\0{sent}", caller.name()));
    let _alone = state.beginning.lock().await;
    let run = match runs.keyed_run(&key, "a2a").await? {
        KeyedRun::Known(run) => return Ok(MessageTarget { run, before: None }),
        KeyedRun::ToStart(run) => run,
        KeyedRun::OtherRequest => return Err(A2aFailure::params("this `messageId` was used for another message")),
    };
    if message.text.trim().is_empty() {
        return Err(A2aFailure::params("the message has no text; say what you want done"));
    }
    let context = if message.context.is_empty() { run.to_string() } else { message.context };
    let earlier = tasks_in(runs, &context)?.pop().filter(|last| *last != run);
    let follows = earlier.filter(|last| runs.head(last).is_ok_and(|head| head.status.is_final()));
    let files = stored(state, message.files).await?;
    let mode = if tenant.is_empty() { RunMode::Plan } else { RunMode::Agent(tenant.to_owned()) };
    let order = RunOrder { goal: message.text, mode, files, follows, face: OrderFace::A2a, ..RunOrder::default() };
    // The notes come first: a run whose context is not known would be in another one.
    let note = TaskNote { messages: vec![placed(sent, &run, &context)], context };
    note.keep(runs, &run).await?;
    add_to_context(runs, &note.context, &run).await?;
    let run = Box::pin(runs.order_as(run, order)).await?;
    Ok(MessageTarget { run, before: Some(0) })
}

/// Continues a task: answers its question, or tells it something. False if the run has the message already.
async fn go_on(
    state: &A2aState,
    caller: &ApiCaller,
    run: &RunId,
    (message, sent): (SentMessage, Value),
) -> A2aResult<bool> {
    let runs = &state.service.runs;
    let view = runs.view(run.as_str()).await?;
    let note = TaskNote::of(runs, run, &view.goal)?;
    if !message.context.is_empty() && message.context != note.context {
        return Err(A2aFailure::params(format!("task {run} is in another context: {}", note.context)));
    }
    let (place, question) = (TaskPlace { run, context: &note.context }, view.waits.first());
    let known = note.has(&message.id);
    // A known message is passed on again if this process was killed before the run had it: then its question is still open.
    if known && !question.is_some_and(|open| note.has_after(&message.id, &place.message_id(&open.id))) {
        return Ok(false);
    }
    if view.status.is_final() {
        let why = format!("task {run} has ended; send the message without `taskId`, in the same context");
        return Err(A2aFailure::new(A2aErrorKind::UnsupportedOperation, why));
    }
    let mut text = message.text;
    let added = stored(state, message.files).await?;
    if !added.is_empty() {
        let list = added.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        text = format!("{text}\n\nI have added files to the workspace: {list}");
    }
    let sent = placed(sent, run, &note.context);
    let Some(first) = question else {
        pass_on(state, caller, &view, text).await?;
        note.add(runs, run, vec![sent]).await?;
        return Ok(true);
    };
    // An answer is noted first: whether the run has it as well is seen by its question.
    if !known {
        note.add(runs, run, vec![place.message(&first.id, &asked(&view.waits)), sent]).await?;
    }
    let passed = pass_on(state, caller, &view, text).await;
    if passed.is_err() && !known {
        note.remove_last(runs, run, [&place.message_id(&first.id), &message.id]).await?;
    }
    passed.map(|()| true)
}

/// Passes what a client says on to a run.
async fn pass_on(state: &A2aState, caller: &ApiCaller, view: &RunView, text: String) -> A2aResult<()> {
    let (runs, run) = (&state.service.runs, view.run.as_str());
    match view.waits.first() {
        Some(PendingQuestion { id, is_approval: true, .. }) => {
            let unclear = || A2aFailure::params("the task asks for an approval: answer `approve` or `deny`");
            let (allow, because) = decision(&text).ok_or_else(unclear)?;
            let verdict = Verdict { allow, by: caller.name().to_owned(), because, ..Verdict::default() };
            runs.decide(run, Some(id), verdict).await?;
        }
        Some(question) => drop(runs.answer(run, Some(&question.id), text).await?),
        None => {
            runs.tell_user(run, text).await?;
            if view.status == Status::Paused {
                runs.resume(run).await?;
            }
        }
    }
    Ok(())
}

/// Stores the files of a message in the workspace.
async fn stored(state: &A2aState, files: Vec<(String, Vec<u8>)>) -> A2aResult<Vec<String>> {
    let mut paths = Vec::new();
    for (name, content) in files {
        paths.push(state.service.files.add(FOLDER, &name, content).await?);
    }
    Ok(paths)
}

/// A message with its place.
fn placed(mut message: Value, run: &RunId, context: &str) -> Value {
    message["taskId"] = run.as_str().into();
    message["contextId"] = context.into();
    message
}
