//! Runs the program `git`: never through a shell, without hooks, and without settings of the user unless a server is spoken to.
//!
//! Agents may have written anything into their clone, also into its `.git`. So git is never run with that as its repository,
//! and where it reads their files, no settings but ours name programs for it to run.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::fault::Fault;
use crate::folders;

/// How long a call may take.
const PATIENCE: Duration = Duration::from_mins(15);
/// The same for one that only asks.
pub(super) const QUESTION: Duration = Duration::from_mins(1);
/// Most characters of what git says that are passed on.
const MOST_SAID: usize = 400;
/// For every call. Nothing that git starts by itself is left behind.
const ALWAYS: [&str; 10] = [
    "core.hooksPath=/dev/null",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.fsync=committed",
    "protocol.ext.allow=never",
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "init.defaultBranch=main",
    "advice.detachedHead=false",
];
/// Variables with which the user says how servers are reached. No others of git are passed on.
const OF_USER: [&str; 7] =
    ["GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_CONFIG", "GIT_PROXY_", "GIT_ALLOW_PROTOCOL"];

/// Why git did not do something.
#[derive(Debug)]
pub(super) enum GitFault {
    /// There is no such program.
    Missing,
    /// It took too long.
    Slow,
    /// It ended with an error: its output, what it said, and its exit code if it was not killed.
    Failed { output: String, said: String, code: Option<i32> },
}

impl GitFault {
    /// What it said, in one line.
    pub(super) fn said(&self) -> String {
        match self {
            GitFault::Missing => "the program `git` was not found".to_owned(),
            GitFault::Slow => "git took too long".to_owned(),
            GitFault::Failed { said, .. } => in_short(said),
        }
    }

    /// The error that says what git was to do.
    pub(super) fn because(&self, what: &str) -> Fault {
        match self {
            GitFault::Missing => {
                Fault::usage("the program `git` was not found").hint("install git, and let it be found on PATH")
            }
            GitFault::Slow | GitFault::Failed { .. } => Fault::failed(format!("{what}: {}", self.said())),
        }
    }
}

/// One call of git.
pub(super) struct GitCall {
    command: Command,
    input: Vec<u8>,
    patience: Duration,
}

impl GitCall {
    /// A call that reads and writes files here, without settings of the user.
    pub(super) fn here<S: Into<OsString>>(repository: &Path, arguments: impl IntoIterator<Item = S>) -> Self {
        Self::without_settings(Some(repository), arguments)
    }

    /// The same for one that makes a repository.
    pub(super) fn making<S: Into<OsString>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::without_settings(None, arguments)
    }

    fn without_settings<S: Into<OsString>>(repository: Option<&Path>, arguments: impl IntoIterator<Item = S>) -> Self {
        let mut call = Self::new(|_| false, repository, arguments);
        call.command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", nowhere())
            .env("GIT_CONFIG_SYSTEM", nowhere());
        call
    }

    /// A call that speaks to a server, with the settings of the user: credentials, certificates, proxies.
    pub(super) fn there<S: Into<OsString>>(repository: &Path, arguments: impl IntoIterator<Item = S>) -> Self {
        let is_of_user = |name: &str| OF_USER.iter().any(|start| name.starts_with(start));
        Self::new(is_of_user, Some(repository), arguments)
    }

    fn new<S: Into<OsString>>(
        keeps: impl Fn(&str) -> bool,
        repository: Option<&Path>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut command = Command::new("git");
        let environment = folders::all().into_iter().filter(|(name, _)| !name.starts_with("GIT_") || keeps(name));
        command.env_clear().envs(environment);
        // Nobody sits there to be asked, and messages are recognised by their words.
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").env("GIT_ATTR_NOSYSTEM", "1");
        for setting in ALWAYS {
            command.arg("-c").arg(setting);
        }
        if let Some(repository) = repository {
            command.arg("--git-dir").arg(repository);
        }
        command.args(arguments.into_iter().map(Into::into));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C in the terminal is for us; what is being pushed is pushed.
        #[cfg(unix)]
        command.process_group(0);
        Self { command, input: Vec::new(), patience: PATIENCE }
    }

    /// The folder with the files, and the list of those that git knows.
    pub(super) fn with_files(mut self, files: &Path, index: &Path) -> Self {
        self.command.current_dir(files).env("GIT_WORK_TREE", files).env("GIT_INDEX_FILE", index);
        self
    }

    /// A variable of its environment.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads.
    pub(super) fn reads(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// How long it may take.
    pub(super) fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs it, and returns what it wrote. If this is dropped, it is killed.
    pub(super) async fn run(self) -> Result<String, GitFault> {
        self.output().await.map(|bytes| text(&bytes))
    }

    /// The same, byte by byte.
    pub(super) async fn output(mut self) -> Result<Vec<u8>, GitFault> {
        let mut child = self.command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.is_nowhere() => failed("the folder it works in is gone".to_owned()),
            std::io::ErrorKind::NotFound => GitFault::Missing,
            _ => failed(error.to_string()),
        })?;
        let input = child.stdin.take();
        let working = async {
            if let Some(mut input) = input {
                // It may end without reading it.
                let _ = input.write_all(&self.input).await;
            }
            child.wait_with_output().await
        };
        let ended = tokio::time::timeout(self.patience, working).await.map_err(|_| GitFault::Slow)?;
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        if ended.status.success() {
            return Ok(ended.stdout);
        }
        Err(GitFault::Failed { output: text(&ended.stdout), said: text(&ended.stderr), code: ended.status.code() })
    }

    /// Whether the folder that it is to work in is not there.
    fn is_nowhere(&self) -> bool {
        self.command.as_std().get_current_dir().is_some_and(|folder| !folder.is_dir())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

fn failed(said: String) -> GitFault {
    GitFault::Failed { output: String::new(), said, code: None }
}

fn nowhere() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}

/// The last lines that say something.
fn in_short(said: &str) -> String {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:");
    let lines: Vec<&str> = said.lines().map(str::trim).filter(is_said).collect();
    let last = lines[lines.len().saturating_sub(4)..].join("; ");
    let last: String = last.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_SAID).collect();
    if last.is_empty() { "git printed no reason".to_owned() } else { last }
}
