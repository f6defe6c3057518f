//! Starts children on systems without a sandbox: plain processes, and only if the level `none` was requested.
//!
//! Written for macOS and Windows, where it is untested, and for Windows not even type-checked. Its tests run on
//! Linux, where the module is built only for them.

#![cfg_attr(
    target_os = "linux",
    allow(unreachable_pub, dead_code, reason = "on Linux this is built for its tests only")
)]

mod child;
mod group;
#[cfg(not(target_os = "linux"))]
mod network;
#[cfg(not(target_os = "linux"))]
mod staged;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use crate::SharedNetwork;
use crate::child_result::ChildResult;
use crate::command::{Command, OutputMode, StdinMode};
use crate::error::{Error, ErrorContext};
use crate::policy::{ChildLifetime, Network, Policy, SandboxLevel};
use crate::probe::{MissingFeature, SandboxSupport};
use crate::protocol::SetupStep;

pub use child::PlainChild;
#[cfg(not(target_os = "linux"))]
pub use {
    child::PlainChildHandle, child::PlainStdinWriter, child::PlainStdoutReader, network::NoSharedNetwork,
    staged::NoStagedChanges,
};

/// The launcher, which is not needed here.
pub mod launch {
    /// The argument that tells a program to act as the launcher.
    pub const ARGUMENT: &str = "__sandbox";

    /// Exits with the code for a sandbox that could not be set up.
    pub fn main() -> ! {
        std::process::exit(crate::error::SETUP_FAILED)
    }
}

const CAUSE: &str = "a sandbox exists for Linux only";
const REMEDY: &str = "run on Linux or in a Linux container, or choose the level `none`";

/// Starts children that nothing confines. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PlainSandbox(());

impl PlainSandbox {
    /// Creates a sandbox at the level `none`. Any other level is [`Error::Level`]: the level is never lowered
    /// silently.
    pub fn new(_launcher: impl Into<PathBuf>, level: SandboxLevel) -> Result<PlainSandbox, Error> {
        match level {
            SandboxLevel::None => Ok(PlainSandbox(())),
            SandboxLevel::Landlock | SandboxLevel::Full => Err(missing(level, CAUSE)),
        }
    }

    /// The level that every child runs at.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn level(&self) -> SandboxLevel {
        SandboxLevel::None
    }

    /// What is known without trying: nothing is enforced, and even the level `none` is incomplete.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn probe(_launcher: impl Into<PathBuf>) -> Result<SandboxSupport, Error> {
        let missing = |what: &str, remedy| MissingFeature::new(what, CAUSE, remedy);
        let lacks =
            "even at `none`, the limits of memory, processes and disk, and files that run later, are not watched";
        let all = vec![
            missing("every part of the sandbox", REMEDY),
            missing(lacks, "run on Linux"),
            missing(group::LACKS, "run on Linux"),
            MissingFeature::new("tests on this system", "it is untested on this system", "report what you find"),
        ];
        Ok(SandboxSupport { level: SandboxLevel::None, landlock_abi: 0, missing: all })
    }

    /// Nothing is set up here, so there are no steps.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn timings(&self) -> Result<Vec<SetupStep>, Error> {
        Ok(Vec::new())
    }

    /// There are no private networks here.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn share_network(&self, _policy: &Policy) -> Result<Option<SharedNetwork>, Error> {
        Ok(None)
    }

    /// Not known on this system.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn open_ports_of_host(&self) -> BTreeSet<u16> {
        BTreeSet::new()
    }

    /// Runs a program to its end, and writes `input` to its stdin if that is a pipe.
    pub async fn run(&self, policy: &Policy, command: Command, input: &[u8]) -> Result<ChildResult, Error> {
        let mut child = self.spawn(policy, command).await?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that needs no input may end before it has read it.
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stdin, input).await;
        }
        child.wait().await
    }

    /// Starts a program with the variables that the policy allows, and with its own home and temporary folder.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn spawn(&self, policy: &Policy, command: Command) -> Result<PlainChild, Error> {
        policy.check_folders()?;
        if matches!(policy.network, Network::Allow(_)) {
            return Err(missing(SandboxLevel::Full, "a network limited to named hosts needs namespaces"));
        }
        let started = Instant::now();
        let private = tempfile::tempdir().doing("making a temporary folder")?;
        let (home, temporary) = (private.path().join("home"), private.path().join("tmp"));
        for folder in [&home, &temporary] {
            std::fs::create_dir(folder).doing("making a temporary folder")?;
        }
        for (name, text) in crate::git_identity::files(&policy.git) {
            std::fs::write(home.join(name), text).doing("writing git's settings")?;
        }
        let mut process = tokio::process::Command::new(&command.program);
        process
            .args(&command.args)
            .env_clear()
            .envs(command.env.iter().filter(|(name, _)| policy.passes(name)).cloned())
            .envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, &temporary)))
            .envs(["HOME", "USERPROFILE"].map(|name| (name, &home)))
            .current_dir(command.cwd.as_ref().unwrap_or(&policy.workspace))
            .kill_on_drop(true);
        process.stdin(match command.stdin {
            StdinMode::Null => Stdio::null(),
            StdinMode::Pipe => Stdio::piped(),
            StdinMode::Inherit => Stdio::inherit(),
        });
        for set in [tokio::process::Command::stdout, tokio::process::Command::stderr] {
            let inherits = command.output == OutputMode::Inherit;
            set(&mut process, if inherits { Stdio::inherit() } else { Stdio::piped() });
        }
        // A program that reads from the user's terminal must stay in the terminal's foreground group.
        let has_group = command.stdin != StdinMode::Inherit;
        if has_group {
            group::lead(&mut process);
        }
        let spawned = process.spawn();
        let spawned = spawned.map_err(|source| Error::Program { program: command.program.clone(), source })?;
        let time = policy.limits.time.filter(|_| policy.lifetime == ChildLifetime::Call);
        Ok(PlainChild::new(spawned, has_group, &command.output, policy.limits.output, time, started, private))
    }
}

fn missing(wanted: SandboxLevel, what: &str) -> Error {
    Error::Level { wanted, missing: what.to_owned(), remedy: REMEDY.to_owned() }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
