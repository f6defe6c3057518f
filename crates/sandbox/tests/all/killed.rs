//! Our own process killed during a command: no descendant stays, and nothing is written afterwards.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::{Child, Command, Stdio};

use crate::support::{PROGRAM, Workspace, left_in, levels};
use rustix::process::{Pid, Signal, kill_process};
use updraft_sandbox::SandboxLevel;

/// Writes for ever, in processes that hide from signals, terminals and their parents.
const SCRIPT: &str = "trap '' TERM INT HUP
(setsid sh -c 'trap \"\" TERM; while true; do echo x >> hidden; done' &)
nohup sh -c 'while true; do echo x >> plain; done' > nohup.txt 2>&1 &
mkdir .vscode; echo evil > .vscode/tasks.json
while true; do echo x >> main; done";

fn start(level: SandboxLevel, place: &Workspace) -> Child {
    let policy = serde_json::to_string(&place.policy()).unwrap();
    let program = Command::new(PROGRAM)
        .args(["exec", &level.to_string(), &policy, "/bin/sh", "-c", SCRIPT])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !["hidden", "plain", "main"].iter().all(|name| place.path().join(name).exists()) {
        std::thread::yield_now();
    }
    assert!(left_in(place).len() >= 3, "the tests can see what runs");
    program
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Waits until no process is left, by their working folder or by being our launcher.
fn wait_until_gone(place: &Workspace, launcher: i32) {
    while !left_in(place).is_empty() || is_running(launcher) {
        std::thread::yield_now();
    }
}

/// A process that has ended and waits to be collected by someone else does nothing any more.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn children(pid: u32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|one| one.parse().unwrap()).collect()
}

fn sizes(place: &Workspace) -> Vec<u64> {
    ["hidden", "plain", "main"].iter().map(|name| place.path().join(name).metadata().unwrap().len()).collect()
}

#[test]
fn our_process_killed_takes_everything_with_it() {
    for level in levels() {
        let place = Workspace::new();
        let mut program = start(level, &place);
        let launcher = children(program.id())[0];
        program.kill().unwrap();
        program.wait().unwrap();
        wait_until_gone(&place, launcher);
        let before = sizes(&place);
        assert_eq!(left_in(&place), [""; 0], "{level}");
        assert_eq!(sizes(&place), before, "{level}");
        // The launcher did its duty without anyone to tell.
        assert!(!place.path().join(".vscode").exists(), "{level}");
    }
}

#[test]
fn the_launcher_killed_takes_everything_with_it() {
    for level in levels() {
        let place = Workspace::new();
        let mut program = start(level, &place);
        let launcher = children(program.id())[0];
        kill(launcher);
        let status = program.wait().unwrap();
        assert!(status.success(), "it reports that the launcher is lost");
        wait_until_gone(&place, launcher);
        let before = sizes(&place);
        assert_eq!(sizes(&place), before, "{level}");
    }
}

#[test]
fn the_process_that_watches_killed_takes_everything_with_it() {
    for level in levels() {
        let place = Workspace::new();
        let mut program = start(level, &place);
        let launcher = children(program.id())[0];
        kill(children(launcher.cast_unsigned())[0]);
        let status = program.wait().unwrap();
        assert!(status.success(), "it reports that all was ended");
        wait_until_gone(&place, launcher);
        assert!(!place.path().join(".vscode").exists(), "{level}");
    }
}
