//! Captures the output of a child up to a limit: its beginning and its end in memory, and all of it in a file if one
//! is given.

mod listen;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use listen::LineListener;
use listen::LineSplitter;

/// How long to read the rest of the pipe after all processes of the child have ended. Other processes that hold it
/// open are not waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How much of each stream is kept in memory, and which file gets all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Bytes kept of the beginning.
    pub head: usize,
    /// Bytes kept of the end.
    pub tail: usize,
    /// A file that gets all of stdout, created only if something is left out between the head and the tail.
    pub stdout_file: Option<PathBuf>,
    /// The same for stderr.
    pub stderr_file: Option<PathBuf>,
    /// Receives the lines of both streams while the program runs.
    pub listener: LineListener,
}

impl Default for CaptureOptions {
    /// About as much as a person or a model reads.
    fn default() -> Self {
        CaptureOptions {
            head: 32 << 10,
            tail: 32 << 10,
            stdout_file: None,
            stderr_file: None,
            listener: LineListener::default(),
        }
    }
}

/// One captured stream of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// The beginning; everything, if nothing was left out.
    pub head: Vec<u8>,
    /// The end, if something was left out in between.
    pub tail: Vec<u8>,
    /// Bytes left out between head and tail.
    pub omitted: u64,
    /// The file with the whole stream, if something was left out and a file was given.
    pub file: Option<PathBuf>,
}

impl CapturedStream {
    /// The stream as text, with a line that says how much was left out.
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        if self.omitted == 0 {
            return format!("{head}{}", String::from_utf8_lossy(&self.tail));
        }
        format!("{head}\n[{} bytes left out]\n{}", self.omitted, String::from_utf8_lossy(&self.tail))
    }
}

/// Counts the bytes of both streams together, and decides what happens beyond the limit.
#[derive(Debug)]
pub(crate) struct OutputMeter {
    count: AtomicU64,
    limit: u64,
    over: OverflowAction,
    pub(crate) is_over: Notify,
}

/// What is done with output beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverflowAction {
    /// Stop reading, and notify the waiting task.
    Stop,
    /// Read and discard it: a server that runs for days may print much.
    Discard,
}

impl OutputMeter {
    pub(crate) fn new(limit: u64, over: OverflowAction) -> Arc<OutputMeter> {
        Arc::new(OutputMeter { count: AtomicU64::new(0), limit, over, is_over: Notify::new() })
    }

    /// Counts more bytes, and returns whether they are still within the limit.
    fn admits(&self, count: usize) -> bool {
        self.count.fetch_add(count as u64, Ordering::Relaxed) + count as u64 <= self.limit
    }

    /// Whether reading stopped because the limit was exceeded.
    pub(crate) fn has_stopped(&self) -> bool {
        self.over == OverflowAction::Stop && self.count.load(Ordering::Relaxed) > self.limit
    }
}

/// Collects a stream while it is read.
pub(crate) struct StreamCollector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
    keep: (usize, usize),
    path: Option<PathBuf>,
    file: Option<File>,
    lines: LineSplitter,
}

impl StreamCollector {
    /// Creates a collector; if something is left out, the whole stream goes to `path`.
    pub(crate) fn new(capture: &CaptureOptions, path: Option<PathBuf>) -> Self {
        let (keep, lines) = ((capture.head, capture.tail), LineSplitter::new(capture.listener.clone()));
        StreamCollector { head: Vec::new(), tail: VecDeque::new(), omitted: 0, keep, path, file: None, lines }
    }

    /// Reads until the stream ends or the limit is reached.
    pub(crate) async fn read_all(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        meter: &OutputMeter,
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                self.lines.end();
                return Ok(());
            }
            if meter.admits(count) {
                self.lines.take(&buffer[..count]);
                self.take(&buffer[..count]).await;
                continue;
            }
            match meter.over {
                OverflowAction::Discard => self.omitted += count as u64,
                OverflowAction::Stop => {
                    meter.is_over.notify_one();
                    return Ok(());
                }
            }
        }
    }

    /// Keeps the beginning and the end. If the file cannot be written, it is given up, but the command continues.
    async fn take(&mut self, bytes: &[u8]) {
        let (head, tail) = self.keep;
        let fits = bytes.len().min(head - self.head.len());
        let spills = self.file.is_none() && self.tail.len() + bytes.len() - fits > tail;
        if (spills || self.file.is_some()) && self.spill(bytes).await.is_err() {
            (self.path, self.file) = (None, None);
        }
        self.head.extend_from_slice(&bytes[..fits]);
        self.tail.extend(&bytes[fits..]);
        let over = self.tail.len().saturating_sub(tail);
        self.tail.drain(..over);
        self.omitted += over as u64;
    }

    async fn spill(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let file = match (&mut self.file, &self.path) {
            (Some(file), _) => file,
            (None, None) => return Ok(()),
            (None, Some(path)) => {
                // The first bytes that memory cannot keep: the file starts with everything kept so far.
                let file = self.file.insert(File::create_new(path).await?);
                file.write_all(&self.head).await?;
                let (first, second) = self.tail.as_slices();
                file.write_all(first).await?;
                file.write_all(second).await?;
                file
            }
        };
        file.write_all(bytes).await
    }

    pub(crate) async fn finish(mut self) -> CapturedStream {
        let mut path = self.path.filter(|_| self.file.is_some());
        if let Some(file) = &mut self.file
            && file.flush().await.is_err()
        {
            path = None;
        }
        let mut captured =
            CapturedStream { head: self.head, tail: self.tail.into(), omitted: self.omitted, file: path };
        if captured.omitted == 0 {
            captured.head.append(&mut captured.tail);
        }
        captured
    }
}

/// Reads a stream until it ends or the limit is reached.
pub(crate) async fn collect(
    mut stream: impl AsyncRead + Unpin,
    mut collector: StreamCollector,
    meter: Arc<OutputMeter>,
) -> std::io::Result<CapturedStream> {
    collector.read_all(&mut stream, &meter).await?;
    Ok(collector.finish().await)
}

/// The collected stream. Only a process outside the sandbox can still hold the pipe open, and it is not waited for.
pub(crate) async fn last_words(
    reader: &mut JoinSet<std::io::Result<CapturedStream>>,
) -> std::io::Result<CapturedStream> {
    match tokio::time::timeout(LAST_WORDS, reader.join_next()).await {
        Ok(Some(Ok(captured))) => captured,
        Ok(Some(Err(_)) | None) | Err(_) => Ok(CapturedStream::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn captured(text: &[u8], keep: usize, path: Option<PathBuf>, meter: &OutputMeter) -> CapturedStream {
        let capture = CaptureOptions { head: keep, tail: keep, ..CaptureOptions::default() };
        let mut collector = StreamCollector::new(&capture, path);
        let mut stream = text;
        collector.read_all(&mut stream, meter).await.unwrap();
        collector.finish().await
    }

    #[tokio::test]
    async fn what_fits_is_kept_whole_and_no_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let got = captured(b"0123456789", 5, Some(path.clone()), &OutputMeter::new(100, OverflowAction::Stop)).await;
        assert_eq!(got, CapturedStream { head: b"0123456789".to_vec(), ..CapturedStream::default() });
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_middle_is_left_out_and_the_file_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let got =
            captured(b"aaaaa_middle_zzzzz", 5, Some(path.clone()), &OutputMeter::new(100, OverflowAction::Stop)).await;
        let wanted =
            CapturedStream { head: b"aaaaa".to_vec(), tail: b"zzzzz".to_vec(), omitted: 8, file: Some(path.clone()) };
        assert_eq!(got, wanted);
        assert_eq!(got.text(), "aaaaa\n[8 bytes left out]\nzzzzz");
        assert_eq!(std::fs::read(path).unwrap(), b"aaaaa_middle_zzzzz");
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_made_costs_the_middle_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/all");
        let got = captured(b"aaaaa_middle_zzzzz", 5, Some(path), &OutputMeter::new(100, OverflowAction::Stop)).await;
        let wanted = CapturedStream { head: b"aaaaa".to_vec(), tail: b"zzzzz".to_vec(), omitted: 8, file: None };
        assert_eq!(got, wanted);
    }

    #[tokio::test]
    async fn beyond_the_limit_nothing_more_is_read_and_someone_is_told() {
        let meter = OutputMeter::new(1 << 20, OverflowAction::Stop);
        let mut collector =
            StreamCollector::new(&CaptureOptions { head: 5, tail: 5, ..CaptureOptions::default() }, None);
        let mut endless = tokio::io::repeat(b'x');
        collector.read_all(&mut endless, &meter).await.unwrap();
        meter.is_over.notified().await;
    }

    #[tokio::test]
    async fn a_server_may_go_on_talking_and_its_beginning_is_kept() {
        let text = vec![b'x'; 1 << 20];
        let got = captured(&text, 10, None, &OutputMeter::new(5, OverflowAction::Discard)).await;
        assert_eq!((got.head.len() + got.tail.len()) as u64 + got.omitted, 1 << 20);
    }
}
