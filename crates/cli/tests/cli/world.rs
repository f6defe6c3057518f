//! A home and a workspace of their own for each test, and the binary in them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with `home` and `ws`, removed at the end.
pub(crate) struct World {
    folder: TempDir,
}

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let world = Self { folder };
        world.file("a.txt", "hello\n");
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// A file in the workspace.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.ws().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A file in the configuration folder.
    pub(crate) fn config(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A script outside the workspace, as a model's name.
    pub(crate) fn script(&self, name: &str, script: &Value) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, script.to_string()).unwrap();
        format!("scripted/{}", path.display())
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command.args(args).current_dir(self.ws()).env("UPDRAFT_HOME", self.home()).env("NO_COLOR", "1");
        let ours = [
            "UPDRAFT_MODEL",
            "MEMORY_FILE",
            "CI",
            "COMPLETE",
            "OPENAI_BASE_URL",
            "OLLAMA_HOST",
            "GOOGLE_CLOUD_PROJECT",
        ];
        let keys = ["OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "VERTEX_ACCESS_TOKEN"];
        for name in ours.into_iter().chain(keys) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn updraft(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// With something on standard input.
    pub(crate) fn fed(&self, args: &[&str], input: &[u8]) -> Ran {
        use std::io::Write;
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::of(child.wait_with_output().unwrap())
    }

    /// In the background; the caller waits for it.
    pub(crate) fn begin(&self, args: &[&str]) -> Background {
        Background::of(self.command(args).spawn().unwrap())
    }

    /// The newest run's id.
    pub(crate) fn last(&self) -> String {
        self.runs().first().map(|run| run["run"].as_str().unwrap().to_owned()).unwrap()
    }

    pub(crate) fn runs(&self) -> Vec<Value> {
        self.updraft(&["runs", "--json"]).json()
    }

    /// Waits until something holds, or fails the test.
    pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let limit = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < limit, "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until some run stands like this, with a process or without.
    pub(crate) fn until_status(&self, status: &str) -> String {
        Self::until(&format!("a run is {status}"), || self.runs().iter().any(|run| run["status"] == status));
        self.runs().iter().find(|run| run["status"] == status).unwrap()["run"].as_str().unwrap().to_owned()
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        // A process ended by a signal has no code of its own; shells give it 128 and the signal.
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        let code = output.status.code().unwrap_or_else(|| 128 + signal.unwrap_or_default());
        Self { out: text(output.stdout), err: text(output.stderr), code }
    }

    /// Standard output as lines of JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
    }

    /// Standard output as one JSON value.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {}", self.out))
    }

    /// Fails the test unless the exit code is this.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Fails the test unless standard error says this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "expected `{text}` in:\n{}", self.err);
        self
    }

    /// Fails the test unless standard output has this.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.out.contains(text), "expected `{text}` in:\n{}", self.out);
        self
    }
}

/// A process that is waited for, or killed where a test fails before that.
pub(crate) struct Background(Option<Child>);

impl Background {
    pub(crate) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn wait(mut self) -> Ran {
        Ran::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Everything but the run's id and paths that differ each time.
pub(crate) fn steady(text: &str, world: &World, id: &str) -> String {
    let folder: &Path = world.folder.path();
    let real = folder.canonicalize().unwrap();
    let text = text
        .replace(id, "RUN")
        .replace(&real.display().to_string(), "DIR")
        .replace(&folder.display().to_string(), "DIR");
    // Times.
    let mut steady = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(" s") {
        let digits = rest[..at].chars().rev().take_while(|c| c.is_ascii_digit() || *c == '.').count();
        let end = rest[at + 2..].chars().next().is_none_or(|c| !c.is_alphabetic());
        if digits > 0 && end {
            steady.push_str(&rest[..at - digits]);
            steady.push_str("TIME");
        } else {
            steady.push_str(&rest[..at + 2]);
        }
        rest = &rest[at + 2..];
    }
    steady.push_str(rest);
    steady
}
