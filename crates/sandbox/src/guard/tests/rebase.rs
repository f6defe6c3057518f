//! Tests the guard during a rebase.

use super::*;

const TODO: &str = ".git/rebase-merge/git-rebase-todo";

#[test]
fn lines_that_run_something_are_taken_out_of_a_rebase() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = World::new();
        world.write(TODO, "pick 1 one\nexec make\npick 2 two\n");
        let moved = world.moved_after(level, |world| world.write(TODO, "exec make\nexec evil\npick 2 two\n"));
        assert_eq!(moved, [format!("{TODO}*")]);
        assert_eq!(world.read(TODO), "exec make\npick 2 two\n");
    }
}

#[test]
fn subjects_of_commits_may_be_in_any_encoding() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = World::new();
        world.write(TODO, "");
        fs::write(world.path(TODO), b"pick 1 caf\xe9\npick 2 th\xe9\n").unwrap();
        let moved = world.moved_after(level, |world| fs::write(world.path(TODO), b"pick 2 th\xe9\n").unwrap());
        assert_eq!(moved, [""; 0]);
        assert_eq!(fs::read(world.path(TODO)).unwrap(), b"pick 2 th\xe9\n");
        let moved = world.moved_after(level, |world| fs::write(world.path(TODO), b"x evil\npick 2 th\xe9\n").unwrap());
        assert_eq!(moved, [format!("{TODO}*")]);
        assert!(world.read(TODO).starts_with("pick 2 th"));
    }
}

#[test]
fn a_rebase_goes_on_and_ends_as_it_likes() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = World::new();
        world.write(TODO, "pick 1 one\nexec make\npick 2 two\n");
        assert!(!held(&world.guard(level)).iter().any(|(path, _)| path.contains("rebase")));
        assert_eq!(world.moved_after(level, |world| world.write(TODO, "exec make\npick 2 two\n")), [""; 0]);
        let ended = world.moved_after(level, |world| fs::remove_dir_all(world.path(".git/rebase-merge")).unwrap());
        assert_eq!(ended, [""; 0]);
        assert!(!world.path(".git/rebase-merge").exists());
        assert_eq!(world.moved_after(level, |world| world.write(TODO, "pick 1 one\nbreak\n# x\n")), [""; 0]);
    }
}

#[test]
fn a_rebase_elsewhere_is_no_way_around() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("evil/git-rebase-todo", "exec evil\n");
        symlink("../evil", world.path(".git/rebase-merge")).unwrap();
        world.write(".git/worktrees/w/HEAD", "");
        world.write(".git/worktrees/w/commondir", "../..");
        world.write(".git/worktrees/w/rebase-merge/git-rebase-todo", "x evil\n");
    });
    assert_eq!(moved, [".git/rebase-merge", ".git/worktrees/w/rebase-merge/git-rebase-todo*"]);
}
