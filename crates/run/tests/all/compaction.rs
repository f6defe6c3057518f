//! Long conversations are shortened without losing what the model was told.

use std::sync::Arc;

use crate::support::{World, at, calls, costs, given, gives, says};
use updraft_run::{Input, RunSettings, RunStart};

/// A step whose every turn is longer than allowed, in its n-th turn.
fn talkative(turns: usize) -> World {
    talkative_with(turns, RunSettings::default())
}

fn talkative_with(turns: usize, settings: RunSettings) -> World {
    let settings = RunSettings { compact_at: 50, turns: 40, ..settings };
    let mut world = World::of(RunStart { settings: Arc::new(settings), ..given(&["a"]) });
    world.feed(Input::Tell { message: "never mention the price".into() });
    world.gives.insert("read".into(), gives(&"many words ".repeat(20)));
    let replies = (0..turns).map(|n| costs(60, calls(&[&format!("read {n}")])));
    world.says.insert("a".into(), replies.collect());
    world.go()
}

#[test]
fn the_older_turns_become_a_summary_and_what_was_told_stays_word_for_word() {
    let mut world = talkative(8);
    assert_eq!(world.open(), ["a/0/7/compact.0"]);
    world.reply(&at("a/0/7/compact.0"), says("read 0 to 3, nothing found"));
    insta::assert_snapshot!(world.talk("a").replace(&"many words ".repeat(20), "many words"), @r#"
    note: {"told":{"message":"never mention the price"}}
    summary: read 0 to 3, nothing found
    model: read({"q":"4"})
    tools: many words
    model: read({"q":"5"})
    tools: many words
    model: read({"q":"6"})
    tools: many words
    model: read({"q":"7"})
    tools: many words
    "#);
    assert_eq!(world.open(), ["a/0/8/ask.0"]);
}

#[test]
fn as_many_turns_stay_word_for_word_as_the_settings_say() {
    let mut world = talkative_with(4, RunSettings { compact_keep: 2, ..RunSettings::default() });
    assert_eq!(world.open(), ["a/0/3/compact.0"]);
    world.reply(&at("a/0/3/compact.0"), says("read 0 and 1"));
    let talk = world.talk("a");
    let kept: Vec<&str> = talk.lines().filter(|line| line.starts_with("model: ")).collect();
    assert_eq!(kept, [r#"model: read({"q":"2"})"#, r#"model: read({"q":"3"})"#]);
}

#[test]
fn the_next_summary_waits_until_as_many_turns_have_passed_again() {
    let mut world = talkative(8);
    world.reply(&at("a/0/7/compact.0"), says("read 0 to 3"));
    for turn in 8..12 {
        assert_eq!(world.open(), [format!("a/0/{turn}/ask.0")]);
        world.reply(&at(&format!("a/0/{turn}/ask.0")), costs(60, calls(&[&format!("read {turn}")])));
        world.reply(&at(&format!("a/0/{turn}/call.0")), gives("a result of some length"));
    }
    assert_eq!(world.open(), ["a/0/11/compact.0"]);
    world.reply(&at("a/0/11/compact.0"), says("read 0 to 7"));
    assert_eq!(world.talk("a").matches("summary:").count(), 1);
    assert!(world.talk("a").contains("never mention the price"));
}

#[test]
fn a_summary_that_does_not_shrink_is_an_error() {
    for summary in ["  ".to_owned(), "far too long ".repeat(200)] {
        let mut world = talkative(8);
        world.reply(&at("a/0/7/compact.0"), says(&summary));
        assert_eq!(world.status("a"), "failed");
    }
}

#[test]
fn a_summary_is_not_asked_for_when_no_turn_is_left_in_the_budget() {
    let settings = RunSettings { compact_at: 50, turns: 40, ..RunSettings::default() };
    let budget = updraft_run::Budget { turns: Some(8), ..updraft_run::Budget::default() };
    let mut world = World::of(RunStart { settings: Arc::new(settings), budget, ..given(&["a"]) });
    world.gives.insert("read".into(), gives("text"));
    world.says.insert("a".into(), (0..8).map(|n| costs(60, calls(&[&format!("read {n}")]))).collect());
    world.work();
    assert_eq!(*world.run.phase(), updraft_run::RunPhase::Exhausted(updraft_run::BudgetLimit::Turns));
    world.feed(crate::support::raise(updraft_run::Budget { turns: Some(20), ..updraft_run::Budget::default() }));
    assert_eq!(world.open(), ["a/0/7/compact.0"]);
}
