//! A machine that offers less: inside a sandbox, where namespaces are refused.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use crate::support::{PROGRAM, Workspace, can_test, run};
use serde_json::Value;
use updraft_sandbox::{Command, Policy, SETUP_FAILED, Sandbox, SandboxLevel, SandboxSupport};

fn program(args: &[&str]) -> Command {
    Command { args: args.iter().map(|&arg| arg.to_owned()).collect(), ..Command::new(PROGRAM) }
}

fn outer(place: &Workspace) -> Policy {
    Policy { read: vec![Path::new(PROGRAM).parent().unwrap().to_owned()], ..place.policy() }
}

/// Runs the test program's `exec` in a sandbox, and gives its report.
async fn nested(level: &str, script: &str) -> Value {
    let place = Workspace::new();
    std::fs::create_dir(place.path().join("inner")).unwrap();
    let scratch = place.path().to_owned();
    let inner = Policy { scratch, ..Policy::strict(place.path().join("inner")) };
    let inner = serde_json::to_string(&inner).unwrap();
    let ended = run(SandboxLevel::Full, &outer(&place), program(&["exec", level, &inner, "/bin/sh", "-c", script]))
        .await
        .unwrap();
    serde_json::from_slice(&ended.stdout.head).unwrap()
}

#[tokio::test]
async fn the_probe_finds_the_lower_level_and_says_what_is_missing() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let ended = run(SandboxLevel::Full, &outer(&place), program(&["probe"])).await.unwrap();
    let probe: SandboxSupport = serde_json::from_slice(&ended.stdout.head).unwrap();
    assert_eq!(probe.level, SandboxLevel::Landlock);
    let first = &probe.missing[0];
    assert_eq!(first.what, "namespaces: a root folder, processes and a network of its own");
    assert!(first.cause.contains("Operation not permitted") && first.remedy.contains("user namespaces"), "{first:?}");
}

#[tokio::test]
async fn every_step_of_a_set_up_is_accounted_for() {
    for level in crate::support::levels() {
        let steps = Sandbox::new(PROGRAM, level).unwrap().timings().await.unwrap();
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        let outside = ["reading the order", "finding guarded files"];
        let inside = ["making namespaces", "mapping ids", "building the root folder", "bringing the network up"];
        let last = [
            "connecting streams",
            "setting limits",
            "dropping capabilities",
            "Landlock",
            "seccomp",
            "starting the process",
        ];
        let inside = if level == SandboxLevel::Full { &inside[..] } else { &["starting a second process"] };
        assert_eq!(names, [&outside[..], inside, &last].concat(), "{level}");
    }
}

#[tokio::test]
async fn the_full_level_is_refused_there_and_not_lowered() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let report = nested("full", "echo ran").await;
    assert_eq!((report["code"].as_i64(), report.get("stdout")), (Some(SETUP_FAILED.into()), None));
    let error = report["error"].as_str().unwrap();
    assert!(error.starts_with("the sandbox could not be set up: making namespaces"), "{error}");
}

#[tokio::test]
async fn the_lower_level_confines_there_too() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let report = nested("landlock", "touch here && touch ../there; echo $?").await;
    assert_eq!((report["code"].as_i64(), report["stdout"].as_str()), (Some(0), Some("1\n")), "{report}");
}
