//! Tests children without a sandbox as real processes. They run on Linux; macOS would run the same code.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::capture::CaptureOptions;
use crate::protocol::KillReason;

fn shell(script: &str) -> Command {
    Command { args: vec!["-c".into(), script.into()], ..Command::new("sh") }
}

fn place() -> (tempfile::TempDir, Policy) {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy::strict(folder.path().canonicalize().unwrap());
    (folder, policy)
}

/// Whether a process exists and has not ended.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Returns once the process is gone, however long the kernel takes.
async fn gone(pid: &str) {
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

#[test]
fn only_the_level_none_is_to_be_had_and_no_other_is_lowered_to_it() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let error = PlainSandbox::new("x", level).unwrap_err();
        assert!(matches!(error, Error::Level { wanted, .. } if wanted == level), "{error}");
    }
    assert_eq!(PlainSandbox::new("x", SandboxLevel::None).unwrap().level(), SandboxLevel::None);
}

#[tokio::test]
async fn a_probe_says_that_nothing_is_enforced_and_nothing_was_tested() {
    let probe = PlainSandbox::probe("x").await.unwrap();
    assert_eq!((probe.level, probe.landlock_abi), (SandboxLevel::None, 0));
    assert!(probe.missing.iter().any(|missing| missing.what == "every part of the sandbox"));
    assert!(probe.missing.iter().any(|missing| missing.cause.contains("untested")));
}

#[tokio::test]
async fn a_program_runs_in_the_workspace_with_named_variables_and_a_home_of_its_own() {
    let (folder, policy) = place();
    let mut command = shell("pwd -P; echo \"$LANG$SECRET\"; test \"$HOME\" != /root && test -d \"$TMPDIR\"; exit 3");
    command.env.extend([("LANG".to_owned(), "C".to_owned()), ("SECRET".to_owned(), "x".to_owned())]);
    let ended = PlainSandbox(()).spawn(&policy, command).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.exit_code(), 3);
    assert_eq!(ended.level, SandboxLevel::None);
    assert_eq!(ended.stdout.text(), format!("{}\nC\n", folder.path().canonicalize().unwrap().display()));
    assert!(ended.unstaged.is_some());
}

#[tokio::test]
async fn at_its_limit_of_time_it_ends_with_what_it_started() {
    let (_folder, mut policy) = place();
    policy.limits.time = Some(Duration::from_millis(300));
    let command = shell("sleep 600 & echo $!; wait");
    let ended = PlainSandbox(()).spawn(&policy, command).await.unwrap().wait().await.unwrap();
    assert_eq!((ended.exit, ended.killed_for), (None, Some(KillReason::Time)));
    gone(&ended.stdout.text()).await;
}

#[tokio::test]
async fn what_it_leaves_behind_ends_with_it() {
    let (_folder, policy) = place();
    let command = shell("sleep 600 > /dev/null 2>&1 & echo $!");
    let ended = PlainSandbox(()).spawn(&policy, command).await.unwrap().wait().await.unwrap();
    assert!(ended.succeeded());
    gone(&ended.stdout.text()).await;
}

#[tokio::test]
async fn one_that_says_too_much_is_ended() {
    let (_folder, mut policy) = place();
    policy.limits.output = 1 << 20;
    let ended = PlainSandbox(()).spawn(&policy, shell("yes")).await.unwrap().wait().await.unwrap();
    assert_eq!((ended.exit, ended.killed_for), (None, Some(KillReason::Output)));
}

#[tokio::test]
async fn a_server_is_spoken_with_and_ended() {
    let (_folder, policy) = place();
    let pipes =
        Command { stdin: StdinMode::Pipe, output: OutputMode::Pipe(CaptureOptions::default()), ..Command::new("cat") };
    let mut child = PlainSandbox(()).spawn(&policy, pipes).await.unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout().unwrap());
    input.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    output.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    let ended = child.end().await.unwrap();
    assert_eq!((ended.exit, ended.killed_for), (None, None));
}

#[tokio::test]
async fn a_child_that_is_dropped_ends_with_what_it_started() {
    let (_folder, policy) = place();
    let mut command = shell("sleep 600 & echo $!; wait");
    command.output = OutputMode::Pipe(CaptureOptions::default());
    let mut child = PlainSandbox(()).spawn(&policy, command).await.unwrap();
    let mut output = child.stdout().unwrap();
    let mut pid = String::new();
    while !pid.ends_with('\n') {
        pid.push(output.read_u8().await.unwrap().into());
    }
    assert!(is_alive(&pid));
    drop(child);
    // The pipe closes when the last process is gone.
    assert_eq!(output.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn what_cannot_be_started_or_granted_is_said() {
    let (_folder, mut policy) = place();
    let error = PlainSandbox(()).spawn(&policy, Command::new("no-such-program")).await.unwrap_err();
    assert_eq!(error.exit_code(), 127);
    policy.network = "allow:example.com".parse().unwrap();
    let error = PlainSandbox(()).spawn(&policy, shell("true")).await.unwrap_err();
    assert_eq!(error.exit_code(), 125);
}
