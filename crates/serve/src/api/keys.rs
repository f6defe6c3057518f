//! `Idempotency-Key`: a request that starts a run can be sent again, and leads to the same run.

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::MutexGuard;
use updraft_run::RunId;
use updraft_workbench::service::KeyedRun;

use super::SharedState;
use super::input::{ApiJson, unfit};
use super::problem::{ApiResult, Problem};
use crate::bearer::ApiCaller;
use crate::page::words::hex;

/// Most characters of a key.
const LONGEST: usize = 255;

/// A JSON body, and the key of the request if it has one.
pub(super) struct KeyedJson<T> {
    pub(super) body: T,
    key: Option<RequestKey>,
}

/// What is to be done with a request that may have come before.
pub(super) enum KeyedStart<'a, T> {
    /// Nothing: this run was started then.
    Known(RunId),
    /// Start it: the body, and the id that the run must have, if it must have one. Held until the run has begun, the
    /// guard makes a second request with the same key find the run of the first.
    New(T, Option<RunId>, Option<MutexGuard<'a, ()>>),
}

/// The key of a request.
struct RequestKey {
    /// The key and whose it is, as a hash.
    key: String,
    /// What is asked for, as a hash.
    request: String,
}

impl<T: DeserializeOwned> FromRequest<SharedState> for KeyedJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &SharedState) -> ApiResult<Self> {
        let sent = request.headers().get("idempotency-key").map(|key| key.to_str().unwrap_or_default().to_owned());
        if sent.as_ref().is_some_and(|key| key.is_empty() || key.len() > LONGEST) {
            return Err(Problem::unreadable("an `Idempotency-Key` has 1 to 255 characters of ASCII"));
        }
        let name = request.extensions().get::<ApiCaller>().map(|caller| caller.name().to_owned()).unwrap_or_default();
        let place = format!("{} {}", request.method(), request.uri().path());
        let ApiJson(value) = ApiJson::<Value>::from_request(request, state).await?;
        let key = sent.map(|key| RequestKey {
            key: hash(&format!("{name}\0{key}")),
            request: hash(&format!("{place}\0{value}")),
        });
        Ok(Self { body: serde_json::from_value(value).map_err(|error| unfit(&error))?, key })
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

impl<T> KeyedJson<T> {
    /// Whether the run that the request asks for is to be started, or the same request has started it before.
    pub(super) async fn claim(self, state: &SharedState) -> ApiResult<KeyedStart<'_, T>> {
        let Some(RequestKey { key, request }) = self.key else { return Ok(KeyedStart::New(self.body, None, None)) };
        let alone = state.keyed.lock().await;
        match state.service.runs.keyed_run(&key, &request).await? {
            KeyedRun::Known(id) => Ok(KeyedStart::Known(id)),
            KeyedRun::ToStart(id) => Ok(KeyedStart::New(self.body, Some(id), Some(alone))),
            KeyedRun::OtherRequest => Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "this `Idempotency-Key` was used for another request; make a new one for each",
            )),
        }
    }
}
