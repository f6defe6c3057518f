//! Tests the guard with files that are put where it might not look.

use super::*;

#[test]
fn a_folder_that_is_made_a_repository_is_guarded_as_before() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = World::new();
        world.write(".mcp.json", "known");
        world.write("config/app.toml", "the user's own");
        let moved = world.moved_after(level, |world| {
            world.write("HEAD", "");
            world.write("refs/x", "");
            world.write(".envrc", "evil");
            world.write(".zed/tasks.json", "evil");
            world.write("info/.envrc", "evil");
            world.write("config/.envrc", "evil");
        });
        assert_eq!(moved, [".envrc", ".zed", "config/.envrc", "info/.envrc"]);
        let moved = world.moved_after(SandboxLevel::Landlock, |world| world.write(".mcp.json", "evil"));
        assert_eq!(moved, [".mcp.json*"]);
        assert!(world.path("config/app.toml").exists());
    }
}

#[test]
fn a_workspace_is_known_by_its_own_name() {
    let home = tempfile::tempdir().unwrap();
    let aside = tempfile::tempdir().unwrap();
    for (name, file) in [(".config", "fish/config.fish"), (".config", "git/config"), (".cargo", "config.toml")] {
        let folder = home.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let guard = FolderGuard::before(&folder, SandboxLevel::Full, &[]).unwrap();
        fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        fs::write(folder.join(file), "evil").unwrap();
        guard.after(Some(aside.path()), None);
        assert!(!folder.join(file).exists(), "{name}/{file}");
    }
}

#[test]
fn nothing_hides_among_objects() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        for place in ["pack/q", "ab/q", "info/q", "q"] {
            let place = format!(".git/objects/{place}");
            world.write(&format!("{place}/HEAD"), "ref: refs/heads/main\n");
            world.write(&format!("{place}/objects/x"), "");
            world.write(&format!("{place}/refs/x"), "");
            world.write(&format!("{place}/config"), "[core]\n\tfsmonitor = evil\n");
        }
        world.write(".git/objects/pack/p/.envrc", "evil");
        world.write(".git/objects/pack/p/.git/config", "[core]\n\tfsmonitor = evil\n");
    });
    let wanted = ["ab/q/config", "info/q/config", "pack/p/.envrc", "pack/p/.git/config", "pack/q/config", "q/config"];
    assert_eq!(moved, wanted.map(|path| format!(".git/objects/{path}")));
}

#[test]
fn a_repository_behind_a_link_is_not_where_git_keeps_such() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("q/x", "");
        fs::create_dir_all(world.path(".git/modules")).unwrap();
        symlink("../../q", world.path(".git/modules/sub")).unwrap();
        world.write("sub/.git", "gitdir: ../.git/modules/sub\n");
        world.write(".git/modules/plain/HEAD", "");
        world.write("plain/.git", "gitdir: ../.git/modules/plain\n");
    });
    assert_eq!(moved, ["sub/.git"]);
}

#[test]
fn a_link_into_installed_packages_opens_them() {
    for level in [SandboxLevel::Full, SandboxLevel::Landlock] {
        let world = World::new();
        world.write("node_modules/x/.vscode/settings.json", "of the package");
        world.write("node_modules/x/index.js", "");
        world.write("node_modules/plain/index.js", "");
        fs::create_dir(world.path("static")).unwrap();
        symlink("../node_modules/plain", world.path("static/plain")).unwrap();
        symlink("node_modules/later", world.path("later")).unwrap();
        world.wait_until_settled();
        let moved = world.moved_after(level, |world| {
            symlink("node_modules/x", world.path("app")).unwrap();
            symlink("../node_modules/plain/index.js", world.path("src/index.js")).unwrap();
            symlink("../node_modules", world.path("src/node_modules")).unwrap();
            symlink("middle/x", world.path("src/way")).unwrap();
            symlink("../node_modules", world.path("src/middle")).unwrap();
            world.write("node_modules/plain/.envrc", "evil");
            world.write("node_modules/later/.envrc", "evil");
            world.write("node_modules/other/.envrc", "fine");
        });
        let wanted = ["app", "node_modules/later/.envrc", "node_modules/plain/.envrc", "src/middle", "src/way"];
        assert_eq!(moved, wanted);
        assert!(world.path("node_modules/x/.vscode/settings.json").exists());
    }
}

#[test]
fn a_way_that_is_turned_into_packages_is_seen_where_it_turns() {
    let world = World::new();
    world.write("node_modules/x/.envrc", "");
    world.write("safe/x/file", "");
    symlink("middle/x", world.path("src/app")).unwrap();
    symlink("../safe", world.path("src/middle")).unwrap();
    world.wait_until_settled();
    let guard = world.guard(SandboxLevel::Full);
    fs::remove_file(world.path("src/middle")).unwrap();
    symlink("../node_modules", world.path("src/middle")).unwrap();
    let made = [PathBuf::from("src"), PathBuf::from("src/middle")].into();
    let outcome = guard.after(Some(world.aside.path()), Some(&made));
    let moved: Vec<_> = outcome.moved.iter().map(|one| one.path.strip_prefix(world.folder.path()).unwrap()).collect();
    assert_eq!(moved, [Path::new("src/middle")]);
}

#[test]
fn no_path_is_too_long() {
    let world = World::new();
    let name = "long".repeat(60);
    let evil = |world: &World| {
        let mut at = rustix::fs::openat(CWD, world.folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        for _ in 0..20 {
            let _ = rustix::fs::mkdirat(&at, &name, Mode::RWXU);
            at = rustix::fs::openat(&at, &name, OFlags::PATH, Mode::empty()).unwrap();
        }
        let flags = OFlags::WRONLY | OFlags::CREATE;
        rustix::fs::openat(&at, ".envrc", flags, Mode::RWXU).unwrap();
    };
    let moved = world.moved_after(SandboxLevel::Full, evil);
    assert!(matches!(&moved[..], [one] if one.ends_with("/.envrc")), "{moved:?}");
    evil(&world);
    // It is the user's own file by now, and no reason to refuse commands.
    assert_eq!(world.moved_after(SandboxLevel::Full, |world| drop(held(&world.guard(SandboxLevel::Full)))), [""; 0]);
}
