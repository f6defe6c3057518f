//! The transport over a pair of streams, with one message per line. A line that is too long or invalid gets an error
//! answer, because the client waits for one.
//!
//! The SDK's own transport ignores such lines or loses their ids, and does not support batches.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, JsonRpcMessage, ServerResult};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::batch::PendingBatches;
use super::id_scanner::RequestScanner;
use super::parse::{self, BATCHES, IncomingMessage, IncomingPayload, RejectedMessage};

/// Maximum bytes of one message, with its line break.
const LARGEST: usize = 16 << 20;

/// A transport over a pair of streams.
pub(super) struct StreamTransport<R, W> {
    input: BufReader<R>,
    line: PartialLine,
    /// Messages of a batch that were not passed on yet.
    ready: VecDeque<ClientJsonRpcMessage>,
    output: Arc<tokio::sync::Mutex<Option<W>>>,
    talk: Arc<Mutex<ConversationState>>,
    /// An answer that is being written. It is kept here because a future that waits for a message may be dropped.
    sending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// The state of the conversation.
#[derive(Default)]
struct ConversationState {
    takes_batches: bool,
    batches: PendingBatches,
}

/// A line that is being read.
#[derive(Default)]
struct PartialLine {
    bytes: Vec<u8>,
    /// Set if the line is too long, and only its id is still of interest.
    too_long: Option<RequestScanner>,
}

impl PartialLine {
    fn feed(&mut self, bytes: &[u8]) {
        if let Some(scan) = &mut self.too_long {
            scan.feed(bytes);
        } else if self.bytes.len() + bytes.len() > LARGEST {
            let mut scan = RequestScanner::default();
            scan.feed(&std::mem::take(&mut self.bytes));
            scan.feed(bytes);
            self.too_long = Some(scan);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Parses the complete line.
    fn open(self, takes_batches: bool) -> IncomingPayload {
        let Some(scan) = self.too_long else { return parse::open(&self.bytes, takes_batches) };
        let why = format!("the message has more than {} MB; send less at once", LARGEST >> 20);
        let id = scan.request().and_then(|id| serde_json::to_value(id).ok()).unwrap_or_default();
        let code = if id == Value::Null { ErrorCode::PARSE_ERROR } else { ErrorCode::INVALID_REQUEST };
        IncomingPayload::One(IncomingMessage::Refused(RejectedMessage::new(id, code, why)))
    }

    fn is_blank(&self) -> bool {
        self.too_long.is_none() && self.bytes.trim_ascii().is_empty()
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> StreamTransport<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: PartialLine::default(),
            ready: VecDeque::new(),
            output: Arc::new(tokio::sync::Mutex::new(Some(output))),
            talk: Arc::default(),
            sending: None,
        }
    }

    /// The next line; `None` at the end. It is cancel safe: a partial line is kept.
    async fn next_line(&mut self) -> Option<PartialLine> {
        loop {
            let read =
                self.input.fill_buf().await.inspect_err(|error| tracing::warn!(%error, "cannot read on")).ok()?;
            if read.is_empty() {
                // The last message may lack a line break.
                let last = std::mem::take(&mut self.line);
                return (!last.is_blank()).then_some(last);
            }
            let end = memchr::memchr(b'\n', read);
            let taken = end.map_or(read.len(), |end| end + 1);
            self.line.feed(&read[..taken]);
            self.input.consume(taken);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    /// Queues the messages of a line, and answers the invalid ones.
    fn take_in(&mut self, line: PartialLine) {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match line.open(talk.takes_batches) {
            IncomingPayload::One(IncomingMessage::Message(message)) => {
                self.ready.push_back(*message);
                None
            }
            IncomingPayload::One(IncomingMessage::Refused(refused)) => Some(refused.answer()),
            IncomingPayload::One(IncomingMessage::Ignored) => None,
            IncomingPayload::Batch(all) => {
                let (messages, answer) = talk.batches.open(all);
                self.ready.extend(messages);
                answer
            }
        };
        drop(talk);
        self.answer(answer);
    }

    fn answer(&mut self, answer: Option<String>) {
        if let Some(answer) = answer {
            let writing = write(Arc::clone(&self.output), answer);
            self.sending = Some(Box::pin(async move { drop(writing.await) }));
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(output: Arc<tokio::sync::Mutex<Option<W>>>, mut text: String) -> io::Result<()> {
    text.push('\n');
    let mut output = output.lock().await;
    let Some(output) = output.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
    output.write_all(text.as_bytes()).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for StreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            talk.takes_batches = agreed.protocol_version.as_str() == BATCHES;
        }
        let text = serde_json::to_string(&message).map(|text| talk.batches.give(&message, text));
        let output = Arc::clone(&self.output);
        async move {
            match text? {
                Some(text) => write(output, text).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(sending) = &mut self.sending {
                sending.await;
                self.sending = None;
            }
            if let Some(message) = self.ready.pop_front() {
                let answer = self.talk.lock().unwrap_or_else(PoisonError::into_inner).batches.notice(&message);
                self.answer(answer);
                return Some(message);
            }
            let line = self.next_line().await?;
            if !line.is_blank() {
                self.take_in(line);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}
