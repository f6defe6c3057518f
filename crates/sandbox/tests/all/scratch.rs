//! Private folders where there is no root of one's own: not shared, not left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use crate::support::{Workspace, can_test, run};
use updraft_sandbox::{Command, Policy, SandboxLevel};

fn shell(script: &str) -> Command {
    Command { args: vec!["-c".into(), script.into()], ..Command::new("/bin/sh") }
}

fn left(scratch: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(scratch).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn each_command_has_a_folder_of_its_own_and_none_stays() {
    for level in [SandboxLevel::Landlock, SandboxLevel::None].into_iter().filter(|level| can_test(*level)) {
        let (place, outside) = (Workspace::new(), tempfile::tempdir().unwrap());
        let scratch = outside.path().join("state/scratch");
        let policy = Policy { scratch: scratch.clone(), ..place.policy() };
        // Neither a folder that its owner locked, nor one that is in use, stays or is taken away.
        let script = "echo mine > $TMPDIR/x; mkdir $HOME/locked; touch $HOME/locked/y; chmod 0 $HOME/locked; \
                      sleep 0.3; cat $TMPDIR/x; echo $TMPDIR";
        let (one, other) = tokio::join!(run(level, &policy, shell(script)), run(level, &policy, shell(script)));
        let said = |ended: updraft_sandbox::ChildResult| String::from_utf8(ended.stdout.head).unwrap();
        let (one, other) = (said(one.unwrap()), said(other.unwrap()));
        assert!(one.starts_with("mine\n") && other.starts_with("mine\n"), "{level}: {one}{other}");
        assert!(one.contains(&scratch.display().to_string()) && one != other, "{level}: {one}{other}");
        assert_eq!(left(&scratch), [""; 0], "{level}");
    }
}

#[tokio::test]
async fn what_a_killed_launcher_left_is_removed_by_the_next() {
    if !can_test(SandboxLevel::Landlock) {
        return;
    }
    let (place, outside) = (Workspace::new(), tempfile::tempdir().unwrap());
    let policy = Policy { scratch: outside.path().to_owned(), ..place.policy() };
    std::fs::create_dir_all(outside.path().join("updraft-sandbox-left/tmp/deep")).unwrap();
    std::fs::create_dir(outside.path().join("something-else")).unwrap();
    run(SandboxLevel::Landlock, &policy, shell("true")).await.unwrap();
    assert_eq!(left(outside.path()), ["something-else"]);
}
