//! The HTTP requests of the streamable HTTP transport: limits the size of answers, matches them to their requests, and
//! signs in where the server requires it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::events::{EventStream, FOR_ONE_ANSWER, events, is_too_large};
use super::http;
use super::login::{AuthDenial, ServerLogin};
use super::open_requests::RequestLedger;
use super::parse::messages;
use super::stdio::{LARGEST, unusable};
use crate::error::{chain, cut};

type HttpClientError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// How many times one request is repeated after a login, or after a login with more scopes.
const LOGINS: usize = 3;
/// Maximum bytes that are read of the body of a refusal.
const WORDS: usize = 64 << 10;

/// The HTTP client for one remote server.
#[derive(Clone)]
pub(super) struct RemoteClient {
    http: reqwest::Client,
    login: Arc<ServerLogin>,
    ledger: Arc<RequestLedger>,
    /// The last status that was not a success: it shows which older transport a server may speak.
    refused: Arc<AtomicU16>,
}

/// One request, which may be sent several times until the login succeeds.
#[derive(Clone)]
struct RemoteRequest<'a> {
    method: Method,
    address: &'a str,
    session: Option<&'a str>,
    last_event: Option<&'a str>,
    message: Option<&'a ClientJsonRpcMessage>,
    headers: &'a Headers,
}

impl RemoteClient {
    pub(super) fn new(http: reqwest::Client, login: Arc<ServerLogin>, ledger: Arc<RequestLedger>) -> Self {
        Self { http, login, ledger, refused: Arc::default() }
    }

    pub(super) fn ledger(&self) -> Arc<RequestLedger> {
        Arc::clone(&self.ledger)
    }

    /// The last status that was not a success, if there was one.
    pub(super) fn refused(&self) -> Option<u16> {
        Some(self.refused.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    /// Sends a request; if the server requires a login, signs in and sends it again.
    async fn ask(&self, asked: RemoteRequest<'_>) -> Result<Response, HttpClientError> {
        for _ in 0..LOGINS {
            let token = self.login.token().await;
            let response = self.send(&asked, token.as_deref()).await?;
            let denied = match (response.status(), challenge(&response)) {
                (StatusCode::UNAUTHORIZED, challenge) => AuthDenial::Unknown { challenge, token },
                (StatusCode::FORBIDDEN, Some(challenge)) => AuthDenial::Narrow { challenge, token },
                _ => {
                    self.login.let_in().await;
                    return Ok(response);
                }
            };
            if !self
                .login
                .sign_in(&denied)
                .await
                .map_err(|why| HttpClientError::UnexpectedServerResponse(why.into()))?
            {
                return Err(self.refusal(denied));
            }
        }
        Err(HttpClientError::UnexpectedServerResponse("it asks for a login again and again".into()))
    }

    fn refusal(&self, denied: AuthDenial) -> HttpClientError {
        match denied {
            AuthDenial::Unknown { challenge, .. } => {
                HttpClientError::AuthRequired(AuthRequiredError::new(challenge.unwrap_or_default()))
            }
            AuthDenial::Narrow { challenge, .. } => {
                let scope = self.login.scope_of(&challenge);
                HttpClientError::InsufficientScope(InsufficientScopeError::new(challenge, scope))
            }
        }
    }

    async fn send(&self, asked: &RemoteRequest<'_>, token: Option<&str>) -> Result<Response, HttpClientError> {
        let mut request = self.http.request(asked.method.clone(), asked.address);
        request = request
            .header(ACCEPT, if asked.method == Method::GET { STREAM } else { "application/json, text/event-stream" });
        for (name, value) in asked.headers {
            request = request.header(name.clone(), value.clone());
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = asked.session {
            request = request.header("Mcp-Session-Id", session);
        }
        if let Some(last) = asked.last_event {
            request = request.header("Last-Event-ID", last);
        }
        if let Some(message) = asked.message {
            request = request.header(CONTENT_TYPE, JSON).body(serde_json::to_vec(message)?);
        }
        let response = request.send().await.map_err(|error| self.unread(error))?;
        if !response.status().is_success() {
            self.refused.store(response.status().as_u16(), Ordering::Relaxed);
            // The header is seldom a date; if it is one, the usual growing waits are used.
            if let Some(seconds) = text_of(&response, "retry-after").and_then(|after| after.trim().parse().ok()) {
                self.ledger.leave_alone(seconds);
            }
        }
        Ok(response)
    }

    /// Why an answer could not be read; headers that are too large get a message of their own.
    fn unread(&self, error: reqwest::Error) -> HttpClientError {
        if !chain(&error).contains("message head is too large") {
            return error.into();
        }
        self.ledger.oversized();
        HttpClientError::UnexpectedServerResponse("the head of its answer is too large".into())
    }

    async fn post(
        &self,
        asked: RemoteRequest<'_>,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, HttpClientError> {
        let had_session = asked.session.is_some();
        let response = self.ask(asked).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(HttpClientError::SessionExpired);
        }
        if !status.is_success() {
            return refused(response, message, had_session).await;
        }
        let id = match message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => None,
        };
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let answer = unusable(format!("HTTP {status}, and no answer"), id);
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        let session = text_of(&response, "mcp-session-id");
        let kind = text_of(&response, CONTENT_TYPE.as_str());
        match kind.as_deref().unwrap_or_default() {
            kind if http::is_kind(kind, STREAM) => {
                let events = events(response, &self.ledger, FOR_ONE_ANSWER);
                Ok(StreamableHttpPostResponse::Sse(self.only_for(id, events), session))
            }
            kind if http::is_kind(kind, JSON) => {
                let message = self.one_for(&id, http::body(response, LARGEST).await?);
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            _ => Err(HttpClientError::UnexpectedContentType(kind)),
        }
    }

    /// The answer to this request in a body. If the body answers another request, or is no answer, returns an error
    /// that says so.
    fn one_for(&self, id: &RequestId, body: Option<Vec<u8>>) -> ServerJsonRpcMessage {
        let Some(body) = body else {
            self.ledger.oversized();
            return too_large(id);
        };
        let mut read = messages(body.trim_ascii(), |other| same(id, other));
        // One revision has batches: the answer may come together with notifications.
        if let Some(at) = read.iter().position(|message| id_of(message).is_some_and(|other| same(id, other))) {
            return read.swap_remove(at);
        }
        let Some(message) = read.pop() else {
            self.ledger.garbage(&body);
            return unusable("its answer is malformed, and no message at all".to_owned(), id.clone());
        };
        match id_of(&message) {
            Some(other) => {
                self.ledger.stray();
                unusable(format!("it answered request {other} instead"), id.clone())
            }
            None => message,
        }
    }

    /// The events of the answer to one request, without answers to other requests. An event that is too large becomes
    /// an error.
    fn only_for(&self, id: RequestId, events: EventStream) -> BoxStream<'static, Result<Sse, SseError>> {
        let ledger = Arc::clone(&self.ledger);
        let checked = events.flat_map(move |event| {
            let kept = match event {
                Err(error) if is_too_large(&error) => {
                    ledger.oversized();
                    vec![Ok(event_of(&too_large(&id), &Sse::default()))]
                }
                Ok(event) => one_by_one(event, &id, &ledger).into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            futures_util::stream::iter(kept)
        });
        checked.boxed()
    }

    /// The events of a stream that no request opened. It ends after an event that is too large.
    fn news(&self, events: EventStream) -> EventStream {
        let ledger = Arc::clone(&self.ledger);
        let named = events.inspect(move |event| {
            if event.as_ref().is_err_and(is_too_large) {
                ledger.oversized();
                // Otherwise the stream would be opened again and send the same event.
                ledger.cut_off();
            }
        });
        named.boxed()
    }
}

fn too_large(id: &RequestId) -> ServerJsonRpcMessage {
    unusable(format!("its answer has more than {} MB", LARGEST >> 20), id.clone())
}

fn id_of(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

fn same(one: &RequestId, other: &RequestId) -> bool {
    one.to_string() == other.to_string()
}

/// Splits an event into one event for each of its messages, without answers to other requests. An answer that cannot be
/// used becomes an error that says so.
fn one_by_one(event: Sse, id: &RequestId, ledger: &RequestLedger) -> Vec<Sse> {
    let is_message = matches!(event.event.as_deref(), None | Some("message" | ""));
    let Some(data) = event.data.as_deref().filter(|data| is_message && !data.trim().is_empty()) else {
        return vec![event];
    };
    let is_stray = |message: &ServerJsonRpcMessage| id_of(message).is_some_and(|other| !same(id, other));
    // Nearly all events are one valid message, and are passed on unchanged.
    if let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(data)
        && !is_stray(&message)
        && !matches!(&message, JsonRpcMessage::Response(answer) if matches!(answer.result, ServerResult::CustomResult(_)))
    {
        return vec![event];
    }
    let mut read = messages(data.trim().as_bytes(), |other| same(id, other));
    if read.is_empty() {
        return vec![event];
    }
    read.retain(|message| {
        let is_stray = is_stray(message);
        if is_stray {
            ledger.stray();
        }
        !is_stray
    });
    read.iter().map(|message| event_of(message, &event)).collect()
}

/// A message as an event, with the other fields of the event that it came in.
fn event_of(message: &ServerJsonRpcMessage, came_in: &Sse) -> Sse {
    Sse { data: Some(serde_json::to_string(message).unwrap_or_default()), ..came_in.clone() }
}

fn challenge(response: &Response) -> Option<String> {
    text_of(response, WWW_AUTHENTICATE.as_str())
}

fn text_of(response: &Response, header: &str) -> Option<String> {
    response.headers().get(header).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Translates a status that is not a success.
async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
    had_session: bool,
) -> Result<StreamableHttpPostResponse, HttpClientError> {
    let status = response.status();
    let retry_after = text_of(&response, "retry-after");
    let words = http::body(response, WORDS).await?.unwrap_or_default();
    let (told, answers_nobody) = match serde_json::from_slice::<ServerJsonRpcMessage>(&words) {
        Ok(JsonRpcMessage::Error(error)) => (Some(error.error), error.id.is_none()),
        _ => (None, true),
    };
    // Many servers use this status for a session that they no longer know. A request that was refused had no effect.
    let speaks_of_session = || String::from_utf8_lossy(&words).to_lowercase().contains("session");
    if status == StatusCode::BAD_REQUEST && had_session && answers_nobody && speaks_of_session() {
        return Err(HttpClientError::SessionExpired);
    }
    let JsonRpcMessage::Request(request) = message else {
        return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
    };
    // A server that does not know `server/discover` may refuse it with any status: it is an older server.
    let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_)) && !had_session;
    let may_be_older = is_probe && status.is_client_error() && status != StatusCode::FORBIDDEN;
    let error = told.or_else(|| may_be_older.then(|| ErrorData::invalid_request(format!("HTTP {status}"), None)));
    match error {
        Some(error) => {
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            Ok(StreamableHttpPostResponse::Json(answer, None))
        }
        // A request that was refused had no effect: that is an answer too.
        None if status.is_client_error() => {
            let words = cut(&format!("HTTP {status}: {}", String::from_utf8_lossy(&words)), 300);
            let error = ErrorData::new(ErrorCode(i32::from(status.as_u16())), words, None);
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            Ok(StreamableHttpPostResponse::Json(answer, None))
        }
        None => Err(HttpStatusError::new(status.as_u16(), retry_after).into()),
    }
}

impl StreamableHttpClient for RemoteClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpClientError> {
        let asked = RemoteRequest {
            method: Method::POST,
            address: &uri,
            session: session_id.as_deref(),
            last_event: None,
            message: Some(&message),
            headers: &custom_headers,
        };
        self.post(asked, &message).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpClientError> {
        let asked = RemoteRequest {
            method: Method::DELETE,
            address: &uri,
            session: Some(&session_id),
            last_event: None,
            message: None,
            headers: &custom_headers,
        };
        let token = self.login.token().await;
        // The session is over for us, whatever the server answers.
        self.send(&asked, token.as_deref()).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpClientError> {
        let asked = RemoteRequest {
            method: Method::GET,
            address: &uri,
            session: session_id.as_deref(),
            last_event: last_event_id.as_deref(),
            message: None,
            headers: &custom_headers,
        };
        // A stream that was cut off is not opened again.
        if self.ledger.has_flooded() {
            return Err(HttpClientError::ServerDoesNotSupportSse);
        }
        let response = self.ask(asked).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(HttpClientError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(HttpStatusError::new(status.as_u16(), text_of(&response, "retry-after")).into());
        }
        let kind = text_of(&response, CONTENT_TYPE.as_str());
        if !http::is_kind(kind.as_deref().unwrap_or_default(), STREAM) {
            return Err(HttpClientError::UnexpectedContentType(kind));
        }
        Ok(self.news(events(response, &self.ledger, 0)))
    }
}
