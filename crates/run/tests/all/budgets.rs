//! What a run may spend: reserved before it is spent, counted once, raised by hand.

use std::sync::Arc;

use crate::support::{World, at, calls, costs, given, gives, outside, raise, resume, says, used};
use updraft_run::{
    Budget, BudgetLimit, Ceiling, Cost, EffectFacts, Failure, FailureKind, Input, Millis, PreparedCall, Reply,
    RunPhase, RunSettings, RunStart, ToolCall, ToolOutput,
};

fn tokens(limit: u64, start: RunStart) -> RunStart {
    RunStart { budget: Budget { tokens: Some(limit), ..Budget::default() }, ..start }
}

fn estimate(world: &mut World, id: &str, tokens: u64) {
    world.feed(Input::Estimated { id: at(id), ceiling: Ceiling { tokens, cost: Some(Cost(tokens)) } });
}

#[test]
fn a_model_is_asked_only_when_its_ceiling_is_reserved() {
    let mut world = World::of(tokens(100, given(&["a"])));
    assert!(!world.run.may_begin(&at("a/0/0/ask.0")));
    estimate(&mut world, "a/0/0/ask.0", 60);
    assert!(world.run.may_begin(&at("a/0/0/ask.0")));
    world.reply(&at("a/0/0/ask.0"), costs(40, says("A")));
    assert_eq!((world.run.ledger().usage.tokens(), world.run.ledger().reserved.tokens), (40, 0));
}

#[test]
fn what_does_not_fit_beside_others_waits_until_they_give_some_back() {
    let mut world = World::of(tokens(100, given(&["a", "b"])));
    estimate(&mut world, "a/0/0/ask.0", 60);
    estimate(&mut world, "b/0/0/ask.0", 60);
    assert!(!world.run.may_begin(&at("b/0/0/ask.0")));
    world.reply(&at("a/0/0/ask.0"), costs(20, says("A")));
    assert!(world.run.may_begin(&at("b/0/0/ask.0")));
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a, b
    wants a/0/0/ask.0
    wants b/0/0/ask.0
    reserves 60 for a/0/0/ask.0
    holds b/0/0/ask.0
    a/0/0/ask.0 says "A"
    a done
    reserves 60 for b/0/0/ask.0
    "#);
}

#[test]
fn what_fits_nowhere_exhausts_the_run_and_more_lets_it_go_on() {
    let mut world = World::of(tokens(50, given(&["a"]))).says("a", [says("A")]);
    estimate(&mut world, "a/0/0/ask.0", 60);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Tokens));
    assert!(world.run.is_at_rest(), "an exhausted run holds no process");
    world.feed(resume());
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Tokens), "the same budget is as used up as before");
    world.feed(raise(Budget { tokens: Some(70), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "A");
}

#[test]
fn an_exhausted_run_can_be_opened_as_often_as_one_likes() {
    let mut world = World::of(tokens(50, given(&["a"]))).says("a", [says("A")]);
    estimate(&mut world, "a/0/0/ask.0", 60);
    for _ in 0..5 {
        world.recover(Vec::new());
        world.feed(resume());
    }
    world.feed(raise(Budget { tokens: Some(70), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "A", "a question that nobody asked was not cut off");
}

#[test]
fn money_counts_like_tokens_and_an_unknown_price_is_an_error() {
    let budget = Budget { cost: Some(Cost(50)), ..Budget::default() };
    let mut world = World::of(RunStart { budget: budget.clone(), ..given(&["a"]) });
    estimate(&mut world, "a/0/0/ask.0", 60);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Cost));
    let mut world = World::of(RunStart { budget, ..given(&["a"]) });
    world.feed(Input::Estimated { id: at("a/0/0/ask.0"), ceiling: Ceiling { tokens: 1, cost: None } });
    insta::assert_snapshot!(world.last(), @r#"
    a/0/0/ask.0 gives failed: the price of this model is not known, so a budget in money cannot be kept; set its price in the configuration
    a failed (config): the price of this model is not known, so a budget in money cannot be kept; set its price in the configuration
    a judged: "give_up"
    finished:  [config: step `a` failed: the price of this model is not known, so a budget in money cannot be kept; set its price in the configuration]
    "#);
}

#[test]
fn turns_and_calls_are_counted_before_they_are_made() {
    let budget = Budget { turns: Some(1), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) })
        .says("a", [calls(&["read x"]), says("A")])
        .gives("read", gives("X"))
        .go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    world.feed(raise(Budget { turns: Some(2), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "A");

    let budget = Budget { calls: Some(1), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) })
        .says("a", [calls(&["read x", "read y"]), says("A")])
        .gives("read", gives("X"))
        .go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Calls));
    assert_eq!(world.run.ledger().calls, 0);
    world.feed(raise(Budget { calls: Some(2), ..Budget::default() }));
    world.work();
    assert_eq!(world.answer(), "A");
}

#[test]
fn calls_that_are_not_made_are_not_counted() {
    let budget = Budget { calls: Some(1), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) });
    world.reply(&at("a/0/0/ask.0"), calls(&["read x", "ask_user y", "no_such_tool"]));
    assert_eq!(world.open(), ["a/0/0/call.0", "a/0/0/call.1"]);
    assert_eq!(world.run.ledger().calls, 1);
}

#[test]
fn an_approved_call_could_exceed_the_calls_that_were_left() {
    let budget = Budget { calls: Some(1), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a", "b"]) }).prepares("send", outside());
    world.reply(&at("a/0/0/ask.0"), calls(&["send x"]));
    world.reply(&at("b/0/0/ask.0"), calls(&["read x"]));
    world.feed(Input::Verdict { id: None, verdict: crate::support::allow() });
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Calls));
    world.feed(raise(Budget { calls: Some(2), ..Budget::default() }));
    assert!(world.open().contains(&"a/0/0/call.0".to_owned()));
}

#[test]
fn time_at_work_is_limited_and_waiting_for_people_is_not_work() {
    let budget = Budget { time: Some(Millis(1_000)), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) });
    world.reply(&at("a/0/0/ask.0"), calls(&["ask_user which?"]));
    world.now += 86_400_000;
    world.feed(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(*world.run.phase(), RunPhase::Running);
    world.now += 999;
    world.feed(Input::Due);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Time));
}

#[test]
fn time_passed_in_a_pause_counted_as_time_at_work() {
    let mut world = World::of(given(&["a"]));
    world.feed(Input::Pause);
    world.now += 86_400_000;
    world.feed(resume());
    assert!(world.run.worked().0 < 10, "{:?}", world.run.worked());
    world.now += 3_600_000;
    world.recover(Vec::new());
    assert!(world.run.worked().0 < 10, "downtime is not work either: {:?}", world.run.worked());
}

#[test]
fn a_step_that_spends_its_own_budget_fails_and_the_others_go_on() {
    let settings =
        RunSettings { step_budget: Budget { tokens: Some(15), ..Budget::default() }, ..RunSettings::default() };
    let world = World::of(RunStart { settings: Arc::new(settings), ..given(&["a", "b"]) })
        .says("a", [calls(&["read x"]), says("A")])
        .says("b", [says("B")])
        .gives("read", gives("X"))
        .go();
    assert_eq!((world.status("a"), world.status("b")), ("failed", "completed"));
    insta::assert_snapshot!(world.run.status_word(), @"failed");
}

#[test]
fn summaries_and_judgements_count_as_turns_too() {
    let budget = Budget { turns: Some(1), ..Budget::default() };
    let mut start = RunStart { budget, ..given(&["a"]) };
    Arc::make_mut(&mut start.roster)
        .agents
        .iter_mut()
        .for_each(|agent| agent.reflect = updraft_run::ReflectionMode::Model);
    let world = World::of(start).says("a", [says("A")]).go();
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
}

#[test]
fn a_question_that_was_cut_off_may_have_been_paid_for() {
    let mut world = World::of(tokens(1_000, given(&["a"])));
    for attempt in 1..=10_u64 {
        estimate(&mut world, "a/0/0/ask.0", 20);
        world.begin(&at("a/0/0/ask.0"));
        world.recover(Vec::new());
        assert_eq!(world.run.ledger().doubtful.tokens, 20 * attempt);
    }
    assert_eq!(world.status("a"), "waiting");
    insta::assert_snapshot!(world.last(), @r"
    a/0/0/ask.0 interrupted at attempt 10
    a halted (outage): the model call was cut off 10 times
    exhausted: waiting for a model
    ");
}

#[test]
fn a_question_that_was_never_sent_uses_up_no_attempt() {
    let mut world = World::of(given(&["a"]));
    let ask = at("a/0/0/ask.0");
    // The first one's beginning may be missing on disk although it was sent.
    world.recover(Vec::new());
    assert_eq!(world.run.open()[&ask].attempt, 2);
    for _ in 0..30 {
        world.recover(Vec::new());
    }
    assert_eq!(world.run.open()[&ask].attempt, 2);
    world.begin(&ask);
    world.recover(Vec::new());
    assert_eq!(world.run.open()[&ask].attempt, 3, "this one was sent");
    world.begin(&ask);
    world.reply(&ask, says("A"));
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_question_stopped_half_way_may_have_been_paid_for() {
    let refused = Reply::Failed(Failure::new(FailureKind::Config, "no such model"));
    for (reply, doubtful) in [
        (Reply::TimedOut { limit: Millis(1) }, 20),
        (Reply::Cancelled, 20),
        (Reply::Failed(Failure::new(FailureKind::InDoubt, "the stream broke off")), 20),
        (crate::support::model_fails("nobody could be reached"), 0),
        (refused, 0),
    ] {
        let mut world = World::of(tokens(100, given(&["a"])));
        estimate(&mut world, "a/0/0/ask.0", 20);
        world.begin(&at("a/0/0/ask.0"));
        world.reply(&at("a/0/0/ask.0"), reply.clone());
        assert_eq!(world.run.ledger().doubtful.tokens, doubtful, "{reply:?}");
    }
}

#[test]
fn a_held_question_does_not_undo_a_pause_or_a_cancel() {
    let mut world = World::of(tokens(10, given(&["a"])));
    world.feed(Input::Pause);
    estimate(&mut world, "a/0/0/ask.0", 60);
    assert_eq!(*world.run.phase(), RunPhase::Paused);
    world.feed(crate::support::cancel());
    estimate(&mut world, "a/0/0/ask.0", 60);
    assert_eq!(world.run.status_word(), "cancelled");
}

#[test]
fn a_step_that_uses_up_its_time_fails_with_what_depends_on_it() {
    let mut start = given(&["a", "b", "c < a"]);
    let limited = Budget { time: Some(Millis(100)), ..Budget::default() };
    start.settings = std::sync::Arc::new(RunSettings { step_budget: limited, replans: 0, ..(*start.settings).clone() });
    let mut world = World::of(start);
    let step = |id: &str| updraft_run::StepId::parse(id).unwrap();
    let now = |world: &World, passed: i64| updraft_run::Timestamp(world.records.last().unwrap().at.0 + passed);
    let at_first = now(&world, 0);
    assert_eq!(world.run.time_left(at_first), Some(Millis(100)));
    let later = now(&world, 60);
    world.run.advance(Input::Due, later);
    assert_eq!(world.run.step(&step("a")).unwrap().status(), "running");
    let last = updraft_run::Timestamp(later.0 + 60);
    let record = world.run.advance(Input::Due, last);
    assert!(
        record
            .events
            .iter()
            .any(|event| matches!(event, updraft_run::Event::StepFailed { step, .. } if step.as_str() == "a"))
    );
    assert_eq!(world.run.step(&step("c")).unwrap().status(), "skipped");
}

/// A step that asks another model, with a budget of this many tokens.
fn consulting(tokens: u64) -> World {
    let model = PreparedCall { model: Some("other/model".into()), ..PreparedCall::default() };
    let budget = Budget { tokens: Some(tokens), ..Budget::default() };
    World::of(RunStart { budget, ..given(&["a"]) })
        .says("a", [calls(&["fetch opinion"]), calls(&["never"]), says("done")])
        .prepares("fetch", model)
}

#[test]
fn a_call_that_asks_a_model_is_reserved_billed_and_counted_like_a_question() {
    let mut world = consulting(1_000);
    world.step_on();
    world.step_on();
    let call = at("a/0/0/call.0");
    assert!(!world.run.may_begin(&call), "nothing was reserved yet");
    world.feed(Input::Estimated { id: call.clone(), ceiling: world.ceiling });
    assert_eq!(world.last(), "reserves 10 for a/0/0/call.0");
    world.begin(&call);
    let output = ToolOutput { text: "yes".into(), usage: Some(Box::new(used(7))), ..ToolOutput::default() };
    world.reply(&call, Reply::Output(Arc::new(output)));
    let ledger = world.run.ledger();
    assert_eq!((ledger.usage.tokens(), ledger.reservations, ledger.turns, ledger.calls), (17, 0, 3, 1));
    assert_eq!(world.step("a").ledger.usage.tokens(), 17);
}

#[test]
fn a_question_to_another_model_that_was_cut_off_is_doubtful_and_asked_again() {
    let mut world = consulting(1_000);
    world.step_on();
    world.step_on();
    let call = at("a/0/0/call.0");
    for attempt in 1..=10_u64 {
        world.feed(Input::Estimated { id: call.clone(), ceiling: world.ceiling });
        world.begin(&call);
        world.recover(Vec::new());
        assert!(world.last().contains(&format!("interrupted at attempt {attempt}")), "{}", world.last());
        assert_eq!(world.run.ledger().doubtful.tokens, 10 * attempt);
    }
    assert!(world.last().contains("cut off 10 times"), "{}", world.last());
}

#[test]
fn a_question_to_another_model_that_does_not_fit_stops_the_run_or_fails_the_code() {
    let mut world = consulting(25);
    world.step_on();
    world.step_on();
    let ceiling = Ceiling { tokens: 100, ..world.ceiling };
    world.feed(Input::Estimated { id: at("a/0/0/call.0"), ceiling });
    assert!(world.last().contains("exhausted: tokens"), "{}", world.last());

    let budget = Budget { tokens: Some(25), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) }).says("a", [calls(&["run_python x"])]);
    world.step_on();
    world.step_on();
    let under = at("a/0/0/call.0");
    let call = ToolCall { id: String::new(), name: "fetch".into(), args: serde_json::json!({}), fault: None };
    let prepared = PreparedCall { model: Some("other/model".into()), ..PreparedCall::default() };
    world.feed(Input::Wished { under: under.clone(), call, prepared: Box::new(prepared) });
    world.feed(Input::Estimated { id: under.within(0), ceiling });
    assert!(world.last().contains("the run has used up its budget of tokens"), "{}", world.last());
    assert_eq!(world.open(), ["a/0/0/call.0"], "the code goes on");
}

fn begin_at(world: &mut World, ceiling: Ceiling) {
    let id = at("a/0/0/ask.0");
    let (attempt, epoch) = (world.run.open()[&id].attempt, world.epoch);
    let facts = EffectFacts { ceiling: Some(ceiling), ..EffectFacts::default() };
    world.feed(Input::Begun { id, attempt, epoch, facts });
}

#[test]
fn a_question_cut_off_without_a_budget_may_have_been_billed() {
    let ceiling = Ceiling { tokens: 20, cost: Some(Cost(70)) };
    let mut world = World::of(given(&["a"]));
    begin_at(&mut world, ceiling);
    let ledger = world.run.ledger();
    assert_eq!((ledger.outstanding().cost, ledger.cut_off), (Some(Cost(70)), 0), "it has not answered yet");
    world.recover(Vec::new());
    begin_at(&mut world, ceiling);
    world.reply(&at("a/0/0/ask.0"), costs(10, says("A")));
    let ledger = world.run.ledger();
    assert_eq!((ledger.doubtful.cost, ledger.cut_off, ledger.reservations), (Some(Cost(70)), 1, 0));
    assert_eq!(world.step("a").ledger.doubtful.cost, Some(Cost(70)));
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_question_cut_off_at_an_unknown_price_makes_the_cost_unknown() {
    let mut world = World::of(given(&["a"]));
    begin_at(&mut world, Ceiling { tokens: 20, cost: None });
    world.feed(crate::support::cancel());
    world.reply(&at("a/0/0/ask.0"), Reply::Cancelled);
    assert_eq!((world.run.ledger().cut_off, world.run.ledger().unpriced), (1, 1));
}

#[test]
fn a_budget_given_later_counts_what_may_have_been_billed_before() {
    let mut world = World::of(given(&["a"]));
    begin_at(&mut world, Ceiling { tokens: 20, cost: Some(Cost(20)) });
    world.recover(Vec::new());
    world.feed(raise(Budget { cost: Some(Cost(30)), ..Budget::default() }));
    estimate(&mut world, "a/0/0/ask.0", 20);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Cost));
}

#[test]
fn requests_that_were_cut_off_count_as_turns() {
    let mut world = World::of(RunStart { budget: Budget { turns: Some(2), ..Budget::default() }, ..given(&["a"]) });
    let ask = at("a/0/0/ask.0");
    world.begin(&ask);
    world.recover(Vec::new());
    assert_eq!((world.run.phase(), world.run.ledger().requests()), (&RunPhase::Running, 1));
    world.begin(&ask);
    assert_eq!(world.run.ledger().requests(), 2);
    world.recover(Vec::new());
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    world.feed(resume());
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns), "the same limit is as used up as before");
    world.feed(raise(Budget { turns: Some(3), ..Budget::default() }));
    world.begin(&ask);
    world.reply(&ask, says("A"));
    assert_eq!((world.answer(), world.run.ledger().requests()), ("A".to_owned(), 3));
}

#[test]
fn a_clock_that_was_set_back_between_two_processes_gives_no_more_time() {
    let budget = Budget { time: Some(Millis(1_000)), ..Budget::default() };
    let mut world = World::of(RunStart { budget, ..given(&["a"]) });
    world.begin(&at("a/0/0/ask.0"));
    world.now -= 3_600_000;
    world.recover(Vec::new());
    world.begin(&at("a/0/0/ask.0"));
    world.now += 1_000;
    world.feed(Input::Due);
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Time));
}
