//! Starts Chromium in the sandbox: no home, no files but its own folder, and no network but our proxy.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use updraft_browser::{BrowserProcess, LaunchCommand, PlainStarter, ProcessHandle, StartFuture, Starter};
use updraft_sandbox::{
    CaptureOptions, Child, ChildLifetime, Command, Network, OutputMode, Policy, ResourceLimits, Sandbox, SandboxLevel,
    StdinMode,
};

use crate::confinement::Confinement;

/// Tells the browser's own script where the proxy is, and keeps the error output where it is quoted from.
const WITH_PROXY: &str = "export UPDRAFT_BROWSER_PROXY=\"$HTTP_PROXY\"; log=$1; shift; exec \"$@\" 2>\"$log\"";
/// Folders of the system, which every child can read.
const SYSTEM: [&str; 4] = ["/usr", "/opt", "/nix", "/bin"];
/// How long the browser may take to end when it is told to.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// Chromium has about 150 threads, and 20 more for each page.
const PROCESSES: u64 = 2048;

/// Starts the browser as the user's settings confine children. Without a sandbox, which only the user can choose,
/// Chromium's own is used.
pub(super) struct ConfinedStarter(pub(super) Confinement);

impl Starter for ConfinedStarter {
    fn start(&self, command: LaunchCommand) -> StartFuture {
        let confinement = self.0.clone();
        Box::pin(async move {
            let sandbox = confinement.sandbox().await.map_err(|failure| io::Error::other(failure.message))?;
            match sandbox.level() {
                SandboxLevel::Full => start(&sandbox, &confinement.policy.scratch, command).await,
                SandboxLevel::Landlock => Err(io::Error::other(
                    "the browser needs the sandbox's level `full`, and this machine offers `landlock`; `updraft \
                     sandbox probe` says what is missing",
                )),
                SandboxLevel::None => PlainStarter.start(command).await,
            }
        })
    }
}

async fn start(sandbox: &Sandbox, scratch: &Path, command: LaunchCommand) -> io::Result<BrowserProcess> {
    // The profile belongs to the browser alone, so no file in it is guarded; the workspace of a policy always is.
    let empty = command.profile.with_file_name("empty");
    std::fs::create_dir_all(&empty)?;
    let policy = Policy {
        read: [command.uploads.clone()].into_iter().chain(folder_of(&command.browser)).collect(),
        write: vec![command.profile.clone()],
        unguarded: vec![command.profile.clone()],
        network: Network::Allow(Vec::new()),
        limits: ResourceLimits { time: None, processes: PROCESSES, ..ResourceLimits::default() },
        lifetime: ChildLifetime::Session,
        scratch: scratch.to_owned(),
        ..Policy::strict(&empty)
    };
    let log = command.profile.join("stderr.log").display().to_string();
    let program = command.program.display().to_string();
    let mut args = vec!["-c".to_owned(), WITH_PROXY.to_owned(), "sh".to_owned(), log, program];
    args.extend(command.arguments);
    let command = Command {
        args,
        env: command.environment,
        stdin: StdinMode::Pipe,
        output: OutputMode::Pipe(CaptureOptions::default()),
        ..Command::new("/bin/sh")
    };
    let mut child = sandbox.spawn(&policy, command).await.map_err(io::Error::other)?;
    let (Some(input), Some(output), Some(listener)) = (child.stdin.take(), child.stdout(), child.listener()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let handle = Box::new(ConfinedBrowser(child));
    Ok(BrowserProcess { input: Box::new(input), output: Box::new(output), listener: Some(listener), handle })
}

/// The folder of a browser that is not among the system's programs.
fn folder_of(browser: &Path) -> Option<PathBuf> {
    let real = browser.canonicalize().ok()?;
    let is_known = SYSTEM.iter().any(|folder| real.starts_with(folder));
    real.parent().filter(|_| !is_known).map(Path::to_owned)
}

/// The process in the sandbox. The launcher ends all of it when this is dropped, or when our process is killed.
struct ConfinedBrowser(Child);

impl ProcessHandle for ConfinedBrowser {
    fn end(self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            // If the launcher does not answer, dropping the child ends it as well.
            let _ = tokio::time::timeout(LAST_WAIT, self.0.end()).await;
        })
    }
}
