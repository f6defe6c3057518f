//! Long conversations are made to fit into the context window, without losing what the model was told.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{World, at, calls, costs, given, gives, raise, says};
use serde_json::json;
use updraft_run::{
    Budget, BudgetLimit, Event, Failure, FailureKind, FinishReason, Input, ModelAnswer, Reply, RunPhase, RunSettings,
    RunStart, Shortening, ShownPart, ToolOutput, WindowSource, output_name,
};

const WINDOW: u64 = 32_000;

/// A world with a step `a` whose model has a window of 32,000 tokens.
fn world() -> World {
    let settings = RunSettings { window: Some(WINDOW), turns: 60, ..RunSettings::default() };
    World::of(RunStart { settings: Arc::new(settings), ..given(&["a"]) })
}

fn too_long() -> Reply {
    Reply::Failed(Failure::new(FailureKind::TooLong, "maximum context length exceeded"))
}

fn open_question(world: &World) -> updraft_run::EffectAddress {
    world.run.open().keys().next().cloned().unwrap_or_else(|| at("a/0/0/ask.0"))
}

/// One turn: the model reads, and is billed for so many tokens; the tool gives so many bytes.
fn turn(world: &mut World, tokens: u64, bytes: usize) {
    let ask = open_question(world);
    assert_eq!(ask.kind, updraft_run::EffectKind::Ask, "{ask}");
    world.reply(&ask, costs(tokens, calls(&[&format!("read {}", ask.turn)])));
    let call = ask.sibling(updraft_run::EffectKind::Call, 0);
    world.reply(&call, gives(&"many words\n".repeat(bytes / 11)));
}

/// One turn with a prompt of so many bytes, for which the server counts so many tokens.
fn turn_of(world: &mut World, bytes: u64, tokens: u64) {
    let ask = open_question(world);
    let facts = updraft_run::EffectFacts { bytes, ..updraft_run::EffectFacts::default() };
    world.feed(Input::Begun { id: ask, attempt: 1, epoch: world.epoch, facts });
    turn(world, tokens, 10_000);
}

/// Turns of 10,000 bytes, that is 3,000 tokens, until something else than the next turn follows.
fn talk_until_full(world: &mut World) -> u64 {
    let mut tokens = 1_000;
    while world.open()[0].contains("ask") {
        let before = world.records.len();
        turn(world, tokens, 10_000);
        if world.records[before..]
            .iter()
            .flat_map(|record| &record.events)
            .any(|event| matches!(event, Event::Shortened { .. }))
        {
            return tokens;
        }
        tokens += 3_000;
    }
    tokens
}

fn shortened(world: &World) -> Vec<(Shortening, BTreeMap<u32, ShownPart>)> {
    let events = world.records.iter().flat_map(|record| &record.events);
    events
        .filter_map(|event| match event {
            Event::Shortened { because, outputs, .. } => Some((*because, outputs.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn outputs_of_one_turn_that_are_too_long_together_are_cut_the_longest_first() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), costs(1_000, calls(&["read short", "read long", "read longest"])));
    for (n, lines) in [100, 2_000, 5_000].into_iter().enumerate() {
        world.reply(&at(&format!("a/0/0/call.{n}")), gives(&"many words\n".repeat(lines)));
    }
    let shown = shortened(&world);
    let [(Shortening::Turn, parts)] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!(parts.keys().copied().collect::<Vec<_>>(), [2, 3], "the short one is shown whole");
    // A quarter of the window at 300 tokens for a thousand bytes, without the short one.
    let together: u64 = parts.values().map(|part| part.bytes()).sum();
    assert!((20_000..=26_666 - 1_100).contains(&together), "{together}");
    assert_eq!(world.open(), ["a/0/1/ask.0"], "the model is asked on");
    assert_eq!(world.run.numbered_call(3), Some(&at("a/0/0/call.2")));
}

#[test]
fn a_small_model_is_shown_little_of_an_output() {
    let settings = RunSettings { window: Some(8_192), ..RunSettings::default() };
    let mut world = World::of(RunStart { settings: Arc::new(settings), ..given(&["a"]) });
    turn(&mut world, 1_000, 100_000);
    let shown = shortened(&world)[0].1[&1];
    assert!((1_000..=2_048).contains(&shown.bytes()), "{shown:?}");
}

#[test]
fn old_outputs_give_way_to_their_names_when_the_window_is_full() {
    let mut world = world();
    let tokens = talk_until_full(&mut world);
    assert!((20_000..25_600).contains(&tokens), "{tokens}");
    let (because, parts) = shortened(&world).pop().unwrap();
    assert_eq!(because, Shortening::Window);
    assert!(parts.values().all(|part| *part == ShownPart::NAME) && parts.len() >= 4, "{parts:?}");
    assert!(!parts.contains_key(&(world.step("a").conversation.len() as u32 / 2)), "the newest is kept");
    assert_eq!(world.step("a").rewrites, 1);
    assert!(world.open()[0].contains("ask"), "the work goes on without a summary");
}

#[test]
fn a_conversation_without_long_outputs_is_summarised() {
    let mut world = world();
    world.feed(Input::Tell { message: "never mention the price".into() });
    let mut tokens = 1_000;
    while world.open()[0].contains("ask") {
        let ask = at(&world.open()[0]);
        let long = format!("write {tokens} {}", "x".repeat(10_000));
        world.reply(&ask, costs(tokens, calls(&[&long])));
        world.reply(&ask.sibling(updraft_run::EffectKind::Call, 0), gives("written"));
        tokens += 3_000;
    }
    let compact = world.open()[0].clone();
    assert!(compact.ends_with("compact.0"), "{compact}");
    world.reply(&at(&compact), says("wrote a lot"));
    let talk = world.talk("a");
    assert!(
        talk.starts_with(
            "note: {\"told\":{\"message\":\"never mention the price\"}}\nsummary: wrote a lot\nmodel: write("
        ),
        "{talk}"
    );
    assert_eq!(talk.matches("model: ").count(), 2, "two turns of 3,000 tokens take less than a quarter: {talk}");
    assert!(world.open()[0].contains("ask"));
}

/// A world that waits for a summary.
fn summarising() -> World {
    let mut world = world();
    let mut tokens = 1_000;
    while world.open()[0].contains("ask") {
        let ask = at(&world.open()[0]);
        world.reply(&ask, costs(tokens, calls(&[&format!("write {tokens} {}", "x".repeat(10_000))])));
        world.reply(&ask.sibling(updraft_run::EffectKind::Call, 0), gives("written"));
        tokens += 3_000;
    }
    world
}

#[test]
fn a_model_that_calls_a_tool_instead_of_summarising_is_asked_once_more() {
    let mut world = summarising();
    let first = at(&world.open()[0]);
    world.reply(&first, calls(&["read more"]));
    let second = at(&world.open()[0]);
    assert_eq!((second.kind, second.n), (first.kind, 1));
    world.reply(&second, says("wrote a lot"));
    assert!(world.talk("a").contains("summary: wrote a lot"));
}

#[test]
fn without_a_usable_summary_the_work_goes_on_with_what_is_on_record() {
    for summary in ["  ".to_owned(), "far too long ".repeat(9_000)] {
        let mut world = summarising();
        while world.open()[0].contains("compact") {
            let open = at(&world.open()[0]);
            world.reply(&open, says(&summary));
        }
        assert!(world.talk("a").contains("summary: (No summary could be made"), "{}", world.talk("a"));
        assert!(world.open()[0].contains("ask"), "{:?}", world.open());
    }
}

#[test]
fn what_the_program_keeps_stands_beside_the_summary() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), costs(1_000, calls(&["ask_user Which colour?"])));
    world.feed(Input::Answer { id: None, text: "Green, never touch blue.txt".into() });
    let ask = world.open()[0].clone();
    let command = updraft_run::ToolCall {
        id: "c".into(),
        name: "run_python".into(),
        args: json!({"command": "cargo test"}),
        fault: None,
    };
    world.reply(&at(&ask), Reply::Answer(Arc::new(ModelAnswer { calls: vec![command], ..ModelAnswer::default() })));
    let changes = vec![updraft_run::FileChange { path: "src/a.rs".into(), ..updraft_run::FileChange::default() }];
    let output = ToolOutput {
        text: "line\n".repeat(200),
        value: Some(json!({"exit_code": 101})),
        changes,
        ..ToolOutput::default()
    };
    let call = world.open()[0].clone();
    world.reply(&at(&call), Reply::Output(output.into()));
    let mut tokens = 3_000;
    while world.open()[0].contains("ask") {
        let ask = at(&world.open()[0]);
        world.reply(&ask, costs(tokens, calls(&[&format!("write {tokens} {}", "x".repeat(10_000))])));
        world.reply(&ask.sibling(updraft_run::EffectKind::Call, 0), gives("written"));
        tokens += 3_000;
    }
    let open = at(&world.open()[0]);
    world.reply(&open, says("short"));
    let kept = &world.step("a").compacted;
    assert_eq!(kept.answers, ["\u{201c}Which colour?\u{201d}: Green, never touch blue.txt"]);
    assert_eq!(kept.changed.iter().collect::<Vec<_>>(), ["src/a.rs"]);
    assert_eq!(kept.tests["cargo test"], "exit code 101");
    assert_eq!(kept.outputs[&2], format!("`{}`: `run_python` cargo test, 1000 bytes", output_name(2)));
}

#[test]
fn a_refusal_for_length_shortens_and_asks_again() {
    let mut world = world();
    for n in 0..6 {
        turn(&mut world, 1_000 + 3_000 * n, 10_000);
    }
    let ask = world.open()[0].clone();
    world.reply(&at(&ask), too_long());
    let (because, parts) = shortened(&world).pop().unwrap();
    assert_eq!(because, Shortening::Refusal);
    assert!(parts.len() == 6, "{parts:?}");
    assert!(world.open()[0].contains("ask"), "{:?}", world.open());
    assert!(world.run.window_of(&crate::support::id("a")) < 20_000, "the window is smaller than was told");
    turn(&mut world, 4_000, 100);
    assert!(world.open()[0].contains("ask"));
}

#[test]
fn a_window_that_was_told_is_believed_when_a_short_prompt_is_refused_until_nothing_else_helps() {
    let mut world = world();
    turn(&mut world, 1_000, 100);
    turn(&mut world, 2_000, 10_000);
    let refuse = |world: &mut World| world.reply(&open_question(world), too_long());
    refuse(&mut world);
    assert_eq!(shortened(&world).pop().unwrap().0, Shortening::Refusal);
    let window = |world: &World| world.run.window_of(&crate::support::id("a"));
    assert_eq!(window(&world), WINDOW);
    for _ in 0..3 {
        refuse(&mut world);
    }
    assert!(window(&world) < WINDOW / 2, "{}", window(&world));
}

#[test]
fn a_model_that_writes_nothing_because_the_window_is_full_counts_as_a_refusal() {
    let mut world = world();
    for n in 0..5 {
        turn(&mut world, 1_000 + 3_000 * n, 10_000);
    }
    let ask = world.open()[0].clone();
    let empty = ModelAnswer { finish: FinishReason::Length, ..ModelAnswer::default() };
    world.reply(&at(&ask), Reply::Answer(empty.into()));
    assert_eq!(shortened(&world).pop().unwrap().0, Shortening::Refusal);
    assert!(world.open()[0].contains("ask"), "{:?}", world.open());
}

#[test]
fn what_cannot_be_shortened_stops_resumable_and_goes_on_with_a_larger_window() {
    let mut world = world();
    world.reply(&at("a/0/0/ask.0"), too_long());
    for _ in 0..3 {
        if let Some(open) = world.open().first().cloned() {
            world.reply(&at(&open), too_long());
        }
    }
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Window), "{}", world.transcript());
    let model = updraft_run::ChosenModel { model: "large/one".into(), window: Some(1_000_000) };
    world.feed(Input::ChangeModel { model });
    assert_eq!(world.open().len(), 1, "{:?}", world.open());
    let ask = world.open()[0].clone();
    world.reply(&at(&ask), says("done"));
    assert_eq!(world.status("a"), "completed");
}

#[test]
fn a_window_that_was_told_later_counts_and_a_refusal_counts_more() {
    let mut world = world();
    let window = |world: &World| world.run.window_of(&crate::support::id("a"));
    let told = |tokens, by| Input::Window { model: "builtin".into(), tokens, by };
    assert_eq!(window(&world), WINDOW);
    world.feed(told(64_000, WindowSource::Told));
    assert_eq!(window(&world), 64_000);
    world.feed(told(16_000, WindowSource::Refusal));
    world.feed(told(64_000, WindowSource::Told));
    world.feed(told(32_000, WindowSource::Refusal));
    assert_eq!(window(&world), 16_000);
}

#[test]
fn a_server_that_drops_the_beginning_of_a_prompt_without_a_word_has_shown_its_window() {
    let mut world = world();
    for (n, tokens) in [1_000, 4_000, 7_000].into_iter().enumerate() {
        turn_of(&mut world, 4_000 + 10_000 * n as u64, tokens);
    }
    assert_eq!(world.run.window_of(&crate::support::id("a")), WINDOW);
    turn_of(&mut world, 34_000, 5_500);
    assert_eq!(world.run.window_of(&crate::support::id("a")), 7_000);
    assert!(world.transcript().contains("has a window of 7000"), "{}", world.transcript());
    assert_eq!(shortened(&world).pop().unwrap().0, Shortening::Window);
}

#[test]
fn a_server_that_does_not_count_what_it_had_in_its_cache_has_not_shown_its_window() {
    let mut world = world();
    for (n, tokens) in [1_000, 4_000, 900, 800].into_iter().enumerate() {
        turn_of(&mut world, 4_000 + 10_000 * n as u64, tokens);
    }
    assert_eq!(world.run.window_of(&crate::support::id("a")), WINDOW);
}

#[test]
fn a_summary_is_not_asked_for_when_no_turn_is_left_in_the_budget() {
    let mut world = summarising();
    let turns = world.step("a").ledger.turns;
    let budget = Budget { turns: Some(turns - 1), ..Budget::default() };
    let settings = RunSettings { window: Some(WINDOW), turns: 60, ..RunSettings::default() };
    let mut limited = World::of(RunStart { settings: Arc::new(settings), budget, ..given(&["a"]) });
    let mut tokens = 1_000;
    while limited.open().first().is_some_and(|open| open.contains("ask")) {
        let ask = at(&limited.open()[0]);
        limited.reply(&ask, costs(tokens, calls(&[&format!("write {tokens} {}", "x".repeat(10_000))])));
        limited.reply(&ask.sibling(updraft_run::EffectKind::Call, 0), gives("written"));
        tokens += 3_000;
    }
    assert_eq!(*limited.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    limited.feed(raise(Budget { turns: Some(60), ..Budget::default() }));
    assert!(limited.open()[0].contains("compact"), "{:?}", limited.open());
    world.work();
}
