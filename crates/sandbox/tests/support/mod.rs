//! What the tests of the sandbox share: a launcher, the level of this machine, a workspace.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of this")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use updraft_sandbox::{ChildResult, Command, Error, Policy, Sandbox, SandboxLevel, SandboxSupport};

/// The program that stands in for `updraft`.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_updraft-sandbox-testing");

/// What this machine offers, found out once for each test program.
#[allow(clippy::disallowed_methods, reason = "asks the test program what it finds")]
pub(crate) fn probe() -> &'static SandboxSupport {
    static PROBE: OnceLock<SandboxSupport> = OnceLock::new();
    PROBE.get_or_init(|| {
        let output = std::process::Command::new(PROGRAM).arg("probe").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

/// Whether the level can be tested here. If not, says so past the test runner's capture.
pub(crate) fn can_test(level: SandboxLevel) -> bool {
    let can = probe().level >= level;
    if !can {
        let text = format!("!! SKIP: level `{level}` is not available on this machine: {:?}\n", probe().missing);
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    can
}

/// The levels that confine, as far as this machine has them.
pub(crate) fn levels() -> impl Iterator<Item = SandboxLevel> {
    [SandboxLevel::Full, SandboxLevel::Landlock].into_iter().filter(|level| can_test(*level))
}

pub(crate) struct Workspace(tempfile::TempDir);

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy { aside: Some(self.0.path().with_extension("aside")), ..Policy::strict(self.0.path()) }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.path().with_extension("aside"));
    }
}

pub(crate) fn shell(script: &str) -> Command {
    Command { args: vec!["-c".to_owned(), script.to_owned()], ..Command::new("/bin/sh") }
}

pub(crate) async fn run(level: SandboxLevel, policy: &Policy, command: Command) -> Result<ChildResult, Error> {
    Sandbox::new(PROGRAM, level)?.spawn(policy, command).await?.wait().await
}

/// Runs a script and gives what it printed.
pub(crate) async fn say(level: SandboxLevel, policy: &Policy, script: &str) -> String {
    let ended = run(level, policy, shell(script)).await.unwrap();
    ended.stdout.text() + &ended.stderr.text()
}

/// Processes whose working folder is in this one.
pub(crate) fn left_pids(folder: &Path) -> Vec<i32> {
    let is_inside = |pid: &i32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_inside).collect()
}

/// Commands of processes whose working folder is in the workspace.
pub(crate) fn left_in(place: &Workspace) -> Vec<String> {
    let command = |pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    left_pids(place.path()).into_iter().map(command).collect()
}
