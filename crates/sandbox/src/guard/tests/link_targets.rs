//! Tests the guard with changes to the targets of guarded links and settings.

use super::*;

/// A workspace whose guarded names are links of every kind.
fn linked() -> World {
    let world = World::new();
    for (path, text) in
        [("c", "known"), ("real/rc", "known"), ("dot/claude/settings.json", "known"), ("scripts/pre-push", "known")]
    {
        world.write(path, text);
    }
    fs::create_dir(world.path("chain")).unwrap();
    for (target, link) in [
        ("missing", ".gdbinit"),
        ("chain/b", ".envrc"),
        ("../c", "chain/b"),
        ("linkdir/rc", ".zshrc"),
        ("real", "linkdir"),
        ("dot/claude", ".claude"),
        ("../../scripts/pre-push", ".git/hooks/pre-push"),
    ] {
        symlink(target, world.path(link)).unwrap();
    }
    world
}

#[test]
fn every_link_on_the_way_is_looked_after() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = linked();
        let moved = world.moved_after(level, |world| {
            world.write("missing", "evil");
            fs::remove_file(world.path("chain/b")).unwrap();
            world.write("chain/b", "evil");
            fs::remove_file(world.path("linkdir")).unwrap();
            world.write("linkdir/rc", "evil");
            world.write("real/other", "fine");
        });
        assert_eq!(moved, ["chain/b*", "linkdir*", "missing"]);
        assert_eq!(world.read(".envrc") + &world.read(".zshrc"), "knownknown");
        assert!(world.path("real/other").exists());
    }
}

#[test]
fn below_the_full_level_what_is_behind_a_link_is_put_back() {
    let world = linked();
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        world.write("scripts/pre-push", "evil");
        world.write("c", "evil");
        fs::rename(world.path("dot"), world.path("dot2")).unwrap();
        world.write("dot/claude/settings.json", "evil");
    });
    assert_eq!(moved, ["c*", "dot/claude/settings.json*", "scripts/pre-push*"]);
    assert_eq!(world.read(".claude/settings.json") + &world.read(".git/hooks/pre-push"), "knownknown");
}

#[test]
fn a_link_put_into_the_way_is_taken_out() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = linked();
        world.write(".git/config", "[core]\n\thooksPath = tools/hooks\n");
        world.write("tools/hooks/pre-commit", "known");
        let moved = world.moved_after(level, |world| {
            for (folder, inner) in [("dot", "claude/settings.json"), ("tools", "hooks/pre-commit"), ("real", "rc")] {
                fs::rename(world.path(folder), world.path(&format!("{folder}2"))).unwrap();
                world.write(&format!("evil/{folder}/{inner}"), "evil");
                symlink(format!("evil/{folder}"), world.path(folder)).unwrap();
            }
        });
        assert_eq!(moved, ["dot", "real", "tools"]);
    }
}

#[test]
fn what_is_behind_a_link_is_read_only_and_the_rest_is_not() {
    let world = linked();
    symlink("../src", world.path(".git/around")).unwrap();
    symlink("..", world.path("src/.vscode")).unwrap();
    let held = held(&world.guard(SandboxLevel::Full));
    for path in ["c", "real/rc", "dot/claude", "scripts/pre-push"] {
        assert!(held.contains(&(path.to_owned(), true)), "{path}: {held:?}");
    }
    assert!(!held.iter().any(|(path, _)| ["real", "dot", "src", "scripts"].contains(&path.as_str())), "{held:?}");
}

#[test]
fn a_repository_behind_a_link_stays_writable() {
    let world = World::new();
    fs::rename(world.path(".git"), world.path("kept")).unwrap();
    symlink("kept", world.path(".git")).unwrap();
    let held = held(&world.guard(SandboxLevel::Full));
    assert!(held.contains(&("kept".to_owned(), false)) && !held.contains(&("kept".to_owned(), true)), "{held:?}");
}

#[test]
fn settings_name_what_they_run_in_many_ways() {
    let world = World::new();
    let folder = fs::canonicalize(world.folder.path()).unwrap();
    let config = format!(
        "[core]\n\thooksPath = {}/my hooks\n[alias]\n\tx = !f() {{ ./s.sh; }}; f\n\tlast = log HEAD src\n[pager]\n\tlog = tools/page\n\
         [diff]\n\texternal = run-diff\n[interactive]\n\tdiffFilter = sh filter.sh\n[include]\n\tpath = ../one.cfg\n[branch \"main\"]\n\tdescription = src/main.rs\n",
        folder.display()
    );
    world.write(".git/config", &config);
    world.write(".git/config.worktree", "[core]\n\tfsmonitor = tools/watch\n");
    world.write("one.cfg", "[include]\n\tpath = more/two.cfg\n");
    world.write("more/two.cfg", "[merge \"x\"]\n\tdriver = ./merge.sh %O\n");
    world.write(".git/modules/sub/HEAD", "");
    world.write(".git/modules/sub/refs/x", "");
    world.write(".git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n\thooksPath = hooks\n");
    world.write(".git/worktrees/w/HEAD", "");
    world.write(".git/worktrees/w/commondir", "../..\n");
    world.write(".git/worktrees/w/gitdir", &format!("{}/linked/.git\n", folder.display()));
    let named = [
        "my hooks/pre-commit",
        "s.sh",
        "tools/page",
        "run-diff",
        "filter.sh",
        "one.cfg",
        "more/two.cfg",
        "merge.sh",
        "tools/watch",
        "sub/hooks/pre-commit",
        "linked/merge.sh",
    ];
    for path in named.iter().filter(|path| !path.contains(".cfg")) {
        world.write(path, "known");
    }
    let held = held(&world.guard(SandboxLevel::Full));
    for free in ["src", "src/main.rs", ".git/HEAD", "tools", "sub"] {
        assert!(!held.contains(&(free.to_owned(), true)), "{free}: {held:?}");
    }
    let mut moved = world.moved_after(SandboxLevel::Landlock, |world| {
        for path in named {
            world.write(path, "evil");
        }
    });
    let mut wanted = named.map(|path| format!("{path}*"));
    moved.sort();
    wanted.sort();
    assert_eq!(moved, wanted);
}

#[test]
fn what_settings_name_is_guarded_before_it_is_there() {
    let world = World::new();
    world.write(".git/config", "[alias]\n\tx = !sh s.sh\n\tb = !make build\n[core]\n\thooksPath = later\n");
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("s.sh", "evil");
        world.write("later/pre-commit", "evil");
        world.write("build/out", "fine");
        world.write("make", "fine");
    });
    assert_eq!(moved, ["later", "s.sh"]);
}
