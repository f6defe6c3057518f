//! Starting the browser's process: by whoever is handed in, or as a plain child.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};

/// The file in the profile that takes the browser's error output: what it says is told if it ends at once.
pub(crate) const LOG: &str = "stderr.log";

/// What is to be started.
///
/// The browser speaks on descriptors 3 and 4. A shell moves its standard input and output there, so that a starter
/// needs to know nothing but those two.
#[derive(Clone, Debug)]
pub struct LaunchCommand {
    /// The program: a shell that becomes the browser.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// The browser itself, for those who must make it readable.
    pub browser: PathBuf,
    /// The only folder it writes to. If its error output is written to `stderr.log` there, an error at the start quotes it.
    pub profile: PathBuf,
    /// A folder that it only reads: files to be uploaded.
    pub uploads: PathBuf,
    /// The port on 127.0.0.1 of the proxy: the only place it needs to connect to.
    ///
    /// A starter that gives the browser a network of its own sets `UPDRAFT_BROWSER_PROXY` there to the address
    /// (`http://127.0.0.1:8080`) of a socket that listens inside, and hands the socket out as
    /// [`BrowserProcess::listener`]. Then there is no way past the proxy, even for a browser that was taken over.
    pub proxy_port: u16,
}

/// A browser that was started.
pub struct BrowserProcess {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The socket that the proxy is to serve, if it is not the one on our own loopback.
    pub listener: Option<std::net::TcpListener>,
    /// Ends it. If it is dropped, the process must be killed.
    pub handle: Box<dyn ProcessHandle>,
}

/// Ends a process.
pub trait ProcessHandle: Send + Sync {
    /// Kills the process, unless it has ended, and waits until it is gone.
    fn end(self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The process, when it has started.
pub type StartFuture = Pin<Box<dyn Future<Output = io::Result<BrowserProcess>> + Send>>;

/// Starts processes.
pub trait Starter: Send + Sync {
    /// Starts the command with pipes at its standard input and output.
    fn start(&self, command: LaunchCommand) -> StartFuture;
}

/// Starts the browser as an ordinary child, confined by nothing but Chromium itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainStarter;

impl Starter for PlainStarter {
    fn start(&self, command: LaunchCommand) -> StartFuture {
        Box::pin(async move {
            let mut plain = Command::new(&command.program);
            let log = File::create(command.profile.join(LOG)).map_or_else(|_| Stdio::null(), Stdio::from);
            plain.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
            plain.env_clear().envs(command.environment).kill_on_drop(true);
            // Ctrl-C in the terminal is for us; the browser is then closed in order.
            #[cfg(unix)]
            plain.process_group(0);
            let mut child = plain.spawn()?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            let handle = Box::new(PlainChild { child });
            Ok(BrowserProcess { input: Box::new(input), output: Box::new(output), listener: None, handle })
        })
    }
}

struct PlainChild {
    child: Child,
}

impl ProcessHandle for PlainChild {
    fn end(mut self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            // It may have ended already, which is as good.
            let _ = self.child.kill().await;
        })
    }
}
