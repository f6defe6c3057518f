//! Tests the guard with folders that a command has changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use super::*;

mod hidden;
mod link_targets;
mod many;
mod rebase;

/// A workspace with a repository and an editor's settings, and a folder for files that are moved aside.
struct World {
    folder: tempfile::TempDir,
    aside: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let world = World { folder: tempfile::tempdir().unwrap(), aside: tempfile::tempdir().unwrap() };
        world.write(".git/HEAD", "ref: refs/heads/main\n");
        world.write(".git/config", "[core]\n\tbare = false\n");
        world.write(".git/hooks/pre-commit", "check\n");
        world.write(".git/objects/ab/cdef", "");
        world.write(".git/refs/heads/main", "");
        world.write(".vscode/tasks.json", "{}");
        world.write("src/main.rs", "");
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Waits until the clock of this file system has moved on, so that folders created so far count as settled.
    fn wait_until_settled(&self) {
        let time = || {
            self.write("clock", "");
            fs::metadata(self.path("clock")).unwrap().modified().unwrap()
        };
        let began = time();
        while time() < began + Duration::from_millis(30) {}
    }

    fn guard(&self, level: SandboxLevel) -> FolderGuard {
        FolderGuard::before(self.folder.path(), level, &[]).unwrap()
    }

    /// Which files are moved aside after the change, as paths below the workspace; `*` marks those that were
    /// restored.
    fn moved_after(&self, level: SandboxLevel, change: impl FnOnce(&World)) -> Vec<String> {
        let guard = self.guard(level);
        change(self);
        let outcome = guard.after(Some(self.aside.path()), None);
        assert_eq!(outcome.troubles, [""; 0]);
        let name = |moved: &MovedFile| {
            let path = moved.path.strip_prefix(self.folder.path()).unwrap().display().to_string();
            assert!(moved.kept_at.symlink_metadata().is_ok(), "{moved:?}");
            if moved.restored { path + "*" } else { path }
        };
        outcome.moved.iter().map(name).collect()
    }
}

fn held(guard: &FolderGuard) -> Vec<(String, bool)> {
    let holds = guard.holds();
    let there = holds.iter().filter(|hold| hold.open().unwrap().is_some());
    there.map(|hold| (hold.within.display().to_string(), hold.is_read_only)).collect()
}

#[test]
fn what_exists_is_held_and_the_repository_stays_writable() {
    let world = World::new();
    let wanted = [(".git", false), (".vscode", true), (".git/config", true), (".git/hooks", true)];
    assert_eq!(
        held(&world.guard(SandboxLevel::Full)),
        wanted.map(|(path, is_read_only)| (path.to_owned(), is_read_only))
    );
}

#[test]
fn ordinary_work_moves_nothing() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("src/lib.rs", "");
        world.write(".git/index", "");
        world.write(".git/objects/12/3456", "");
        world.write("target/debug/build", "");
        fs::remove_file(world.path("src/main.rs")).unwrap();
    });
    assert_eq!(moved, [""; 0]);
}

#[test]
fn new_files_that_run_later_are_moved_aside() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write(".envrc", "evil");
        world.write("deep/er/.idea/x.xml", "evil");
        world.write("src/.mcp.json", "evil");
        world.write(".git/info/attributes", "* filter=evil");
        world.write(".git/commondir", "../evil");
        world.write(".github/hooks/x.json", "evil");
        world.write(".github/workflows/ci.yml", "fine");
        symlink("/etc", world.path(".claude")).unwrap();
    });
    let wanted = [
        ".claude",
        ".envrc",
        ".git/commondir",
        ".git/info/attributes",
        ".github/hooks",
        "deep/er/.idea",
        "src/.mcp.json",
    ];
    assert_eq!(moved, wanted);
    assert!(world.path(".github/workflows/ci.yml").exists() && !world.path(".envrc").exists());
}

#[test]
fn repositories_are_known_by_what_they_are() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        for place in ["nested/.git", "renamed", "bare.git", ".git/modules/sub"] {
            world.write(&format!("{place}/HEAD"), "ref: refs/heads/main\n");
            world.write(&format!("{place}/objects/x"), "");
            world.write(&format!("{place}/refs/x"), "");
            world.write(&format!("{place}/hooks/post-checkout"), "evil");
            world.write(&format!("{place}/hooks/post-checkout.sample"), "fine");
            world.write(&format!("{place}/config"), "[core]\n\tfsmonitor = evil\n");
        }
        world.write("linked/.git", "gitdir: ../somewhere\n");
    });
    let wanted = [
        ".git/modules/sub/config",
        ".git/modules/sub/hooks/post-checkout",
        "bare.git/config",
        "bare.git/hooks/post-checkout",
        "linked/.git",
        "nested/.git/config",
        "nested/.git/hooks/post-checkout",
        "renamed/config",
        "renamed/hooks/post-checkout",
    ];
    assert_eq!(moved, wanted);
}

#[test]
fn what_the_settings_of_a_repository_name_is_guarded_too() {
    let world = World::new();
    world.write(".git/config", "[core]\n\thooksPath = tools/git-hooks\n[include]\n\tpath = ../shared.cfg\n[filter \"x\"] clean = sh ./tools/clean.sh\n[branch \"m\"]\n\tmerge = refs/heads/main\n");
    world.write("tools/git-hooks/pre-commit", "check\n");
    world.write("tools/clean.sh", "known\n");
    world.write("shared.cfg", "known\n");
    world.write("tools/other", "");
    let held = held(&world.guard(SandboxLevel::Full));
    for path in ["tools/git-hooks", "tools/clean.sh", "shared.cfg"] {
        assert!(held.contains(&(path.to_owned(), true)), "{path}: {held:?}");
    }
    assert!(!held.iter().any(|(path, _)| path.contains("refs")), "{held:?}");
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        world.write("tools/git-hooks/pre-commit", "evil");
        world.write("tools/git-hooks/pre-push", "evil");
        world.write("tools/another", "fine");
        world.write("shared.cfg", "evil");
    });
    assert_eq!(moved, ["shared.cfg*", "tools/git-hooks/pre-commit*", "tools/git-hooks/pre-push"]);
}

#[test]
fn settings_that_a_command_wrote_move_nothing_of_the_users() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("new/.git/HEAD", "");
        world.write("new/.git/config", "[core]\n\thooksPath = ../src\n");
    });
    assert_eq!(moved, ["new/.git/config"]);
    assert!(world.path("src/main.rs").exists());
}

#[test]
fn installed_packages_keep_their_settings_but_not_their_hooks() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        for path in ["x/.vscode/settings.json", "x/.husky/pre-commit", "@a/b/.idea/x", "x/node_modules/y/.envrc"] {
            world.write(&format!("web/node_modules/{path}"), "");
        }
        world.write("web/node_modules/z/.git/hooks/post-checkout", "evil");
        world.write("web/node_modules/l/.git", "gitdir: ../z");
        world.write("web/.vscode/tasks.json", "evil");
    });
    let wanted = ["web/.vscode", "web/node_modules/l/.git", "web/node_modules/z/.git/hooks/post-checkout"];
    assert_eq!(moved, wanted);
}

#[test]
fn a_new_repository_with_plain_settings_stays() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("new/.git/HEAD", "ref: refs/heads/main\n");
        world.write("new/.git/config", "[core]\n\tbare = false\n");
        world.write("new/.git/hooks/pre-commit.sample", "");
    });
    assert_eq!(moved, [""; 0]);
}

#[test]
fn a_renamed_folder_takes_its_known_files_along() {
    let world = World::new();
    world.write("sub/.git/HEAD", "");
    world.write("sub/.git/hooks/pre-push", "known");
    let moved =
        world.moved_after(SandboxLevel::Full, |world| fs::rename(world.path("sub"), world.path("other")).unwrap());
    assert_eq!(moved, [""; 0]);
}

#[test]
fn below_the_full_level_changes_are_put_back() {
    let world = World::new();
    symlink("tasks", world.path(".envrc")).unwrap();
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        world.write(".git/config", "[core]\n\tfsmonitor = evil\n");
        world.write(".vscode/settings.json", "evil");
        fs::remove_file(world.path(".git/hooks/pre-commit")).unwrap();
        fs::remove_file(world.path(".envrc")).unwrap();
        symlink("evil", world.path(".envrc")).unwrap();
    });
    assert_eq!(moved, [".envrc*", ".git/config*", ".vscode/settings.json"]);
    assert_eq!(world.read(".git/config"), "[core]\n\tbare = false\n");
    assert_eq!(world.read(".git/hooks/pre-commit"), "check\n");
    assert_eq!(fs::read_link(world.path(".envrc")).unwrap(), Path::new("tasks"));
}

#[test]
fn a_file_made_executable_counts_as_changed() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        fs::set_permissions(world.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert_eq!(moved, [".git/hooks/pre-commit*"]);
}

#[test]
fn a_second_name_for_a_guarded_file_is_no_way_in() {
    let world = World::new();
    fs::hard_link(world.path(".git/config"), world.path("innocent")).unwrap();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        fs::write(world.path("innocent"), "[core]\n\tfsmonitor = evil\n").unwrap();
    });
    assert_eq!(moved, [".git/config*"]);
    assert_eq!(world.read(".git/config"), "[core]\n\tbare = false\n");
}

#[test]
fn where_a_guarded_link_leads_is_held_too() {
    let world = World::new();
    world.write("shared/env.sh", "known");
    symlink("shared/env.sh", world.path(".envrc")).unwrap();
    let held = held(&world.guard(SandboxLevel::Full));
    assert!(held.contains(&("shared/env.sh".to_owned(), true)), "{held:?}");
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join(".envrc"), "not ours").unwrap();
    let moved = world.moved_after(SandboxLevel::Full, |world| symlink(outside.path(), world.path("way")).unwrap());
    assert_eq!(moved, [""; 0]);
    assert!(outside.path().join(".envrc").exists());
}

#[test]
fn the_second_walk_sees_what_changed_deep_below() {
    let world = World::new();
    for number in 0..50 {
        world.write(&format!("a/{number}/b/c/file"), "");
    }
    world.wait_until_settled();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("a/7/b/c/.envrc", "evil");
        world.write("a/8/b/new/.bashrc", "evil");
        fs::rename(world.path("a/9"), world.path("a/7/moved")).unwrap();
        world.write("a/7/moved/b/.idea/x", "evil");
    });
    assert_eq!(moved, ["a/7/b/c/.envrc", "a/7/moved/b/.idea", "a/8/b/new/.bashrc"]);
}

#[test]
fn a_folder_closed_to_its_owner_is_opened_up_only_if_a_command_closed_it() {
    if rustix::process::geteuid().is_root() {
        // Root can read every folder. The escape tests try this as an ordinary user.
        return;
    }
    let world = World::new();
    world.write("private/.envrc", "the user's own");
    fs::set_permissions(world.path("private"), fs::Permissions::from_mode(0o311)).unwrap();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("closed/.envrc", "evil");
        fs::set_permissions(world.path("closed"), fs::Permissions::from_mode(0o311)).unwrap();
    });
    assert_eq!(moved, ["closed/.envrc"]);
    let mode = fs::metadata(world.path("private")).unwrap().permissions().mode();
    fs::set_permissions(world.path("private"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(mode & 0o777, 0o311);
}

#[test]
fn settings_that_are_too_long_to_read_are_not_harmless() {
    let world = World::new();
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        world.write("new/.git/HEAD", "ref: refs/heads/main\n");
        let long = format!("[core]\n{}\tfsmonitor = evil\n", "# nothing\n".repeat(120_000));
        world.write("new/.git/config", &long);
    });
    assert_eq!(moved, ["new/.git/config"]);
}

#[test]
fn what_was_read_only_to_a_command_is_left_to_those_who_changed_it() {
    let world = World::new();
    world.write("sub/.envrc", "known");
    let guard = world.guard(SandboxLevel::Full);
    world.write(".git/config.lock", "[core]\n\teditor = vim\n");
    fs::rename(world.path(".git/config.lock"), world.path(".git/config")).unwrap();
    world.write(".git/hooks/pre-push", "the user's own");
    world.write(".vscode/settings.json", "the user's own");
    world.write("sub/.envrc", "the user's own");
    let outcome = guard.after(Some(world.aside.path()), None);
    assert_eq!(outcome.moved, []);
    assert!(
        matches!(&outcome.troubles[..], [one] if one.contains(".git/config` was replaced")),
        "{:?}",
        outcome.troubles
    );
    assert_eq!(world.read(".git/config"), "[core]\n\teditor = vim\n");
    assert_eq!(world.read("sub/.envrc"), "the user's own");
}

#[test]
fn a_folder_put_in_place_of_a_renamed_one_was_never_read_only() {
    let world = World::new();
    world.write("sub/.envrc", "known");
    let moved = world.moved_after(SandboxLevel::Full, |world| {
        fs::rename(world.path("sub"), world.path("other")).unwrap();
        world.write("sub/.envrc", "evil");
    });
    assert_eq!(moved, ["sub/.envrc"]);
}

#[test]
fn where_the_work_of_a_command_is_known_that_of_others_stays() {
    let world = World::new();
    world.write("fixture/config", "[core]\n\tfsmonitor = evil\n");
    let guard = world.guard(SandboxLevel::Full);
    for path in [".envrc", "a/.envrc", "fixture/HEAD", "fixture/objects/x"] {
        world.write(path, "");
    }
    world.write(".idea/x", "the user's own");
    let made = [".envrc", "fixture/HEAD", "fixture/objects", "fixture/objects/x"].map(PathBuf::from).into();
    let outcome = guard.after(Some(world.aside.path()), Some(&made));
    let moved: Vec<_> = outcome.moved.iter().map(|one| one.path.strip_prefix(world.folder.path()).unwrap()).collect();
    assert_eq!(moved, [Path::new(".envrc"), Path::new("fixture/config")]);
    assert!(world.path("a/.envrc").exists() && world.path(".idea/x").exists());
}
