//! Tests the guard with very large numbers of files.

use super::*;

#[test]
fn a_crowd_in_a_new_folder_shields_nothing() {
    let world = World::new();
    world.write(".claude/settings.json", "known");
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        fs::create_dir_all(world.path("A/.zed/deep")).unwrap();
        for number in 0..20_500 {
            fs::write(world.path(&format!("A/.zed/deep/{number}")), "").unwrap();
        }
        fs::create_dir_all(world.path(".claude/crowd")).unwrap();
        for number in 0..500 {
            fs::write(world.path(&format!(".claude/crowd/{number}")), "").unwrap();
        }
        world.write(".claude/settings.json", "evil");
        world.write(".vscode/tasks.json", "evil");
    });
    assert_eq!(moved, [".claude/crowd", ".claude/settings.json*", ".vscode/tasks.json*", "A/.zed"]);
}

#[test]
fn a_crowd_beside_known_files_is_moved_but_not_told_one_by_one() {
    let world = World::new();
    let guard = world.guard(SandboxLevel::Landlock);
    for number in 0..1_500 {
        world.write(&format!(".vscode/{number}.json"), "evil");
    }
    world.write(".vscode/tasks.json", "evil");
    let outcome = guard.after(Some(world.aside.path()), None);
    assert_eq!(outcome.moved.len(), 1_000);
    assert!(matches!(&outcome.troubles[..], [one] if one.starts_with("501 more files")), "{:?}", outcome.troubles);
    let left: Vec<_> = fs::read_dir(world.path(".vscode")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["tasks.json"]);
    assert_eq!(world.read(".vscode/tasks.json"), "{}");
}

#[test]
fn a_crowd_of_the_users_stays_and_is_looked_after() {
    let world = World::new();
    for folder in 0..21 {
        fs::create_dir_all(world.path(&format!(".claude/trees/{folder}"))).unwrap();
        for number in 0..1_000 {
            fs::write(world.path(&format!(".claude/trees/{folder}/{number}")), "known").unwrap();
        }
    }
    let sockets: Vec<_> = (0..21).map(|folder| world.path(&format!(".claude/trees/{folder}/socket"))).collect();
    let _bound: Vec<_> = sockets.iter().map(|path| std::os::unix::net::UnixListener::bind(path).unwrap()).collect();
    let found: BTreeSet<_> = world.guard(SandboxLevel::Landlock).sockets().collect();
    assert_eq!(found, sockets.into_iter().collect(), "whatever number they come after");
    world.wait_until_settled();
    let moved = world.moved_after(SandboxLevel::Landlock, |world| {
        for folder in 0..21 {
            world.write(&format!(".claude/trees/{folder}/7"), "evil");
        }
        world.write(".claude/trees/3/new/x", "evil");
        world.write(".vscode/tasks.json", "evil");
    });
    let plain: BTreeSet<&str> = moved.iter().map(|path| path.trim_end_matches('*')).collect();
    let mut wanted: BTreeSet<String> = (0..21).map(|folder| format!(".claude/trees/{folder}/7")).collect();
    wanted.extend([".claude/trees/3/new", ".vscode/tasks.json"].map(str::to_owned));
    assert_eq!(plain, wanted.iter().map(String::as_str).collect());
}
