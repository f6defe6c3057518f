//! Keeping the index as the files are.

use std::fs;
use std::time::SystemTime;

use updraft_knowledge::{Cancel, Error, IngestOptions, IngestReport, read_here};
use updraft_reader::ReadError;

use crate::world::{World, later, places, search};

fn counts(report: &IngestReport) -> (u64, u64, u64, u64) {
    (report.unchanged, report.written, report.same, report.removed)
}

#[test]
fn a_second_pass_reads_only_what_changed() {
    let world = World::with(&[("a.md", "alpha\n"), ("b.md", "beta\n"), ("c.md", "gamma\n")]);
    assert_eq!(counts(&world.ingest()), (0, 3, 0, 0));
    assert_eq!(counts(&world.ingest()), (3, 0, 0, 0));
    world.write("b.md", "delta and more\n");
    world.remove("c.md");
    assert_eq!(counts(&world.ingest()), (1, 1, 0, 1));
    let index = world.index();
    assert_eq!(places(&search(&index, "delta")), ["b.md line 1"]);
    for gone in ["beta", "gamma"] {
        assert_eq!(places(&search(&index, gone)), [""; 0], "{gone}");
    }
    assert_eq!(index.totals().unwrap().chunks, 2);
}

#[test]
fn a_file_that_changed_a_moment_ago_is_looked_at_again() {
    let world = World::with(&[("a.md", "alpha\n")]);
    let mut index = world.index();
    let time = fs::metadata(world.root().join("a.md")).unwrap().modified().unwrap();
    let root = world.root();
    let mut pass = |now: SystemTime| {
        let options = IngestOptions::new(&root, now);
        counts(&index.ingest(std::slice::from_ref(&root), &options, &mut |_| {}, &Cancel::default()).unwrap())
    };
    assert_eq!(pass(time), (0, 1, 0, 0));
    assert_eq!(pass(later()), (0, 0, 1, 0), "read again, and found to be the same");
    assert_eq!(pass(later()), (1, 0, 0, 0));
}

#[test]
fn ignored_files_and_made_ones_stay_out() {
    let files = [(".gitignore", "secret.md\n/out\n"), ("secret.md", "x"), ("out/a.md", "x"), ("kept.md", "x")];
    let world = World::with(&files);
    world.write("node_modules/a/index.js", "x");
    world.write("sub/.gitignore", "*.log\n");
    world.write("sub/a.log", "x");
    world.ingest();
    let paths: Vec<String> = world.index().documents().unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["kept.md"]);
    world.write(".gitignore", "kept.md\n");
    world.write("secret.md", "now to be seen\n");
    world.ingest();
    let paths: Vec<String> = world.index().documents().unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["out/a.md", "secret.md"]);
}

#[test]
fn a_pass_over_one_folder_leaves_the_others_alone() {
    let world = World::with(&[("a/x.md", "one\n"), ("b/y.md", "two\n")]);
    world.ingest();
    world.remove("a/x.md");
    world.remove("b/y.md");
    let root = world.root();
    let options = IngestOptions::new(&root, later());
    let report = world.index().ingest(&[root.join("a")], &options, &mut |_| {}, &Cancel::default()).unwrap();
    assert_eq!(report.removed, 1);
    assert_eq!(world.index().documents().unwrap()[0].path, "b/y.md");
}

#[test]
fn files_that_cannot_be_read_are_listed_with_the_reason() {
    let world = World::new();
    fs::write(world.root().join("blob.bin"), [0, 1, 2, 255, 254, 0, 0, 7].repeat(64)).unwrap();
    world.write("large.txt", &"word ".repeat(100));
    let root = world.root();
    let options = IngestOptions { largest: 499, ..IngestOptions::new(&root, later()) };
    fs::write(root.join("blob.bin"), [0, 1, 2, 255, 254, 0, 0, 7].repeat(32)).unwrap();
    let mut index = world.index();
    index.ingest(std::slice::from_ref(&root), &options, &mut |_| {}, &Cancel::default()).unwrap();
    let problems: Vec<_> =
        index.documents().unwrap().into_iter().map(|entry| (entry.path, entry.problem.unwrap())).collect();
    assert_eq!(problems[0].0, "blob.bin");
    assert!(problems[0].1.contains("not text"), "{problems:?}");
    assert_eq!(problems[1], ("large.txt".to_owned(), "larger than 499 bytes".to_owned()));
    let again = index.ingest(std::slice::from_ref(&root), &options, &mut |_| {}, &Cancel::default()).unwrap();
    assert_eq!(again.unchanged, 2, "they are not tried again");
}

#[test]
fn a_pass_that_is_stopped_keeps_what_it_wrote_and_the_next_goes_on() {
    let world = World::new();
    for at in 0..900 {
        world.write(&format!("{at:03}.md"), &format!("file number {at}\n"));
    }
    let root = world.root();
    let options = IngestOptions::new(&root, later());
    let cancel = Cancel::default();
    let mut progress = |state: &updraft_knowledge::IngestProgress| {
        if state.files == 500 {
            cancel.cancel();
        }
    };
    let stopped = world.index().ingest(std::slice::from_ref(&root), &options, &mut progress, &cancel);
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    let stored = world.index().totals().unwrap().documents as u64;
    assert!((500..900).contains(&stored), "all that was read: {stored}");
    assert_eq!(counts(&world.ingest()), (stored, 900 - stored, 0, 0));
    let over = cancel.at(std::time::Instant::now());
    let stopped = world.index().ingest(std::slice::from_ref(&root), &options, &mut |_| {}, &over);
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
}

#[test]
fn files_that_are_not_admitted_leave_the_index_and_others_are_loaded_as_the_caller_says() {
    let world = World::with(&[("a.md", "one\n"), ("b.md", "two\n")]);
    world.ingest();
    world.write("c.md", "three\n");
    let root = world.root();
    let behind_link = || Err(std::io::Error::other("it is behind a link"));
    let load = |path: &std::path::Path| if path.ends_with("c.md") { behind_link() } else { fs::read(path) };
    let options = IngestOptions { admit: &|name| name != "a.md", load: &load, ..IngestOptions::new(&root, later()) };
    let report = world.index().ingest(std::slice::from_ref(&root), &options, &mut |_| {}, &Cancel::default()).unwrap();
    assert_eq!((report.removed, report.failed), (1, vec![("c.md".to_owned(), "it is behind a link".to_owned())]));
    let paths: Vec<String> = world.index().documents().unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["b.md"]);
}

#[test]
fn what_could_not_be_read_is_tried_again_if_that_is_wanted() {
    let world = World::with(&[("a.md", "one\n"), ("b.md", "two\n")]);
    let root = world.root();
    let pass = |options: &IngestOptions<'_>| {
        world.index().ingest(std::slice::from_ref(&root), options, &mut |_| {}, &Cancel::default()).unwrap()
    };
    let stopped = |path: &std::path::Path, bytes: &[u8]| {
        if path.ends_with("b.md") {
            return read_here(path, bytes);
        }
        Err(ReadError::Stopped("the sandbox did not start".to_owned()))
    };
    pass(&IngestOptions { read: &stopped, ..IngestOptions::new(&root, later()) });
    let usual = IngestOptions::new(&root, later());
    assert_eq!(pass(&usual).unchanged, 2);
    assert_eq!(world.index().documents().unwrap()[0].problem.as_deref(), Some("the sandbox did not start"));
    assert_eq!(pass(&IngestOptions { tries_again: true, ..usual }).written, 1);
    assert_eq!(world.index().documents().unwrap()[0].problem, None);
}
