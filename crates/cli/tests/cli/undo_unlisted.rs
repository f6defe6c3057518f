//! Undo where a run changed more than is listed, or may have.

use serde_json::json;

use crate::undo::{can_stage, content, run};
use crate::world::World;

#[test]
fn changes_beyond_the_list_are_counted_and_undo_is_not_a_success() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    let command = "mkdir many; cd many; seq 20009 | xargs touch";
    run(&world, &[("run_command", json!({"command": command}))]).code(0);
    let listed = world.updraft(&["undo", "--list", "--json"]).code(0).value();
    assert_eq!(listed["unlisted"][0]["more"], json!({"changes": 10, "taken": 0}), "{}", listed["unlisted"]);
    let told = "10 more changes are not listed";
    assert!(world.updraft(&["audit", &world.last()]).code(0).out.contains(told));
    let undone = world.updraft(&["undo", "--yes"]).code(1).says(told);
    assert!(undone.err.contains("many: the folder is not empty"), "{}", undone.err);
    assert_eq!(std::fs::read_dir(world.ws().join("many")).unwrap().count(), 10);
}

#[test]
fn what_was_moved_is_not_removed_if_it_is_not_listed_where_it_was() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    let names: Vec<String> = (0..20).map(|n| format!("{n}-precious")).collect();
    for name in &names {
        world.file(name, name);
    }
    // In whichever order they are listed, some are listed after the many.
    let command = "mkdir many; (cd many; seq 20100 | xargs touch); for one in *-precious; do mv $one moved-$one; done";
    run(&world, &[("run_command", json!({"command": command}))]).code(0);
    world.updraft(&["undo", "--yes"]).code(1).says("it may be a moved file");
    for name in &names {
        let is_there = [name.clone(), format!("moved-{name}")].iter().any(|path| content(&world, path) == *name);
        assert!(is_there, "{name} is nowhere");
    }
}

#[test]
fn a_command_whose_end_nobody_saw_may_have_changed_something() {
    let world = World::new();
    let model =
        world.script("s.json", &json!([{"calls": [{"name": "run_command", "args": {"command": "sleep 600"}}]}]));
    let mut running = world.command(&["run", "--model", &model, "--agent", "coder", "work"]).spawn().unwrap();
    let told = "may have changed more: its end is not known";
    World::until("the command has begun", || world.updraft(&["undo", "--list"]).err.contains(told));
    running.kill().unwrap();
    running.wait().unwrap();
    let listed = world.updraft(&["undo", "--list"]).code(0).says(told);
    assert!(!listed.out.contains("changed no files"), "{}", listed.out);
    assert!(world.updraft(&["audit", &world.last()]).code(0).out.contains("its end is not known"));
}
