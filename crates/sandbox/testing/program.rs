//! The commands of the test program.

use std::process::ExitCode;

use serde_json::{Value, json};
use updraft_sandbox::{Command, Error, Policy, Sandbox, SandboxLevel, launch};

use crate::attempts;

pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(launch::ARGUMENT) => launch::main(),
        Some("attempt") => return attempts::attempt(&args[1..]),
        Some("probe") => println!("{}", in_runtime(async { json!(Sandbox::probe("/proc/self/exe").await.unwrap()) })),
        Some("exec") => println!("{}", in_runtime(exec(&args[1..]))),
        Some("together") => println!("{}", in_runtime(together(args[1..].to_vec()))),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn in_runtime(future: impl Future<Output = Value>) -> Value {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn exec(args: &[String]) -> Value {
    let level: SandboxLevel = serde_json::from_value(json!(args[0])).unwrap();
    let policy: Policy = serde_json::from_str(&args[1]).unwrap();
    let command = Command { args: args[3..].to_vec(), env: std::env::vars().collect(), ..Command::new(&args[2]) };
    match run(level, &policy, command).await {
        Ok(report) => report,
        Err(error) => json!({ "error": error.to_string(), "code": error.exit_code() }),
    }
}

/// Runs all scripts at once in one workspace.
async fn together(args: Vec<String>) -> Value {
    let policy: Policy = serde_json::from_str(&args[0]).unwrap();
    let sandbox = Sandbox::new("/proc/self/exe", SandboxLevel::Full).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for script in args[1..].iter().cloned() {
        let (sandbox, policy) = (sandbox.clone(), policy.clone());
        let command = Command { args: vec!["-c".to_owned(), script], ..Command::new("/bin/sh") };
        running.spawn(async move {
            match sandbox.run(&policy, command, &[]).await {
                Ok(ended) => {
                    json!({ "code": ended.exit_code(), "again": ended.run_again_for, "stderr": ended.stderr.text() })
                }
                Err(error) => json!({ "error": error.to_string() }),
            }
        });
    }
    json!(running.join_all().await)
}

async fn run(level: SandboxLevel, policy: &Policy, command: Command) -> Result<Value, Error> {
    let ended = Sandbox::new("/proc/self/exe", level)?.spawn(policy, command).await?.wait().await?;
    Ok(json!({
        "code": ended.exit_code(),
        "killed_for": ended.killed_for,
        "refused": ended.refused,
        "moved_aside": ended.moved_aside,
        "troubles": ended.troubles,
        "changes": ended.staged.as_ref().map(|staged| staged.changes().unwrap()),
        "unstaged": ended.unstaged,
        "stdout": ended.stdout.text(),
        "stderr": ended.stderr.text(),
    }))
}
