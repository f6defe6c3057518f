//! What a tool call from code costs all the way: to the run, its decision, its journal on disk, the tool, and back.
//!
//! `cargo bench -p updraft --bench code` prints the table; `-- 20` takes another number of rounds. Each round is a run of
//! the real program, whose code measures its own calls. The way to the run and back alone is measured by
//! `cargo bench -p updraft-tools --bench python`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a program for people")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Calls that one piece of code makes.
const CALLS: u32 = 200;
/// What is called: a read may begin while the wish for it is written, a change only after.
const KINDS: [(&str, &str); 2] =
    [("read_file, 6 bytes", "read_file(path='a.txt')"), ("append_line", "append_line(path='b.txt', line='x')")];

fn main() {
    let rounds = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(10);
    println!("{rounds} rounds of {CALLS} calls from code, each journalled on disk\n");
    println!("{:<24} {:>8} {:>8} {:>8}", "", "min µs", "p50 µs", "max µs");
    for (name, call) in KINDS {
        let mut times: Vec<f64> = (0..rounds).map(|_| round(call)).collect();
        times.sort_by(f64::total_cmp);
        println!("{name:<24} {:>8.0} {:>8.0} {:>8.0}", times[0], times[times.len() / 2], times[times.len() - 1]);
    }
}

/// One run; microseconds a call.
fn round(call: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let (home, workspace, script) =
        (folder.path().join("home"), folder.path().join("ws"), folder.path().join("s.json"));
    std::fs::create_dir(&workspace).unwrap();
    std::fs::write(workspace.join("a.txt"), "hello\n").unwrap();
    let code = format!(
        "import time\n{call}\nbegan = time.perf_counter()\nfor n in range({CALLS}): {call}\n\
         (time.perf_counter() - began) / {CALLS} * 1e6"
    );
    let answers = json!([{"calls": [{"name": "run_python", "args": {"code": code}}]}, {"text": "done"}]);
    std::fs::write(&script, answers.to_string()).unwrap();
    let model = format!("scripted/{}", script.display());
    let lines = updraft(&home, &workspace, &["run", "--json", "--model", &model, "--agent", "coder", "measure"]);
    let ended = lines.iter().find(|line| line["type"] == "item.completed" && is_the_code(&line["item"])).unwrap();
    let text = ended["item"]["output"].as_str().unwrap();
    let result = text.lines().find_map(|line| line.strip_prefix("result: "));
    result.and_then(|result| result.parse().ok()).unwrap_or_else(|| panicked(text))
}

fn is_the_code(item: &Value) -> bool {
    item["kind"] == "tool_call" && item["made_by"].is_null()
}

#[expect(clippy::panic, reason = "nothing was measured")]
fn panicked(text: &str) -> f64 {
    panic!("no figure in: {text}")
}

fn updraft(home: &Path, workspace: &Path, args: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
    let output = command.args(args).current_dir(workspace).env("UPDRAFT_HOME", home).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
