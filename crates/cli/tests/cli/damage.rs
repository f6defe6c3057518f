//! Journals that were damaged, deleted or have no room: what people are told, and what still works.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::world::World;

/// Writes other words of the same length over all that are in a file.
fn exchange(file: &Path, words: &str, others: &str) {
    assert_eq!(words.len(), others.len());
    let mut bytes = std::fs::read(file).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(words.as_bytes())).collect();
    assert!(!places.is_empty(), "`{words}` is not in the journal");
    for place in places {
        bytes[place..place + words.len()].copy_from_slice(others.as_bytes());
    }
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn changed_records_are_named_and_nothing_goes_on_from_them_unless_told_to() {
    let world = World::new();
    let answers = |name: &str, text: &str| world.script(name, &json!({ "rules": [], "default": { "text": text } }));
    let model = answers("other.json", "nothing to do with it");
    world.updraft(&["run", "another goal", "--agent", "thinker", "--model", &model]).code(0);
    let other = world.last();
    let model = answers("script.json", "it is forty-two");
    world.updraft(&["run", "how many?", "--agent", "thinker", "--model", &model]).code(0);
    let id = world.last();
    exchange(&world.home().join("journal.db"), "forty-two", "forty-six");

    let damaged = format!("the journal is damaged: run `{id}`, event ");
    for command in [&["show", id.as_str()][..], &["resume", id.as_str()], &["replay", id.as_str(), "--strict"]] {
        let ran = world.updraft(command).code(1).says(&damaged);
        assert!(ran.err.contains(&format!("`updraft resume {id} --from-damaged` continues")), "{}", ran.err);
    }
    assert_eq!(world.runs().len(), 2);
    assert!(world.updraft(&["show", &other]).code(0).out.contains("nothing to do with it"));

    let ran = world.updraft(&["resume", &id, "--from-damaged"]).code(0);
    assert!(
        ran.err.contains(&format!("of run {id} were damaged and are discarded; what was done there may be done again")),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("forty-two"), "{}", ran.out);
    world.updraft(&["replay", &id, "--strict"]).code(0);
}

#[test]
fn a_journal_that_is_gone_is_not_taken_for_a_new_one() {
    let world = World::new();
    let model = world.script("script.json", &json!({ "rules": [], "default": { "text": "done" } }));
    world.updraft(&["run", "a goal", "--agent", "thinker", "--model", &model]).code(0);
    std::fs::remove_file(world.home().join("journal.db")).unwrap();
    for command in [&["runs"][..], &["resume"], &["run", "a goal", "--agent", "thinker", "--model", &model]] {
        world.updraft(command).code(1).says("it is empty or missing, although it had 1 runs");
    }
}

#[test]
fn a_run_that_is_lost_can_be_removed() {
    let world = World::new();
    let model = world.script("script.json", &json!({ "rules": [], "default": { "text": "done" } }));
    let run = || world.updraft(&["run", "a goal", "--agent", "thinker", "--model", &model]).code(0);
    run();
    let before = std::fs::read(world.home().join("journal.db")).unwrap();
    run();
    let lost = world.last();
    std::fs::write(world.home().join("journal.db"), before).unwrap();
    world.updraft(&["show", &lost]).code(1).says(&format!("updraft rm {lost}"));
    world.updraft(&["rm", &lost]).code(0);
    assert_eq!(world.runs().len(), 1);
    world.updraft(&["resume", "--all"]).code(0);
}

#[test]
fn a_run_stops_when_its_journal_is_deleted_under_it() {
    let world = World::new();
    let slow = json!({ "rules": [], "default": { "delay_ms": 120_000, "text": "too late" } });
    let model = world.script("script.json", &slow);
    let running = world.begin(&["run", "a goal", "--agent", "thinker", "--model", &model]);
    world.until_status("running");
    std::fs::remove_file(world.home().join("journal.db")).unwrap();
    running.wait().code(1).says("journal.db` was deleted while it was in use; nothing more is written");
}

#[test]
fn on_a_full_disk_runs_can_be_listed_shown_and_removed() {
    let world = World::new();
    let home = world.home();
    std::fs::create_dir_all(&home).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=32m", "tmpfs"]).arg(&home).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: only root can make a small disk");
        return;
    }
    let _mounted = Unmount(home.clone());
    let model = world.script("script.json", &json!({ "rules": [], "default": { "text": "done" } }));
    for _ in 0..3 {
        world.updraft(&["run", "a goal", "--agent", "thinker", "--model", &model]).code(0);
    }
    let mut filler = std::fs::File::create(home.join("filler")).unwrap();
    while std::io::Write::write(&mut filler, &[1; 4096]).is_ok_and(|written| written > 0) {}

    assert_eq!(world.updraft(&["runs", "--json"]).code(0).json().len(), 3);
    let id = world.last();
    assert!(world.updraft(&["show", &id]).code(0).out.contains("done"));
    world.updraft(&["rm", &id]).code(0);
    world.updraft(&["prune", "--older-than", "0s"]).code(0).says("removed 2 runs");
    assert!(world.runs().is_empty());
}

/// A disk that goes away with the test.
struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
