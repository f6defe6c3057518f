//! The last steps of a child before it becomes the program, and how its parent learns that it did.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::fs::FileType;
use rustix::process::{Pid, Signal};
use serde::Serialize;

use super::kernel::{self, ForkSide};
use super::root::DEVICES;
use super::{confine, timing};
use crate::policy::SandboxLevel;
use crate::protocol::{LaunchFault, LaunchOrder, LaunchTask};

/// Variables that the sandbox adds to the environment: home and temporary folders, and the proxy.
pub(super) type ExtraEnv = Vec<(String, String)>;

/// Starts the program of the order in a child that first gives up all rights. `Ok` means that it runs.
pub(super) fn start(
    order: &LaunchOrder,
    private: Option<&Path>,
    extra: &ExtraEnv,
    stdin: Option<&OwnedFd>,
) -> Result<Pid, LaunchFault> {
    let (mut news, writer) = io::pipe().map_err(LaunchFault::set_up("making a pipe"))?;
    let pid = match kernel::fork_into(0).map_err(LaunchFault::set_up("starting a process"))? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => {
            drop(news);
            timing::begin();
            match become_program(order, private, extra, stdin) {
                Ok(()) => tell(writer, &timing::all()),
                Err(fault) => tell(writer, &fault),
            }
            std::process::exit(0)
        }
    };
    drop(writer);
    // The other end closes at the moment the program is executed.
    let mut text = Vec::new();
    news.read_to_end(&mut text).map_err(LaunchFault::set_up("listening to a process"))?;
    if let Ok(fault) = serde_json::from_slice(&text) {
        return Err(fault);
    }
    if let Ok(theirs) = serde_json::from_slice(&text) {
        timing::adopt(theirs);
        timing::mark("starting the process");
    }
    Ok(pid)
}

fn tell(mut writer: io::PipeWriter, message: &impl Serialize) {
    if let Ok(text) = serde_json::to_vec(message) {
        // If writing fails, the reader is gone and nobody is left to tell.
        let _ = writer.write_all(&text);
    }
}

/// Returns if something failed, or if there is nothing to run.
fn become_program(
    order: &LaunchOrder,
    private: Option<&Path>,
    extra: &ExtraEnv,
    stdin: Option<&OwnedFd>,
) -> Result<(), LaunchFault> {
    // A new session has no controlling terminal, and cannot get that of the user.
    rustix::process::setsid().map_err(|error| LaunchFault::set_up("leaving the terminal")(error.into()))?;
    // At the level without namespaces, this ends the program if the launcher itself is killed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| LaunchFault::set_up("binding a process to its parent")(error.into()))?;
    give_standard_input(stdin).map_err(LaunchFault::set_up("connecting stdin"))?;
    if order.level == SandboxLevel::Full {
        own_devices().map_err(LaunchFault::set_up("connecting streams"))?;
    }
    kernel::close_on_exec_from(3).map_err(LaunchFault::set_up("closing descriptors"))?;
    kernel::default_signals();
    timing::mark("connecting streams");
    match &order.task {
        LaunchTask::Probe | LaunchTask::HoldNetwork => {
            confine::confine(order.level, &order.policy, private, &order.filters)
        }
        LaunchTask::Run { program, args, env, cwd } => {
            // Before Landlock, so that a folder that may not be read is reported as what it is: missing.
            rustix::process::chdir(cwd)
                .map_err(|error| LaunchFault::set_up(format!("entering {}", cwd.display()))(error.into()))?;
            confine::confine(order.level, &order.policy, private, &order.filters)?;
            #[expect(clippy::disallowed_methods, reason = "this is the sandbox: here processes begin")]
            let mut command = std::process::Command::new(program);
            command.args(args).env_clear().envs(env.iter().cloned()).envs(extra.iter().cloned());
            Err(LaunchFault::Program { errno: command.exec().raw_os_error().unwrap_or(libc::EIO) })
        }
    }
}

/// Sets up stdin. Without one of its own the program gets an empty stdin, never ours.
fn give_standard_input(stdin: Option<&OwnedFd>) -> io::Result<()> {
    match stdin {
        Some(stdin) => Ok(rustix::stdio::dup2_stdin(stdin)?),
        None => Ok(rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?),
    }
}

/// Replaces streams that lead to a device of the host with our own mount of that device: through the host's, a real
/// root user could change its mode for everyone.
fn own_devices() -> io::Result<()> {
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        let device = std::fs::metadata(&path)?.rdev();
        let is_it = |stream: BorrowedFd<'_>| {
            rustix::fs::fstat(stream).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == device
            })
        };
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&path);
        if is_it(rustix::stdio::stdin()) {
            rustix::stdio::dup2_stdin(open()?)?;
        }
        if is_it(rustix::stdio::stdout()) {
            rustix::stdio::dup2_stdout(open()?)?;
        }
        if is_it(rustix::stdio::stderr()) {
            rustix::stdio::dup2_stderr(open()?)?;
        }
    }
    Ok(())
}

/// Closes our copies of the program's standard streams, so that their other ends close when the program ends.
pub(super) fn let_go_of_streams() -> io::Result<()> {
    let nothing = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing.as_fd())?;
    rustix::stdio::dup2_stdout(nothing.as_fd())?;
    Ok(rustix::stdio::dup2_stderr(nothing.as_fd())?)
}

/// The home and temporary folders at a level.
pub(super) fn places(order: &LaunchOrder, private: Option<&Path>) -> ExtraEnv {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    match (order.level, private) {
        (SandboxLevel::Full, _) => {
            vec![pair("HOME", order.policy.home.display().to_string()), pair("TMPDIR", "/tmp".to_owned())]
        }
        (SandboxLevel::Landlock | SandboxLevel::None, Some(private)) => {
            let home = private.join("home").display().to_string();
            let temporary = private.join("tmp").display().to_string();
            ["TMPDIR", "TMP", "TEMP"]
                .iter()
                .map(|name| pair(name, temporary.clone()))
                .chain([pair("HOME", home)])
                .collect()
        }
        (SandboxLevel::Landlock | SandboxLevel::None, None) => Vec::new(),
    }
}
