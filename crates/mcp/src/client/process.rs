//! Server processes: starts them in the sandbox, stores their error output, and explains why they ended.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_sandbox::{
    CaptureOptions, Child, ChildHandle, ChildLifetime, ChildResult, Command, Network, OutputMode, Policy, ProgramExit,
    ReachedHosts, RefusalKind, StdinMode, StdinWriter, StdoutReader,
};
use updraft_tools::{left_behind, remember};

use super::host::{HostFuture, McpHost};
use super::launch_location::LaunchLocation;
use super::package_runner;
use crate::config::{ServerConfig, TransportConfig};
use crate::error::{Error, chain, cut};

/// Maximum bytes of error output that are kept in a server's log.
const LOG: u64 = 8 << 20;
/// How long a server has to exit by itself after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
/// How long it takes at most until a killed process and all its descendants are gone.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A running process. Dropping it kills the process and all its descendants.
pub(super) struct ServerProcess {
    stop: CancellationToken,
    watch: JoinSet<()>,
    end: Arc<OnceLock<ProcessEnd>>,
    reached: ReachedHosts,
    handle: ChildHandle,
    /// The run that called it last.
    run: Arc<Mutex<String>>,
}

/// How a process ended.
#[derive(Clone)]
pub(super) struct ProcessEnd {
    pub(super) words: String,
    /// Whether its packages could not be fetched: starting it in another way would not help.
    pub(super) is_unfetched: bool,
}

/// The ends of its pipes, and the process.
pub(super) type SpawnedProcess = (StdoutReader, StdinWriter, ServerProcess);

/// Starts the program of a server.
pub(super) async fn start(host: &McpHost, config: &ServerConfig) -> Result<SpawnedProcess, Error> {
    let TransportConfig::Stdio { command, args, env, .. } = &config.link else {
        return Err(Error::Start("it is not a process".to_owned()));
    };
    let sandbox = host.sandbox.as_ref().map_err(|why| Error::Start(format!("programs are not started: {why}")))?;
    let mut variables = host.environment.clone();
    variables.retain(|(name, _)| !env.contains_key(name));
    variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
    let mut policy = policy(host, config);
    let whence = LaunchLocation::of(host, config);
    let prepared = whence.prepare(&mut policy, &mut variables);
    prepared.and_then(|()| package_runner::prepare(host, config, &mut policy, &mut variables)).map_err(|error| {
        Error::Start(format!("its folders cannot be prepared: {error}; check the permissions of the state folder"))
    })?;
    let log = host.log_of(&config.name);
    make_room(&log);
    let order = Command {
        program: command.clone(),
        args: args.iter().map(|arg| arg.reveal().to_owned()).collect(),
        env: variables,
        cwd: Some(whence.folder.clone()),
        stdin: StdinMode::Pipe,
        output: OutputMode::Pipe(CaptureOptions {
            head: 0,
            tail: 4 << 10,
            stderr_file: Some(log.clone()),
            ..CaptureOptions::default()
        }),
        network: None,
    };
    let mut child = sandbox.spawn(&policy, order).await.map_err(|error| {
        let is_absent = error.exit_code() == 127 && !command.contains('/');
        let hints = if is_absent { package_runner::absent(host, command) } else { whence.hint("").to_owned() };
        Error::Start(format!("could not start `{command}`: {}{hints}", chain(&error)))
    })?;
    let (Some(output), Some(input)) = (child.stdout(), child.stdin.take()) else {
        return Err(Error::Start(format!("`{command}` has no pipes")));
    };
    let reached = child.reached();
    let (stop, end, handle) = (CancellationToken::new(), Arc::new(OnceLock::new()), child.handle());
    let run = Arc::new(Mutex::new("unknown".to_owned()));
    let mut watch = JoinSet::new();
    let watched = ProcessWatch {
        stop: stop.clone(),
        run: Arc::clone(&run),
        log,
        command: command.clone(),
        network: policy.network,
        fetching: config.fetching().map(str::to_owned),
        whence,
        tell: host.log.clone(),
        server: config.name.clone(),
    };
    let told = Arc::clone(&end);
    watch.spawn(async move {
        let _ = told.set(watched.until_its_end(child).await);
    });
    Ok((output, input, ServerProcess { stop, watch, end, reached, handle, run }))
}

/// The host's policy plus the grants of this server.
fn policy(host: &McpHost, config: &ServerConfig) -> Policy {
    let TransportConfig::Stdio { env, .. } = &config.link else { return host.policy.clone() };
    let mut policy = host.policy.clone();
    policy.lifetime = ChildLifetime::Session;
    policy.limits.output = LOG;
    policy.network = config.grants.network.clone();
    policy.read.extend(config.grants.read.iter().cloned());
    policy.write.extend(config.grants.write.iter().cloned());
    policy.environment.extend(env.keys().cloned());
    if let Some(folder) = host.instead_for(&config.name) {
        let _ = std::fs::create_dir_all(&folder);
        let workspace = std::mem::replace(&mut policy.workspace, folder);
        policy.write.retain(|granted| !workspace.starts_with(granted) && !granted.starts_with(&workspace));
        policy.read.push(workspace);
    }
    policy
}

/// Keeps the log of the last start beside the new one.
fn make_room(log: &Path) {
    if let Some(folder) = log.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = std::fs::rename(log, log.with_extension("log.old"));
}

/// What is needed to wait for a process and to explain its end.
struct ProcessWatch {
    stop: CancellationToken,
    run: Arc<Mutex<String>>,
    log: PathBuf,
    command: String,
    network: Network,
    /// The package runner that starts it, if it is one.
    fetching: Option<String>,
    whence: LaunchLocation,
    tell: updraft_tools::CallLog,
    server: String,
}

impl ProcessWatch {
    /// Waits until the process ends, and explains why.
    async fn until_its_end(&self, child: Child) -> ProcessEnd {
        let handle = child.handle();
        let mut waiting = std::pin::pin!(child.wait());
        let mut ended = tokio::select! {
            ended = &mut waiting => Some(ended),
            () = self.stop.cancelled() => tokio::time::timeout(GRACE, &mut waiting).await.ok(),
        };
        if ended.is_none() {
            // Ended explicitly instead of dropped, so that the files it left are reported.
            handle.end().await;
            ended = tokio::time::timeout(LAST_WAIT, &mut waiting).await.ok();
        }
        let words = match ended {
            Some(Ok(ended)) => {
                if ended.stderr.file.is_none() {
                    let _ = tokio::fs::write(&self.log, ended.stderr.text()).await;
                }
                return self.explain(&ended);
            }
            Some(Err(error)) => chain(&error),
            None => "it was ended".to_owned(),
        };
        ProcessEnd { words, is_unfetched: false }
    }

    fn explain(&self, ended: &ChildResult) -> ProcessEnd {
        let (left, complaint) = (self.left(ended), ended.stderr.text());
        let has_failed = ended.exit != Some(ProgramExit::Code(0));
        let fetching = self.fetching.as_deref().filter(|_| has_failed);
        if let Some(why) = fetching.and_then(|program| package_runner::why(program, &complaint, &self.network)) {
            return ProcessEnd { words: why + &left, is_unfetched: true };
        }
        let fetches = fetching.filter(|_| self.network == Network::None && ended.refused.is_empty());
        let fetches = fetches.map(|program| {
            format!("; `{program}` fetches what it runs, which needs \"sandbox\": {{\"network\": \"host\"}}")
        });
        let hint = if has_failed { self.whence.hint(&complaint) } else { "" };
        let words = explain(ended, &self.command) + &fetches.unwrap_or_default() + hint + &left;
        ProcessEnd { words, is_unfetched: false }
    }

    /// Records and describes the files that it left and that were moved aside.
    fn left(&self, ended: &ChildResult) -> String {
        remember(&ended.moved_aside, &self.run.lock().unwrap_or_else(PoisonError::into_inner));
        let left = left_behind(&ended.moved_aside, &ended.troubles);
        for line in left.lines().filter(|line| !line.is_empty()) {
            self.tell.line(&format!("MCP server `{}` {line}", self.server));
        }
        left
    }
}

/// How it ended, its last line of error output, and which grant would have allowed what the sandbox refused.
fn explain(ended: &ChildResult, command: &str) -> String {
    let mut words = match (ended.exit, ended.killed_for) {
        (_, Some(limit)) => format!("`{command}` was killed: {limit}"),
        (Some(ProgramExit::Code(code)), None) => format!("`{command}` ended with code {code}"),
        (Some(ProgramExit::Signal(signal)), None) => format!("`{command}` was ended by signal {signal}"),
        (None, None) => format!("`{command}` was ended"),
    };
    let stderr = ended.stderr.text();
    if let Some(last) = stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        let _ = write!(words, ": {}", cut(last, 200));
    }
    for refusal in ended.refused.iter().take(2) {
        let grant = match refusal.denied {
            RefusalKind::Read => format!("\"read\": [\"{}\"]", refusal.subject),
            RefusalKind::Write => format!("\"write\": [\"{}\"]", refusal.subject),
            RefusalKind::Network => "\"network\": \"host\"".to_owned(),
            RefusalKind::Limit => {
                let _ = write!(words, "; {refusal}");
                continue;
            }
        };
        let _ = write!(words, "; the sandbox refused `{}`, allowed by \"sandbox\": {{{grant}}}", refusal.subject);
    }
    words
}

impl ServerProcess {
    /// Why it ended. Waits a moment for the end.
    pub(super) async fn end(&self) -> Option<ProcessEnd> {
        for _ in 0..20 {
            if let Some(end) = self.end.get() {
                return Some(end.clone());
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        None
    }

    /// The hosts that it has reached through the proxy.
    pub(super) fn reached(&self) -> ReachedHosts {
        self.reached.clone()
    }

    /// Why it ended, if it has.
    pub(super) fn ended(&self) -> Option<&str> {
        self.end.get().map(|end| end.words.as_str())
    }

    /// Attributes the files that it leaves from now on to this run.
    pub(super) fn works_for(&self, run: &str) {
        run.clone_into(&mut self.run.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Moves aside files that would be executed later, while the process keeps running. Records where they came from, and
    /// returns a description of them.
    pub(super) fn look_after(&self) -> HostFuture<'static, String> {
        let (handle, run) = (self.handle.clone(), Arc::clone(&self.run));
        Box::pin(async move {
            // For a process that has ended, this was done at its end.
            let Some((moved, troubles)) = handle.look_after().await else { return String::new() };
            remember(&moved, &run.lock().unwrap_or_else(PoisonError::into_inner));
            left_behind(&moved, &troubles)
        })
    }

    /// Lets it exit, and kills it if it does not.
    pub(super) async fn close(&mut self) {
        self.stop.cancel();
        while self.watch.join_next().await.is_some() {}
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
