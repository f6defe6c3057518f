//! The guard against files that are put where it might not look.

use super::*;

#[test]
fn a_folder_that_is_made_a_repository_is_guarded_as_before() {
    for level in [Level::Full, Level::Landlock] {
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
        let moved = world.moved_after(Level::Landlock, |world| world.write(".mcp.json", "evil"));
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
        let guard = Guard::before(&folder, Level::Full).unwrap();
        fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        fs::write(folder.join(file), "evil").unwrap();
        guard.after(Some(aside.path()), None);
        assert!(!folder.join(file).exists(), "{name}/{file}");
    }
}

#[test]
fn nothing_hides_among_objects() {
    let world = World::new();
    let moved = world.moved_after(Level::Full, |world| {
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
