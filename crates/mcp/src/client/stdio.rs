//! The stdio transport: one message per line, with a size limit; other output on the pipe does not disturb it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::open_requests::{MessageVerdict, RequestLedger};
use super::parse::{ids_in, messages};

/// Maximum bytes of one message. A larger one is skipped, and the request that waits for it gets an error.
pub(super) const LARGEST: usize = 16 << 20;
/// The bytes that are kept of the beginning and of the end of a message that is too large: its id is in one of them.
const ENDS: usize = 512;
/// A server that does not read for this long has hung.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// A transport over pipes.
pub(super) struct PipeTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The beginning of a line that is too long, while the rest of it is skipped.
    too_long: Option<Vec<u8>>,
    waiting: VecDeque<RxJsonRpcMessage<RoleClient>>,
    write: Arc<Mutex<Option<W>>>,
    ledger: Arc<RequestLedger>,
}

impl<R: AsyncRead + Unpin, W> PipeTransport<R, W> {
    pub(super) fn new(read: R, write: W, ledger: Arc<RequestLedger>) -> Self {
        Self {
            read: BufReader::with_capacity(64 << 10, read),
            line: Vec::new(),
            too_long: None,
            waiting: VecDeque::new(),
            write: Arc::new(Mutex::new(Some(write))),
            ledger,
        }
    }

    /// Reads until a line is complete; false at the end of the input. It is cancel safe: what was read is kept.
    async fn read_line(&mut self) -> bool {
        loop {
            let (used, is_whole) = {
                let Ok(available) = self.read.fill_buf().await else { return false };
                if available.is_empty() {
                    return false;
                }
                let end = memchr::memchr(b'\n', available);
                self.line.extend_from_slice(&available[..end.unwrap_or(available.len())]);
                (end.map_or(available.len(), |at| at + 1), end.is_some())
            };
            self.read.consume(used);
            if self.line.len() > LARGEST {
                let tail = self.line.split_off(self.line.len() - ENDS);
                let mut head = std::mem::replace(&mut self.line, tail);
                head.truncate(ENDS);
                head.shrink_to_fit();
                self.too_long.get_or_insert(head);
            } else if self.too_long.is_some() && !is_whole && self.line.len() > 2 * ENDS {
                // Only the last bytes can contain the id.
                self.line.drain(..self.line.len() - ENDS);
            }
            if is_whole {
                return true;
            }
        }
    }

    /// Parses the line into messages. Garbage is counted; an answer that cannot be used becomes an error that says so.
    fn take_line(&mut self) -> MessageVerdict {
        if let Some(mut head) = self.too_long.take() {
            self.ledger.oversized();
            let tail = std::mem::take(&mut self.line);
            head.extend_from_slice(&tail[tail.len().saturating_sub(ENDS)..]);
            if let Some(id) = ids_in(&head).find(|id| self.ledger.is_open(id)) {
                let what = format!("its answer has more than {} MB", LARGEST >> 20);
                self.waiting.push_back(unusable(what, id));
            }
            return MessageVerdict::Drop;
        }
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return self.ledger.blank();
        }
        let read = messages(line, |id| self.ledger.is_open(id));
        if read.is_empty() {
            return self.ledger.garbage(line);
        }
        self.waiting.extend(read);
        MessageVerdict::Take
    }
}

/// An error answer in place of one that cannot be used.
pub(super) fn unusable(what: String, id: RequestId) -> RxJsonRpcMessage<RoleClient> {
    ServerJsonRpcMessage::error(ErrorData::new(UNUSABLE, what, None), Some(id))
}

/// The error code of such answers. It is outside of the range that servers use.
pub(super) const UNUSABLE: ErrorCode = ErrorCode(1);

impl<R, W> Transport<RoleClient> for PipeTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.ledger.sends(&mut message);
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let Some(writer) = write.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
            let written = tokio::time::timeout(WRITE_TIME, async {
                writer.write_all(&line).await?;
                writer.flush().await
            });
            match written.await {
                Ok(Ok(())) => Ok(()),
                // Half a message has been written: nothing valid can follow it.
                Ok(Err(error)) => {
                    *write = None;
                    Err(error)
                }
                Err(_) => {
                    *write = None;
                    Err(io::Error::new(io::ErrorKind::TimedOut, "it does not read what it is sent"))
                }
            }
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
            if !self.read_line().await {
                return None;
            }
            let verdict = self.take_line();
            self.line.clear();
            if self.line.capacity() > 1 << 20 {
                self.line.shrink_to(64 << 10);
            }
            if verdict == MessageVerdict::Flood {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        *self.write.lock().await = None;
        Ok(())
    }
}
