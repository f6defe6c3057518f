//! Rules, modes and "always", as a run decides with them.

#![allow(clippy::unwrap_used, reason = "a rule that cannot be read shall stop the test")]

use std::sync::Arc;

use crate::support::{World, allow, at, calls, given, gives, outside, says};
use updraft_run::{
    Approvals, Class, Effect, Input, Narrowed, Part, Prepared, Rule, Rules, Run, Scope, Settings, Start, Verdict,
};

fn rule(text: &str) -> Rule {
    Rule::parse(text, "config.toml:7").unwrap()
}

fn ruled(approvals: Approvals, rules: Rules) -> Start {
    Start { settings: Arc::new(Settings { approvals, rules, ..Settings::default() }), ..given(&["a"]) }
}

fn runs(parts: &[&str]) -> Prepared {
    let part = |text: &&str| Part { words: text.split(' ').map(|w| Some(w.to_owned())).collect(), ..Part::default() };
    let parts: Vec<Part> = parts.iter().map(part).collect();
    Prepared { class: Class::Opaque, command: Some("…".into()), parts, ..Prepared::default() }
}

/// What follows from one call.
fn decided(start: Start, prepared: Prepared) -> String {
    let mut world = World::of(start).prepares("send", prepared);
    world.reply(&at("a/0/0/ask.0"), calls(&["send x"]));
    world.last().lines().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_refusal_names_the_rule_and_where_it_stands() {
    let rules = Rules { deny: vec![rule("send(git push)")], allow: vec![rule("send")], ..Rules::default() };
    insta::assert_snapshot!(decided(ruled(Approvals::Allow, rules), runs(&["ls", "git push"])), @"rejects a/0/0/call.0: `send` is denied by the rule `send(git push)` (config.toml:7); only removing that rule would allow it");
}

#[test]
fn a_rule_that_asks_is_asked_also_under_yes_and_beside_one_that_allows() {
    let rules = Rules { ask: vec![rule("send(git push)")], allow: vec![rule("send(git)")], ..Rules::default() };
    insta::assert_snapshot!(decided(ruled(Approvals::Allow, rules.clone()), runs(&["git push"])), @r#"wants a/0/0/approve.0: {"approval":{"why":"`send` wants to run `…`. Asked because of the rule `send(git push)` (config.toml:7)","insists":true}}"#);
    assert!(decided(ruled(Approvals::Refuse, rules.clone()), runs(&["git push"])).contains("nobody is there"));
    assert_eq!(decided(ruled(Approvals::Allow, rules), runs(&["git log"])), "wants a/0/0/call.0");
}

#[test]
fn a_rule_that_allows_lifts_the_question_of_the_mode_if_every_part_is_covered() {
    let rules = Rules { allow: vec![rule("send(git)")], ..Rules::default() };
    let reaching = |parts: &[&str]| Prepared { outside: true, ..runs(parts) };
    assert_eq!(decided(ruled(Approvals::Ask, rules.clone()), reaching(&["git push"])), "wants a/0/0/call.0");
    assert_eq!(decided(ruled(Approvals::Refuse, rules.clone()), reaching(&["git push"])), "wants a/0/0/call.0");
    assert!(decided(ruled(Approvals::Ask, rules), reaching(&["git push", "rm x"])).contains("send(rm x $)"));
}

#[test]
fn what_cannot_be_read_is_asked_about_where_a_rule_speaks_of_commands() {
    let unclear = || Prepared { parts: vec![Part { uncertain: true, ..Part::default() }], ..runs(&[]) };
    let rules = Rules { deny: vec![rule("send(git push)")], ..Rules::default() };
    assert!(decided(ruled(Approvals::Allow, rules.clone()), unclear()).contains("cannot be told for certain"));
    assert!(decided(ruled(Approvals::Refuse, rules), unclear()).starts_with("rejects"));
    assert_eq!(decided(ruled(Approvals::Ask, Rules::default()), unclear()), "wants a/0/0/call.0");
}

#[test]
fn an_agents_file_narrows_what_the_run_allows_and_never_widens() {
    let narrowed = |narrowed: Narrowed, approvals: Approvals, prepared: Prepared| {
        let mut start = ruled(approvals, Rules::default());
        Arc::make_mut(&mut start.roster).agents.iter_mut().for_each(|agent| agent.narrowed = narrowed.clone());
        decided(start, prepared)
    };
    let deny = Narrowed { rules: Rules { deny: vec![rule("send")], ..Rules::default() }, mode: None };
    assert!(narrowed(deny, Approvals::Allow, outside()).starts_with("rejects"));
    let asks = Narrowed { mode: Some(Approvals::Ask), rules: Rules::default() };
    assert!(narrowed(asks, Approvals::Allow, outside()).contains("approval"));
    let allow = Rules { allow: vec![rule("send")], ..Rules::default() };
    let widens = Narrowed { mode: Some(Approvals::Allow), rules: allow };
    assert!(narrowed(widens.clone(), Approvals::Ask, outside()).contains("approval"));
    assert!(narrowed(widens, Approvals::ReadOnly, outside()).starts_with("rejects"));
}

#[test]
fn always_holds_for_the_rest_of_the_run_and_after_a_crash() {
    let mut world = World::of(given(&["a"]))
        .says("a", [calls(&["send x"]), calls(&["send y"]), says("done")])
        .gives("send", gives("sent"))
        .prepares("send", outside())
        .go();
    let always = |world: &World| match &world.run.open()[&at("a/0/0/approve.0")].effect {
        Effect::Approval { always, .. } => always.clone(),
        _ => Vec::new(),
    };
    assert_eq!(always(&world), ["send(example.org)"]);
    let verdict = Verdict { always: Some(Scope::Run), ..allow() };
    world.feed(Input::Verdict { id: None, verdict });
    world.recover(Vec::new());
    world.work();
    assert_eq!(world.answer(), "done", "{}", world.transcript());
    assert_eq!(Run::fold(world.records.clone()).remembered().len(), 1);
}

#[test]
fn going_on_with_yes_is_no_answer_to_what_would_be_asked_under_yes() {
    let waits = |start: Start, prepared: Prepared| {
        let mut world = World::of(start).says("a", [calls(&["send x"])]).prepares("send", prepared).go();
        assert_eq!(world.open(), ["a/0/0/approve.0"], "{}", world.transcript());
        world.feed(Input::Resume { budget: None, approvals: Some(Approvals::Allow) });
        world.open() == ["a/0/0/approve.0"]
    };
    let asks = Rules { ask: vec![rule("send(git push)")], ..Rules::default() };
    assert!(waits(ruled(Approvals::Ask, asks), runs(&["git push"])), "a rule asks");
    let denies = Rules { deny: vec![rule("send(git push)")], ..Rules::default() };
    let unclear = Prepared { parts: vec![Part { uncertain: true, ..Part::default() }], ..runs(&[]) };
    assert!(waits(ruled(Approvals::Ask, denies), unclear), "a rule may deny");
    let mut narrowed = ruled(Approvals::Ask, Rules::default());
    let agents = &mut Arc::make_mut(&mut narrowed.roster).agents;
    for agent in agents.iter_mut() {
        agent.narrowed.mode = Some(Approvals::Ask);
    }
    assert!(waits(narrowed, outside()), "the agent's file asks");
    assert!(!waits(ruled(Approvals::Ask, Rules::default()), outside()), "only the run asked");
}

#[test]
fn no_never_remembers() {
    let mut world = World::of(given(&["a"])).says("a", [calls(&["send x"])]).prepares("send", outside()).go();
    let verdict = Verdict { always: Some(Scope::Run), ..crate::support::deny("no") };
    world.feed(Input::Verdict { id: None, verdict });
    assert!(world.run.remembered().is_empty());
}
