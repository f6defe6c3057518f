//! The calls of one turn take effect as if they had been made one after the other.

use std::sync::Arc;

use crate::support::{World, at, calls, given, gives, raise};
use updraft_run::{
    Budget, BudgetLimit, CallOrder, EffectClass, EffectKind, FailureKind, Input, PreparedCall, Reply, RunPhase,
    RunSettings, RunStart, Verdict,
};

/// A world with a step `a`, whose tools are: `read` reads, `fetch` is a server's, `write` changes files, `send` is asked about.
fn world() -> World {
    let settings = RunSettings { turns: 60, ..RunSettings::default() };
    let mut world = World::of(RunStart { settings: Arc::new(settings), ..given(&["a"]) });
    let kinds = [("read", CallOrder::Reads), ("fetch", CallOrder::Serves), ("write", CallOrder::Alone)];
    for (name, order) in kinds {
        let class = if order == CallOrder::Reads { EffectClass::Pure } else { EffectClass::Opaque };
        world.prepared.insert(name.into(), PreparedCall { class, order, ..PreparedCall::default() });
    }
    let sends =
        PreparedCall { class: EffectClass::Opaque, order: CallOrder::Alone, outside: true, ..PreparedCall::default() };
    world.prepared.insert("send".into(), sends);
    world
}

/// The numbers of the calls that are open together, one group after the other, for calls of these tools.
fn groups(tools: &[&str]) -> Vec<Vec<u32>> {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(tools));
    let mut groups = Vec::new();
    loop {
        let open: Vec<_> = world.run.open().keys().filter(|id| id.kind == EffectKind::Call).cloned().collect();
        if open.is_empty() {
            assert_eq!(world.open(), ["a/0/1/ask.0"], "then the model is asked on");
            return groups;
        }
        groups.push(open.iter().map(|id| id.n).collect());
        // In another order than they were made.
        open.iter().rev().for_each(|id| world.reply(id, gives("ok")));
    }
}

#[test]
fn what_reads_runs_at_once_and_what_writes_waits_for_all_before_it_and_holds_those_behind() {
    assert_eq!(groups(&["read 1", "read 2", "read 3"]), [vec![0, 1, 2]]);
    assert_eq!(groups(&["fetch 1", "fetch 2"]), [[0, 1]]);
    assert_eq!(groups(&["write 1", "write 2"]), [[0], [1]]);
    assert_eq!(groups(&["write 1", "read 1"]), [[0], [1]]);
    assert_eq!(groups(&["read 1", "write 1", "read 2", "read 3"]), [vec![0], vec![1], vec![2, 3]]);
    assert_eq!(groups(&["read 1", "fetch 1", "fetch 2", "read 2"]), [vec![0], vec![1, 2], vec![3]]);
}

#[test]
fn a_failed_call_does_not_stop_those_behind_it() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(&["write 1", "unknown 2", "write 3"]));
    assert_eq!(world.open(), ["a/0/0/call.0"]);
    world.reply(&at("a/0/0/call.0"), Reply::Failed(updraft_run::Failure::new(FailureKind::Tool, "no")));
    assert_eq!(world.open(), ["a/0/0/call.2"], "the call of a tool that the agent lacks is refused in its turn");
    world.reply(&at("a/0/0/call.2"), gives("ok"));
    assert_eq!(world.open(), ["a/0/1/ask.0"]);
}

#[test]
fn all_questions_of_a_turn_are_asked_together_and_the_calls_are_made_in_order() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(&["write 1", "send 2", "send 3", "read 4"]));
    assert_eq!(world.open(), ["a/0/0/call.0", "a/0/0/approve.1", "a/0/0/approve.2"]);
    let allow = Verdict { allow: true, by: "kim".into(), ..Verdict::default() };
    world.feed(Input::Verdict { id: Some(at("a/0/0/approve.2")), verdict: allow.clone() });
    world.reply(&at("a/0/0/call.0"), gives("ok"));
    assert_eq!(world.open(), ["a/0/0/approve.1"], "the third was allowed, and the second comes before it");
    assert_eq!(world.status("a"), "waiting");
    assert!(world.run.is_at_rest(), "nothing but the person is waited for");
    world.feed(Input::Verdict { id: Some(at("a/0/0/approve.1")), verdict: Verdict { allow: false, ..allow } });
    assert_eq!(world.open(), ["a/0/0/call.2"], "the second was refused");
    world.reply(&at("a/0/0/call.2"), gives("ok"));
    assert_eq!(world.open(), ["a/0/0/call.3"]);
}

#[test]
fn nothing_that_may_write_is_made_behind_a_call_whose_outcome_is_unknown() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(&["write 1", "read 2", "write 3", "send 4", "fetch 5"]));
    let allow = Verdict { allow: true, by: "kim".into(), ..Verdict::default() };
    world.feed(Input::Verdict { id: None, verdict: allow });
    world.begin(&at("a/0/0/call.0"));
    world.recover(Vec::new());
    assert_eq!(world.open(), ["a/0/0/call.1"], "what only reads is made");
    world.reply(&at("a/0/0/call.1"), gives("seen"));
    assert_eq!(world.open(), ["a/0/1/ask.0"]);
    let talk = world.talk("a");
    assert_eq!(talk.matches("a call before it in this turn is unknown").count(), 3, "{talk}");
}

#[test]
fn a_call_that_is_judged_anew_when_its_turn_comes_may_be_asked_about() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(&["write 1", "write 2"]));
    let outside = PreparedCall { outside: true, ..world.prepared["write"].clone() };
    let prepared = vec![world.prepared["write"].clone(), outside];
    world.feed(Input::Replied { id: at("a/0/0/call.0"), attempt: 1, reply: gives("made a link"), prepared });
    assert_eq!(world.open(), ["a/0/0/approve.1"], "{}", world.transcript());
}

#[test]
fn the_limit_on_calls_is_kept_when_the_turn_of_a_call_comes() {
    let settings = RunSettings { turns: 60, ..RunSettings::default() };
    let budget = Budget { calls: Some(1), ..Budget::default() };
    let mut limited = World::of(RunStart { settings: Arc::new(settings), budget, ..given(&["a"]) });
    limited.prepared = world().prepared;
    limited.reply(&at("a/0/0/ask.0"), calls(&["write 1", "write 2"]));
    limited.reply(&at("a/0/0/call.0"), gives("ok"));
    assert_eq!(*limited.run.phase(), RunPhase::Exhausted(BudgetLimit::Calls));
    limited.feed(raise(Budget { calls: Some(5), ..Budget::default() }));
    assert_eq!(limited.open(), ["a/0/0/call.1"]);
}

#[test]
fn a_pause_between_two_calls_holds_the_second() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), calls(&["write 1", "write 2"]));
    world.feed(Input::Pause);
    world.reply(&at("a/0/0/call.0"), gives("ok"));
    assert_eq!(world.step("a").ledger.calls, 1, "{}", world.transcript());
    world.feed(Input::Resume { budget: None, approvals: None });
    assert_eq!(world.open(), ["a/0/0/call.1"]);
}
