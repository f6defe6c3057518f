//! A home and a workspace of their own, the binary in them, and services it can reach.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::providers::Provider;
use crate::service::Service;

pub(crate) const GOAL: &str = "What do a.txt and b.txt say?";
/// What the services answer in the end.
pub(crate) const SAID: &str = "They say “1\talpha\n” and “1\tbeta\n” — that’s all ✓.";
/// Prices that the providers do not tell, and no wait for the free tier's limit.
const CONFIG: &str = r#"
[limits.gemini]
requests_per_minute = 1000
[prices."openai-compatible/own"]
input = 1.0
output = 2.0
[prices."ollama/qwen3"]
input = 1.0
output = 2.0
"#;

/// A folder with `home` and `ws`, removed at the end.
pub(crate) struct Place {
    folder: TempDir,
    ws: PathBuf,
    service: Service,
}

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Place {
    pub(crate) fn new(service: Service) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ws = folder.path().join("ws");
        std::fs::create_dir(&ws).unwrap();
        std::fs::write(ws.join("a.txt"), "alpha\n").unwrap();
        std::fs::write(ws.join("b.txt"), "beta\n").unwrap();
        Self::at(ws, folder, service)
    }

    /// With another's workspace, but a home of its own.
    pub(crate) fn beside(other: &Place, service: Service) -> Self {
        Self::at(other.ws.clone(), tempfile::tempdir().unwrap(), service)
    }

    fn at(ws: PathBuf, folder: TempDir, service: Service) -> Self {
        std::fs::create_dir(folder.path().join("home")).unwrap();
        let place = Self { folder, ws, service };
        place.config("");
        place
    }

    /// More settings.
    pub(crate) fn config(&self, more: &str) {
        std::fs::write(self.folder.path().join("home/config.toml"), format!("{CONFIG}{more}")).unwrap();
    }

    pub(crate) fn ws(&self) -> &Path {
        &self.ws
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command.args(arguments).current_dir(&self.ws).env_clear();
        command.env("UPDRAFT_HOME", self.folder.path().join("home"));
        for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "VERTEX_ACCESS_TOKEN"] {
            command.env(key, "secret");
        }
        command.env("GOOGLE_CLOUD_PROJECT", "p").env("GOOGLE_CLOUD_LOCATION", "us-central1");
        let base = format!("http://{}", self.service.address());
        for (name, path) in [
            ("OPENAI_BASE_URL", "/v1"),
            ("ANTHROPIC_BASE_URL", ""),
            ("GEMINI_BASE_URL", "/v1beta"),
            ("VERTEX_BASE_URL", "/v1"),
            ("OLLAMA_HOST", ""),
        ] {
            command.env(name, format!("{base}{path}"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn updraft(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// Runs the goal with one agent and this model.
    pub(crate) fn run(&self, model: &str, more: &[&str]) -> Ran {
        self.updraft(&[&["run", "--agent", "retriever", "--think", "low", "--model", model, GOAL], more].concat())
    }

    /// The id of the run that began last.
    pub(crate) fn last(&self) -> String {
        let runs = self.updraft(&["runs", "--json"]).done().json();
        runs[0]["run"].as_str().unwrap().to_owned()
    }

    /// The events of the run that began last.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.updraft(&["events", "last", "--json"]).done().json()
    }

    /// The answers in the run that began last.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let events = self.events();
        let answers = events.iter().map(|event| event["event"]["replied"]["reply"]["answer"].clone());
        answers.filter(|answer| !answer.is_null()).collect()
    }

    /// What was set aside for each question in the run that began last, in billionths of a dollar.
    pub(crate) fn reserved(&self) -> Vec<u64> {
        let events = self.events();
        events.iter().filter_map(|event| event["event"]["reserved"]["ceiling"]["cost"].as_u64()).collect()
    }

    /// Fails the test unless the run's end tells what its answers cost, and this much that is in doubt.
    #[track_caller]
    pub(crate) fn assert_cost(&self, end: &Value, doubt: u64) {
        let known: u64 = self.answers().iter().map(|answer| answer["usage"]["cost"].as_u64().unwrap()).sum();
        assert!(doubt > known, "the doubt would not be seen: {doubt} and {known}");
        let (spent, expected) = (end["statistics"]["cost"].as_f64().unwrap(), (doubt + known) as f64 / 1e9);
        assert!((spent - expected).abs() < 1e-9, "{spent}, expected {expected}: {end}");
    }

    /// Fails the test unless everything is decided again as it was.
    #[track_caller]
    pub(crate) fn replays(&self) {
        let replayed = self.updraft(&["replay", "last"]).done();
        assert!(replayed.out.contains("the same"), "{}", replayed.out);
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code() }
    }

    /// Standard output as lines of JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Fails the test unless the exit code is this.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn done(self) -> Self {
        self.code(0)
    }

    /// Fails the test unless the services' answer came.
    #[track_caller]
    pub(crate) fn answered(self, by: &Provider) -> Self {
        let ran = self.done();
        assert_eq!(ran.out.trim(), SAID, "{by:?}");
        ran
    }
}
