//! Questions of someone who is called: put to a person, answered to the letter, and kept across a crash.

use crate::support::{World, at, calls, cancel, given, gives, opaque, says};
use serde_json::json;
use updraft_run::{EffectAddress, Input, Inquiry, PreparedCall, Reply, ToolCall};

const CALL: &str = "a/0/0/call.0";

/// A step whose call is under way. It may be made again, or not.
fn calling(prepared: PreparedCall) -> World {
    let mut world = World::of(given(&["a"])).says("a", [calls(&["send it"]), says("done")]).prepares("send", prepared);
    world.step_on();
    world.begin(&at(CALL));
    world
}

fn inquiry(text: &str) -> Inquiry {
    let form = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    Inquiry { from: "MCP server `shop`".into(), text: text.into(), form: Some(form), url: None, key: None }
}

fn asks(world: &mut World, text: &str) -> String {
    asks_by(world, text, None)
}

/// Asks a question that has a name, if only an empty one.
fn asks_by(world: &mut World, text: &str, key: Option<&str>) -> String {
    let inquiry = Inquiry { key: key.map(str::to_owned), ..inquiry(text) };
    let call = ToolCall { id: "k".into(), name: "elicitation".into(), args: json!({}), fault: None };
    let prepared = PreparedCall { inquiry: Some(inquiry.into()), ..PreparedCall::default() };
    world.feed(Input::Wished { under: at(CALL), call, prepared: prepared.into() });
    world.last()
}

fn inner(k: u32) -> EffectAddress {
    at(CALL).within(k)
}

fn answer(world: &mut World, k: u32, text: &str) {
    world.feed(Input::Answer { id: Some(inner(k)), text: text.into() });
}

fn crash(world: &mut World) {
    world.epoch += 1;
    world.feed(Input::Recovered { found: Vec::new() });
    assert_eq!(world.run.audit(), Vec::<String>::new());
}

#[test]
fn a_question_waits_for_an_answer_that_fits_and_no_time_passes_meanwhile() {
    let mut world = calling(opaque());
    asks(&mut world, "how many?");
    assert_eq!((world.run.status_word(), world.run.is_at_rest()), ("waiting", true));
    let worked = world.run.worked();
    world.now += 60_000;
    answer(&mut world, 0, "many");
    assert_eq!(world.last(), "", "what does not fit answers nothing");
    answer(&mut world, 0, "3");
    assert_eq!(world.run.worked(), worked);
    assert!(world.last().contains(r#"a/0/0/call.0/0 gives {"n":3}"#), "{}", world.last());
    assert_eq!((world.run.status_word(), world.open()), ("running", vec![CALL.to_owned()]));
    world.reply(&at(CALL), gives("ordered"));
    assert_eq!(world.run.ledger().calls, 1, "a question is no call");
    assert_eq!(world.go().answer(), "done");
}

#[test]
fn a_person_may_decline_or_put_it_away() {
    let mut world = calling(opaque());
    asks(&mut world, "how many?");
    let replies = |world: &World| match &world.records.last().unwrap().events[0] {
        updraft_run::Event::Replied { reply, .. } => reply.clone(),
        other => panic!("{other:?}"),
    };
    world.feed(Input::Decline { id: None, by: "ada".into(), dismissed: false });
    assert!(matches!(replies(&world), Reply::Verdict(verdict) if !verdict.allow && verdict.by == "ada"));
    asks(&mut world, "how many?");
    world.feed(Input::Decline { id: Some(inner(1)), by: String::new(), dismissed: true });
    assert_eq!(replies(&world), Reply::Cancelled);
}

#[test]
fn a_call_that_may_be_made_again_finds_its_question_waiting_after_a_crash() {
    let mut world = calling(PreparedCall::default());
    asks(&mut world, "how many?");
    crash(&mut world);
    assert_eq!(world.open(), [CALL, "a/0/0/call.0/0"], "it goes on waiting");
    assert_eq!(asks(&mut world, "how many?"), "", "and is not asked twice");
    assert_eq!(world.run.inquired(&at(CALL), &inquiry("how many?")), Some(inner(0)));
    answer(&mut world, 0, "3");
    assert_eq!(world.open(), [CALL]);
}

#[test]
fn an_answer_that_was_given_before_a_crash_is_not_asked_for_again() {
    let mut world = calling(PreparedCall::default());
    asks(&mut world, "how many?");
    answer(&mut world, 0, "3");
    crash(&mut world);
    let again = asks(&mut world, "how many?");
    assert!(again.contains(r#"a/0/0/call.0/1 gives {"n":3}"#), "{again}");
    asks(&mut world, "how many?");
    assert_eq!(world.open(), [CALL, "a/0/0/call.0/2"], "asked once more in the same attempt, it is another question");
}

#[test]
fn the_same_words_asked_twice_get_each_their_own_answer_after_a_crash() {
    for is_answered_before in [true, false] {
        let mut world = calling(PreparedCall::default());
        asks_by(&mut world, "how many?", Some(""));
        answer(&mut world, 0, "1");
        asks_by(&mut world, "how many?", Some(""));
        if is_answered_before {
            answer(&mut world, 1, "2");
        }
        for round in 0..2 {
            crash(&mut world);
            let first = asks_by(&mut world, "how many?", Some(""));
            assert!(first.contains(r#"gives {"n":1}"#), "{first}");
            let second = asks_by(&mut world, "how many?", Some(""));
            if is_answered_before {
                assert!(second.contains(r#"gives {"n":2}"#), "{second}");
            } else {
                assert_eq!(world.open(), [CALL, "a/0/0/call.0/1"], "{second}");
            }
            if round == 0 {
                let third = asks_by(&mut world, "how many?", Some(""));
                assert!(!third.contains("gives"), "a third time it is a question of its own: {third}");
                let own = world.open().pop().unwrap();
                world.feed(Input::Answer { id: Some(own.parse().unwrap()), text: "3".into() });
            }
        }
        if !is_answered_before {
            answer(&mut world, 1, "2");
        }
        let third = asks_by(&mut world, "how many?", Some(""));
        // One that was open beside another of the same words may have been either of them.
        assert_eq!(third.contains(r#"gives {"n":3}"#), is_answered_before, "{third}");
    }
}

#[test]
fn questions_with_names_are_known_by_them_in_whatever_order_they_come() {
    let mut world = calling(PreparedCall::default());
    asks_by(&mut world, "how many?", Some("a"));
    asks_by(&mut world, "how many?", Some("b"));
    answer(&mut world, 1, "2");
    crash(&mut world);
    let second = asks_by(&mut world, "how many?", Some("b"));
    assert!(second.contains(r#"gives {"n":2}"#), "{second}");
    asks_by(&mut world, "how many?", Some("a"));
    assert_eq!(world.open(), [CALL, "a/0/0/call.0/0"]);
    let strange = asks_by(&mut world, "how many?", Some("c"));
    assert!(!strange.contains("gives"), "{strange}");
}

#[test]
fn answers_to_the_same_words_open_at_once_are_asked_for_again_unless_they_agree() {
    for (other, agrees) in [("2", false), ("1", true)] {
        let mut world = calling(PreparedCall::default());
        asks_by(&mut world, "how many?", Some(""));
        asks_by(&mut world, "how many?", Some(""));
        answer(&mut world, 0, "1");
        answer(&mut world, 1, other);
        crash(&mut world);
        let again = asks_by(&mut world, "how many?", Some(""));
        assert_eq!(again.contains("gives"), agrees, "{again}");
    }
}

#[test]
fn a_call_whose_outcome_is_unknown_takes_its_question_along() {
    let mut world = calling(opaque());
    asks(&mut world, "how many?");
    crash(&mut world);
    assert!(world.last().contains("a/0/0/call.0/0 gives stopped: cancelled"), "{}", world.last());
    assert!(world.last().contains("a/0/0/call.0 gives outcome unknown"), "{}", world.last());
}

#[test]
fn what_can_be_found_again_is_gone_on_with_whatever_it_is() {
    let mut world = calling(opaque());
    world.feed(Input::Noted { id: at(CALL), handle: "task-7".into() });
    asks(&mut world, "how many?");
    crash(&mut world);
    assert_eq!(world.open(), [CALL, "a/0/0/call.0/0"]);
    assert_eq!(world.run.open()[&at(CALL)].handle.as_deref(), Some("task-7"));
    assert_eq!(world.run.open()[&at(CALL)].attempt, 2);
    // Once the handle was taken back, nobody can tell again.
    world.begin(&at(CALL));
    world.feed(Input::Noted { id: at(CALL), handle: String::new() });
    crash(&mut world);
    assert!(world.last().contains("outcome unknown"), "{}", world.last());
}

#[test]
fn a_call_that_hooks_let_pass_is_not_found_again_by_that() {
    let mut world = calling(opaque());
    let handle = format!("{}c1", updraft_run::HOOKS_PASSED);
    assert_eq!(world.feed(Input::Noted { id: at(CALL), handle }).events.len(), 1);
    crash(&mut world);
    assert!(world.last().contains("outcome unknown"), "{}", world.last());
}

#[test]
fn a_cancelled_run_asks_nobody_any_more() {
    let mut world = calling(opaque());
    asks(&mut world, "how many?");
    world.feed(cancel());
    assert_eq!(world.open(), [CALL]);
    world.reply(&at(CALL), Reply::Cancelled);
    assert_eq!(world.run.status_word(), "cancelled");
}

#[test]
fn a_call_may_ask_fifty_times() {
    let mut world = calling(opaque());
    for k in 0..50 {
        asks(&mut world, "how many?");
        answer(&mut world, k, "1");
    }
    assert!(asks(&mut world, "how many?").contains("may ask a person 50 times"), "{}", world.last());
}
