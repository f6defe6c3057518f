//! Starting children: our process's side of the launcher.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::Access;
use tokio::net::unix::pipe;

use crate::channel::{self, Channel};
use crate::child::{self, Child, Streams};
use crate::command::{Command, Output, Stdin};
use crate::error::{Doing, Error};
use crate::filter;
use crate::launch::{self, ARGUMENT};
use crate::line::Line;
use crate::order::{Fault, News, Order, Step, Task};
use crate::policy::{Level, Lifetime, Network, Policy};
use crate::probe::{Missing, Probe, missing_in_landlock, missing_without_namespaces};
use crate::proxy::Proxy;
use crate::staged::Staged;

/// Starts children under a policy. Cheap to clone; one per program is enough.
#[derive(Clone, Debug)]
pub struct Sandbox {
    launcher: PathBuf,
    level: Level,
    filters: Arc<Filters>,
}

/// Compiled once: it takes longer than starting a process.
#[derive(Debug)]
struct Filters {
    inside: Vec<Vec<u64>>,
    host_network: Vec<Vec<u64>>,
}

impl Sandbox {
    /// A sandbox at the level given, which should come from [`Sandbox::probe`] or from the user.
    ///
    /// The launcher is a program that calls [`launch::main`](crate::launch::main) when its first argument says so;
    /// `/proc/self/exe` is this very program, even after an update has replaced its file.
    pub fn new(launcher: impl Into<PathBuf>, level: Level) -> Result<Sandbox, Error> {
        let compile = |network| {
            filter::filters(level, network).map_err(|error| Error::SetUp {
                cause: format!("seccomp filters: {error}"),
                remedy: "this processor is not supported".to_owned(),
            })
        };
        let filters = Filters { inside: compile(&Network::None)?, host_network: compile(&Network::Host)? };
        Ok(Sandbox { launcher: launcher.into(), level, filters: Arc::new(filters) })
    }

    /// The level that every child of this sandbox runs at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Tries what works on this machine, from the top, by setting everything up once.
    pub async fn probe(launcher: impl Into<PathBuf>) -> Result<Probe, Error> {
        let launcher = launcher.into();
        let landlock_abi = launch::landlock_abi();
        let mut missing = missing_in_landlock(landlock_abi);
        if landlock_abi == 0 {
            return Ok(Probe { level: Level::None, landlock_abi, missing });
        }
        let full = Sandbox::new(&launcher, Level::Full)?.try_out().await;
        let Err(error) = full else { return Ok(Probe { level: Level::Full, landlock_abi, missing }) };
        let restriction = std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        let is_apparmor = restriction.is_ok_and(|text| text.trim() == "1");
        missing.extend(missing_without_namespaces(&cause(error), is_apparmor));
        let lower = Sandbox::new(&launcher, Level::Landlock)?.try_out().await;
        let Err(error) = lower else { return Ok(Probe { level: Level::Landlock, landlock_abi, missing }) };
        missing.push(Missing::new("every part of the sandbox", cause(error), "see the causes above"));
        Ok(Probe { level: Level::None, landlock_abi, missing })
    }

    /// Goes through the whole set-up, and runs nothing.
    async fn try_out(&self) -> Result<Vec<Step>, Error> {
        let folder = tempfile::tempdir().doing("making a temporary folder")?;
        let policy = Policy { scratch: folder.path().to_owned(), ..Policy::strict(folder.path()) };
        let (child, steps) = self.start(&policy, Task::Probe, "a probe", Stdin::Null, &Output::Inherit).await?;
        child.wait().await?;
        Ok(steps)
    }

    /// Sets everything up once, runs nothing, and says how long each step took.
    pub async fn timings(&self) -> Result<Vec<Step>, Error> {
        self.try_out().await
    }

    /// Starts a program. When this returns, the sandbox stands and the program runs in it.
    ///
    /// If this future is dropped before, nothing keeps running.
    pub async fn spawn(&self, policy: &Policy, command: Command) -> Result<Child, Error> {
        policy.check()?;
        self.check_level(policy)?;
        self.check_aside(policy)?;
        let Command { program, args, env, cwd, stdin, output } = command;
        let env = env.into_iter().filter(|(name, _)| policy.passes(name)).collect();
        let cwd = cwd.unwrap_or_else(|| policy.workspace.clone());
        let name = program.clone();
        let (child, _) = self.start(policy, Task::Run { program, args, env, cwd }, &name, stdin, &output).await?;
        Ok(child)
    }

    fn check_level(&self, policy: &Policy) -> Result<(), Error> {
        let needs_namespaces = matches!(policy.network, Network::Allow(_));
        if needs_namespaces && self.level != Level::Full {
            return Err(Error::Level {
                wanted: Level::Full,
                missing: "a network limited to named hosts needs namespaces".to_owned(),
                remedy: "run with no network or with the host's, or see `updraft sandbox probe`".to_owned(),
            });
        }
        Ok(())
    }

    /// What would run later must have somewhere to go, or it would stay where it runs.
    fn check_aside(&self, policy: &Policy) -> Result<(), Error> {
        let Some(aside) = policy.aside.as_ref().filter(|_| self.level != Level::None) else { return Ok(()) };
        let may_write = || Ok(rustix::fs::access(aside, Access::WRITE_OK | Access::EXEC_OK)?);
        std::fs::create_dir_all(aside)
            .and_then(|()| may_write())
            .map_err(|error| Error::Aside { folder: aside.clone(), source: error })
    }

    /// A folder for what a command changes, if the policy asks for it and it can be had.
    fn staging(&self, policy: &mut Policy, task: &Task) -> Result<Option<Staged>, Error> {
        let is_wanted = policy.lifetime == Lifetime::Call && matches!(task, Task::Run { .. });
        let Some(parent) = policy.staged.take().filter(|_| is_wanted) else { return Ok(None) };
        if self.level != Level::Full {
            policy.staged = Some(parent);
            return Ok(None);
        }
        let staged = Staged::begin(&parent).doing("making a folder for changes")?;
        policy.staged = Some(staged.folder().to_owned());
        Ok(Some(staged))
    }

    async fn start(
        &self,
        policy: &Policy,
        task: Task,
        name: &str,
        stdin: Stdin,
        output: &Output,
    ) -> Result<(Child, Vec<Step>), Error> {
        let started = Instant::now();
        let mut policy = policy.clone();
        let staged = self.staging(&mut policy, &task)?;
        let policy = &policy;
        let (ours, theirs) = Channel::pair().doing("making a socket")?;
        let (input, their_input) = input(stdin).doing("making a pipe for stdin")?;
        let (streams, stdout, stderr) = Streams::new(output, &policy.limits).doing("making pipes for output")?;
        let launcher = tokio::process::Command::new(&self.launcher)
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs.into_fd()))
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .doing("starting the launcher")?;
        let mut line = Line::new(ours).doing("listening to the launcher")?;
        let filters = if policy.network == Network::Host { &self.filters.host_network } else { &self.filters.inside };
        let order = Order { level: self.level, policy: policy.clone(), task, filters: filters.clone() };
        let frame = channel::frame(&order).doing("writing the policy")?;
        line.send(&frame, their_input.as_ref().map(AsFd::as_fd)).await.doing("sending the policy")?;
        drop(their_input);
        let (mut proxy, mut steps) = (None, Vec::new());
        loop {
            match line.next().await.doing("listening to the launcher")? {
                Some((News::Started, _)) => break,
                Some((News::Unstaged(_), _)) => {}
                Some((News::Listening, beside)) => {
                    proxy = Some(Proxy::start(policy, beside).doing("starting the proxy")?);
                }
                Some((News::Steps(all), _)) => steps = all,
                Some((News::Fault(fault), _)) => return Err(told(fault, name)),
                // Nothing ends before it starts but a probe.
                Some((News::Ended(_) | News::Current(_) | News::LookedAfter(_), _)) | None => return Err(Error::Lost),
            }
        }
        let (policy, level) = (policy.clone(), self.level);
        let asked = child::questions();
        let child = Child { stdin: input, line, launcher, streams, proxy, policy, level, started, staged, asked };
        Ok((child, steps))
    }
}

/// Our end and the program's end of its input.
fn input(stdin: Stdin) -> io::Result<(Option<pipe::Sender>, Option<OwnedFd>)> {
    match stdin {
        Stdin::Null => Ok((None, None)),
        Stdin::Inherit => Ok((None, Some(io::stdin().as_fd().try_clone_to_owned()?))),
        Stdin::Pipe => {
            let (reader, writer) = io::pipe()?;
            Ok((Some(pipe::Sender::from_owned_fd(writer.into())?), Some(reader.into())))
        }
    }
}

fn told(fault: Fault, name: &str) -> Error {
    match fault {
        Fault::Program { errno } => {
            Error::Program { program: name.to_owned(), source: io::Error::from_raw_os_error(errno) }
        }
        Fault::SetUp { doing, errno: 0 } => Error::SetUp { cause: doing, remedy: REMEDY.to_owned() },
        Fault::SetUp { doing, errno } => {
            let cause = format!("{doing}: {}", io::Error::from_raw_os_error(errno));
            Error::SetUp { cause, remedy: REMEDY.to_owned() }
        }
    }
}

const REMEDY: &str = "`updraft sandbox probe` says what this machine lacks and how to get it";

fn cause(error: Error) -> String {
    match error {
        Error::SetUp { cause, .. } => cause,
        other => other.to_string(),
    }
}
