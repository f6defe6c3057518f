//! Undo and redo of what a run did in a git repository, with somebody at work in it since.

use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use crate::undo::{can_stage, run};
use crate::world::World;

fn git(world: &World, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(args).current_dir(world.ws());
    let ran = command.env("HOME", world.home()).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// A repository in which a run has made the second commit; both commits.
fn with_two_commits(world: &World) -> [String; 2] {
    git(world, &["init", "-q", "."]);
    git(world, &["add", "-A"]);
    git(world, &["commit", "-qm", "first"]);
    let first = git(world, &["rev-parse", "HEAD"]);
    let commit = "echo two > two.txt; git add -A && git -c user.name=n -c user.email=e@x commit -qm second";
    run(world, &[("run_command", json!({"command": commit}))]).code(0);
    [first, git(world, &["rev-parse", "HEAD"])]
}

fn can_test(world: &World) -> bool {
    can_stage(world) && Command::new("git").arg("--version").output().is_ok()
}

/// Lets git write the time of a file into its index anew.
fn refresh(world: &World, seconds: u64) {
    let index = || std::fs::read(world.ws().join(".git/index")).unwrap();
    let before = index();
    let file = std::fs::File::options().write(true).open(world.ws().join("a.txt")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    git(world, &["status"]);
    assert_ne!(before, index(), "git wrote the time down");
}

#[test]
fn looking_at_a_repository_does_not_hinder_undo_and_redo() {
    let world = World::new();
    if !can_test(&world) {
        return;
    }
    let [first, second] = with_two_commits(&world);
    for at in [1_000_000_000, 1_000_000_100] {
        refresh(&world, at);
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(
            (git(&world, &["rev-parse", "HEAD"]), git(&world, &["status", "--porcelain"])),
            (first.clone(), String::new())
        );
        refresh(&world, at + 10);
        world.updraft(&["undo", "--redo", "--yes"]).code(0);
        assert_eq!(
            (git(&world, &["rev-parse", "HEAD"]), git(&world, &["status", "--porcelain"])),
            (second.clone(), String::new())
        );
    }
}

#[test]
fn a_branch_that_a_run_made_goes_and_what_is_staged_since_keeps_the_repository_as_it_is() {
    let world = World::new();
    if !can_test(&world) {
        return;
    }
    git(&world, &["init", "-q", "-b", "main", "."]);
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-qm", "first"]);
    let branch = "git checkout -q -b feature; echo two >> a.txt; git -c user.name=n -c user.email=e@x commit -qam two";
    run(&world, &[("run_command", json!({"command": branch}))]).code(0);
    assert_eq!(git(&world, &["branch", "--show-current"]), "feature");

    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(git(&world, &["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    git(&world, &["fsck", "--strict"]);
    world.updraft(&["undo", "--redo", "--yes"]).code(0);

    world.file("three.txt", "mine\n");
    git(&world, &["add", "three.txt"]);
    world.updraft(&["undo", "--yes"]).code(1).says("in the same repository was changed since");
    assert_eq!(git(&world, &["branch", "--show-current"]), "feature");
    assert_eq!(git(&world, &["diff", "--cached", "--name-only"]), "three.txt");
}

#[test]
fn an_undo_in_a_repository_is_taken_back_as_a_whole_or_not_at_all() {
    let world = World::new();
    if !can_test(&world) {
        return;
    }
    let [first, _] = with_two_commits(&world);
    world.updraft(&["undo", "--yes"]).code(0);
    world.file("three.txt", "mine\n");
    git(&world, &["add", "three.txt"]);
    world.updraft(&["undo", "--redo", "--yes"]).code(1).says("in the same repository was changed since");
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), first);
    assert_eq!(git(&world, &["diff", "--cached", "--name-only"]), "three.txt");
}
