//! Starts children: our process's side of the launcher.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use crate::channel::{self, Channel};
use crate::child::{self, Child, ChildStreams};
use crate::child_result::ChildResult;
use crate::command::{Command, OutputMode, StdinMode};
use crate::connection::LauncherLine;
use crate::error::{Error, ErrorContext};
use crate::filter;
use crate::launch::{self, ARGUMENT};
use crate::policy::{ChildLifetime, Network, Policy, SandboxLevel};
use crate::probe::{MissingFeature, SandboxSupport, missing_in_landlock, missing_without_namespaces};
use crate::protocol::{LaunchFault, LaunchOrder, LaunchTask, LauncherEvent, SetupStep, WorkspaceSharing};
use crate::proxy::Proxy;
use crate::shared_network::SharedNetwork;
use crate::staged::StagedChanges;

/// How often a command is run if others change its files each time; the last run overwrites them.
const RUNS: usize = 3;
/// How long a command waits for others before it starts.
const PATIENCE: Duration = Duration::from_mins(30);
/// The line shown to people who watch a command while it waits.
const WAITS: &str = "not started yet: another command is changing the workspace, and this one must run alone";

/// Starts children under a policy. Cheap to clone; one per program is enough.
#[derive(Clone, Debug)]
pub struct Sandbox {
    launcher: PathBuf,
    level: SandboxLevel,
    filters: Arc<SeccompFilters>,
}

/// Compiled once, because that takes longer than starting a process.
#[derive(Debug)]
struct SeccompFilters {
    inside: Vec<Vec<u64>>,
    host_network: Vec<Vec<u64>>,
}

impl Sandbox {
    /// Creates a sandbox at the given level, which should come from [`Sandbox::probe`] or from the user.
    ///
    /// The launcher is a program that calls [`launch::main`](crate::launch::main) if its first argument is
    /// [`launch::ARGUMENT`](crate::launch::ARGUMENT); `/proc/self/exe` is this program, even after an update has
    /// replaced its file.
    pub fn new(launcher: impl Into<PathBuf>, level: SandboxLevel) -> Result<Sandbox, Error> {
        let compile = |network| {
            filter::filters(level, network).map_err(|error| Error::SetUp {
                cause: format!("seccomp filters: {error}"),
                remedy: "this processor is not supported".to_owned(),
            })
        };
        let filters = SeccompFilters { inside: compile(&Network::None)?, host_network: compile(&Network::Host)? };
        Ok(Sandbox { launcher: launcher.into(), level, filters: Arc::new(filters) })
    }

    /// The level that every child of this sandbox runs at.
    pub fn level(&self) -> SandboxLevel {
        self.level
    }

    /// Finds the highest level that works on this machine, by setting up each level once, from the highest down.
    pub async fn probe(launcher: impl Into<PathBuf>) -> Result<SandboxSupport, Error> {
        let launcher = launcher.into();
        let landlock_abi = launch::landlock_abi();
        let mut missing = missing_in_landlock(landlock_abi);
        if landlock_abi == 0 {
            return Ok(SandboxSupport { level: SandboxLevel::None, landlock_abi, missing });
        }
        let full = Sandbox::new(&launcher, SandboxLevel::Full)?.try_out().await;
        let Err(error) = full else { return Ok(SandboxSupport { level: SandboxLevel::Full, landlock_abi, missing }) };
        let restriction = std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        let is_apparmor = restriction.is_ok_and(|text| text.trim() == "1");
        missing.extend(missing_without_namespaces(&cause(error), is_apparmor));
        let lower = Sandbox::new(&launcher, SandboxLevel::Landlock)?.try_out().await;
        let Err(error) = lower else {
            return Ok(SandboxSupport { level: SandboxLevel::Landlock, landlock_abi, missing });
        };
        missing.push(MissingFeature::new("every part of the sandbox", cause(error), "see the causes above"));
        Ok(SandboxSupport { level: SandboxLevel::None, landlock_abi, missing })
    }

    /// Goes through the whole set-up without running a program.
    async fn try_out(&self) -> Result<Vec<SetupStep>, Error> {
        let folder = tempfile::tempdir().doing("making a temporary folder")?;
        let policy = Policy { scratch: folder.path().to_owned(), ..Policy::strict(folder.path()) };
        let (child, steps) = self
            .start(&policy, LaunchTask::Probe, None, "a probe", (StdinMode::Null, &OutputMode::Inherit, None))
            .await?;
        child.wait().await?;
        Ok(steps)
    }

    /// Sets everything up once without running a program, and returns how long each step took.
    pub async fn timings(&self) -> Result<Vec<SetupStep>, Error> {
        self.try_out().await
    }

    /// Starts a program. When this returns, the sandbox is set up and the program runs in it.
    ///
    /// If this future is dropped before that, nothing keeps running.
    pub async fn spawn(&self, policy: &Policy, command: Command) -> Result<Child, Error> {
        self.begin(policy, command, None).await
    }

    /// Runs a command to its end, and writes `input` to its stdin if that is a pipe.
    ///
    /// A command whose changes are staged ([`Policy::staged`]) and that reaches nothing outside the workspace runs
    /// concurrently with others. If another program changed a file that it wrote, or if it failed while others
    /// changed the workspace, all its changes are discarded and it is run again, alone. Any other command for which
    /// staging is requested waits until it is alone from the start. Without a sandbox no command waits.
    pub async fn run(&self, policy: &Policy, command: Command, input: &[u8]) -> Result<ChildResult, Error> {
        let (mut run_again_for, mut troubles) = (Vec::new(), Vec::new());
        let mut runs = 1;
        loop {
            let turns = self.turns(policy, command.network.is_some(), runs).doing("looking at the workspace")?;
            let mut child = self.begin(policy, command.clone(), turns).await?;
            if let Some(mut stdin) = child.stdin.take() {
                // A command that needs no input may end before it has read it.
                let _ = stdin.write_all(input).await;
            }
            let ended = child.wait().await?;
            troubles.extend(ended.troubles);
            if ended.run_again_for.is_empty() {
                if !run_again_for.is_empty() {
                    troubles.insert(0, again_in_words(&run_again_for));
                }
                return Ok(ChildResult { troubles, run_again_for, ..ended });
            }
            run_again_for.extend(ended.run_again_for);
            run_again_for.sort();
            run_again_for.dedup();
            runs += 1;
            if let OutputMode::Capture(capture) = &command.output {
                capture.listener.hear(&again_in_words(&run_again_for));
            }
        }
    }

    /// How a command shares the workspace with others on its first, second, … run. What it asked of a server in a shared
    /// network is not undone by discarding its changes, so such a command is not run again.
    fn turns(&self, policy: &Policy, meets_others: bool, runs: usize) -> io::Result<Option<WorkspaceSharing>> {
        let Some(folder) = policy.staged.as_ref().filter(|_| self.level != SandboxLevel::None) else { return Ok(None) };
        let reaches_out = meets_others || policy.network != Network::None || !policy.write.is_empty();
        let can_be_thrown_away = self.level == SandboxLevel::Full && !reaches_out;
        let (alone, yields) = (runs > 1 || !can_be_thrown_away, runs < RUNS && can_be_thrown_away);
        Ok(Some(WorkspaceSharing { lock: turn_file(folder, &policy.workspace)?, alone, yields, patience: PATIENCE }))
    }

    /// A private network for children that are to reach each other ([`Command::network`]). Returns `None` if the level has no
    /// private networks, or if children with this policy get the host's.
    pub async fn share_network(&self, policy: &Policy) -> Result<Option<SharedNetwork>, Error> {
        if !self.has_private_network(policy) {
            return Ok(None);
        }
        SharedNetwork::start(&self.launcher).await.map(Some)
    }

    fn has_private_network(&self, policy: &Policy) -> bool {
        self.level == SandboxLevel::Full && policy.network != Network::Host
    }

    /// The TCP ports of the host on which a program accepts connections.
    pub fn open_ports_of_host(&self) -> BTreeSet<u16> {
        launch::shared_network::open_ports()
    }

    async fn begin(&self, policy: &Policy, command: Command, turns: Option<WorkspaceSharing>) -> Result<Child, Error> {
        policy.check()?;
        self.check_level(policy)?;
        self.check_aside(policy)?;
        let Command { program, args, env, cwd, stdin, output, network } = command;
        let env = env.into_iter().filter(|(name, _)| policy.passes(name)).collect();
        let cwd = cwd.unwrap_or_else(|| policy.workspace.clone());
        let name = program.clone();
        let task = LaunchTask::Run { program, args, env, cwd };
        let network = network.filter(|_| self.has_private_network(policy));
        let (child, _) = self.start(policy, task, turns, &name, (stdin, &output, network)).await?;
        Ok(child)
    }

    fn check_level(&self, policy: &Policy) -> Result<(), Error> {
        let needs_namespaces = matches!(policy.network, Network::Allow(_));
        if needs_namespaces && self.level != SandboxLevel::Full {
            return Err(Error::Level {
                wanted: SandboxLevel::Full,
                missing: "a network limited to named hosts needs namespaces".to_owned(),
                remedy: "run with no network or with the host's, or see `updraft sandbox probe`".to_owned(),
            });
        }
        Ok(())
    }

    /// Checks the folder that files that would run later are moved to. Without it they would stay where they can run.
    fn check_aside(&self, policy: &Policy) -> Result<(), Error> {
        let Some(aside) = policy.aside.as_ref().filter(|_| self.level != SandboxLevel::None) else { return Ok(()) };
        let may_write = || Ok(rustix::fs::access(aside, Access::WRITE_OK | Access::EXEC_OK)?);
        std::fs::create_dir_all(aside)
            .and_then(|()| may_write())
            .map_err(|error| Error::Aside { folder: aside.clone(), source: error })
    }

    /// Creates a folder for the changes of a command, if the policy requests it and it is possible.
    fn staging(&self, policy: &mut Policy, task: &LaunchTask) -> Result<Option<StagedChanges>, Error> {
        let is_wanted = policy.lifetime == ChildLifetime::Call && matches!(task, LaunchTask::Run { .. });
        let Some(parent) = policy.staged.take().filter(|_| is_wanted) else { return Ok(None) };
        if self.level != SandboxLevel::Full {
            policy.staged = Some(parent);
            return Ok(None);
        }
        let staged = StagedChanges::begin(&parent).doing("making a folder for changes")?;
        policy.staged = Some(staged.folder().to_owned());
        Ok(Some(staged))
    }

    async fn start(
        &self,
        policy: &Policy,
        task: LaunchTask,
        turns: Option<WorkspaceSharing>,
        name: &str,
        (stdin, output, network): (StdinMode, &OutputMode, Option<SharedNetwork>),
    ) -> Result<(Child, Vec<SetupStep>), Error> {
        let started = Instant::now();
        let mut policy = policy.clone();
        let staged = self.staging(&mut policy, &task)?;
        let policy = &policy;
        let (ours, theirs) = Channel::pair().doing("making a socket")?;
        let (input, their_input) = input(stdin).doing("making a pipe for stdin")?;
        let (streams, stdout, stderr) = ChildStreams::new(output, &policy.limits).doing("making pipes for output")?;
        let launcher = tokio::process::Command::new(&self.launcher)
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs.into_fd()))
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .doing("starting the launcher")?;
        let mut line = LauncherLine::new(ours).doing("listening to the launcher")?;
        let filters = if policy.network == Network::Host { &self.filters.host_network } else { &self.filters.inside };
        let shares_network = network.is_some();
        let (level, filters) = (self.level, filters.clone());
        let order = LaunchOrder { level, policy: policy.clone(), task, turns, shares_network, filters };
        let frame = channel::frame(&order).doing("writing the policy")?;
        line.send(&frame, their_input.as_ref().map(AsFd::as_fd)).await.doing("sending the policy")?;
        drop(their_input);
        if let Some(network) = network {
            let frame = channel::frame(&()).doing("writing the policy")?;
            line.send(&frame, Some(network.descriptor())).await.doing("passing the network on")?;
        }
        let (mut proxy, mut listener, mut steps) = (None, None, Vec::new());
        let is_served_by_caller = matches!(&policy.network, Network::Allow(hosts) if hosts.is_empty());
        loop {
            match line.next().await.doing("listening to the launcher")? {
                Some((LauncherEvent::Started, _)) => break,
                Some((LauncherEvent::Unstaged(_), _)) => {}
                Some((LauncherEvent::Waiting, _)) => {
                    if let OutputMode::Capture(capture) = output {
                        capture.listener.hear(WAITS);
                    }
                }
                Some((LauncherEvent::Listening, beside)) if is_served_by_caller => {
                    listener = beside.map(std::net::TcpListener::from);
                }
                Some((LauncherEvent::Listening, beside)) => {
                    proxy = Some(Proxy::start(policy, beside).doing("starting the proxy")?);
                }
                Some((LauncherEvent::Steps(all), _)) => steps = all,
                Some((LauncherEvent::Fault(fault), _)) => return Err(told(fault, name)),
                // Only a probe ends before it starts a program.
                Some((
                    LauncherEvent::Ended(_)
                    | LauncherEvent::Current(_)
                    | LauncherEvent::LookedAfter(_)
                    | LauncherEvent::OpenPorts(_),
                    _,
                ))
                | None => return Err(Error::Lost),
            }
        }
        let (policy, level) = (policy.clone(), self.level);
        let asked = child::questions();
        let child =
            Child { stdin: input, line, launcher, streams, proxy, listener, policy, level, started, staged, asked };
        Ok((child, steps))
    }
}

/// The message about a command that was run more than once.
fn again_in_words(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().filter(|path| *path != ".").map(|path| format!("`{path}`")).collect();
    let what = if named.is_empty() { "the workspace".to_owned() } else { named.join(", ") };
    format!(
        "run again, alone: another command or program changed {what} while it ran; nothing of the first attempt remains"
    )
}

/// The lock file of a workspace, which is in the folder of staged commands.
fn turn_file(folder: &Path, workspace: &Path) -> io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let is = rustix::fs::stat(workspace)?;
    Ok(folder.join(format!("turn-{:x}-{:x}", is.st_dev, is.st_ino)))
}

/// Our end and the program's end of its input.
fn input(stdin: StdinMode) -> io::Result<(Option<pipe::Sender>, Option<OwnedFd>)> {
    match stdin {
        StdinMode::Null => Ok((None, None)),
        StdinMode::Inherit => Ok((None, Some(io::stdin().as_fd().try_clone_to_owned()?))),
        StdinMode::Pipe => {
            let (reader, writer) = io::pipe()?;
            Ok((Some(pipe::Sender::from_owned_fd(writer.into())?), Some(reader.into())))
        }
    }
}

pub(crate) fn told(fault: LaunchFault, name: &str) -> Error {
    match fault {
        LaunchFault::Program { errno } => {
            Error::Program { program: name.to_owned(), source: io::Error::from_raw_os_error(errno) }
        }
        LaunchFault::Waited(limit) => Error::Waited { limit },
        LaunchFault::SetUp { doing, errno: 0 } => Error::SetUp { cause: doing, remedy: REMEDY.to_owned() },
        LaunchFault::SetUp { doing, errno } => {
            let cause = format!("{doing}: {}", io::Error::from_raw_os_error(errno));
            Error::SetUp { cause, remedy: REMEDY.to_owned() }
        }
    }
}

const REMEDY: &str = "`updraft sandbox probe` shows what is missing on this machine and how to get it";

fn cause(error: Error) -> String {
    match error {
        Error::SetUp { cause, .. } => cause,
        other => other.to_string(),
    }
}
