//! Undo of what is too large to keep: moved back where it can be found, and never taken away where it cannot.

use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::undo::{can_stage, content, run, tree};
use crate::world::World;

/// A sparse file that ends with a word.
fn large(world: &World, name: &str, megabytes: u64, word: &str) {
    let path = world.file(name, "");
    let mut file = std::fs::File::create(path).unwrap();
    file.seek(SeekFrom::Start(megabytes << 20)).unwrap();
    file.write_all(word.as_bytes()).unwrap();
}

/// The length of a file and its last word, or nothing.
fn end(world: &World, name: &str) -> Option<(u64, String)> {
    let mut file = std::fs::File::open(world.ws().join(name)).ok()?;
    let len = file.metadata().unwrap().len();
    file.seek(SeekFrom::End(-4)).unwrap();
    let mut word = String::new();
    std::io::Read::read_to_string(&mut file, &mut word).unwrap();
    Some((len, word))
}

fn commands(world: &World, commands: &[&str]) {
    let calls: Vec<(&str, Value)> = commands.iter().map(|line| ("run_command", json!({ "command": line }))).collect();
    run(world, &calls).code(0);
}

#[test]
fn what_is_too_large_to_keep_and_was_moved_is_moved_back() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "data.bin", 300, "data");
    for name in ["one", "two", "three"] {
        large(&world, &format!("folder/{name}"), 30, "part");
    }
    let data = Some(((300 << 20) + 4, "data".to_owned()));
    let part = Some(((30 << 20) + 4, "part".to_owned()));
    commands(&world, &["mv data.bin moved.bin", "mkdir deep && mv folder deep/other", "mv moved.bin deep/again.bin"]);
    assert_eq!((end(&world, "data.bin"), end(&world, "deep/again.bin")), (None, data.clone()));

    let planned = world.updraft(&["undo", "--dry-run"]).code(0).out;
    assert!(planned.contains("move back data.bin from deep/again.bin"), "{planned}");
    assert!(!planned.contains("remove   deep/again.bin"), "{planned}");
    for _ in 0..2 {
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(end(&world, "data.bin"), data);
        for name in ["one", "two", "three"] {
            assert_eq!(end(&world, &format!("folder/{name}")), part, "{name}");
        }
        assert!(!world.ws().join("deep").exists() && !world.ws().join("moved.bin").exists());

        world.updraft(&["undo", "--redo", "--yes"]).code(0);
        assert_eq!((end(&world, "data.bin"), end(&world, "deep/again.bin")), (None, data.clone()));
        assert_eq!(end(&world, "deep/other/two"), part);
    }
}

#[test]
fn two_large_files_that_changed_places_are_both_as_they_were() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "a.bin", 70, "is a");
    large(&world, "b.bin", 80, "is b");
    let both = |world: &World| [end(world, "a.bin").unwrap().1, end(world, "b.bin").unwrap().1];
    commands(&world, &["mv a.bin c && mv b.bin a.bin && mv c b.bin"]);
    assert_eq!(both(&world), ["is b", "is a"]);
    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(both(&world), ["is a", "is b"]);
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(both(&world), ["is b", "is a"]);
}

#[test]
fn what_may_be_left_of_something_lost_stays() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "data.bin", 70, "data");
    let calls = [
        ("write_file", json!({"path": "notes.txt", "content": "mine\n"})),
        ("run_command", json!({"command": "mkdir kept; tail -c 4 data.bin > kept/data.end; echo more >> a.txt"})),
        ("run_command", json!({"command": "rm data.bin"})),
    ];
    run(&world, &calls).code(0);
    world.updraft(&["undo", "--yes"]).code(1).says("data.bin: what was there before was not kept");
    assert_eq!(content(&world, "kept/data.end"), "data");
    assert_eq!(content(&world, "a.txt"), "hello\n", "what is known comes back");
    assert!(!world.ws().join("notes.txt").exists(), "what the model wrote itself goes");
    world.updraft(&["undo", "--yes"]).code(1).says("may be what is left of it");
    world.updraft(&["undo", "--yes", "--force"]).code(1);
    assert!(!world.ws().join("kept").exists());
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(content(&world, "kept/data.end"), "data");
}

#[test]
fn what_could_not_be_brought_back_is_not_removed_even_by_force() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    commands(&world, &["truncate -s 300M new.bin; echo small > small.txt"]);
    for force in [&["undo", "--yes"][..], &["undo", "--yes", "--force"]] {
        world.updraft(force).code(1).says("too large to keep");
        assert_eq!(world.ws().join("new.bin").metadata().unwrap().size(), 300 << 20);
    }
    assert!(!world.ws().join("small.txt").exists());
}

#[test]
fn a_name_that_is_not_text_is_said_to_be_one() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    commands(&world, &["printf x > \"$(printf 'odd-\\377')\""]);
    let said = world.updraft(&["undo", "--yes"]).code(1).says("its name is not UTF-8");
    assert!(!said.err.contains("--force"), "{}", said.err);
}

#[test]
fn a_folder_that_was_moved_and_left_a_link_comes_back_with_all_that_was_in_it() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "old/deep/big", 70, "data");
    world.file("old/f", "precious\n");
    let before = tree(&world);
    // Twice, because what came back must be known again.
    commands(&world, &["mv old new; ln -s new old"]);
    let after = tree(&world);
    for _ in 0..2 {
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(tree(&world), before);
        assert_eq!(end(&world, "old/deep/big").unwrap().1, "data");
        world.updraft(&["undo", "--redo", "--yes"]).code(0);
        assert_eq!(tree(&world), after);
    }
    world.updraft(&["undo", "--yes"]).code(0);
    // A file may stand in its place as well.
    commands(&world, &["mv old new; echo x > old"]);
    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(tree(&world), before);
}

#[test]
fn a_link_that_became_a_folder_is_one_again_and_the_folder_comes_back_with_redo() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.file("there/f", "theirs\n");
    std::os::unix::fs::symlink("there", world.ws().join("way")).unwrap();
    let before = tree(&world);
    commands(&world, &["rm way; mkdir -p way/in; echo made > way/in/f"]);
    let after = tree(&world);
    for _ in 0..2 {
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(tree(&world), before);
        world.updraft(&["undo", "--redo", "--yes"]).code(0);
        assert_eq!(tree(&world), after);
    }
}

#[test]
fn what_cannot_be_put_back_is_not_removed_where_it_was_moved_to() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.file("old/f", "precious\n");
    world.file("elsewhere/g", "g\n");
    commands(&world, &["mv old new; ln -s new old"]);
    // Somebody leads the link elsewhere.
    std::fs::remove_file(world.ws().join("old")).unwrap();
    std::os::unix::fs::symlink("elsewhere", world.ws().join("old")).unwrap();
    world.updraft(&["undo", "--yes"]).code(1).says("goes through a link").says("may be what is left of it");
    assert_eq!(content(&world, "new/f"), "precious\n");
}

#[test]
fn what_somebody_replaced_is_not_removed_where_it_was_moved_to() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.file("one", "mine too\n");
    commands(&world, &["mv one two; echo made > three"]);
    world.file("one", "another\n");
    world.updraft(&["undo", "--yes"]).code(1).says("two: `one` is not brought back");
    assert_eq!((content(&world, "one"), content(&world, "two")), ("another\n".into(), "mine too\n".into()));
    assert!(!world.ws().join("three").exists(), "what holds something else goes");
}
