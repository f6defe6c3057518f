//! Journals as they were written once. They must fold for ever: a test here may gain lines, and never lose one.
//!
//! A new journal is written by `record_the_journals`, run by hand; those that are there stay as they are.

#![allow(clippy::unwrap_used, reason = "a journal that cannot be read shall stop the test")]

use std::path::PathBuf;

use crate::support::{World, calls, gives, model_fails, opaque, plan, says, start, transcript};
use serde_json::{Value, json};
use updraft_run::{Input, Record, Run, RunMode, Timestamp};

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/journals").join(name)
}

fn read(text: &str) -> Vec<Record> {
    let record = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let at = Timestamp(line["at"].as_i64().unwrap());
        Record::from_json(at, &serde_json::to_vec(&line["record"]).unwrap()).unwrap()
    };
    text.lines().map(record).collect()
}

fn write(records: &[Record]) -> String {
    let line = |record: &Record| {
        let json: Value = serde_json::from_slice(&record.to_json().unwrap()).unwrap();
        json!({ "at": record.at, "record": json }).to_string() + "\n"
    };
    records.iter().map(line).collect()
}

/// A run as text.
fn shown(run: &Run) -> String {
    let mut lines = vec![format!("{}: {} ({} events)", run.status(), run.answer(), run.events())];
    for step in run.steps() {
        let output = step.output.as_deref().unwrap_or("-");
        let ledger = &step.ledger;
        let spent = format!("{} turns, {} calls, {} tokens", ledger.turns, ledger.calls, ledger.usage.tokens());
        lines.push(format!("{} {} {}: {output} [{spent}]", step.spec.id, step.spec.agent, step.status()));
    }
    for (name, variable) in run.variables() {
        lines.push(format!("{name} = {}", variable.value));
    }
    lines.extend(run.open().iter().map(|(id, open)| format!("open {id}, attempt {}", open.attempt)));
    lines.join("\n")
}

/// A plan, parallel steps, a failure with a new plan, a question, an approval and a crash.
fn a_whole_run() -> World {
    let mut world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b", "c < a b"]), plan(&["d < a", "e:coder < d"])])
        .says("a", [calls(&["read x", "run_python 1"]), says("A")])
        .says("b", [model_fails("the model is gone")])
        .says("d", [calls(&["ask_user which?"]), says("D")])
        .says("e", [calls(&["send mail"]), says("E")])
        .gives("read", gives("text"))
        .gives("run_python", gives("1"))
        .gives("send", gives("sent"))
        .prepares("run_python", opaque())
        .prepares("send", crate::support::outside())
        .go();
    world.feed(Input::Tell { message: "be quick".into() });
    world.feed(Input::Answer { id: None, text: "blue".into() });
    world.work();
    world.feed(Input::Verdict { id: None, verdict: crate::support::allow() });
    world.begin(&crate::support::at("e/0/0/call.0"));
    world.recover(Vec::new());
    world.go()
}

/// A run in the middle: paused, one call in flight, one person asked.
fn half_a_run() -> World {
    let mut start = crate::support::given(&["first", "second < first", "third"]);
    start.goal.variables.insert("size".into(), json!(4.35));
    start.budget.tokens = Some(1_000);
    let mut world = World::of(start)
        .says("first", [calls(&["read x", "send mail"])])
        .says("third", [says("{\"call_self\": true, \"next_instruction\": \"again\"}")])
        .prepares("send", crate::support::outside())
        .go();
    world.begin(&crate::support::at("first/0/0/call.0"));
    world.feed(Input::Pause);
    world
}

/// A run whose answer cites something true and something false.
fn a_cited_run() -> World {
    let answer = "Late [1], early [2].\n\n[1]: tides.md:1 \"comes last\"\n[2]: tides.md:1 \"comes first\"";
    World::of(crate::support::given(&["a"]))
        .says("a", [calls(&["read tides.md"]), says(answer), says(answer)])
        .gives("read", gives("Brest comes last."))
        .go()
}

#[test]
fn the_first_journal_with_citations_still_folds() {
    let records = read(include_str!("../journals/cited-run.jsonl"));
    let run = Run::fold(records);
    insta::assert_snapshot!(shown(&run), @r#"
    done: Late [1], early [2: not found in the source].

    [1]: tides.md:1 "comes last"
    [2: not found in the source]: tides.md:1 "comes first" (18 events)
    a thinker completed: Late [1], early [2: not found in the source].

    [1]: tides.md:1 "comes last"
    [2: not found in the source]: tides.md:1 "comes first" [3 turns, 1 calls, 30 tokens]
    "#);
    insta::assert_snapshot!(json!(run.steps().next().unwrap().citations), @r#"[{"finding":"holds","n":1,"place":"1","quote":"comes last","source":"tides.md"},{"finding":"not_found","n":2,"place":"1","quote":"comes first","source":"tides.md"}]"#);
}

#[test]
#[ignore = "run by hand, to add a journal of a new release: those that are there are never written again"]
fn record_the_journals() {
    for (name, world) in
        [("whole-run.jsonl", a_whole_run()), ("half-a-run.jsonl", half_a_run()), ("cited-run.jsonl", a_cited_run())]
    {
        if !place(name).exists() {
            std::fs::write(place(name), write(&world.records)).unwrap();
        }
    }
}

#[test]
fn the_first_journal_of_a_whole_run_still_folds() {
    let records = read(include_str!("../journals/whole-run.jsonl"));
    insta::assert_snapshot!(shown(&Run::fold(records.clone())), @r#"
    done: E (53 events)
    plan planner completed:  [2 turns, 0 calls, 20 tokens]
    a thinker completed: A [2 turns, 2 calls, 20 tokens]
    b thinker failed: - [1 turns, 0 calls, 0 tokens]
    d thinker completed: D [2 turns, 0 calls, 20 tokens]
    e coder completed: E [2 turns, 1 calls, 20 tokens]
    "#);
    insta::assert_snapshot!(transcript(&records), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\"},{\"id\":\"b\",\"agent\":\"thinker\"},{\"id\":\"c\",\"agent\":\"thinker\",\"after\":[\"a\",\"b\"]}]}"
    plan done
    planned because "first": a, b, c < a b
    wants a/0/0/ask.0
    wants b/0/0/ask.0
    a/0/0/ask.0 says read({"q":"x"}), run_python({"q":"1"})
    wants a/0/0/call.0
    wants a/0/0/call.1
    a/0/0/call.0 gives text
    a/0/0/call.1 gives 1
    wants a/0/1/ask.0
    a/0/1/ask.0 says "A"
    a done
    b/0/0/ask.0 gives failed: the model is gone
    b failed (model): the model is gone
    b judged: {"replan":{"why":"step `b` failed: the model is gone"}}
    wants plan/1/0/ask.0
    plan/1/0/ask.0 says "{\"steps\":[{\"id\":\"d\",\"agent\":\"thinker\",\"after\":[\"a\"]},{\"id\":\"e\",\"agent\":\"coder\",\"after\":[\"d\"]}]}"
    plan done
    planned because {"failed":"b"}: d < a, e < d
    wants d/0/0/ask.0
    d/0/0/ask.0 says ask_user({"question":"which?"})
    wants d/0/0/call.0: {"question":{"text":"which?"}}
    {"told":{"message":"be quick"}}
    d/0/0/call.0 gives blue
    wants d/0/1/ask.0
    d/0/1/ask.0 says "D"
    d done
    wants e/0/0/ask.0
    e/0/0/ask.0 says send({"q":"mail"})
    wants e/0/0/approve.0: {"approval":{"why":"`send` reaches example.org"}}
    e/0/0/approve.0 is allowed
    wants e/0/0/call.0
    e/0/0/call.0 gives outcome unknown: it had begun when the process ended, and left no trace
    wants e/0/1/ask.0
    e/0/1/ask.0 says "E"
    e done
    finished: E
    "#);
}

#[test]
fn the_first_journal_of_half_a_run_still_folds_and_goes_on() {
    let records = read(include_str!("../journals/half-a-run.jsonl"));
    let mut run = Run::fold(records);
    insta::assert_snapshot!(shown(&run), @"
    paused:  (16 events)
    first thinker running: - [1 turns, 1 calls, 10 tokens]
    second thinker pending: - [0 turns, 0 calls, 0 tokens]
    third thinker running: - [2 turns, 0 calls, 10 tokens]
    size = 4.35
    open first/0/0/call.0, attempt 1
    open first/0/0/approve.1, attempt 1
    open third/1/0/ask.0, attempt 1
    ");
    assert_eq!(run.audit(), Vec::<String>::new());
    run.advance(Input::Recovered { found: Vec::new() }, Timestamp(1_000));
    run.advance(crate::support::resume(), Timestamp(1_001));
    insta::assert_snapshot!(shown(&run), @"
    running:  (18 events)
    first thinker running: - [1 turns, 1 calls, 10 tokens]
    second thinker pending: - [0 turns, 0 calls, 0 tokens]
    third thinker running: - [2 turns, 0 calls, 10 tokens]
    size = 4.35
    open first/0/0/call.0, attempt 2
    open first/0/0/approve.1, attempt 1
    open third/1/0/ask.0, attempt 1
    ");
}

#[test]
fn what_is_written_reads_back_line_by_line() {
    let records = a_whole_run().records;
    assert_eq!(read(&write(&records)), records);
}

#[test]
fn a_plan_that_a_person_changed_first_still_folds() {
    let records = read(&std::fs::read_to_string(place("plan-first.jsonl")).unwrap());
    let waiting = Run::fold(records[..2].to_vec());
    assert_eq!((waiting.status_word(), waiting.awaits_first_approval()), ("waiting", true));
    assert!(
        waiting.planned_instead().is_some()
            && waiting.plan_approval().is_some()
            && waiting.settings().has_small_window()
    );
    let run = Run::fold(records);
    let model = run.model_of(&updraft_run::StepId::parse("mine").unwrap());
    assert_eq!((run.status_word(), run.answer().as_str(), run.events(), model), ("done", "done", 14, "x/large"));
    assert_eq!((run.planned_instead(), run.plan_approval(), run.awaits_first_approval()), (None, None, false));
}
