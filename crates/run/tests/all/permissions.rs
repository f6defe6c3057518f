//! Rules, modes and "always", as a run decides with them.

#![allow(clippy::unwrap_used, reason = "a rule that cannot be read shall stop the test")]

use std::sync::Arc;

use crate::support::{World, allow, at, calls, given, gives, outside, says};
use updraft_run::{
    ApprovalMode, ApprovalScope, Effect, EffectClass, Input, NarrowedRights, PreparedCall, Rule, Rules, Run,
    RunSettings, RunStart, SimpleCommand, Verdict,
};

fn rule(text: &str) -> Rule {
    Rule::parse(text, "config.toml:7").unwrap()
}

fn ruled(approvals: ApprovalMode, rules: Rules) -> RunStart {
    RunStart { settings: Arc::new(RunSettings { approvals, rules, ..RunSettings::default() }), ..given(&["a"]) }
}

fn runs(parts: &[&str]) -> PreparedCall {
    let part = |text: &&str| SimpleCommand {
        words: text.split(' ').map(|w| Some(w.to_owned())).collect(),
        ..SimpleCommand::default()
    };
    let parts: Vec<SimpleCommand> = parts.iter().map(part).collect();
    PreparedCall { class: EffectClass::Opaque, command: Some("…".into()), parts, ..PreparedCall::default() }
}

/// What follows from one call.
fn decided(start: RunStart, prepared: PreparedCall) -> String {
    let mut world = World::of(start).prepares("send", prepared);
    world.reply(&at("a/0/0/ask.0"), calls(&["send x"]));
    world.last().lines().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_refusal_names_the_rule_and_where_it_stands() {
    let rules = Rules { deny: vec![rule("send(git push)")], allow: vec![rule("send")], ..Rules::default() };
    insta::assert_snapshot!(decided(ruled(ApprovalMode::Allow, rules), runs(&["ls", "git push"])), @"rejects a/0/0/call.0: `send` is denied by the rule `send(git push)` (config.toml:7); only removing that rule would allow it");
}

#[test]
fn a_rule_that_asks_is_asked_also_under_yes_and_beside_one_that_allows() {
    let rules = Rules { ask: vec![rule("send(git push)")], allow: vec![rule("send(git)")], ..Rules::default() };
    insta::assert_snapshot!(decided(ruled(ApprovalMode::Allow, rules.clone()), runs(&["git push"])), @r#"wants a/0/0/approve.0: {"approval":{"why":"`send` wants to run `…`. Asked because of the rule `send(git push)` (config.toml:7)","insists":true}}"#);
    assert!(decided(ruled(ApprovalMode::Refuse, rules.clone()), runs(&["git push"])).contains("nobody can approve it"));
    assert_eq!(decided(ruled(ApprovalMode::Allow, rules), runs(&["git log"])), "wants a/0/0/call.0");
}

#[test]
fn a_rule_that_allows_lifts_the_question_of_the_mode_if_every_part_is_covered() {
    let rules = Rules { allow: vec![rule("send(git)")], ..Rules::default() };
    let reaching = |parts: &[&str]| PreparedCall { outside: true, ..runs(parts) };
    assert_eq!(decided(ruled(ApprovalMode::Ask, rules.clone()), reaching(&["git push"])), "wants a/0/0/call.0");
    assert_eq!(decided(ruled(ApprovalMode::Refuse, rules.clone()), reaching(&["git push"])), "wants a/0/0/call.0");
    assert!(decided(ruled(ApprovalMode::Ask, rules), reaching(&["git push", "rm x"])).contains("send(rm x $)"));
}

#[test]
fn what_cannot_be_read_is_asked_about_where_a_rule_speaks_of_commands() {
    let unclear =
        || PreparedCall { parts: vec![SimpleCommand { uncertain: true, ..SimpleCommand::default() }], ..runs(&[]) };
    let rules = Rules { deny: vec![rule("send(git push)")], ..Rules::default() };
    assert!(decided(ruled(ApprovalMode::Allow, rules.clone()), unclear()).contains("which is not certain"));
    assert!(decided(ruled(ApprovalMode::Refuse, rules), unclear()).starts_with("rejects"));
    assert_eq!(decided(ruled(ApprovalMode::Ask, Rules::default()), unclear()), "wants a/0/0/call.0");
}

#[test]
fn an_agents_file_narrows_what_the_run_allows_and_never_widens() {
    let narrowed = |narrowed: NarrowedRights, approvals: ApprovalMode, prepared: PreparedCall| {
        let mut start = ruled(approvals, Rules::default());
        Arc::make_mut(&mut start.roster).agents.iter_mut().for_each(|agent| agent.narrowed = narrowed.clone());
        decided(start, prepared)
    };
    let deny = NarrowedRights { rules: Rules { deny: vec![rule("send")], ..Rules::default() }, mode: None };
    assert!(narrowed(deny, ApprovalMode::Allow, outside()).starts_with("rejects"));
    let asks = NarrowedRights { mode: Some(ApprovalMode::Ask), rules: Rules::default() };
    assert!(narrowed(asks, ApprovalMode::Allow, outside()).contains("approval"));
    let allow = Rules { allow: vec![rule("send")], ..Rules::default() };
    let widens = NarrowedRights { mode: Some(ApprovalMode::Allow), rules: allow };
    assert!(narrowed(widens.clone(), ApprovalMode::Ask, outside()).contains("approval"));
    assert!(narrowed(widens, ApprovalMode::ReadOnly, outside()).starts_with("rejects"));
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
    let verdict = Verdict { always: Some(ApprovalScope::Run), ..allow() };
    world.feed(Input::Verdict { id: None, verdict });
    world.recover(Vec::new());
    world.work();
    assert_eq!(world.answer(), "done", "{}", world.transcript());
    assert_eq!(Run::fold(world.records.clone()).remembered().len(), 1);
}

#[test]
fn going_on_with_yes_is_no_answer_to_what_would_be_asked_under_yes() {
    let waits = |start: RunStart, prepared: PreparedCall| {
        let mut world = World::of(start).says("a", [calls(&["send x"])]).prepares("send", prepared).go();
        assert_eq!(world.open(), ["a/0/0/approve.0"], "{}", world.transcript());
        world.feed(Input::Resume { budget: None, approvals: Some(ApprovalMode::Allow) });
        world.open() == ["a/0/0/approve.0"]
    };
    let asks = Rules { ask: vec![rule("send(git push)")], ..Rules::default() };
    assert!(waits(ruled(ApprovalMode::Ask, asks), runs(&["git push"])), "a rule asks");
    let denies = Rules { deny: vec![rule("send(git push)")], ..Rules::default() };
    let unclear =
        PreparedCall { parts: vec![SimpleCommand { uncertain: true, ..SimpleCommand::default() }], ..runs(&[]) };
    assert!(waits(ruled(ApprovalMode::Ask, denies), unclear), "a rule may deny");
    let mut narrowed = ruled(ApprovalMode::Ask, Rules::default());
    let agents = &mut Arc::make_mut(&mut narrowed.roster).agents;
    for agent in agents.iter_mut() {
        agent.narrowed.mode = Some(ApprovalMode::Ask);
    }
    assert!(waits(narrowed, outside()), "the agent's file asks");
    assert!(!waits(ruled(ApprovalMode::Ask, Rules::default()), outside()), "only the run asked");
}

#[test]
fn no_never_remembers() {
    let mut world = World::of(given(&["a"])).says("a", [calls(&["send x"])]).prepares("send", outside()).go();
    let verdict = Verdict { always: Some(ApprovalScope::Run), ..crate::support::deny("no") };
    world.feed(Input::Verdict { id: None, verdict });
    assert!(world.run.remembered().is_empty());
}
