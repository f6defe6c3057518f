//! Calls that code makes: decided like an agent's own, kept under the call that runs the code, closed with it.

use crate::support::{World, at, calls, cancel, fails, given, gives, opaque, outside, resume, says};
use serde_json::json;
use updraft_run::{
    ApprovalMode, Budget, EffectAddress, EffectClass, Input, PreparedCall, RecoveryFinding, RecoveryOutcome, Reply,
    RunSettings, RunStart, ToolCall, ToolOutput,
};

const PARENT: &str = "a/0/0/call.0";

/// A step whose code is under way.
fn coding(start: RunStart) -> World {
    let mut world = World::of(start)
        .says("a", [calls(&["run_python code"]), says("done")])
        .prepares("run_python", opaque())
        .prepares("send", opaque())
        .prepares("write", PreparedCall { class: EffectClass::Checkable, ..PreparedCall::default() })
        .prepares("fetch", outside());
    world.step_on();
    world.begin(&at(PARENT));
    world
}

fn wish(world: &mut World, name: &str) -> String {
    let call = ToolCall { id: "k".into(), name: name.into(), args: json!({ "q": "x" }), fault: None };
    let prepared = world.prepared.get(name).cloned().unwrap_or_default();
    world.feed(Input::Wished { under: at(PARENT), call, prepared: Box::new(prepared) });
    world.last()
}

fn inner(k: u32) -> EffectAddress {
    at(PARENT).within(k)
}

#[test]
fn code_calls_tools_by_the_same_rules_and_each_call_has_a_place_of_its_own() {
    let mut world = coding(given(&["a"]));
    wish(&mut world, "read");
    assert_eq!(world.open(), [PARENT, "a/0/0/call.0/0"]);
    world.reply(&inner(0), gives("text"));
    wish(&mut world, "send");
    world.begin(&inner(1));
    world.reply(&inner(1), gives("sent"));
    assert_eq!(world.open(), [PARENT]);
    assert_eq!(world.run.ledger().calls, 3);
    assert_eq!(world.step("a").ledger.calls, 3);
    world.reply(&at(PARENT), gives("42"));
    assert!(world.talk("a").ends_with("tools: 42"), "{}", world.talk("a"));
    assert_eq!(world.go().answer(), "done");
}

#[test]
fn what_would_need_a_person_is_refused_with_a_hint() {
    let mut world = coding(given(&["a"]));
    let hint = "code cannot wait for approval; make this call yourself, outside of the code";
    assert!(wish(&mut world, "fetch").contains(hint), "{}", world.last());
    assert!(wish(&mut world, "ask_user").contains("call `ask_user` directly, outside of code"));
    assert!(wish(&mut world, "run_python").contains("cannot be called from code"));
    assert!(wish(&mut world, "nothing").contains("may not use `nothing`"));
    assert_eq!(world.open(), [PARENT]);
    assert_eq!(world.run.ledger().calls, 1);
}

#[test]
fn a_denial_holds_for_code_too() {
    let settings = RunSettings { approvals: ApprovalMode::ReadOnly, ..RunSettings::default() };
    let mut world = World::of(RunStart { settings: settings.into(), ..given(&["a"]) }).says("a", [calls(&["read x"])]);
    world.step_on();
    world.prepared.insert("send".into(), opaque());
    assert!(wish(&mut world, "send").contains("this run is read-only"), "{}", world.last());
}

#[test]
fn the_budget_of_calls_counts_those_of_code() {
    let budget = Budget { calls: Some(2), ..Budget::default() };
    let mut world = coding(RunStart { budget, ..given(&["a"]) });
    assert!(wish(&mut world, "read").contains("wants"));
    assert!(wish(&mut world, "read").contains("the run has used up its tool calls"), "{}", world.last());
}

#[test]
fn code_in_code_and_endless_wishes_are_refused() {
    let mut world = coding(given(&["a"]));
    for _ in 0..1_000 {
        wish(&mut world, "nothing");
    }
    assert!(wish(&mut world, "read").contains("may make 1000 calls"), "{}", world.last());
    assert_eq!(wish(&mut world, "read"), "", "from here on nothing is written down");
    assert!(matches!(world.run.unheard(&at(PARENT)), Reply::Failed(why) if why.message.contains("1000 calls")));

    let mut world = coding(given(&["a"]));
    wish(&mut world, "read");
    let call = ToolCall { id: "k".into(), name: "read".into(), args: json!({}), fault: None };
    world.feed(Input::Wished { under: inner(0), call, prepared: Box::default() });
    assert_eq!(world.last(), "");
    assert!(matches!(world.run.unheard(&inner(0)), Reply::Failed(why) if why.message.contains("from code")));
}

#[test]
fn what_is_open_when_the_code_ends_is_cancelled_or_in_doubt() {
    let mut world = coding(given(&["a"]));
    wish(&mut world, "read");
    wish(&mut world, "send");
    wish(&mut world, "send");
    world.begin(&inner(2));
    world.reply(&at(PARENT), fails("gone"));
    begins_with(
        &world.last(),
        &[
            "a/0/0/call.0/0 gives stopped: cancelled",
            "a/0/0/call.0/1 gives stopped: cancelled",
            "a/0/0/call.0/2 gives outcome unknown: the code that called it ended first",
            "a/0/0/call.0 gives failed: gone",
        ],
    );
    world.reply(&inner(2), gives("late"));
    assert_eq!(world.last(), "", "a late reply decides nothing");
}

fn begins_with(text: &str, lines: &[&str]) {
    assert_eq!(text.lines().take(lines.len()).collect::<Vec<_>>(), lines);
}

#[test]
fn text_from_outside_counts_at_once() {
    let mut world = coding(given(&["a"]));
    wish(&mut world, "read");
    let output = ToolOutput { text: "page".into(), untrusted: true, ..ToolOutput::default() };
    world.reply(&inner(0), Reply::Output(output.into()));
    assert!(!world.step("a").origins.is_empty());
}

#[test]
fn after_a_crash_the_evidence_names_what_code_had_called() {
    let mut world = coding(given(&["a"]));
    wish(&mut world, "send");
    world.begin(&inner(0));
    world.reply(&inner(0), gives("sent"));
    wish(&mut world, "write");
    world.begin(&inner(1));
    wish(&mut world, "send");
    world.begin(&inner(2));
    wish(&mut world, "fetch");
    wish(&mut world, "read");
    world.recover(vec![RecoveryFinding { id: inner(1), found: RecoveryOutcome::Happened(gives("written")) }]);
    let evidence = "it had begun when the process ended, and left no trace; until then it had called `send` (done), \
                    `write` (done), `send` (outcome unknown), `fetch` (refused), `read` (stopped)";
    assert!(world.last().contains(evidence), "{}", world.last());
    assert_eq!(world.open(), ["a/0/1/ask.0"]);
}

#[test]
fn code_that_may_be_run_again_is_not_if_it_called_what_may_not() {
    for (called, again) in [("read", true), ("send", false)] {
        let mut world = World::of(given(&["a"])).says("a", [calls(&["run_python code"])]).prepares("send", opaque());
        world.step_on();
        wish(&mut world, called);
        world.begin(&inner(0));
        world.reply(&inner(0), gives("done"));
        world.recover(Vec::new());
        assert_eq!(world.last().contains("interrupted"), again, "{}", world.last());
    }
}

#[test]
fn a_pause_lets_code_end_and_a_cancel_does_not() {
    let mut world = coding(given(&["a"]));
    world.feed(Input::Pause);
    wish(&mut world, "send");
    assert!(world.run.may_begin(&inner(0)));
    world.begin(&inner(0));
    world.reply(&inner(0), gives("sent"));
    world.reply(&at(PARENT), gives("42"));
    assert!(world.run.is_at_rest());
    world.feed(resume());
    assert_eq!(world.go().answer(), "done");

    let mut world = coding(given(&["a"]));
    wish(&mut world, "send");
    wish(&mut world, "send");
    world.begin(&inner(0));
    world.feed(cancel());
    assert_eq!(world.open(), [PARENT, "a/0/0/call.0/0"], "what nobody began is closed");
    assert_eq!(wish(&mut world, "read"), "");
    world.reply(&inner(0), Reply::Cancelled);
    world.reply(&at(PARENT), Reply::Cancelled);
    assert!(world.run.is_over());
}
