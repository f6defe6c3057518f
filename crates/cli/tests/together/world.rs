//! A home and a workspace, and the binary in them.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("home/config.toml"), config).unwrap();
        std::fs::write(folder.path().join("work/a.txt"), "hello\n").unwrap();
        Self { folder }
    }

    /// A file beside the workspace.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command.args(arguments).env_clear().env("UPDRAFT_HOME", self.folder.path().join("home"));
        command.current_dir(self.folder.path().join("work"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn updraft(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// The id of the only run.
    pub(crate) fn run(&self) -> String {
        let listed = self.updraft(&["runs", "--json"]);
        let first = listed.out.lines().next().unwrap_or_default();
        let run: serde_json::Value = serde_json::from_str(first).unwrap_or_else(|why| panic!("{why}: {listed:?}"));
        run["run"].as_str().unwrap().to_owned()
    }
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code() }
    }
}

/// A process that is killed where the test ends before it.
pub(crate) struct Process(Option<Child>);

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    pub(crate) fn finish(mut self) -> Ran {
        Ran::of(&self.0.take().unwrap().wait_with_output().unwrap())
    }

    /// Ends it at once, and says whether it was still at work.
    pub(crate) fn kill(mut self) -> bool {
        let was_running = self.is_running();
        drop(self);
        was_running
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers that look random and can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

pub(crate) fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
