//! Sends framed JSON messages, with an optional descriptor, over a Unix socket between our own processes.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message. The kernel limits arguments and environment to about two megabytes.
const LONGEST: usize = 8 << 20;

/// One end of a connection to another of our processes.
pub(crate) struct Channel(OwnedFd);

impl Channel {
    pub(crate) fn pair() -> io::Result<(Channel, Channel)> {
        let (a, b) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Channel(a), Channel(b)))
    }

    pub(crate) fn of(fd: OwnedFd) -> Channel {
        Channel(fd)
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    pub(crate) fn send(&self, message: &impl Serialize, beside: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let frame = frame(message)?;
        let mut sent = send_some(self.0.as_fd(), &frame, beside)?;
        while sent < frame.len() {
            sent += send_some(self.0.as_fd(), &frame[sent..], None)?;
        }
        Ok(())
    }

    /// The next message, or `None` if the other side has closed the connection.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Option<OwnedFd>)>> {
        let mut frame = MessageFrame::default();
        loop {
            match frame.read_from(self.0.as_fd())? {
                FrameProgress::Done => return Ok(Some((frame.message()?, frame.beside.take()))),
                FrameProgress::More => {}
                FrameProgress::Ended => return Ok(None),
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Encodes a message: its length, then JSON.
pub(crate) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Sends as much as fits, with a descriptor attached to the first byte.
pub(crate) fn send_some(fd: BorrowedFd<'_>, bytes: &[u8], beside: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = beside.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    retry(|| rustix::net::sendmsg(fd, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL))
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// A message that is being received, possibly in several pieces.
#[derive(Default)]
pub(crate) struct MessageFrame {
    bytes: Vec<u8>,
    pub(crate) beside: Option<OwnedFd>,
}

pub(crate) enum FrameProgress {
    Done,
    More,
    Ended,
}

impl MessageFrame {
    pub(crate) fn read_from(&mut self, fd: BorrowedFd<'_>) -> io::Result<FrameProgress> {
        let wanted = self.wanted()?;
        let mut buffer = vec![0; wanted - self.bytes.len()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = retry(|| {
            rustix::net::recvmsg(fd, &mut [IoSliceMut::new(&mut buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)
        })?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                self.beside = descriptors.next().or(self.beside.take());
            }
        }
        if got.bytes == 0 {
            return Ok(FrameProgress::Ended);
        }
        self.bytes.extend_from_slice(&buffer[..got.bytes]);
        let is_whole = self.bytes.len() > 4 && self.bytes.len() == self.wanted()?;
        Ok(if is_whole { FrameProgress::Done } else { FrameProgress::More })
    }

    fn wanted(&self) -> io::Result<usize> {
        let Some((head, _)) = self.bytes.split_first_chunk::<4>() else { return Ok(4) };
        let length = u32::from_le_bytes(*head) as usize;
        if length == 0 || length > LONGEST {
            return Err(io::Error::other("a message of an impossible length"));
        }
        Ok(4 + length)
    }

    pub(crate) fn message<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.bytes[4..])?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_message_and_its_descriptor_arrive_together() {
        let (a, b) = Channel::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        a.send(&"first", None).unwrap();
        a.send(&"x".repeat(50_000), Some(writer.as_fd())).unwrap();
        drop((a, writer));

        let (text, beside) = b.receive::<String>().unwrap().unwrap();
        assert_eq!((text.as_str(), beside.is_none()), ("first", true));
        let (text, beside) = b.receive::<String>().unwrap().unwrap();
        assert_eq!(text.len(), 50_000);
        std::fs::File::from(beside.unwrap()).write_all(b"through").unwrap();
        let mut got = String::new();
        reader.read_to_string(&mut got).unwrap();
        assert_eq!(got, "through");
        assert!(b.receive::<String>().unwrap().is_none());
    }
}
