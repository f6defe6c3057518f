//! Several passes over the same files at once.

use std::sync::Barrier;

use crate::kills::{some_files, start};
use crate::world::{World, contents, ingest, places, search};

#[test]
fn two_processes_write_every_file_once() {
    let world = World::new();
    some_files(&world, 600);
    let children = [start(&world), start(&world)];
    for mut child in children {
        let output = child.stdout.take();
        std::io::copy(&mut output.unwrap(), &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success());
    }
    let alone = World::new();
    let mut expected = alone.index();
    ingest(&mut expected, &world.root());
    assert_eq!(contents(&world.index()), contents(&expected));
    assert_eq!(world.index().totals().unwrap(), expected.totals().unwrap());
    world.index().check().unwrap();
}

#[test]
fn searching_goes_on_while_others_write() {
    let world = World::with(&[("first.md", "lighthouse\n")]);
    world.ingest();
    some_files(&world, 300);
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            world.ingest();
        });
        let index = world.index();
        barrier.wait();
        for _ in 0..50 {
            assert_eq!(places(&search(&index, "lighthouse")), ["first.md line 1"]);
        }
    });
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    let world = World::new();
    std::fs::write(world.database(), "not a database, but long enough to look at ".repeat(40)).unwrap();
    let before = std::fs::read(world.database()).unwrap();
    let error = updraft_knowledge::Index::open(&world.database()).err().unwrap();
    assert!(error.to_string().contains("is not an index"), "{error}");
    assert_eq!(std::fs::read(world.database()).unwrap(), before);
}
