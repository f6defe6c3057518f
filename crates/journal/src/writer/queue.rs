//! The queue to the writer thread, which starts with the first request.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, oneshot};

use super::write_job::{JobWithReply, WriteJob};
use super::{WriterMessage, run};
use crate::Error;
use crate::journal::JournalShared;

/// How many requests may be in the queue; later callers wait for a place.
const PLACES: usize = 8192;

/// The queue before the writer.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    places: Arc<Semaphore>,
    thread: Mutex<ThreadState>,
}

#[derive(Debug)]
enum ThreadState {
    Asleep,
    Awake(Sender<WriterMessage>, JoinHandle<()>),
    Closed,
}

impl WriteQueue {
    pub(crate) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), thread: Mutex::new(ThreadState::Asleep) }
    }

    /// Does the work, and returns once it is on disk. Dropping the future does not cancel the work.
    pub(crate) async fn ask<W: WriteJob>(&self, shared: &Arc<JournalShared>, work: W) -> Result<W::Answer, Error> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Error::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.send(shared, JobWithReply { work, reply, kept: None, _place: Some(place) })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Queues work whose result nobody waits for.
    pub(crate) fn tell<W: WriteJob>(&self, shared: &Arc<JournalShared>, work: W) {
        let _ = self.send(shared, JobWithReply { work, reply: oneshot::channel().0, kept: None, _place: None });
    }

    fn send<W: WriteJob>(&self, shared: &Arc<JournalShared>, frame: JobWithReply<W>) -> Result<(), Error> {
        let mut thread = self.thread();
        if matches!(*thread, ThreadState::Asleep) {
            *thread = wake(shared)?;
        }
        match &*thread {
            ThreadState::Awake(sender, _) => {
                sender.send(WriterMessage::Work(Box::new(frame))).map_err(|_| Error::Closed)
            }
            ThreadState::Asleep | ThreadState::Closed => Err(Error::Closed),
        }
    }

    /// Accepts no more requests, and returns once the writer has released everything.
    pub(crate) async fn close(&self, shared: &Arc<JournalShared>) {
        let thread = std::mem::replace(&mut *self.thread(), ThreadState::Closed);
        if let ThreadState::Awake(sender, handle) = thread {
            let (told, done) = oneshot::channel();
            if sender.send(WriterMessage::Close(told)).is_ok() {
                let _ = done.await;
            }
            let _ = handle.join();
        }
        shared.readers.close();
        shared.watch.close();
    }

    /// Like `close`, but blocks the thread instead of awaiting: for `Drop`.
    pub(crate) fn shut(&self, shared: &Arc<JournalShared>) {
        let thread = std::mem::replace(&mut *self.thread(), ThreadState::Closed);
        if let ThreadState::Awake(sender, handle) = thread {
            drop(sender);
            let _ = handle.join();
        }
        shared.readers.close();
        shared.watch.close();
    }

    fn thread(&self) -> MutexGuard<'_, ThreadState> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(shared: &Arc<JournalShared>) -> Result<ThreadState, Error> {
    let (sender, receiver) = channel();
    let shared_there = Arc::clone(shared);
    let handle = std::thread::Builder::new()
        .name("journal".into())
        .spawn(move || run(shared_there, &receiver))
        .map_err(|source| Error::io(&shared.store.path, source))?;
    Ok(ThreadState::Awake(sender, handle))
}
