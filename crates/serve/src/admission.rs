//! HTTP connections: there is a limit to them all, and until a request has shown the token, each is limited by the
//! waiting room and may have to leave. A client that takes nothing of what it is sent has to leave too.

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::tls::{ServerStream, TlsIdentity};
use crate::waiting_room::{PATIENCE, WaitingConnection, WaitingRoom};

/// Maximum number of waiting connections. Programs may open many connections at once for good reasons.
const MOST: usize = 512;
/// Maximum number of connections. More of them wait in the system's queue.
const MOST_OPEN: u64 = 10_000;
/// Files that runs and the journal may open, whatever the number of connections.
const RESERVED: u64 = 256;
/// Bytes that the system keeps for a client that does not read. Without a limit it is several megabytes.
#[cfg(unix)]
const SEND_BUFFER: usize = 128 << 10;

/// How long a client may take nothing of what it is sent. Whatever is made for it is held until then.
const STALL: Duration = Duration::from_mins(1);

/// A listener whose connections start in the waiting room.
pub(crate) struct WaitingListener {
    listener: TcpListener,
    waiting_room: WaitingRoom,
    open: Arc<Semaphore>,
    tls: Option<TlsIdentity>,
}

impl WaitingListener {
    /// Connections of this listener, encrypted if there is a certificate.
    pub(crate) fn of(listener: TcpListener, tls: Option<TlsIdentity>) -> WaitingListener {
        let open = Arc::new(Semaphore::new(most_open()));
        WaitingListener { listener, waiting_room: WaitingRoom::for_at_most(MOST), open, tls }
    }
}

/// How many connections there may be at once, so that enough files remain for runs. The process may open as many files
/// as the system lets it.
#[cfg(unix)]
fn most_open() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(MOST_OPEN + RESERVED);
    let now = limit.current.unwrap_or(u64::MAX);
    if now < most {
        // Without more, there is room for fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    files.saturating_sub(RESERVED).clamp(32, MOST_OPEN) as usize
}

#[cfg(not(unix))]
fn most_open() -> usize {
    MOST_OPEN as usize
}

impl Listener for WaitingListener {
    type Io = ServerStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ServerStream, SocketAddr) {
        // It is never closed.
        let place = Arc::clone(&self.open).acquire_owned().await.ok();
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // An answer is written in several pieces, which must not wait for the client to acknowledge the first.
        let _ = stream.set_nodelay(true);
        #[cfg(unix)]
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
        let connection = self.waiting_room.enter();
        let waits = AdmissionDeadline { until: Instant::now() + PATIENCE, leave: Box::pin(connection.must_leave()) };
        let slot = AdmissionSlot(Arc::new(Mutex::new(Some(connection))));
        let stream = PendingStream { stream, slot, waits: Some(waits), stalls: None, _place: place };
        (ServerStream::new(stream, self.tls.as_ref()), from)
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
        stream.io().slot.clone()
    }
}

/// A connection that may still be waiting.
pub(crate) struct PendingStream {
    stream: TcpStream,
    pub(crate) slot: AdmissionSlot,
    waits: Option<AdmissionDeadline>,
    /// Until when the client must take something, while it takes nothing.
    stalls: Option<Pin<Box<Sleep>>>,
    /// Counts it among the open connections.
    _place: Option<OwnedSemaphorePermit>,
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
        if self.waits.is_some() && self.slot.is_let_in() {
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

    /// Waits until the client takes something, but not for ever.
    fn or_stall(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalls = None;
            return written;
        }
        let stalls = self.stalls.get_or_insert_with(|| Box::pin(sleep(STALL)));
        if stalls.as_mut().poll(cx).is_ready() { Poll::Ready(Err(ErrorKind::TimedOut.into())) } else { written }
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
        let written = self.or_leave(cx, written);
        self.or_stall(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.in_time()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        let written = self.or_leave(cx, written);
        self.or_stall(cx, written)
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

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const MUCH: usize = 32 << 20;

    /// A connection that was let in, and the client's side of it.
    async fn connection() -> (PendingStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stream = listener.accept().await.unwrap().0;
        let slot = AdmissionSlot(Arc::new(Mutex::new(None)));
        (PendingStream { stream, slot, waits: None, stalls: None, _place: None }, client)
    }

    // Time passes at once when nothing else can happen.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_disconnected() {
        let (mut stream, _client) = connection().await;
        let (bytes, began) = (vec![0; MUCH], Instant::now());
        let error = stream.write_all(&bytes).await.unwrap_err();
        assert!(error.kind() == ErrorKind::TimedOut && began.elapsed() >= STALL, "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_little_at_a_time_is_not() {
        let (mut stream, mut client) = connection().await;
        // While a thread blocks, time stands still, also when all that is left to do is up to the system.
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        let clock = tokio::task::spawn_blocking(move || blocked.recv());
        let (bytes, mut taken) = (vec![0; 1 << 20], vec![0; MUCH]);
        for _ in 0..4 {
            let mut sent = stream.write(&bytes).await.unwrap();
            let mut context = Context::from_waker(Waker::noop());
            while let Poll::Ready(more) = Pin::new(&mut stream).poll_write(&mut context, &bytes) {
                sent += more.unwrap();
            }
            tokio::time::advance(STALL / 2).await;
            client.read_exact(&mut taken[..sent]).await.unwrap();
        }
        drop(release);
        assert!(clock.await.unwrap().is_err());
    }
}
