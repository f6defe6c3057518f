//! A pass that is killed loses nothing: after another one the index is as if nothing had happened.

#![allow(clippy::disallowed_methods, reason = "the other process is this binary again, told by a variable what to do")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use updraft_knowledge::{Cancel, Index, IngestOptions};

use crate::world::{World, contents, ingest, later, places, search};

const ROOT: &str = "UPDRAFT_KNOWLEDGE_TEST_ROOT";
const DATABASE: &str = "UPDRAFT_KNOWLEDGE_TEST_DATABASE";
/// Kills if `UPDRAFT_KILLS` does not say how many.
const KILLS: usize = 12;
const FILES: usize = 1_500;

/// Not a test: what the other process runs.
#[test]
#[ignore = "it is what the other process runs"]
fn the_other_process() {
    let (Ok(root), Ok(database)) = (std::env::var(ROOT), std::env::var(DATABASE)) else { return };
    let mut index = Index::open(Path::new(&database)).unwrap();
    let options = IngestOptions::new(Path::new(&root), later());
    let mut progress = |state: &updraft_knowledge::IngestProgress| println!("\nread {}", state.files);
    index.ingest(&[root.clone().into()], &options, &mut progress, &Cancel::default()).unwrap();
    println!("\ncomplete");
}

pub(crate) fn start(world: &World) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::the_other_process", "--nocapture", "--include-ignored"])
        .env(ROOT, world.root())
        .env(DATABASE, world.database())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn some_files(world: &World, count: usize) {
    for at in 0..count {
        let text =
            format!("# File {at}\n\nThe harbour number {at} has {} berths.\n\n## More\n\nword{}\n", at % 7, at % 13);
        world.write(&format!("{:02}/{at}.md", at % 20), &text);
    }
}

#[test]
fn kills_leave_the_same_index() {
    let kills = std::env::var("UPDRAFT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let world = World::new();
    some_files(&world, FILES);
    let undisturbed = World::new();
    let mut expected = Index::open(&undisturbed.database()).unwrap();
    ingest(&mut expected, &world.root());
    let mut cut_off = 0;
    for at in 0..kills {
        // Each has work to do, and is killed at whatever it is doing when it has said that it read so many files.
        for file in 0..FILES / 3 {
            world.write(&format!("{:02}/{file}.md", file % 20), &format!("round {at} file {file}\n"));
        }
        let mut child = start(&world);
        let wanted = at * 37 % 480;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut lines = lines.filter(|line| line.starts_with("read ") || line == "complete");
        let last = if wanted == 0 { None } else { lines.nth(wanted - 1) };
        child.kill().unwrap();
        child.wait().unwrap();
        let last = lines.last().or(last);
        cut_off += usize::from(last.as_deref() != Some("complete"));
    }
    assert!(cut_off > kills / 2, "{cut_off} of {kills} were cut off");
    ingest(&mut expected, &world.root());
    let mut index = world.index();
    ingest(&mut index, &world.root());
    assert_eq!(contents(&index), contents(&expected));
    assert_eq!(index.totals().unwrap(), expected.totals().unwrap());
    // Among equals the order in which they came decides; of these there is one each.
    for question in ["1200", "harbour 777", "1499 berths"] {
        assert_eq!(best(&index, question), best(&expected, question), "{question}");
    }
    index.check().unwrap();
}

fn best(index: &Index, question: &str) -> Option<String> {
    places(&search(index, question)).into_iter().next()
}
