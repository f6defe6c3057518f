//! What requests carry: JSON bodies, queries and the names of runs, each read within limits or refused as a [`Problem`].

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use updraft_run::RunId;
use utoipa::IntoParams;

use super::problem::Problem;
use super::{ApiState, SharedState};

/// Most bytes of a JSON body.
const MOST_JSON: usize = 4 << 20;
/// How long a client may be silent in the middle of a body.
pub(super) const SILENCE: Duration = Duration::from_secs(5);
/// How long a JSON body may take in all.
const WHOLE: Duration = Duration::from_secs(30);

/// A JSON body.
pub(super) struct ApiJson<T>(pub(super) T);

/// The query of an address.
pub(super) struct ApiQuery<T>(pub(super) T);

/// A part of the path that is no run.
pub(super) struct ApiPath<T>(pub(super) T);

/// The run that an address names. It is in this workspace.
pub(super) struct RunPath(pub(super) RunId);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for ApiJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(wrong_type("application/json"));
        }
        let bytes = read_body(request, MOST_JSON, WHOLE).await?;
        // A list would be taken for the fields of an object in their order.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(Problem::unreadable("the body is not a JSON object"));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| unfit(&error))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(query)| Self(query)).map_err(|wrong| Problem::unreadable(wrong.body_text()))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for ApiPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        read.map(|Path(path)| Self(path)).map_err(|wrong| Problem::missing(wrong.body_text()))
    }
}

impl FromRequestParts<SharedState> for RunPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &SharedState) -> Result<Self, Problem> {
        let ApiPath(id) = ApiPath::<String>::from_request_parts(parts, state).await?;
        known_run(state, &id).map(Self)
    }
}

/// The run with an id.
pub(super) fn known_run(state: &ApiState, id: &str) -> Result<RunId, Problem> {
    state.service.runs.find(id).map_err(|fault| Problem::missing(fault.message))
}

/// Which part of a list is wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// How many are skipped.
    #[serde(default)]
    #[param(maximum = 1_000_000_000)]
    skip: u32,
    /// At most this many.
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: u32,
}

fn hundred() -> u32 {
    100
}

impl ListParams {
    /// How many are skipped and how many are given.
    pub(super) fn range(&self) -> Result<(usize, usize), Problem> {
        if self.skip > 1_000_000_000 || !(1..=1000).contains(&self.limit) {
            return Err(Problem::unreadable("`limit` is a number from 1 to 1000, and `skip` at most a billion"));
        }
        Ok((self.skip as usize, self.limit as usize))
    }
}

/// The number of an event, if a run can have so many.
pub(super) fn sensible(number: u64) -> Result<u64, Problem> {
    if number <= 1_000_000_000_000 { Ok(number) } else { Err(Problem::unreadable("no event has such a number")) }
}

/// A whole number in a body; JSON Schema counts `7.0` as one.
pub(super) fn whole<'de, D: Deserializer<'de>>(body: D) -> Result<u64, D::Error> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let number = serde_json::Number::deserialize(body)?;
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=MOST).contains(number);
    let whole = number.as_u64().or_else(|| number.as_f64().filter(is_whole).map(|number| number as u64));
    whole.ok_or_else(|| D::Error::custom(format!("`{number}` is not a whole number")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = content_type(headers);
    kind == "application/json" || kind.ends_with("+json")
}

/// The type of a body, in lower case and without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The body is not what is expected.
pub(super) fn unfit(error: &serde_json::Error) -> Problem {
    Problem::unreadable(format!("the body does not fit: {error}"))
}

/// The body has another type than this.
pub(super) fn wrong_type(wanted: &str) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("send the body as `Content-Type: {wanted}`"))
}

/// The body is larger than this.
pub(super) fn too_large(most: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is too large; at most {most} bytes are read"))
}

/// The client was silent for too long.
pub(super) fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time; send it without long pauses")
}

/// Reads a whole body. What announces itself as too large is not read at all.
pub(super) async fn read_body(request: Request, most: usize, whole: Duration) -> Result<Bytes, Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > most as u64) {
        return Err(too_large(most));
    }
    let reading = collect(request.into_body(), most);
    tokio::time::timeout(whole, reading).await.map_err(|_| too_slow())?
}

async fn collect(body: Body, most: usize) -> Result<Bytes, Problem> {
    let (mut stream, mut bytes) = (body.into_data_stream(), Vec::new());
    loop {
        let next = tokio::time::timeout(SILENCE, stream.next()).await.map_err(|_| too_slow())?;
        let Some(part) = next else { return Ok(bytes.into()) };
        let part = part.map_err(|error| Problem::unreadable(format!("the body was cut off: {error}")))?;
        if bytes.len() + part.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_may_have_a_point() {
        for (text, number) in
            [("7", Some(7)), ("7.0", Some(7)), ("7.5", None), ("-1", None), ("1e300", None), ("\"7\"", None)]
        {
            let read = whole(&mut serde_json::Deserializer::from_str(text)).ok();
            assert_eq!(read, number, "{text}");
        }
    }
}
