//! Push notifications: other servers that are told what happens to a task, each update at least once and in order.
//!
//! Which servers, and up to which event of its run each was told, is one note beside the journal. After a restart, each
//! is told the rest; when a task has ended and a server was told so, it is forgotten.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::RunId;
use updraft_workbench::Fault;
use updraft_workbench::service::{LiveRuns, NumberedMoment, RunMoment};

use super::A2aState;
use super::failure::{A2aFailure, A2aResult};
use super::operations::find;
use super::task_json::TaskPlace;
use super::task_note::{NOTES, TaskNote};
use super::task_stream::position;
use crate::run_follower::{FollowerNews, RunFollower};
use crate::webhooks;

/// The note that lists all servers.
const KEY: &str = "pushes";
/// Most servers that are told about one task.
const MOST: usize = 16;
/// The wait after the first failure; it doubles each time, and after so many attempts a server is given up.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const ATTEMPTS: u32 = 12;

/// A server that is told about a task.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushConfig {
    #[serde(default)]
    id: String,
    #[serde(default)]
    task_id: String,
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authentication: Option<PushAuthentication>,
}

/// How we show the other server who we are.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct PushAuthentication {
    scheme: String,
    #[serde(default)]
    credentials: String,
}

/// A server, and the last event of the run that it was told about.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct StoredPush {
    config: PushConfig,
    told: u64,
}

/// Which server is meant.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushRequest {
    task_id: String,
    #[serde(default)]
    id: String,
}

impl PushConfig {
    /// The same for this task.
    pub(super) fn of_task(self, task: &str) -> Self {
        Self { task_id: task.to_owned(), ..self }
    }
}

impl PushRequest {
    fn means(&self, push: &StoredPush) -> bool {
        push.config.task_id == self.task_id && push.config.id == self.id
    }
}

fn read(text: Option<&str>) -> Vec<StoredPush> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// All servers, of all tasks.
fn known(runs: &LiveRuns) -> Result<Vec<StoredPush>, Fault> {
    Ok(read(runs.note(NOTES, KEY)?.as_deref()))
}

async fn change(runs: &LiveRuns, change: impl Fn(&mut Vec<StoredPush>) + Send + 'static) -> Result<(), Fault> {
    let change = move |text: Option<&str>| {
        let mut pushes = read(text);
        change(&mut pushes);
        serde_json::to_string(&pushes).ok()
    };
    runs.change_note(NOTES, KEY, change).await.map(drop)
}

/// Adds a server, or replaces the one with the same id. It is told what happens from now on.
pub(super) async fn create(state: &Arc<A2aState>, mut config: PushConfig) -> A2aResult<Value> {
    let runs = &state.service.runs;
    let run = find(state, &config.task_id)?;
    let is_http = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.host().is_some();
    if !reqwest::Url::parse(&config.url).is_ok_and(|url| is_http(&url)) {
        return Err(A2aFailure::params("`url` is an address that begins with `http://` or `https://`"));
    }
    let mut others = known(runs)?;
    others.retain(|push| push.config.task_id == config.task_id && push.config.id != config.id);
    if others.len() >= MOST {
        return Err(A2aFailure::params(format!("at most {MOST} servers are told about a task")));
    }
    if config.id.is_empty() {
        let free = (1..=MOST).map(|n| format!("push-{n}")).find(|id| others.iter().all(|push| push.config.id != *id));
        config.id = free.unwrap_or_default();
    }
    let meant = PushRequest { task_id: config.task_id.clone(), id: config.id.clone() };
    let (new, old) = (StoredPush { config: config.clone(), told: position(state, &run).await? }, meant.clone());
    change(runs, move |pushes| {
        pushes.retain(|push| !old.means(push));
        pushes.push(new.clone());
    })
    .await?;
    runs.in_background(tell(Arc::clone(state), run, meant));
    Ok(serde_json::to_value(config).unwrap_or_default())
}

/// The server with an id.
pub(super) fn get(state: &A2aState, request: &PushRequest) -> A2aResult<Value> {
    let found = known(&state.service.runs)?.into_iter().find(|push| request.means(push));
    let found = found.ok_or_else(|| A2aFailure::no_task(&format!("{}/{}", request.task_id, request.id)))?;
    Ok(serde_json::to_value(found.config).unwrap_or_default())
}

/// All servers of a task.
pub(super) fn list(state: &A2aState, request: &PushRequest) -> A2aResult<Value> {
    find(state, &request.task_id)?;
    let pushes = known(&state.service.runs)?.into_iter();
    let configs: Vec<PushConfig> =
        pushes.map(|push| push.config).filter(|config| config.task_id == request.task_id).collect();
    Ok(json!({ "configs": configs, "nextPageToken": "" }))
}

/// Tells a server nothing more. Doing so twice is no mistake.
pub(super) async fn delete(state: &A2aState, request: PushRequest) -> A2aResult<Value> {
    find(state, &request.task_id)?;
    change(&state.service.runs, move |pushes| pushes.retain(|push| !request.means(push))).await?;
    Ok(json!({}))
}

/// Goes on telling servers about tasks, after a restart.
pub(super) fn resume(state: &Arc<A2aState>) {
    let runs = &state.service.runs;
    for StoredPush { config, .. } in known(runs).unwrap_or_default() {
        let Ok(run) = runs.find(&config.task_id) else { continue };
        runs.in_background(tell(Arc::clone(state), run, PushRequest { task_id: config.task_id, id: config.id }));
    }
}

/// Tells one server about one task until the task has ended.
async fn tell(state: Arc<A2aState>, run: RunId, meant: PushRequest) {
    let ended = tokio::select! {
        ended = tell_until_end(&state, &run, &meant) => ended,
        () = state.stop.cancelled() => return,
    };
    if let Err(fault) = ended {
        tracing::error!(%run, push = meant.id, "a server is not told any more: {}", fault.in_one_line());
    }
}

async fn tell_until_end(state: &A2aState, run: &RunId, meant: &PushRequest) -> Result<(), Fault> {
    let runs = &state.service.runs;
    let client = webhooks::client()?;
    let mut follower = RunFollower::new(runs, run, state.stop.clone())?;
    loop {
        let moments = match follower.next().await? {
            FollowerNews::Moments(moments) => moments,
            FollowerNews::Text(_) | FollowerNews::Silence => continue,
            FollowerNews::ServerStops => return Ok(()),
        };
        for happened in &moments {
            let Some(push) = known(runs)?.into_iter().find(|push| meant.means(push)) else { return Ok(()) };
            if happened.position > push.told {
                send_all(state, &client, (run, &push.config), happened).await?;
            }
        }
        let Some(last) = moments.last() else { continue };
        let is_over = moments.iter().any(|happened| matches!(happened.moment, RunMoment::Ends { .. }));
        let (meant, told) = (meant.clone(), last.position);
        change(runs, move |pushes| {
            pushes.retain(|push| !(is_over && meant.means(push)));
            pushes.iter_mut().filter(|push| meant.means(push)).for_each(|push| push.told = push.told.max(told));
        })
        .await?;
        if is_over {
            return Ok(());
        }
    }
}

/// Sends what happened, each update until it is taken.
async fn send_all(
    state: &A2aState,
    client: &reqwest::Client,
    (run, config): (&RunId, &PushConfig),
    happened: &NumberedMoment,
) -> Result<(), Fault> {
    let failed = |failure: A2aFailure| Fault::failed(failure.message);
    let context = TaskNote::of(&state.service.runs, run, "").map_err(failed)?.context;
    for update in (TaskPlace { run, context: &context }).updates(state, happened).await.map_err(failed)? {
        let mut wait = FIRST_WAIT;
        for attempt in 1..=ATTEMPTS {
            match attempt_to_send(client, config, &update).await {
                Ok(()) => break,
                Err(why) if attempt == ATTEMPTS => return Err(Fault::failed(why)),
                Err(why) => tracing::warn!(url = config.url, why, "an update is sent again in {wait:?}"),
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }
    Ok(())
}

async fn attempt_to_send(client: &reqwest::Client, config: &PushConfig, update: &Value) -> Result<(), String> {
    let mut request = client.post(&config.url).header("content-type", "application/a2a+json");
    if let Some(token) = &config.token {
        request = request.header("x-a2a-notification-token", token);
    }
    if let Some(PushAuthentication { scheme, credentials }) = &config.authentication {
        request = request.header("authorization", format!("{scheme} {credentials}").trim());
    }
    let sent = request.body(update.to_string()).send().await;
    let answer = sent.map_err(|error| updraft_run::error_chain(&error.without_url()))?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("the receiver answered {}", answer.status())) }
}
