//! What others do in the workspace while a command runs is theirs: nobody's own work is taken away.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use crate::support::{PROGRAM, Workspace, can_test, shell};
use updraft_sandbox::{ChildResult, Command, Policy, Sandbox, SandboxLevel, StdinMode};

/// Runs a script that is told to go on once someone else has done their work; before that it runs up to `read`.
async fn meanwhile(policy: &Policy, script: &str, work: impl FnOnce()) -> ChildResult {
    let ready = tempfile::tempdir().unwrap();
    let script = script.replace("read x", &format!("echo > {}/now; read x", ready.path().display()));
    let policy = Policy { write: vec![ready.path().to_owned()], ..policy.clone() };
    let command = Command { stdin: StdinMode::Pipe, ..shell(&script) };
    let mut child = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap().spawn(&policy, command).await.unwrap();
    let begun = child.stdin.take();
    while !ready.path().join("now").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    work();
    drop(begun);
    child.wait().await.unwrap()
}

fn repository() -> Workspace {
    let place = Workspace::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/config", "[core]\n");
    place.write(".git/objects/x", "");
    place.write(".git/hooks/pre-push", "known");
    place
}

/// As `git config core.editor vim` and a person would do it.
fn edit(place: &Workspace) {
    place.write(".git/config.lock", "[core]\n\teditor = vim\n");
    std::fs::rename(place.path().join(".git/config.lock"), place.path().join(".git/config")).unwrap();
    place.write(".git/hooks/pre-commit", "the user's own");
    place.write(".git/hooks/pre-push", "the user's own");
}

fn read(place: &Workspace, path: &str) -> String {
    std::fs::read_to_string(place.path().join(path)).unwrap_or_default()
}

fn moved(place: &Workspace, ended: &ChildResult) -> Vec<String> {
    let below = |path: &Path| path.strip_prefix(place.path()).unwrap().display().to_string();
    ended.moved_aside.iter().map(|one| below(&one.path)).collect()
}

#[tokio::test]
async fn settings_that_the_user_edits_during_a_command_stay() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    for is_staged in [true, false] {
        let place = repository();
        let staged = is_staged.then(|| place.path().with_extension("aside").join("staged"));
        let policy = Policy { staged, ..place.policy() };
        let ended = meanwhile(&policy, "read x; echo evil > .envrc", || edit(&place)).await;
        assert_eq!(moved(&place, &ended), [".envrc"], "staged: {is_staged}");
        assert_eq!(read(&place, ".git/config"), "[core]\n\teditor = vim\n", "staged: {is_staged}");
        for hook in ["pre-commit", "pre-push"] {
            assert_eq!(read(&place, &format!(".git/hooks/{hook}")), "the user's own", "staged: {is_staged}");
        }
    }
}

#[tokio::test]
async fn settings_that_the_user_makes_during_a_staged_command_stay() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = repository();
    let policy = Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() };
    let ended = meanwhile(&policy, "read x; mkdir .idea; echo evil > .idea/x", || {
        place.write(".vscode/settings.json", "{}");
        place.write("sub/.envrc", "the user's own");
    })
    .await;
    assert_eq!((moved(&place, &ended), ended.troubles), (vec![".idea".to_owned()], Vec::new()));
    assert_eq!(
        (read(&place, ".vscode/settings.json"), read(&place, "sub/.envrc")),
        ("{}".into(), "the user's own".into())
    );
}

#[tokio::test]
async fn what_the_user_puts_into_a_folder_that_a_command_removes_stays() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    for path in ["e/old", "f/old", "g/old"] {
        place.write(path, "old");
    }
    let policy = Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() };
    let script = "mv e e2; rm -rf f; mkdir f; rm -r g; read x";
    let ended = meanwhile(&policy, script, || {
        place.write("e/new", "the user's own");
        place.write("f/new", "the user's own");
    })
    .await;
    assert_eq!((read(&place, "e/new"), read(&place, "f/new")), ("the user's own".into(), "the user's own".into()));
    let is_there = |path: &str| place.path().join(path).exists();
    assert_eq!(["e/old", "e2/old", "f/old", "g"].map(is_there), [false, true, false, false]);
    assert_eq!(ended.troubles.len(), 2, "{:?}", ended.troubles);
    assert!(ended.troubles.iter().all(|one| one.contains("was kept although the command removed it")));
}
