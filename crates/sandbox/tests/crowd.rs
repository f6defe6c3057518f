//! A hundred commands at once. Alone in its program, because it counts the descriptors and children of the process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{Workspace, levels, shell};
use updraft_sandbox::{ProgramExit, Sandbox};

#[tokio::test]
async fn a_hundred_at_once_leave_no_zombie_and_no_descriptor() {
    for level in levels() {
        let place = Workspace::new();
        let sandbox = Sandbox::new(support::PROGRAM, level).unwrap();
        let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..100 {
            let (sandbox, policy) = (sandbox.clone(), place.policy());
            tasks.spawn(async move {
                let script = if number == 50 { "kill -9 $$".to_owned() } else { format!("echo {number}") };
                let ended = sandbox.spawn(&policy, shell(&script)).await.unwrap().wait().await.unwrap();
                (number, ended.exit, ended.stdout.text())
            });
        }
        while let Some(result) = tasks.join_next().await {
            let (number, exit, text) = result.unwrap();
            let wanted = if number == 50 {
                (ProgramExit::Signal(9), String::new())
            } else {
                (ProgramExit::Code(0), format!("{number}\n"))
            };
            assert_eq!((exit, text), (Some(wanted.0), wanted.1), "{level}");
        }
        let me = std::process::id();
        let children = std::fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap_or_default();
        assert_eq!(children.trim(), "", "{level}");
        assert_eq!(std::fs::read_dir("/proc/self/fd").unwrap().count(), before, "{level}");
    }
}
