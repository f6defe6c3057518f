//! Undo of what is too large to keep, and of folders and links that took each other's places.

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
fn what_is_too_large_to_keep_is_named_and_stays_where_it_was_moved_to() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "data.bin", 70, "data");
    large(&world, "a.bin", 80, "is a");
    large(&world, "b.bin", 90, "is b");
    let swap = "mv a.bin c && mv b.bin a.bin && mv c b.bin";
    commands(&world, &["cp data.bin copy.bin; mv data.bin moved.bin; echo more >> a.txt; echo made > made.txt", swap]);

    let undone = world.updraft(&["undo", "--yes"]).code(1).says("data.bin: what was there before was not kept");
    assert!(undone.err.contains("moved.bin: it may be a moved file"), "{}", undone.err);
    assert!(undone.err.contains("copy.bin: it may be a moved file"), "{}", undone.err);
    let word = |name: &str| end(&world, name).unwrap().1;
    assert_eq!(["moved.bin", "copy.bin", "a.bin", "b.bin"].map(word), ["data", "data", "is b", "is a"]);
    assert_eq!(content(&world, "a.txt"), "hello\n", "what was kept comes back");
    assert!(!world.ws().join("made.txt").exists(), "what cannot be the lost file goes");

    world.updraft(&["undo", "--yes", "--force"]).code(1);
    assert_eq!(end(&world, "moved.bin"), None);
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(end(&world, "moved.bin").unwrap().1, "data", "what undo removes can be brought back");
}

#[test]
fn what_may_hold_a_file_that_was_not_kept_is_named_and_stays() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "big.log", 70, "data");
    large(&world, "big.csv", 80, "data");
    commands(
        &world,
        &["gzip big.log; echo made > made.txt", "mkdir data; mv big.csv data/", "echo more >> data/big.csv"],
    );
    let undone = world.updraft(&["undo", "--yes"]).code(1).says("big.log.gz: it may be a moved file");
    assert!(undone.err.contains("data/big.csv: it may be a moved file"), "{}", undone.err);
    assert!(world.ws().join("big.log.gz").exists() && end(&world, "data/big.csv").is_some());
    assert!(!world.ws().join("made.txt").exists(), "what is too small to hold it goes");
    world.updraft(&["undo", "--yes", "--force"]).code(1);
    assert!(!world.ws().join("big.log.gz").exists());
}

#[test]
fn a_repository_that_holds_what_may_be_a_moved_file_stays_as_a_whole() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    large(&world, "data.bin", 70, "data");
    world.file(".git/notes", "before\n");
    commands(&world, &["mv data.bin .git/data.bin; echo after > .git/notes"]);
    let undone = world.updraft(&["undo", "--yes"]).code(1).says(".git/data.bin: it may be a moved file");
    assert!(undone.err.contains(".git/notes: `.git/data.bin` in the same repository"), "{}", undone.err);
    assert_eq!(content(&world, ".git/notes"), "after\n");
}

#[test]
fn what_an_undo_of_an_earlier_version_moved_is_named_by_redo_and_stays() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    commands(&world, &["mkdir data; mv a.txt data/; echo made > made.txt"]);
    world.updraft(&["undo", "--yes"]).code(0);
    let record = world.home().join("undone").join(world.last()).join("1.json");
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    let moves = stored["moves"].as_array_mut().unwrap();
    moves.iter_mut().find(|one| one["path"] == "a.txt").unwrap()["taken_from"] = json!("data/a.txt");
    std::fs::write(&record, stored.to_string()).unwrap();

    let redone =
        world.updraft(&["undo", "--redo", "--yes"]).code(1).says("a.txt: an undo by an earlier version moved it");
    assert!(redone.err.contains("data/a.txt: an undo by an earlier version moved it"), "{}", redone.err);
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert!(world.ws().join("made.txt").exists() && !world.ws().join("data/a.txt").exists());
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
    world.file("old/deep/big", "data");
    world.file("old/f", "precious\n");
    let before = tree(&world);
    // Twice, because what came back must be known again.
    commands(&world, &["mv old new; ln -s new old"]);
    let after = tree(&world);
    for _ in 0..2 {
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(tree(&world), before);
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
