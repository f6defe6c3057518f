//! Several processes that send requests under one limit: this test's own program, started again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use updraft_models::{RateLimit, RateLimiter};

/// What tells a child its work.
const WORK: &str = "UPDRAFT_LIMITS_CHILD";

/// Longer than any work here takes, unless it never ends.
const PATIENCE: Duration = Duration::from_mins(5);

/// What each process of a crowd does.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) file: PathBuf,
    pub(crate) server: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) count: u32,
    pub(crate) window: Duration,
    pub(crate) limit: RateLimit,
}

impl Work {
    pub(crate) fn new(file: &Path, server: SocketAddr) -> Self {
        let window = Duration::from_secs(1);
        Self { file: file.to_owned(), server, path: "/", count: 1, window, limit: RateLimit::default() }
    }

    fn to_text(&self) -> String {
        let Self { file, server, path, count, window, limit } = self;
        let number = |number: Option<u32>| number.unwrap_or_default();
        let (requests, concurrency) = (number(limit.requests), number(limit.concurrency));
        format!("{server} {path} {count} {} {requests} {concurrency} {}", window.as_millis(), file.display())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(7, ' ');
        let server = parts.next()?.parse().ok()?;
        let path = if parts.next()? == "/hold" { "/hold" } else { "/" };
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (count, window) = (number()?, Duration::from_millis(number()?.into()));
        let (requests, concurrency) = (number()?, number()?);
        let some = |number: u32| (number > 0).then_some(number);
        let limit = RateLimit { requests: some(requests), concurrency: some(concurrency), ..RateLimit::default() };
        Some(Self { file: parts.next()?.into(), server, path, count, window, limit })
    }
}

/// Processes at work. Dropped, they are killed.
pub(crate) struct Crowd(Vec<Child>);

impl Crowd {
    #[expect(clippy::disallowed_methods, reason = "only other processes can show what processes share")]
    pub(crate) fn start(count: usize, work: &Work) -> Self {
        let program = std::env::current_exe().unwrap();
        let start = |_| {
            let mut command = Command::new(&program);
            command.args(["--exact", "limits::child", "--ignored", "--nocapture"]).env(WORK, work.to_text());
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
        };
        Self((0..count).map(start).collect())
    }

    /// Waits until all have done their work.
    pub(crate) fn finish(mut self) {
        for mut child in std::mem::take(&mut self.0) {
            assert!(child.wait().unwrap().success(), "a child failed");
        }
    }

    /// Ends all of them at once, without a word of warning.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Does the work this process was started for.
#[expect(clippy::disallowed_methods, reason = "a child is told its work by its environment")]
pub(crate) fn be_a_child() {
    let Ok(text) = std::env::var(WORK) else { return };
    let work = Work::parse(&text).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limits = RateLimiter::over(Some(work.file.clone()), work.window);
    runtime.block_on(async {
        let (half, rest) = (work.count / 2, work.count - work.count / 2);
        let all = async { tokio::join!(send(&work, &limits, half), send(&work, &limits, rest)) };
        assert!(tokio::time::timeout(PATIENCE, all).await.is_ok(), "the limit lets nobody go");
    });
}

async fn send(work: &Work, limits: &RateLimiter, count: u32) {
    for _ in 0..count {
        let permit = limits.admit("gemini", &work.limit, 0, &mut |_| {}).await;
        let mut stream = TcpStream::connect(work.server).await.unwrap();
        stream.write_all(format!("POST {} HTTP/1.1\r\n\r\n", work.path).as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        permit.heard();
        assert!(answer.starts_with(b"HTTP/1.1 "), "no answer");
    }
}
