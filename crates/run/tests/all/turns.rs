//! The turns of a step: asking, calling, being told, and coming to an end.

use std::sync::Arc;

use crate::support::{World, at, calls, fails, given, gives, gives_value, says, start, writes};
use serde_json::json;
use updraft_run::{
    Budget, BudgetLimit, ModelAnswer, PreparedCall, Reply, RunMode, RunPhase, RunSettings, RunStart, ToolCall,
    ToolOutput,
};

fn with(settings: RunSettings, start: RunStart) -> RunStart {
    RunStart { settings: Arc::new(settings), ..start }
}

fn turns(turns: u32) -> RunSettings {
    RunSettings { turns, query_turns: turns, ..RunSettings::default() }
}

#[test]
fn a_single_agent_is_one_step_with_the_turns_of_a_query() {
    let world = World::of(start(RunMode::Agent("thinker".into()))).says("thinker", [says("42")]).go();
    assert_eq!(world.run.turns_of(world.step("thinker")), 10);
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": thinker
    wants thinker/0/0/ask.0
    thinker/0/0/ask.0 says "42"
    thinker done
    finished: 42
    "#);
}

#[test]
fn the_last_turn_is_announced_once_and_a_call_in_it_is_not_made() {
    let settings = RunSettings { repeats: 9, ..turns(3) };
    let world = World::of(with(settings, given(&["a"])))
        .says("a", [calls(&["read x"]), calls(&["read y"]), calls(&["read z"])])
        .gives("read", gives("the facts"))
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says read({"q":"x"})
    wants a/0/0/call.0
    a/0/0/call.0 gives the facts
    wants a/0/1/ask.0
    a/0/1/ask.0 says read({"q":"y"})
    wants a/0/1/call.0
    a/0/1/call.0 gives the facts
    tells a: "last_turn"
    wants a/0/2/ask.0
    a/0/2/ask.0 says read({"q":"z"})
    a halted (budget): it has used all its 3 turns, and is not done
    exhausted: turns
    "#);
    assert_eq!((world.status("a"), world.answer().as_str()), ("waiting", ""), "what a tool gave is no answer");
}

#[test]
fn a_step_out_of_turns_goes_on_in_the_same_conversation_when_it_gets_more() {
    let mut world = World::of(with(turns(2), given(&["a", "b < a"])))
        .says("a", [calls(&["read x"]), calls(&["read y"]), calls(&["read z"]), says("A")])
        .says("b", [says("B")])
        .gives("read", gives("the facts"))
        .go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    world.feed(crate::support::resume());
    insta::assert_snapshot!(world.last(), @r#"
    {"resumed":{}}
    a halted (budget): it has used all its 2 turns, and is not done
    exhausted: turns
    "#);
    world.feed(crate::support::raise(Budget { turns: Some(4), ..Budget::default() }));
    insta::assert_snapshot!(world.last(), @r#"
    {"resumed":{"budget":{"turns":4}}}
    tells a: "more_turns"
    wants a/0/1/call.0
    "#);
    world.work();
    insta::assert_snapshot!(world.talk("a"), @"");
    assert!(world.transcript().contains("a/0/3/ask.0 says \"A\""), "{}", world.transcript());
    assert_eq!(world.transcript().matches("last_turn").count(), 2, "the new last turn is announced too");
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns), "the run as a whole may ask 4 times");
    world.feed(crate::support::raise(Budget { turns: Some(9), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "B");
}

#[test]
fn other_branches_end_before_a_run_stops_for_a_step_out_of_turns() {
    let mut world = World::of(with(turns(2), given(&["a", "b", "c < b", "d < a c"])))
        .says("a", [calls(&["read x"]), with_words("I am half way", calls(&["read y"]))])
        .says("b", [says("B")])
        .says("c", [says("C")])
        .gives("read", gives("the facts"))
        .go();
    let states = ["a", "b", "c", "d"].map(|step| world.status(step));
    assert_eq!(states, ["waiting", "completed", "completed", "pending"]);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    assert_eq!(world.answer(), "## c\n\nC\n\n## a (unfinished)\n\nI am half way");
    world.feed(crate::support::raise(Budget { turns: Some(20), ..Budget::default() }));
    assert_eq!(world.open(), ["a/0/1/call.0"], "nothing that is done is done again");
}

#[test]
fn a_result_that_will_not_do_in_the_last_turn_is_corrected_when_there_are_more() {
    let mut start = with(turns(1), given(&["a"]));
    Arc::make_mut(start.plan.as_mut().unwrap()).steps[0].writes = vec!["n".into(), "m".into()];
    let mut world = World::of(start).says("a", [says(r#"{"n": 1}"#), says(r#"{"n": 1, "m": 2}"#)]).go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns), "{}", world.transcript());
    world.feed(crate::support::raise(Budget { turns: Some(5), ..Budget::default() }));
    world.work();
    assert_eq!(world.status("a"), "completed");
}

#[test]
fn a_planner_out_of_turns_is_not_a_failed_run() {
    let mut world = World::of(with(turns(1), start(RunMode::Plan)))
        .says("plan", [calls(&["read x"]), crate::support::plan(&["a"])])
        .says("a", [says("A")])
        .gives("read", gives("the facts"))
        .go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    world.feed(crate::support::raise(Budget { turns: Some(5), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_halted_step_can_be_cancelled_told_and_forgotten() {
    let mut world = World::of(with(turns(1), given(&["a", "b < a"]))).says("a", [calls(&["read x"])]).go();
    world.feed(updraft_run::Input::Tell { message: "hurry".into() });
    world.feed(crate::support::cancel_step("a"));
    world.feed(crate::support::resume());
    assert_eq!((world.status("a"), world.status("b")), ("cancelled", "skipped"));
    assert!(world.run.is_over());
}

#[test]
fn journals_from_when_out_of_turns_was_done_still_fold() {
    let mut world = World::of(given(&["a", "b < a"]));
    let done = r#"{"i":{"replied":{"id":"a/0/0/ask.0","attempt":1,"reply":"cancelled"}},
                   "e":[{"step_done":{"step":"a","best_effort":true,"output":"as far as it came"}}]}"#;
    world.run.record(&updraft_run::Record::from_json(updraft_run::Timestamp(9), done.as_bytes()).unwrap());
    assert_eq!((world.status("a"), world.step("a").output.as_deref()), ("completed", Some("as far as it came")));
}

#[test]
fn a_best_effort_is_not_the_text_of_a_call_that_was_not_made() {
    let call = "TOOL_CALL: read\nARGUMENTS: {\"q\": 1}";
    let world = World::of(with(turns(2), given(&["a"])))
        .says("a", [writes(call), writes(call)])
        .gives("read", gives("facts"))
        .go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    assert_eq!(world.answer(), "");
}

/// The same answer with something said beside its calls.
fn with_words(text: &str, reply: Reply) -> Reply {
    let Reply::Answer(answer) = reply else { return reply };
    Reply::Answer(Arc::new(ModelAnswer { text: text.into(), ..(*answer).clone() }))
}

#[test]
fn when_all_tools_fail_the_model_is_told_to_answer_from_what_it_knows() {
    let world = World::of(given(&["a"]))
        .says("a", [calls(&["read x", "fetch y"]), calls(&["read z"])])
        .gives("read", fails("gone"))
        .gives("fetch", Reply::TimedOut { limit: updraft_run::Millis(30_000) });
    let mut world = world;
    for _ in 0..3 {
        world.step_on();
    }
    insta::assert_snapshot!(world.talk("a"), @r#"
    model: read({"q":"x"}), fetch({"q":"y"})
    tools: failed: gone | stopped: took longer than 30 s
    note: "all_tools_failed"
    "#);
}

#[test]
fn a_refusal_or_a_doubt_is_no_reason_to_do_without_tools() {
    let mut world = World::of(given(&["a"])).prepares("send", crate::support::opaque());
    world.reply(&at("a/0/0/ask.0"), calls(&["send mail", "no_such_tool"]));
    world.reply(&at("a/0/0/call.0"), Reply::InDoubt { evidence: "nobody knows".into() });
    assert_eq!(world.talk("a").matches("all_tools_failed").count(), 0);
}

#[test]
fn a_program_that_ends_with_an_exit_code_is_no_tool_that_failed() {
    let said = |value| ToolOutput { text: "1 failed".into(), is_error: true, value, ..ToolOutput::default() };
    for (value, told) in [(Some(json!({"exit_code": 1})), 0), (None, 1)] {
        let world = World::of(given(&["a"]))
            .says("a", [calls(&["run_python tests"]), says("one fails")])
            .gives("run_python", Reply::Output(Arc::new(said(value))))
            .go();
        assert_eq!(world.transcript().matches("all_tools_failed").count(), told, "{}", world.transcript());
    }
}

#[test]
fn the_same_call_with_the_same_result_is_told_then_stops_the_run_which_can_be_resumed() {
    let again = || calls(&["read x"]);
    let mut world = World::of(given(&["a"]))
        .says("a", [again(), again(), again(), again(), again(), again(), says("ok")])
        .gives("read", gives("same"))
        .go();
    let told = |world: &World| world.transcript().matches("repeated_call").count();
    assert_eq!(told(&world), 3, "at the third, fourth and fifth: {}", world.talk("a"));
    for said in ["\"times\":3", "\"returned\":\"same\""] {
        assert!(world.talk("a").contains(said), "{}", world.talk("a"));
    }
    assert_eq!(world.status("a"), "waiting");
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Loop));
    let why =
        "a halted (model_behavior): called `read` 5 times with the same arguments and got the same result each time";
    assert!(world.transcript().contains(why), "{}", world.transcript());

    world.feed(crate::support::resume());
    world.work();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Loop), "it got one more try");
    assert_eq!(told(&world), 4);
    world.feed(crate::support::resume());
    world.work();
    assert_eq!(world.answer(), "ok");
}

/// A call, or the end of the work.
fn call_or_end(call: &str) -> Reply {
    if call.is_empty() { says("ok") } else { calls(&[call]) }
}

#[test]
fn a_repetition_is_counted_with_other_calls_between_and_not_across_a_change() {
    let turns = ["read x", "read y", "read x", "read z", "read x", ""];
    let world = World::of(given(&["a"])).says("a", turns.map(call_or_end)).gives("read", gives("same")).go();
    assert_eq!(world.transcript().matches("repeated_call").count(), 1);

    let changed = serde_json::from_value(json!({"path": "f"})).unwrap();
    let written = ToolOutput { text: "written".into(), changes: vec![changed], ..ToolOutput::default() };
    let turns = ["read x", "read x", "write f", "read x", "read x", ""];
    let world = World::of(given(&["a"]))
        .says("a", turns.map(call_or_end))
        .gives("read", gives("same"))
        .gives("write", Reply::Output(Arc::new(written)))
        .go();
    assert_eq!(world.transcript().matches("repeated_call").count(), 0, "{}", world.transcript());
}

#[test]
fn a_call_whose_result_changes_is_no_repetition() {
    let mut world = World::of(given(&["a"])).says("a", ["read x"; 8].map(call_or_end));
    for turn in 0..7 {
        world.step_on();
        world.reply(&at(&format!("a/0/{turn}/call.0")), gives(&format!("{turn}")));
    }
    world.step_on();
    assert!(!world.transcript().contains("repeated_call"), "{}", world.transcript());
    assert_eq!((world.status("a"), world.open()), ("running", vec!["a/0/7/call.0".to_owned()]));
}

#[test]
fn a_small_model_is_told_at_the_first_repetition_and_stopped_later() {
    let settings = RunSettings { window: Some(8_192), turns: 40, ..RunSettings::default() };
    let world = World::of(with(settings, given(&["a"])))
        .says("a", ["read x"; 10].map(call_or_end))
        .gives("read", gives("same"))
        .go();
    assert_eq!(world.transcript().matches("repeated_call").count(), 9, "{}", world.transcript());
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Loop));
}

#[test]
fn a_small_model_that_has_called_nothing_is_sent_to_look_once() {
    let settings = |window| RunSettings { window: Some(window), ..RunSettings::default() };
    let blind = |window| World::of(with(settings(window), given(&["a"]))).says("a", [says("10"), says("37")]).go();
    assert_eq!((blind(16_384).answer().as_str(), blind(32_768).answer().as_str()), ("37", "10"));
    let looked = World::of(with(settings(8_192), given(&["a"])))
        .says("a", [calls(&["read x"]), says("37"), says("38")])
        .gives("read", gives("X"))
        .go();
    assert_eq!(looked.answer(), "37");
    let failed = World::of(with(settings(8_192), given(&["a"])))
        .says("a", [calls(&["read x"]), says("done"), says("it cannot be read")])
        .gives("read", fails("there is no such file"))
        .go();
    assert_eq!(failed.answer(), "it cannot be read");
}

#[test]
fn other_arguments_are_no_repetition() {
    let world = World::of(given(&["a"]))
        .says(
            "a",
            [
                calls(&["read 1"]),
                calls(&["read 2"]),
                calls(&["read 1"]),
                calls(&["read 2"]),
                calls(&["read 1"]),
                says("ok"),
            ],
        )
        .gives("read", gives("same"))
        .go();
    assert_eq!(world.answer(), "ok");
}

#[test]
fn a_setting_of_no_repeats_does_not_forbid_the_first_call() {
    let settings = RunSettings { repeats: 0, ..RunSettings::default() };
    let world = World::of(with(settings, given(&["a"])))
        .says("a", [calls(&["read x"]), says("ok")])
        .gives("read", gives("X"))
        .go();
    assert_eq!(world.answer(), "ok");
}

#[test]
fn call_self_runs_its_code_first_and_carries_what_it_gave() {
    let wish = json!({ "call_self": true, "next_instruction": "now sum up", "code": "print(6*7)" }).to_string();
    let mut world =
        World::of(given(&["a"])).says("a", [says(&wish), says("42 it is")]).gives("run_python", gives("42"));
    world.step_on();
    assert_eq!(world.open(), ["a/0/0/call.0"]);
    world.step_on();
    assert_eq!(world.open(), ["a/1/0/ask.0"]);
    let carried = world.step("a").carried.as_ref().unwrap();
    insta::assert_snapshot!(format!("{:?}\n{}", carried.judgement, carried.previous), @r#"
    Again { instruction: "now sum up" }
    {"call_self":true,"code":"print(6*7)","next_instruction":"now sum up"}
    42
    "#);
    world.work();
    assert_eq!(world.answer(), "42 it is");
}

#[test]
fn call_self_is_bounded_and_ends_with_what_its_code_gave() {
    let wish = json!({ "call_self": true, "code": "print(1)" }).to_string();
    let settings = RunSettings { revisits: 1, ..RunSettings::default() };
    let mut start = with(settings, given(&["a"]));
    Arc::make_mut(start.plan.as_mut().unwrap()).steps[0].writes = vec!["n".into()];
    let world = World::of(start)
        .says("a", [says(&wish), says(&wish)])
        .gives("run_python", gives_value("1", json!({ "result": { "n": 1 } })))
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "{\"call_self\":true,\"code\":\"print(1)\"}"
    wants a/0/0/call.0
    a/0/0/call.0 gives 1
    a judged: {"again":{"instruction":""}}
    wants a/1/0/ask.0
    a/1/0/ask.0 says "{\"call_self\":true,\"code\":\"print(1)\"}"
    wants a/1/0/call.0
    a/1/0/call.0 gives 1
    a writes n = 1
    a done
    finished: 1
    "#);
}

#[test]
fn an_empty_answer_is_asked_about_once_and_is_no_result() {
    let world = World::of(given(&["a"])).says("a", [says("  "), says("sorry: 42")]).go();
    assert_eq!(world.answer(), "sorry: 42");
    let world = World::of(given(&["a"])).says("a", [says(""), says("")]).go();
    assert_eq!(world.status("a"), "failed");
}

#[test]
fn a_remote_tool_is_known_by_its_bare_name() {
    let mut start = given(&["a"]);
    Arc::make_mut(&mut start.roster).agents.iter_mut().for_each(|agent| agent.tools.push("mcp_web_lookup".into()));
    let world = World::of(start)
        .says("a", [writes("{\"tool\": \"lookup\", \"args\": {}}"), writes("found")])
        .gives("mcp_web_lookup", gives("page"))
        .go();
    assert_eq!(world.answer(), "found");
    assert!(world.transcript().contains("a/0/0/call.0 gives page"));
}

#[test]
fn a_call_whose_arguments_were_guessed_is_not_made() {
    let call = ToolCall { id: "1".into(), name: "read".into(), args: json!({}), fault: Some("torn JSON".into()) };
    let answer = Reply::Answer(Arc::new(ModelAnswer { calls: vec![call], ..ModelAnswer::default() }));
    let mut world = World::of(given(&["a"]));
    world.reply(&at("a/0/0/ask.0"), answer);
    insta::assert_snapshot!(world.last(), @"
    a/0/0/ask.0 says read({})
    rejects a/0/0/call.0: torn JSON
    wants a/0/1/ask.0
    ");
}

#[test]
fn fewer_or_more_preparations_than_calls_confuse_nobody() {
    for prepared_for in [0, 1, 5] {
        let mut world = World::of(given(&["a"]));
        let prepared = vec![updraft_run::PreparedCall::default(); prepared_for];
        let id = at("a/0/0/ask.0");
        world.feed(updraft_run::Input::Replied {
            id,
            attempt: 1,
            reply: calls(&["read x", "nope", "fetch y"]),
            prepared,
        });
        let open = world.open();
        assert!(open.iter().any(|id| id.ends_with(".0")) && open.iter().any(|id| id.ends_with(".2")), "{open:?}");
        // What nobody looked at is not made without asking.
        assert_eq!(open.contains(&"a/0/0/approve.2".to_owned()), prepared_for < 3, "{open:?}");
        for id in world.run.open().keys().cloned().collect::<Vec<_>>() {
            let reply = if id.kind == updraft_run::EffectKind::Approve {
                Reply::Verdict(crate::support::deny(""))
            } else {
                gives("ok")
            };
            world.reply(&id, reply);
        }
        assert_eq!(world.open(), ["a/0/1/ask.0"]);
        let results = world.step("a").conversation.iter().find_map(|entry| match entry {
            updraft_run::ConversationEntry::Results(results) => Some(results.outcomes.len()),
            _ => None,
        });
        assert_eq!(results, Some(3), "every call gets exactly one result");
    }
}

#[test]
fn late_and_repeated_replies_decide_nothing() {
    let mut world = World::of(given(&["a", "b < a"]));
    world.reply(&at("a/0/0/ask.0"), says("A"));
    let before = world.run.clone();
    world.reply(&at("a/0/0/ask.0"), says("another A"));
    assert_eq!(world.last(), "");
    assert_eq!(world.run.ledger(), before.ledger());
    assert_eq!(world.step("a").output.as_deref(), Some("A"));
}

#[test]
fn a_small_model_does_not_replace_a_file_that_it_has_not_read() {
    let asks = |name: &str| {
        let call = ToolCall { id: "c".into(), name: name.into(), args: json!({ "path": "a.txt" }), fault: None };
        Reply::Answer(ModelAnswer { calls: vec![call], ..ModelAnswer::default() }.into())
    };
    let refusals = |window| {
        let settings = RunSettings { window: Some(window), ..RunSettings::default() };
        let replaces = PreparedCall { replaces: true, writes: vec!["a.txt".into()], ..PreparedCall::default() };
        let world = World::of(with(settings, given(&["a"])))
            .says("a", [asks("write_file"), asks("read_file"), asks("write_file"), says("done")])
            .prepares("write_file", replaces)
            .go();
        world.transcript().matches("you have not read it").count()
    };
    assert_eq!((refusals(8_192), refusals(64_000)), (1, 0));
}
