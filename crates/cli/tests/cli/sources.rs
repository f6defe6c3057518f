//! Citations through the binary: checked, sent back once, marked, listed with `show --sources`, and replayed.
#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use serde_json::{Value, json};

use crate::world::World;

const TRUE: &str = "Brest is last [1].\n\n[1]: docs/tides.md:3 \"Brest comes last\"";
const MIXED: &str = "Brest is last [1], and Lorient first [2].\n\n[1]: docs/tides.md:3-4 \"Brest comes   last.\"\n\
                     [2]: docs/tides.md:3 \"Lorient comes first\"";

fn world(answers: &[&str]) -> (World, String) {
    let world = World::new();
    world.file("docs/tides.md", "# Tides\n\nBrest comes\nlast.\n");
    let mut script = vec![json!({ "calls": [{ "name": "read_file", "args": { "path": "docs/tides.md" } }] })];
    script.extend(answers.iter().map(|answer| json!({ "text": answer })));
    let model = world.script("s.json", &Value::Array(script));
    (world, model)
}

#[test]
fn a_false_citation_is_sent_back_once_then_marked_and_listed() {
    let (world, model) = world(&[MIXED, MIXED]);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "retriever", "--quiet", "which port is last?"]);
    insta::assert_snapshot!(ran.out, @r#"
    Brest is last [1], and Lorient first [2: not found in the source].

    [1]: docs/tides.md:3-4 "Brest comes   last."
    [2: not found in the source]: docs/tides.md:3 "Lorient comes first"
    "#);
    let told = world.updraft(&["events"]).out;
    assert_eq!(told.matches("citations do not hold").count(), 1, "{told}");
    insta::assert_snapshot!(world.updraft(&["show", "--sources"]).out, @r#"
    [1] docs/tides.md:3-4  holds
        "Brest comes   last."
    [2] docs/tides.md:3  not found in the source
        "Lorient comes first"
    "#);
    assert_eq!(world.updraft(&["replay"]).code, 0);
}

#[test]
fn a_source_that_changes_afterwards_is_named() {
    let (world, model) = world(&[TRUE]);
    world.updraft(&["run", "--model", &model, "--agent", "retriever", "--quiet", "which port is last?"]);
    let sources = || -> Value { serde_json::from_str(&world.updraft(&["show", "--sources", "--json"]).out).unwrap() };
    let one = &sources()["sources"][0];
    assert_eq!((&one["holds"], &one["changed_since"], &one["status"]), (&json!(true), &json!(false), &json!("holds")));
    world.file("docs/tides.md", "# Tides\n\nA new line.\n\nBrest comes last.\n");
    assert_eq!(sources()["sources"][0]["status"], "holds", "the words are still there");
    world.file("docs/tides.md", "# Tides\n\nBrest comes first.\n");
    assert_eq!(sources()["sources"][0]["status"], "held; the source has changed since");
    std::fs::remove_file(world.ws().join("docs/tides.md")).unwrap();
    assert_eq!(sources()["sources"][0]["status"], "held; the source is gone");
    assert_eq!(world.updraft(&["replay"]).code, 0, "a replay needs no file");
}

#[test]
fn killed_between_the_fault_and_the_answer_it_is_sent_back_only_once() {
    let (world, model) = world(&[MIXED, MIXED]);
    let read = json!({ "calls": [{ "name": "read_file", "args": { "path": "docs/tides.md" } }] });
    let slow = json!([read, { "text": MIXED }, { "text": MIXED, "delay_ms": 60_000 }]);
    let path = model.trim_start_matches("scripted/").to_owned();
    let quick = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, slow.to_string()).unwrap();
    let run = world.begin(&["run", "--model", &model, "--agent", "retriever", "which port is last?"]);
    World::until("the fault is on record", || world.updraft(&["events"]).out.contains("citations do not hold"));
    run.signal("KILL");
    run.wait();
    std::fs::write(&path, quick).unwrap();
    let resumed = world.updraft(&["resume", "--quiet"]);
    assert!(
        resumed.out.contains("Brest is last [1], and Lorient first [2: not found in the source]."),
        "{}",
        resumed.out
    );
    let told = world.updraft(&["events"]).out;
    assert_eq!(told.matches("citations do not hold").count(), 1, "{told}");
    assert_eq!(world.updraft(&["replay"]).code, 0);
}
