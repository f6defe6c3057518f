//! `Idempotency-Key`: a request that starts a run or changes something else can be sent again, and is carried out once.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use updraft_run::{RunId, Timestamp};
use updraft_workbench::service::{AnswerClaim, KeyedAnswer, KeyedRun};
use updraft_workbench::{Fault, Kind};
use utoipa::IntoParams;

use super::input::{ApiJson, unfit};
use super::problem::{ApiResult, Problem};
use super::{ApiState, SharedState};
use crate::bearer::ApiCaller;
use crate::page::words::hex;

/// Most characters of a key.
const LONGEST: usize = 255;

/// The header, as the document describes it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it only describes the header")]
pub(super) struct KeyHeader {
    /// A request that is sent again with the same key is carried out once
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255)]
    key: Option<String>,
}

/// Makes requests with the same key wait for each other. Those with other keys hardly ever do.
#[derive(Default)]
pub(super) struct KeyTurns([Arc<Mutex<()>>; 16]);

impl KeyTurns {
    async fn of(&self, key: &str) -> OwnedMutexGuard<()> {
        let place = key.bytes().next_back().map_or(0, usize::from) % self.0.len();
        Arc::clone(&self.0[place]).lock_owned().await
    }
}

/// The key of a request, as it was sent.
pub(super) struct SentKey {
    /// The key and whose it is, as a hash; absent if the request has none.
    key: Option<String>,
    /// The method and the address.
    place: String,
}

/// The key of a request whose body is known.
pub(super) struct RequestKey {
    key: String,
    /// What is asked for, as a hash.
    request: String,
}

/// A JSON body, and the key of the request if it has one.
pub(super) struct KeyedJson<T> {
    pub(super) body: T,
    pub(super) key: Option<RequestKey>,
}

/// What is to be done with a request that may have come before.
pub(super) enum KeyedStart<T> {
    /// Nothing: this run was started then.
    Known(RunId),
    /// Start it: the body, and the id that the run must have, if it must have one. Held until the run has begun, the
    /// guard makes a second request with the same key find the run of the first.
    New(T, Option<RunId>, Option<OwnedMutexGuard<()>>),
}

impl SentKey {
    /// The key of a request, if it is sensible.
    pub(super) fn of(request: &Request) -> ApiResult<Self> {
        let sent = request.headers().get("idempotency-key").map(|key| key.to_str().unwrap_or_default().to_owned());
        if sent.as_ref().is_some_and(|key| key.is_empty() || key.len() > LONGEST) {
            return Err(Problem::unreadable("an `Idempotency-Key` has 1 to 255 characters of ASCII"));
        }
        let name = request.extensions().get::<ApiCaller>().map(|caller| caller.name().to_owned()).unwrap_or_default();
        let place = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let key = sent.map(|key| hash(format!("{name}\0{key}")));
        Ok(Self { key, place: format!("{} {place}", request.method()) })
    }

    /// The same with the body.
    pub(super) fn with(self, body: impl AsRef<[u8]>) -> Option<RequestKey> {
        let Self { key, place } = self;
        let request = || hash(format!("{place}\0{}", hash(body)));
        key.map(|key| RequestKey { key, request: request() })
    }
}

impl<T: DeserializeOwned> FromRequest<SharedState> for KeyedJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &SharedState) -> ApiResult<Self> {
        let sent = SentKey::of(&request)?;
        let ApiJson(value) = ApiJson::<Value>::from_request(request, state).await?;
        let key = sent.with(value.to_string());
        Ok(Self { body: serde_json::from_value(value).map_err(|error| unfit(&error))?, key })
    }
}

pub(super) fn hash(text: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(text))
}

fn used_before() -> Problem {
    let why = "this `Idempotency-Key` was used for another request; make a new one for each";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

/// Why a run was not started. Its id may be taken only if another server starts it for the same key at this moment.
pub(super) fn not_started(fault: Fault) -> Problem {
    match fault.kind {
        Kind::AlreadyExists => Problem::conflict("another server is starting this run for the same `Idempotency-Key`")
            .hint("send the request again: then you get the run"),
        _ => fault.into(),
    }
}

impl<T> KeyedJson<T> {
    /// Whether the run that the request asks for is to be started, or the same request has started it before. If another
    /// server starts it at the same moment, starting it here fails with 409.
    pub(super) async fn claim(self, state: &ApiState) -> ApiResult<KeyedStart<T>> {
        let Some(RequestKey { key, request }) = self.key else { return Ok(KeyedStart::New(self.body, None, None)) };
        let turn = state.turns.of(&key).await;
        match state.service.runs.keyed_run(&key, &request).await? {
            KeyedRun::Known(id) => Ok(KeyedStart::Known(id)),
            KeyedRun::ToStart(id) => Ok(KeyedStart::New(self.body, Some(id), Some(turn))),
            KeyedRun::OtherRequest => Err(used_before()),
        }
    }
}

impl ApiState {
    /// Carries out a request that starts no run: once for each key. `work` is told when it was begun before, if whoever
    /// did that did not get to the end. It is finished also if the client leaves.
    pub(super) async fn once<F>(
        &self,
        key: Option<RequestKey>,
        work: impl FnOnce(Option<Timestamp>) -> F,
    ) -> ApiResult<Value>
    where
        F: Future<Output = ApiResult<Value>> + Send + 'static,
    {
        let Some(RequestKey { key, request }) = key else { return work(None).await };
        let turn = self.turns.of(&key).await;
        let claim = AnswerClaim { key, request, by: self.name.clone() };
        let begun = match self.service.runs.claim_answer(&claim).await? {
            KeyedAnswer::Known(answer) => return Ok(answer),
            KeyedAnswer::OtherRequest => return Err(used_before()),
            KeyedAnswer::UnderWay => {
                let why = "another server is carrying out the same request";
                return Err(Problem::conflict(why).hint("send it again in a moment: then you get what came of it"));
            }
            KeyedAnswer::ToDo { begun } => begun,
        };
        let (runs, work, (told, heard)) = (self.service.runs.clone(), work(begun), oneshot::channel());
        self.service.runs.in_background(async move {
            let done = work.await;
            let kept = match &done {
                Ok(answer) => runs.keep_answer(&claim, answer).await,
                // Whoever sends it again must not have it done twice.
                Err(problem) if problem.is_pending() => Ok(()),
                Err(_) => runs.release_answer(&claim).await,
            };
            if let Err(fault) = kept {
                tracing::warn!("what came of a request is not stored: {}", fault.in_one_line());
            }
            drop(turn);
            // The client may be gone.
            let _ = told.send(done);
        });
        heard.await.map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the request was not finished"))?
    }
}
