//! Answers messages on pipes that are too large to be read: whoever sent one waits for an answer.
//!
//! The transport of the library drops them without a word. Here the bytes are watched on their way in; what is too large
//! is found by the same count, and its id read in passing, wherever it stands.

use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::model::{ErrorData, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// Bytes of one message, with its end of line.
pub(super) const LARGEST: usize = 16 << 20;
/// Answers that wait to be written; a client that sends so many too large messages gets no more.
const WAITING: usize = 64;
/// Bytes of an id, and of a name at the top of a message.
const LONGEST: usize = 256;

/// How messages that are too large come from where they are seen to where they are answered.
pub(super) fn refusals() -> (mpsc::Sender<Option<RequestId>>, mpsc::Receiver<Option<RequestId>>) {
    mpsc::channel(WAITING)
}

/// Passes bytes on, and tells of each line that is too long: the id of the request in it, if it can be read.
pub(super) struct Watched<R> {
    input: R,
    refuse: mpsc::Sender<Option<RequestId>>,
    line: Line,
}

impl<R> Watched<R> {
    pub(super) fn new(input: R, refuse: mpsc::Sender<Option<RequestId>>) -> Self {
        Self { input, refuse, line: Line::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.input).poll_read(cx, into);
        let mut rest = into.filled().get(before..).unwrap_or_default();
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at + 1);
            self.line.feed(line);
            let line = std::mem::take(&mut self.line);
            if line.bytes > LARGEST {
                let _ = self.refuse.try_send(line.request());
            }
            rest = after;
        }
        self.line.feed(rest);
        polled
    }
}

/// A line so far: how long it is, and what its outermost object holds of a request.
#[derive(Default)]
struct Line {
    bytes: usize,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// The name or value at the top that is being read; empty in between.
    part: Vec<u8>,
    /// The name whose value is being read.
    name: Vec<u8>,
    id: Option<RequestId>,
    has_method: bool,
}

impl Line {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.keep(byte);
                self.in_text = true;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_of_value(),
            b':' if self.depth == 1 => self.name = std::mem::take(&mut self.part),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.part.len() < LONGEST {
            self.part.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.part);
        match std::mem::take(&mut self.name).as_slice() {
            b"\"id\"" => self.id = serde_json::from_slice(&value).ok(),
            b"\"method\"" => self.has_method = true,
            _ => {}
        }
    }

    /// The id, if this was a request: an answer of the client must not be answered.
    fn request(self) -> Option<RequestId> {
        self.id.filter(|_| self.has_method)
    }
}

/// A transport that answers what was too large to be read.
pub(super) struct Refusing<T> {
    lines: T,
    refused: mpsc::Receiver<Option<RequestId>>,
    /// An answer on its way. Kept here, since whoever waits for a message may be dropped half way.
    sending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T> Refusing<T> {
    pub(super) fn new(lines: T, refused: mpsc::Receiver<Option<RequestId>>) -> Self {
        Self { lines, refused, sending: None }
    }
}

fn answer(id: Option<RequestId>) -> TxJsonRpcMessage<RoleServer> {
    let what = format!("the message has more than {} MB; send less at once", LARGEST >> 20);
    let error = match id {
        Some(_) => ErrorData::invalid_request(what, None),
        None => ErrorData::parse_error(what, None),
    };
    TxJsonRpcMessage::<RoleServer>::error(error, id)
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Refusing<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(sending) = &mut self.sending {
                sending.await;
                self.sending = None;
            }
            let refused = tokio::select! {
                // At the end of the stream an answer may still be due.
                biased;
                Some(refused) = self.refused.recv() => refused,
                message = self.lines.receive() => match message {
                    Some(message) => return Some(message),
                    None => self.refused.try_recv().ok()?,
                },
            };
            let sending = self.lines.send(answer(refused));
            self.sending = Some(Box::pin(async move { drop(sending.await) }));
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.lines.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Option<RequestId> {
        let mut line = Line::default();
        // In pieces of every size, as a pipe gives them.
        for (n, piece) in text.as_bytes().chunks(3).enumerate() {
            let (one, other) = piece.split_at(n % piece.len());
            line.feed(one);
            line.feed(other);
        }
        line.request()
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        let number = Some(RequestId::Number(7));
        assert_eq!(request(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}}"#), number);
        assert_eq!(
            request(r#"{"params":{"id":8,"x":["id",{"id":9}],"t":"\"id\": 1, {[\\"},"method":"m", "id" : 7 }"#),
            number
        );
        assert_eq!(request(r#"{"method":"m","id":"a\"b","params":null}"#), Some(RequestId::String("a\"b".into())));
    }

    #[test]
    fn notifications_answers_batches_and_garbage_have_none() {
        for text in [
            r#"{"method":"m","params":{"id":8}}"#,
            r#"{"id":8,"result":{"method":"m"}}"#,
            r#"[{"id":8,"method":"m"}]"#,
            r#"{"id":{"id":8},"method":"m"}"#,
            "}}}]],,::8",
        ] {
            assert_eq!(request(text), None, "{text}");
        }
    }
}
