//! The HTTP transport. Parses messages before the SDK sees them: an invalid message gets an error that a client can
//! read, and a batch is split and answered in one stream. Older clients get only those of the SDK's events that contain
//! a message.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{StreamExt, stream};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, BodyStream, Full, LengthLimitError, Limited, StreamBody};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode};
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::Value;
use tokio_util::bytes::Bytes;

use super::handler::McpHandler;
use super::parse::{self, BATCHES, IncomingMessage, IncomingPayload, RejectedMessage, open_in_batch};

/// Maximum bytes of one message.
pub(super) const LARGEST: usize = 4 << 20;
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The first revision in which a stream may begin with an event without a message, from which a client can resume it.
/// Clients of earlier revisions parse the data of every event as JSON.
const RESUMABLE: &str = "2025-11-25";

type RmcpHttpService = StreamableHttpService<McpHandler, LocalSessionManager>;
type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A tower service for one path of an HTTP server. It checks `Host` and `Origin`, but no token: the hosting program
/// does that.
#[derive(Clone)]
pub struct HttpService(RmcpHttpService);

impl HttpService {
    pub(super) fn new(inner: RmcpHttpService) -> Self {
        Self(inner)
    }

    async fn answer<B>(self, request: Request<B>) -> HttpResponse
    where
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Display,
    {
        // For the other requests, the SDK checks the headers.
        if request.method() != Method::POST || !has_json(request.headers()) {
            let is_resumable = is_resumable(request.headers(), None);
            return suited(self.0.handle(request).await, is_resumable);
        }
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, LARGEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("the message has more than {} MB; send less at once", LARGEST >> 20);
                let refused = RejectedMessage::new(Value::Null, ErrorCode::INVALID_REQUEST, why);
                return json(StatusCode::PAYLOAD_TOO_LARGE, refused.answer());
            }
            Err(error) => {
                let refused =
                    RejectedMessage::new(Value::Null, ErrorCode::PARSE_ERROR, format!("the body was cut off: {error}"));
                return json(StatusCode::BAD_REQUEST, refused.answer());
            }
        };
        match parse::open(&body, takes_batches(&parts.headers)) {
            IncomingPayload::One(IncomingMessage::Message(message)) => {
                let is_resumable = is_resumable(&parts.headers, Some(&message));
                suited(self.0.handle(Request::from_parts(parts, Full::new(body))).await, is_resumable)
            }
            IncomingPayload::One(IncomingMessage::Refused(refused)) => json(StatusCode::BAD_REQUEST, refused.answer()),
            IncomingPayload::One(IncomingMessage::Ignored) => nothing(),
            IncomingPayload::Batch(all) => self.batch(&parts, all).await,
        }
    }

    async fn batch(self, parts: &Parts, all: Vec<Value>) -> HttpResponse {
        let (mut refused, mut streams, mut head) = (Vec::new(), Vec::new(), None);
        for one in all {
            let body = one.to_string();
            match open_in_batch(one) {
                IncomingMessage::Message(_) => {
                    let answer = self.0.handle(Request::from_parts(parts.clone(), Full::new(Bytes::from(body)))).await;
                    let answer = suited(answer, false);
                    if !answer.status().is_success() {
                        // The error is about the session or the headers, and so applies to all messages.
                        return answer;
                    }
                    let (answered, body) = answer.into_parts();
                    if is(&answered.headers, EVENTS) {
                        head.get_or_insert(answered);
                        streams.push(BodyStream::new(body));
                    } else {
                        let Ok(body) = body.collect().await;
                        refused.extend(String::from_utf8(body.to_bytes().into()).ok().filter(|text| !text.is_empty()));
                    }
                }
                IncomingMessage::Refused(one) => refused.push(one.answer()),
                IncomingMessage::Ignored => {}
            }
        }
        let Some(head) = head else {
            return if refused.is_empty() {
                nothing()
            } else {
                json(StatusCode::OK, format!("[{}]", refused.join(",")))
            };
        };
        let at_once =
            refused.into_iter().map(|answer| Ok(http_body::Frame::data(format!("data: {answer}\n\n").into())));
        let all = stream::iter(at_once).chain(stream::select_all(streams));
        Response::from_parts(head, BodyExt::boxed(StreamBody::new(all)))
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Display,
{
    type Response = HttpResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.answer(request).await) })
    }
}

/// Whether the headers declare a JSON body, and accept JSON and events.
fn has_json(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    is(headers, JSON) && accepts.contains(JSON) && accepts.contains(EVENTS)
}

fn is(headers: &HeaderMap, kind: &str) -> bool {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| value.starts_with(kind))
}

/// The revision header exists since the revision after the one with batches; without the header, that one is assumed.
fn takes_batches(headers: &HeaderMap) -> bool {
    headers.get("mcp-protocol-version").is_none_or(|version| version == BATCHES)
}

/// Whether a client's revision supports resuming streams: by its header, or by the version that it offers in
/// `initialize`.
fn is_resumable(headers: &HeaderMap, message: Option<&ClientJsonRpcMessage>) -> bool {
    let offered = match message {
        Some(ClientJsonRpcMessage::Request(sent)) => match &sent.request {
            ClientRequest::InitializeRequest(begin) => Some(begin.params.protocol_version.as_str()),
            _ => None,
        },
        _ => None,
    };
    let stated = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    offered.or(stated).is_some_and(|version| version >= RESUMABLE)
}

/// The answer without events that contain no message, if the client does not support them.
fn suited(answer: HttpResponse, is_resumable: bool) -> HttpResponse {
    if is_resumable || !is(answer.headers(), EVENTS) {
        return answer;
    }
    // The SDK writes each event as one frame.
    answer.map(|body| {
        let is_kept = |frame: &Result<http_body::Frame<Bytes>, Infallible>| {
            let data = frame.as_ref().ok().and_then(http_body::Frame::data_ref);
            std::future::ready(!data.is_some_and(is_bare))
        };
        BodyExt::boxed(StreamBody::new(BodyStream::new(body).filter(is_kept)))
    })
}

/// Whether an event has data lines, but all of them are empty.
fn is_bare(event: &Bytes) -> bool {
    let mut data = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:")).peekable();
    data.peek().is_some() && data.all(|line| line.trim_ascii().is_empty())
}

fn json(status: StatusCode, text: String) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(JSON));
    answer
}

fn nothing() -> HttpResponse {
    let mut answer = Response::new(Full::default().boxed());
    *answer.status_mut() = StatusCode::ACCEPTED;
    answer
}
