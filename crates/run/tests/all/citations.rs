//! Citations in answers: checked against what tools returned, sent back once, then marked.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, calls, given, gives_value, id, says};
use serde_json::json;
use updraft_run::{CitationFinding, ReflectionMode, Reply, Run, RunStart};

const TRUE: &str = "High water is late [1].\n\n[1]: docs/tides.md:3 \"Brest comes last\"";
const FALSE: &str = "High water is early [1].\n\n[1]: docs/tides.md:3 \"Brest comes first\"";

/// What reading the file gives.
fn tides() -> Reply {
    gives_value("# Tides\n\nBrest comes\nlast.\n", json!({ "path": "docs/tides.md", "start_line": 1 }))
}

fn world(answers: &[&str]) -> World {
    of(given(&["a"]), answers)
}

fn of(start: RunStart, answers: &[&str]) -> World {
    let mut said = vec![calls(&["read docs/tides.md"])];
    said.extend(answers.iter().map(|answer| says(answer)));
    let mut world = World::of(start).gives("read", tides());
    world.says.insert("a".into(), said);
    world.go()
}

#[test]
fn a_citation_that_holds_changes_nothing() {
    let world = world(&[TRUE]);
    assert_eq!((world.status("a"), world.answer().as_str()), ("completed", TRUE));
    assert!(world.transcript().contains("a cites [1] \"holds\""), "{}", world.transcript());
    let cited = &world.run.step(&id("a")).unwrap().citations;
    assert_eq!((cited.len(), cited[0].source.as_str()), (1, "docs/tides.md"));
}

#[test]
fn a_false_citation_is_sent_back_once() {
    let world = world(&[FALSE, TRUE]);
    assert_eq!(world.answer(), TRUE);
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says read({"q":"docs/tides.md"})
    wants a/0/0/call.0
    a/0/0/call.0 gives # Tides

    Brest comes
    last.

    wants a/0/1/ask.0
    a/0/1/ask.0 says "High water is early [1].\n\n[1]: docs/tides.md:3 \"Brest comes first\""
    tells a: {"false_citations":{"faults":["[1] docs/tides.md:3 \"Brest comes first\": these words are not in what was read of it"]}}
    wants a/0/2/ask.0
    a/0/2/ask.0 says "High water is late [1].\n\n[1]: docs/tides.md:3 \"Brest comes last\""
    a cites [1] "holds"
    a done
    finished: High water is late [1].

    [1]: docs/tides.md:3 "Brest comes last"
    "#);
}

#[test]
fn a_citation_that_is_false_again_is_marked() {
    let world = world(&[FALSE, FALSE]);
    let mark = "not found in the source";
    let marked = format!("High water is early [1: {mark}].\n\n[1: {mark}]: docs/tides.md:3 \"Brest comes first\"");
    assert_eq!((world.status("a"), world.answer()), ("completed", marked));
    assert!(world.transcript().contains("a cites [1] \"not_found\""), "{}", world.transcript());
}

#[test]
fn a_source_that_was_not_read_and_a_wrong_place_are_named() {
    let world = world(&[
        "[1] [2]\n\n[1]: docs/other.md \"Brest comes last\"\n[2]: docs/tides.md:90 \"Brest comes last\"",
        TRUE,
    ]);
    let transcript = world.transcript();
    for said in ["no tool has read this source", "at another place: lines 3-4"] {
        assert!(transcript.contains(said), "{transcript}");
    }
}

#[test]
fn a_step_may_cite_what_an_earlier_step_read() {
    let mut world = World::of(given(&["a", "b < a"])).gives("read", tides());
    world.says.insert("a".into(), vec![calls(&["read docs/tides.md"]), says("read it")]);
    world.says.insert("b".into(), vec![says(TRUE)]);
    let world = world.go();
    assert_eq!(world.run.step(&id("b")).unwrap().citations[0].finding, CitationFinding::Holds);
}

#[test]
fn an_answer_without_a_turn_left_is_marked_instead_of_lost() {
    let mut start = given(&["a"]);
    for agent in &mut Arc::make_mut(&mut start.roster).agents {
        agent.turns = Some(2);
    }
    let world = of(start, &[FALSE]);
    assert_eq!(world.status("a"), "completed");
    assert!(world.answer().contains("[1: not found in the source]"), "{}", world.answer());
}

#[test]
fn citations_in_variables_are_checked_too() {
    let mut start = given(&["a"]);
    Arc::make_mut(start.plan.as_mut().unwrap()).steps[0].writes = vec!["x".into(), "y".into()];
    let object = json!({ "x": FALSE, "y": "plain" }).to_string();
    let world = of(start, &[&object, &object]);
    let value = &world.run.variables()["x"].value;
    assert!(value.as_str().unwrap().starts_with("High water is early [1: not found in the source]."), "{value}");
}

#[test]
fn a_judge_reads_the_answer_after_its_citations_were_corrected() {
    let mut start = given(&["a"]);
    for agent in &mut Arc::make_mut(&mut start.roster).agents {
        agent.reflect = ReflectionMode::Model;
    }
    let world = of(start, &[FALSE, TRUE, "{\"verdict\": \"accept\"}"]);
    assert_eq!((world.status("a"), world.answer().as_str()), ("completed", TRUE));
}

#[test]
fn an_answer_in_a_run_that_has_read_nothing_is_left_alone() {
    let world = World::of(given(&["a"])).says("a", [says(FALSE)]).go();
    assert_eq!((world.status("a"), world.answer().as_str()), ("completed", FALSE));
}

#[test]
fn folding_the_records_gives_the_same_run_and_the_same_citations() {
    let world = world(&[FALSE, FALSE]);
    let folded = Run::fold(world.records.clone());
    assert_eq!(folded, world.run);
    let json: Vec<_> = world.records.iter().map(|record| record.to_json().unwrap()).collect();
    let read =
        world.records.iter().zip(&json).map(|(record, json)| updraft_run::Record::from_json(record.at, json).unwrap());
    assert_eq!(Run::fold(read), world.run);
}

#[test]
fn taken_up_after_any_record_the_run_decides_the_same() {
    let world = world(&[FALSE, FALSE]);
    for kept in 0..world.records.len() {
        let mut run = Run::fold(world.records[..kept].iter().cloned());
        for record in &world.records[kept..] {
            assert_eq!(run.advance(record.input.clone(), record.at), *record, "after {kept} records");
        }
    }
}
