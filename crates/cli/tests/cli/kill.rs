//! The real binary, killed with SIGKILL at random moments, and resumed until it is done.
//!
//! The moments come from a seed that is printed; `UPDRAFT_KILL_SEED` repeats them and `UPDRAFT_KILLS` asks for more.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test starts processes, reads its environment, and stops when something is broken"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::json;

/// Kills in all, where the environment does not say otherwise.
const KILLS: u32 = 200;

/// A sequence of numbers that looks random and can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One run's home and workspace.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("script.json"), script().to_string()).unwrap();
        Self { folder }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command
            .args(arguments)
            .env_clear()
            .env("UPDRAFT_HOME", self.folder.path().join("home"))
            .current_dir(self.work());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn updraft(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn start(&self) -> Child {
        let model = format!("scripted/{}", self.folder.path().join("script.json").display());
        self.command(&["run", "write the log", "--model", &model]).spawn().unwrap()
    }

    /// The id of the only run, once it is on disk.
    fn run(&self) -> Option<String> {
        let output = self.updraft(&["runs", "--json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.contains("\"run\""))?;
        let value: serde_json::Value =
            serde_json::from_str(line.trim_start_matches('[').trim_end_matches([',', ']'])).ok()?;
        Some(value["run"].as_str()?.to_owned())
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.work().join("log.txt")).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// Three writers at once, a file that is written, a step that fails and is planned around, a question, and the end.
/// A writer that is told that its call's outcome is unknown looks before it writes again.
fn script() -> serde_json::Value {
    let step = |id: &str, agent: &str, reads: &[&str], writes: &[&str]| json!({ "id": id, "agent": agent, "prompt": id, "reads": reads, "writes": writes });
    let mut rules = vec![
        json!({ "when": { "agent": "planner", "contains": "met a failure" }, "answer": { "delay_ms": 10, "json": { "steps": [
            step("around", "coder", &[], &["around"]), step("end", "formatter", &["one", "two", "three", "file", "said", "around"], &["end"]) ] } } }),
        json!({ "when": { "agent": "planner" }, "answer": { "delay_ms": 10, "json": { "steps": [
            step("one", "coder", &[], &["one"]), step("two", "coder", &[], &["two"]), step("three", "coder", &[], &["three"]),
            step("file", "coder", &[], &["file"]), step("ask", "clarification", &[], &["said"]),
            step("bad", "thinker", &[], &["bad"]), step("rest", "formatter", &["bad"], &["rest"]) ] } } }),
        json!({ "when": { "step": "bad" }, "answer": { "delay_ms": 20, "json": { "error": "it cannot be done" } } }),
        json!({ "when": { "step": "ask", "turn": 0 }, "answer": { "calls": [{ "name": "ask_user", "args": { "question": "which colour?" } }] } }),
        json!({ "when": { "step": "ask" }, "answer": { "text": "blue" } }),
        json!({ "when": { "step": "file", "turn": 0 }, "answer": { "delay_ms": 15, "calls": [{ "name": "write_file", "args": { "path": "deep/file.txt", "content": "whole\n" } }] } }),
        json!({ "when": { "step": "end" }, "answer": { "delay_ms": 10, "text": "the end" } }),
    ];
    for (n, name) in ["one", "two", "three", "around"].iter().enumerate() {
        let write = json!([{ "name": "append_line", "args": { "path": "log.txt", "line": format!("line-{name}.") } }]);
        let delay = 5 + 7 * n;
        rules.extend([
            json!({ "when": { "step": name, "contains": "is unknown" }, "answer": { "calls": [{ "name": "read_file", "args": { "path": "log.txt" } }] } }),
            json!({ "when": { "step": name, "has_result": "read_file", "contains": format!("line-{name}.") }, "answer": { "text": "done" } }),
            json!({ "when": { "step": name, "has_result": "read_file" }, "answer": { "calls": write } }),
            // Where there is no file at all, the last thing it hears is that its only tool failed.
            json!({ "when": { "step": name, "turn": 2 }, "answer": { "calls": write } }),
            json!({ "when": { "step": name, "turn": 0 }, "answer": { "delay_ms": delay, "calls": write } }),
        ]);
    }
    json!({ "rules": rules, "default": { "delay_ms": 5, "text": "done" } })
}

/// Lets a process live for a while, then ends it at once.
fn kill_after(mut child: Child, time: Duration) -> bool {
    std::thread::sleep(time);
    let was_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    was_running
}

/// Resumes until the run is over, answering when it asks.
fn finish(place: &Place, run: &str) -> Output {
    for _ in 0..20 {
        let output = place.updraft(&["resume", run]);
        match output.status.code() {
            Some(0) => return output,
            Some(3) => {
                let answered = place.updraft(&["answer", run, "blue"]);
                assert!(answered.status.success(), "{}", shown(&answered));
            }
            _ => return output,
        }
    }
    place.updraft(&["resume", run])
}

fn shown(output: &Output) -> String {
    format!(
        "{:?}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn killed_at_any_moment_it_goes_on_and_comes_to_the_same_end() {
    let kills = environment("UPDRAFT_KILLS").unwrap_or(u64::from(KILLS));
    let seed = environment("UPDRAFT_KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let (mut killed, mut doubted, mut runs) = (0, 0, 0);
    while killed < kills {
        let place = Place::new();
        killed += u64::from(kill_after(place.start(), Duration::from_millis(dice.below(220))));
        runs += 1;
        let Some(run) = place.run() else { continue };
        for _ in 0..dice.below(4) {
            let child = place.command(&["resume", &run]).spawn().unwrap();
            killed += u64::from(kill_after(child, Duration::from_millis(dice.below(150))));
        }
        let finished = finish(&place, &run);
        assert_eq!(finished.status.code(), Some(0), "seed {seed}: {}", shown(&finished));
        assert_eq!(String::from_utf8_lossy(&finished.stdout).trim(), "the end", "seed {seed}");
        assert_eq!(place.lines(), ["line-around.", "line-one.", "line-three.", "line-two."], "seed {seed}");
        assert_eq!(std::fs::read_to_string(place.work().join("deep/file.txt")).unwrap(), "whole\n");
        assert_eq!(leftovers(&place.work()), Vec::<PathBuf>::new(), "seed {seed}");
        let replayed = place.updraft(&["replay", &run]);
        assert!(replayed.status.success(), "seed {seed}: {}", shown(&replayed));
        let events = place.updraft(&["events", &run, "--json"]);
        doubted += u32::from(String::from_utf8_lossy(&events.stdout).contains("in_doubt"));
    }
    println!("{killed} kills in {runs} runs; in {doubted} of them an outcome was in doubt");
}

/// Files that a write cut off in the middle left behind where a person would see them.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let known = |path: &PathBuf| matches!(path.file_name().and_then(|name| name.to_str()), Some("log.txt" | "deep"));
    entries.filter(|path| !known(path) && !path.file_name().unwrap().to_string_lossy().starts_with('.')).collect()
}
