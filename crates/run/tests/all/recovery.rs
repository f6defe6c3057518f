//! What a new process makes of what the old one left open.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{World, at, calls, given, gives, id, opaque, resume, says};
use updraft_run::{EffectClass, Input, PreparedCall, RecoveryFinding, RecoveryOutcome, Reply, ToolOutput};

/// A call of a class, begun or not, when the process ends.
fn cut_off(class: EffectClass, begun: bool, found: Option<RecoveryOutcome>) -> World {
    let mut world = World::of(given(&["a"])).prepares("write", PreparedCall { class, ..PreparedCall::default() });
    world.reply(&at("a/0/0/ask.0"), calls(&["write x"]));
    let id = at("a/0/0/call.0");
    if begun {
        world.begin(&id);
    }
    world.recover(found.map(|found| RecoveryFinding { id, found }).into_iter().collect());
    world
}

#[test]
fn what_may_be_repeated_is_made_again() {
    for class in [EffectClass::Pure, EffectClass::Idempotent] {
        let world = cut_off(class, true, None);
        assert_eq!(world.last(), "a/0/0/call.0 interrupted at attempt 1");
        assert!(world.run.may_begin(&at("a/0/0/call.0")));
        assert_eq!(world.run.open()[&at("a/0/0/call.0")].attempt, 2);
    }
}

#[test]
fn what_had_not_begun_is_made_as_if_nothing_had_happened() {
    for class in [EffectClass::Checkable, EffectClass::Opaque] {
        let world = cut_off(class, false, None);
        assert_eq!(world.last(), "");
        assert_eq!(world.run.open()[&at("a/0/0/call.0")].attempt, 1);
    }
}

#[test]
fn what_left_traces_is_finished_made_again_or_told_by_them() {
    let happened = cut_off(EffectClass::Checkable, true, Some(RecoveryOutcome::Happened(gives("written"))));
    insta::assert_snapshot!(happened.last(), @"
    a/0/0/call.0 gives written
    wants a/0/1/ask.0
    ");
    let not = cut_off(EffectClass::Checkable, true, Some(RecoveryOutcome::DidNotHappen));
    insta::assert_snapshot!(not.last(), @"a/0/0/call.0 interrupted at attempt 1");
    let unknown =
        cut_off(EffectClass::Checkable, true, Some(RecoveryOutcome::CannotTell("the file has changed since".into())));
    insta::assert_snapshot!(unknown.last(), @"
    a/0/0/call.0 gives outcome unknown: the file has changed since
    wants a/0/1/ask.0
    ");
}

#[test]
fn what_nobody_can_tell_is_told_to_the_agent() {
    let world = cut_off(EffectClass::Opaque, true, None);
    insta::assert_snapshot!(world.talk("a"), @r#"
    model: write({"q":"x"})
    tools: outcome unknown: it had begun when the process ended, and left no trace
    "#);
    assert_eq!(world.open(), ["a/0/1/ask.0"]);
}

#[test]
fn a_late_reply_of_the_old_process_decides_nothing() {
    let mut world = cut_off(EffectClass::Pure, true, None);
    let late =
        updraft_run::Input::Replied { id: at("a/0/0/call.0"), attempt: 1, reply: gives("old"), prepared: vec![] };
    assert_eq!(world.feed(late).events, []);
    world.reply(&at("a/0/0/call.0"), gives("new"));
    assert!(world.talk("a").contains("tools: new"));
}

#[test]
fn a_model_cut_off_ten_times_stops_the_run_and_is_asked_again_when_it_is_resumed() {
    let mut world = World::of(given(&["a", "b"])).says("a", [says("A")]).says("b", [says("B")]);
    for _ in 0..9 {
        world.begin(&at("a/0/0/ask.0"));
        world.begin(&at("b/0/0/ask.0"));
        world.recover(Vec::new());
    }
    assert_eq!(world.run.open()[&at("a/0/0/ask.0")].attempt, 10);
    world.begin(&at("a/0/0/ask.0"));
    world.begin(&at("b/0/0/ask.0"));
    world.recover(Vec::new());
    insta::assert_snapshot!(world.last(), @r"
    a/0/0/ask.0 interrupted at attempt 10
    a halted (outage): the model call was cut off 10 times
    exhausted: waiting for a model
    b/0/0/ask.0 interrupted at attempt 10
    b halted (outage): the model call was cut off 10 times
    ");
    world.feed(resume());
    assert_eq!(world.open(), ["a/0/0/ask.0", "b/0/0/ask.0"]);
    world.work();
    assert_eq!((world.status("a"), world.status("b")), ("completed", "completed"));
}

#[test]
fn people_are_not_asked_anew() {
    let mut world = World::of(given(&["a"])).prepares("send", crate::support::outside());
    world.reply(&at("a/0/0/ask.0"), calls(&["send x", "ask_user y"]));
    world.recover(Vec::new());
    assert_eq!(world.last(), "");
    assert_eq!(world.open(), ["a/0/0/call.1", "a/0/0/approve.0"]);
}

#[test]
fn one_call_in_doubt_does_not_hold_up_the_others() {
    let mut world = World::of(given(&["a"])).prepares("send", opaque());
    world.reply(&at("a/0/0/ask.0"), calls(&["send x", "read y"]));
    world.begin(&at("a/0/0/call.0"));
    world.recover(Vec::new());
    assert_eq!(world.open(), ["a/0/0/call.1"]);
    world.reply(&at("a/0/0/call.1"), gives("Y"));
    insta::assert_snapshot!(world.talk("a"), @r#"
    model: send({"q":"x"}), read({"q":"y"})
    tools: outcome unknown: it had begun when the process ended, and left no trace | Y
    "#);
}

#[test]
fn a_step_is_told_once_which_background_commands_ended_with_the_process() {
    let mut world = World::of(given(&["a", "b"]));
    world.reply(&at("a/0/0/ask.0"), calls(&["read server"]));
    let running = ToolOutput { text: "runs".into(), background: Some(vec!["bg1".into()]), ..ToolOutput::default() };
    world.reply(&at("a/0/0/call.0"), Reply::Output(Arc::new(running)));
    assert_eq!(world.step("a").background, ["bg1"]);
    world.recover(Vec::new());
    let ended: BTreeMap<_, _> = ["a", "b"].map(|step| (id(step), vec!["bg1".to_owned()])).into();
    for _ in 0..2 {
        world.feed(Input::BackgroundEnded { ended: ended.clone() });
    }
    assert!(world.step("a").background.is_empty());
    world.reply(&at("a/0/1/ask.0"), calls(&["read again"]));
    world.reply(&at("a/0/1/call.0"), gives("ok"));
    assert_eq!(world.talk("a").matches("bg1").count(), 1, "{}", world.talk("a"));
    assert_eq!(world.talk("b").matches("bg1").count(), 0, "it had none");
}
