//! Finds CPython, and runs it as a worker.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use updraft_run::{Failure, FailureKind};
use updraft_sandbox::{Command, Policy, Sandbox};

use super::WorkerProgram;
use crate::confinement::Confinement;

/// The oldest Python that the workers' own code runs on.
const OLDEST: (u32, u32) = (3, 8);
/// The code of the parent process that serves calls, and of the children that run them.
const SCRIPT: &str = concat!(include_str!("python/serve.py"), "\n\n", include_str!("python/run.py"));
/// Prints the implementation, version and path of a Python.
const ASK: &str = "import sys; print(sys.implementation.name, *sys.version_info[:3], sys.executable)";

/// Which Python is used, and what it may import besides the standard library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonConfig {
    /// A path. If there is none, the first `python3` on `PATH` that is new enough is used.
    pub program: Option<PathBuf>,
    /// Whether packages installed for it may be imported.
    pub packages: bool,
    /// Further folders to import from.
    pub path: Vec<PathBuf>,
}

/// A Python that was found and tried in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPython {
    /// The interpreter itself, not a wrapper script.
    pub program: String,
    /// Its version.
    pub version: (u32, u32, u32),
}

impl PythonConfig {
    /// Finds Python and asks for its version, in the sandbox. The failure says what to do.
    pub async fn find(&self, confinement: &Confinement, workspace: &Path) -> Result<FoundPython, Failure> {
        if cfg!(windows) {
            let why =
                "agents cannot run Python on Windows: each call needs a forked process, which Windows does not support";
            return Err(Failure::new(FailureKind::Config, why));
        }
        let sandbox = confinement.sandbox().await?;
        let mut policy = confinement.policy_for(workspace);
        policy.limits.time = Some(Duration::from_secs(20));
        let mut tried = Vec::new();
        for candidate in self.candidates(confinement) {
            match ask(&sandbox, &policy, confinement, &candidate).await {
                Ok(found) => return Ok(found),
                Err(why) => tried.push(format!("`{}` {why}", candidate.display())),
            }
        }
        let (major, minor) = OLDEST;
        let found = if tried.is_empty() { "there is no `python3` on PATH".to_owned() } else { tried.join("; ") };
        let remedy = "install it (`apt install python3`, `dnf install python3`), or name one in the settings: \
                      `[python] program = \"/path/to/python3\"`";
        let message = format!("no Python {major}.{minor} or newer can be used: {found}; {remedy}");
        Err(Failure::new(FailureKind::Config, message))
    }

    /// The worker program for this Python.
    pub(crate) fn worker(&self, found: &FoundPython) -> WorkerProgram {
        let mut args = vec!["-I"];
        args.extend((!self.packages).then_some("-S"));
        args.extend(["-B", "-X", "utf8", "-c", SCRIPT]);
        WorkerProgram {
            name: "Python".to_owned(),
            program: found.program.clone(),
            args: args.into_iter().map(str::to_owned).collect(),
            looks: false,
            read: self.program.iter().chain(&self.path).cloned().collect(),
            hello: json!({ "path": self.path }),
            start: Duration::from_secs(30),
        }
    }

    fn candidates(&self, confinement: &Confinement) -> Vec<PathBuf> {
        if let Some(program) = &self.program {
            return vec![program.clone()];
        }
        let path = confinement.environment.iter().find(|(name, _)| name == "PATH");
        let folders = std::env::split_paths(path.map(|(_, folders)| folders.as_str()).unwrap_or_default());
        let programs = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("python3"));
        programs.filter(|program| program.exists()).collect()
    }
}

async fn ask(
    sandbox: &Sandbox,
    policy: &Policy,
    confinement: &Confinement,
    program: &Path,
) -> Result<FoundPython, String> {
    let args = ["-I", "-S", "-B", "-c", ASK].map(str::to_owned).to_vec();
    let env = confinement.environment.clone();
    let command = Command { args, env, ..Command::new(program.to_string_lossy()) };
    let child = sandbox.spawn(policy, command).await.map_err(|error| format!("does not start: {error}"))?;
    let ended = child.wait().await.map_err(|error| format!("does not answer: {error}"))?;
    let said = ended.stdout.text();
    let mut words = said.trim_end().splitn(5, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (kind, major, minor, patch) = (word(), word().parse(), word().parse(), word().parse());
    let (Ok(major), Ok(minor), Ok(patch)) = (major, minor, patch) else {
        let why = crate::truncate::line(ended.stderr.text().trim(), 200);
        return Err(format!("gave no version (exit code {}) {why}", ended.exit_code()));
    };
    if (major, minor) < OLDEST {
        return Err(format!("is Python {major}.{minor}.{patch}, which is too old"));
    }
    if kind != "cpython" {
        return Err(format!("is {kind}, not CPython"));
    }
    let program = Some(word())
        .filter(|path| path.starts_with('/'))
        .map_or_else(|| program.to_string_lossy().into_owned(), str::to_owned);
    Ok(FoundPython { program, version: (major, minor, patch) })
}
