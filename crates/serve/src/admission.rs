//! HTTP connections: until a request has shown the token, each is limited by the waiting room and may have to leave.

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::waiting_room::{PATIENCE, WaitingConnection, WaitingRoom};

/// Maximum number of waiting connections. Programs may open many connections at once for good reasons.
const MOST: usize = 512;

/// A listener whose connections start in the waiting room.
pub(crate) struct WaitingListener {
    listener: TcpListener,
    hall: WaitingRoom,
}

impl WaitingListener {
    pub(crate) fn of(listener: TcpListener) -> WaitingListener {
        WaitingListener { listener, hall: WaitingRoom::for_at_most(MOST) }
    }
}

impl Listener for WaitingListener {
    type Io = PendingStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (PendingStream, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // An answer is written in several pieces, which must not wait for the client to acknowledge the first.
        let _ = stream.set_nodelay(true);
        let guest = self.hall.enter();
        let waits = AdmissionDeadline { until: Instant::now() + PATIENCE, leave: Box::pin(guest.must_leave()) };
        let seat = AdmissionSlot(Arc::new(Mutex::new(Some(guest))));
        (PendingStream { stream, seat, waits: Some(waits) }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The place of a connection in the waiting room, for the handler that checks the token.
#[derive(Clone)]
pub(crate) struct AdmissionSlot(Arc<Mutex<Option<WaitingConnection>>>);

impl AdmissionSlot {
    /// Admits the connection.
    pub(crate) fn let_in(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn is_let_in(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Connected<IncomingStream<'_, WaitingListener>> for AdmissionSlot {
    fn connect_info(stream: IncomingStream<'_, WaitingListener>) -> Self {
        stream.io().seat.clone()
    }
}

/// A connection that may still be waiting.
pub(crate) struct PendingStream {
    stream: TcpStream,
    seat: AdmissionSlot,
    waits: Option<AdmissionDeadline>,
}

/// The deadline of a waiting connection.
struct AdmissionDeadline {
    until: Instant,
    /// Completes earlier if newer connections arrive.
    leave: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl PendingStream {
    /// Fails if the time is over: a client that sends without end gets no more time than a silent one.
    fn in_time(&mut self) -> io::Result<()> {
        if self.waits.is_some() && self.seat.is_let_in() {
            self.waits = None;
        }
        let is_late = self.waits.as_ref().is_some_and(|waits| Instant::now() >= waits.until);
        if is_late { Err(ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    /// Waits for the client, unless it has to leave, whether it is silent or does not read.
    fn or_leave<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_pending()
            && let Some(waits) = &mut self.waits
            && waits.leave.as_mut().poll(cx).is_ready()
        {
            // From now on it counts as late, also in later polls.
            waits.until = Instant::now();
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl AsyncRead for PendingStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_time()?;
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.or_leave(cx, read)
    }
}

impl AsyncWrite for PendingStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.in_time()?;
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.or_leave(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.in_time()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.or_leave(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
