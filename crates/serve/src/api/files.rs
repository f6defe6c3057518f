//! Files that programs add: to the workspace, for a new run; or to a run that is at work, which is told of them.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Duration, Instant};
use updraft_workbench::UpdraftService;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{RunPath, SILENCE, too_large, too_slow, wrong_type};
use super::keys::{KeyHeader, RequestKey, SentKey, hash};
use super::problem::{ApiResult, Problem};
use crate::bearer::ApiCaller;
use crate::page::uploads::{FOLDER, MOST_BYTES, MOST_FILES, safe_name};

/// Most bytes of a body with files: a little more than the files may have.
pub(super) const MOST_SENT: usize = MOST_BYTES + (1 << 20);
/// How long a body with files may take in all: one that drips keeps others waiting.
const WHOLE: Duration = Duration::from_mins(10);
/// Files are held in memory until all of them are there, so only so many bodies are received at once.
static RECEIVERS: Semaphore = Semaphore::const_new(4);

/// A file that was sent: its name and its content.
type SentFile = (String, Vec<u8>);

/// Files to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it only describes the body")]
pub(super) struct FilesBody {
    /// The files.
    #[schema(value_type = Vec<String>, min_items = 1, format = Binary, content_media_type = "application/octet-stream")]
    files: Vec<Vec<u8>>,
}

/// Files that were added.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiFiles {
    /// Their paths in the workspace, for `files` of a new run. Nothing is ever replaced: a name that is taken gets a number.
    paths: Vec<String>,
}

/// Add files to the workspace
#[utoipa::path(
    post,
    path = "/files",
    tag = "files",
    params(KeyHeader),
    request_body(content = FilesBody, content_type = "multipart/form-data"),
    responses((status = 201, body = ApiFiles))
)]
pub(super) async fn add(State(state): State<SharedState>, request: Request) -> ApiResult<(StatusCode, Json<Value>)> {
    let (files, key, _place) = receive(request).await?;
    let service = state.service.clone();
    let added = state.once(key, move |_| async move { Ok(json!(ApiFiles { paths: store(&service, files).await? })) });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

/// Add files to the workspace, and tell a run of them
#[utoipa::path(
    post,
    path = "/runs/{id}/files",
    tag = "files",
    params(("id" = String, Path, description = "The run"), KeyHeader),
    request_body(content = FilesBody, content_type = "multipart/form-data"),
    responses((status = 201, body = ApiFiles))
)]
pub(super) async fn add_to_run(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
    request: Request,
) -> ApiResult<(StatusCode, Json<Value>)> {
    let (files, key, _place) = receive(request).await?;
    let (service, user) = (state.service.clone(), caller.name().to_owned());
    let added = state.once(key, move |_| async move {
        let view = service.runs.view(id.as_str()).await?;
        if view.status.is_final() {
            return Err(Problem::conflict(format!("run {id} has already ended: it is {}", view.status)));
        }
        let paths = store(&service, files).await?;
        let list = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        tracing::info!(user, "files for run {id}: {list}");
        service.runs.tell_user(id.as_str(), format!("I have added files to the workspace: {list}")).await?;
        Ok(json!(ApiFiles { paths }))
    });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

/// Stores files in the workspace, and gives their paths.
async fn store(service: &UpdraftService, files: Vec<SentFile>) -> ApiResult<Vec<String>> {
    let mut paths = Vec::new();
    for (name, content) in files {
        paths.push(service.files.add(FOLDER, &name, content).await?);
    }
    Ok(paths)
}

/// Refuses what is of another type, or announces itself as too large, without reading it.
fn check_head(headers: &HeaderMap) -> ApiResult<()> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = header(header::CONTENT_TYPE).unwrap_or_default().trim_start();
    if !kind.get(..19).is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/form-data")) {
        return Err(wrong_type("multipart/form-data"));
    }
    let announced = header(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > MOST_SENT as u64) {
        return Err(too_large(MOST_SENT));
    }
    Ok(())
}

/// Receives the files of a body. The place among the receivers is kept until the files are stored.
async fn receive(request: Request) -> ApiResult<(Vec<SentFile>, Option<RequestKey>, SemaphorePermit<'static>)> {
    check_head(request.headers())?;
    let key = SentKey::of(&request)?;
    let place = RECEIVERS.acquire().await.map_err(|_| Problem::conflict("the server is stopping"))?;
    let sent = Multipart::from_request(request, &()).await;
    let mut sent = sent.map_err(|wrong| Problem::unreadable(wrong.body_text()))?;
    let (mut files, mut bytes, end) = (Vec::new(), 0, Instant::now() + WHOLE);
    while let Some(field) = in_time(sent.next_field(), end).await? {
        if field.name() != Some("files") {
            return Err(Problem::unreadable("the parts of the body are files with the name `files`"));
        }
        if files.len() == MOST_FILES {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("there are more than {MOST_FILES} files")));
        }
        files.push(receive_one(field, &mut bytes, end).await?);
    }
    if files.is_empty() {
        return Err(Problem::unreadable("the body has no files"));
    }
    let described = |(name, content): &SentFile| format!("{name}\0{}\0", hash(content));
    let key = key.with(files.iter().map(described).collect::<String>());
    Ok((files, key, place))
}

async fn receive_one(mut field: Field<'_>, bytes: &mut usize, end: Instant) -> ApiResult<SentFile> {
    let name = safe_name(field.file_name().unwrap_or_default());
    let mut content = Vec::new();
    while let Some(part) = in_time(field.chunk(), end).await? {
        *bytes += part.len();
        if *bytes > MOST_BYTES {
            return Err(too_large(MOST_BYTES));
        }
        content.extend_from_slice(&part);
    }
    Ok((if name.is_empty() { "file".to_owned() } else { name }, content))
}

/// The next piece of a body, if it comes soon and before the end.
async fn in_time<T>(next: impl Future<Output = Result<T, MultipartError>>, end: Instant) -> ApiResult<T> {
    let end = end.min(Instant::now() + SILENCE);
    let next = tokio::time::timeout_at(end, next).await.map_err(|_| too_slow())?;
    next.map_err(|wrong| match wrong.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(MOST_SENT),
        _ => Problem::unreadable(wrong.body_text()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_not_received_for_ever() {
        let (began, end) = (Instant::now(), Instant::now() + WHOLE);
        let piece = || async {
            tokio::time::sleep(SILENCE / 2).await;
            Ok(())
        };
        while in_time(piece(), end).await.is_ok() {}
        assert_eq!(began.elapsed(), WHOLE);
        let silent = in_time(std::future::pending::<Result<(), MultipartError>>(), Instant::now() + WHOLE).await;
        assert!(silent.is_err() && began.elapsed() == WHOLE + SILENCE);
    }
}
