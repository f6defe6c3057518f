//! Our end of the connection to a launcher.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::channel::{self, Channel, FrameProgress, MessageFrame};
use crate::protocol::LauncherEvent;

/// The connection to a launcher. Dropping it ends everything that the launcher started.
pub(crate) struct LauncherLine {
    stream: UnixStream,
    /// Kept between calls, so that the future of [`LauncherLine::next`] may be dropped at any time.
    frame: MessageFrame,
}

impl LauncherLine {
    pub(crate) fn new(channel: Channel) -> io::Result<LauncherLine> {
        let stream = std::os::unix::net::UnixStream::from(channel.into_fd());
        stream.set_nonblocking(true)?;
        Ok(LauncherLine { stream: UnixStream::from_std(stream)?, frame: MessageFrame::default() })
    }

    pub(crate) async fn send(&mut self, frame: &[u8], beside: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let stream = &self.stream;
        let sent = stream.async_io(Interest::WRITABLE, || channel::send_some(stream.as_fd(), frame, beside)).await?;
        self.stream.write_all(&frame[sent..]).await
    }

    /// The next message, or `None` if the launcher is gone. The future may be dropped at any time.
    pub(crate) async fn next(&mut self) -> io::Result<Option<(LauncherEvent, Option<OwnedFd>)>> {
        let LauncherLine { stream, frame } = self;
        loop {
            match stream.async_io(Interest::READABLE, || frame.read_from(stream.as_fd())).await {
                Ok(FrameProgress::Done) => break,
                Ok(FrameProgress::More) => {}
                Ok(FrameProgress::Ended) => return Ok(None),
                // The launcher ended without reading our last message.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let mut frame = std::mem::take(frame);
        Ok(Some((frame.message()?, frame.beside.take())))
    }

    /// Tells the launcher to end everything; its last message can still be received.
    pub(crate) async fn end(&mut self) {
        // If this fails, the launcher is already gone.
        let _ = self.stream.shutdown().await;
    }
}
