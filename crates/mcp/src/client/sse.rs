//! The HTTP+SSE transport of 2024: answers come on one GET stream, and requests go to a POST address that the stream
//! names.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use url::Url;

use super::events::{EventStream, events, is_too_large, weight};
use super::http::is_kind;
use super::login::ServerLogin;
use super::login_retry::{AdmissionError, admitted};
use super::open_requests::{MessageVerdict, RequestLedger};
use super::parse::messages;
use crate::error::{Error, chain, cut};

/// Time limit of a POST, which only delivers a message.
const POST_TIME: Duration = Duration::from_secs(30);

/// A connection of the 2024 transport. When its stream ends, the connection ends: it cannot be resumed.
pub(super) struct SseTransport {
    http: reqwest::Client,
    post: Url,
    headers: HeaderMap,
    login: Arc<ServerLogin>,
    events: EventStream,
    /// Further messages that came in the same event.
    waiting: VecDeque<RxJsonRpcMessage<RoleClient>>,
    ledger: Arc<RequestLedger>,
}

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseSendError {
    #[error(transparent)]
    Outside(#[from] AdmissionError),
    #[error("HTTP {0}")]
    Status(u16),
    #[error("the message cannot be written")]
    Json(#[from] serde_json::Error),
}

impl SseTransport {
    /// Opens the stream and waits for the address for requests.
    pub(super) async fn connect(
        http: reqwest::Client,
        url: Url,
        headers: HeaderMap,
        login: Arc<ServerLogin>,
        ledger: Arc<RequestLedger>,
    ) -> Result<Self, Error> {
        let request = || http.get(url.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let response = admitted(&login, request).await.map_err(|error| match error {
            AdmissionError::Login(_) => Error::Login(String::new()),
            other => Error::Unreachable(chain(&other)),
        })?;
        let status = response.status();
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.to_str().is_ok_and(|kind| is_kind(kind, "text/event-stream")));
        if !status.is_success() || !is_stream {
            return Err(Error::Unreachable(format!("no stream of events is there (HTTP {status})")));
        }
        let mut events = events(response, &ledger, 0);
        let first = events.next().await.and_then(Result::ok);
        let Some(address) =
            first.filter(|event| event.event.as_deref() == Some("endpoint")).and_then(|event| event.data)
        else {
            return Err(Error::Unreachable("the stream of events does not begin with `endpoint`".to_owned()));
        };
        let post = url.join(address.trim()).ok().filter(|post| post.origin() == url.origin());
        let Some(post) = post else {
            let shown = cut(&address, 200);
            return Err(Error::Unreachable(format!("it sends requests to `{shown}`, which is another host")));
        };
        Ok(Self { http, post, headers, login, events, waiting: VecDeque::new(), ledger })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseSendError;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseSendError>> + Send + 'static {
        self.ledger.sends(&mut message);
        let (http, post, headers) = (self.http.clone(), self.post.clone(), self.headers.clone());
        let login = Arc::clone(&self.login);
        async move {
            let body = serde_json::to_vec(&message)?;
            let request = || {
                let request = http.post(post.clone()).headers(headers.clone()).timeout(POST_TIME);
                request.header(CONTENT_TYPE, "application/json").body(body.clone())
            };
            let response = admitted(&login, request).await?;
            let status = response.status();
            if status.is_success() { Ok(()) } else { Err(SseSendError::Status(status.as_u16())) }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while let Some(mut message) = self.waiting.pop_front() {
                match self.ledger.receives(&mut message) {
                    MessageVerdict::Take => return Some(message),
                    MessageVerdict::Drop => {}
                    MessageVerdict::Flood => return None,
                }
            }
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    if is_too_large(&error) {
                        self.ledger.oversized();
                    }
                    return None;
                }
            };
            if !matches!(event.event.as_deref(), None | Some("message" | "")) {
                continue;
            }
            let data = event.data.unwrap_or_default();
            self.ledger.give_back(weight(data.len()));
            self.waiting.extend(messages(data.trim().as_bytes(), |id| self.ledger.is_open(id)));
            if self.waiting.is_empty() && self.ledger.garbage(data.as_bytes()) == MessageVerdict::Flood {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), SseSendError> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}
