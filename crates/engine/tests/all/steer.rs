//! Steering runs while they are driven: cancel, pause, stop, from this process and from others.
#![allow(clippy::unwrap_used, reason = "a broken test should stop")]

use std::sync::Arc;
use std::time::Duration;

use crate::support::{World, by, calls, goal, says, settings, start, step, turn};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use updraft_engine::{Engine, EngineOptions, replay};
use updraft_models::ScriptedModel;
use updraft_run::{Budget, BudgetLimit, Graph, Input, RunId, RunPhase, Timestamp};

fn slow(ms: u64) -> Arc<ScriptedModel> {
    let script = json!([{ "text": "done at last", "delay_ms": ms }]);
    Arc::new(ScriptedModel::parse("scripted/test", &script.to_string()).unwrap())
}

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

#[tokio::test]
async fn a_cancelled_run_stops_its_model_call_and_says_so_when_it_is_opened_again() {
    let world = World::new();
    let engine = world.engine_with(slow(600_000), EngineOptions::default());
    let handle = start(&engine, "slow", by("thinker", "think"), settings(&world.workspace()), None).await;
    let sender = handle.sender();
    let (rested, sent) =
        tokio::join!(handle.drive(), async { sender.send(Input::Cancel { by: "me".into(), step: None }) });
    assert!(sent);
    assert_eq!(rested.unwrap().run.status_word(), "cancelled");
    assert_eq!(engine.load(&id("slow")).unwrap().status_word(), "cancelled");
}

#[tokio::test]
async fn a_stopped_process_leaves_the_run_to_the_next_one() {
    let world = World::new();
    let stop = CancellationToken::new();
    let engine = world.engine_with(slow(600_000), EngineOptions { stop: stop.clone(), ..EngineOptions::default() });
    let handle = start(&engine, "left", by("thinker", "think"), settings(&world.workspace()), None).await;
    let (rested, ()) = tokio::join!(handle.drive(), async { stop.cancel() });
    let rested = rested.unwrap();
    assert!(rested.was_stopped);
    assert_eq!(rested.run.status_word(), "running");
    engine.journal().clone().close().await;

    let next = world.engine_with(slow(0), EngineOptions::default());
    let rested = next.open(&id("left")).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.answer(), "done at last");
    assert_eq!(replay(next.journal(), &id("left")).unwrap().differences, []);
}

#[tokio::test]
async fn another_process_pauses_a_running_run_and_it_goes_on_later() {
    let world = World::new();
    let engine = world.engine(|prompt| {
        if turn(prompt) < 8 {
            calls(&[("list_files", json!({ "path": ".", "limit": turn(prompt) + 1 }))])
        } else {
            says("listed")
        }
    });
    let mut own = settings(&world.workspace());
    own.query_turns = 50;
    let other = world.journal();
    other.send(&id("paused"), "key", &Input::Pause, Timestamp(1)).await.unwrap_err();
    let handle = start(&engine, "paused", by("retriever", "list"), own, None).await;
    other.send(&id("paused"), "key", &Input::Pause, Timestamp(1)).await.unwrap();
    let rested = handle.drive().await.unwrap();
    // It may have been quicker than the post.
    if rested.run.status_word() == "paused" {
        let mut handle = engine.open(&id("paused")).await.unwrap();
        handle.send(Input::Resume { budget: None, approvals: None });
        assert_eq!(handle.drive().await.unwrap().run.status_word(), "done");
    }
    other.close().await;
}

#[tokio::test]
async fn an_input_that_waited_in_the_inbox_is_taken_when_the_run_is_opened() {
    let world = World::new();
    let engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("ask_user", json!({ "question": "which?", "options": ["red", "blue"] }))]),
        _ => says(format!("{:?}", prompt.messages.last())),
    });
    let handle = start(&engine, "asks", by("clarification", "ask"), settings(&world.workspace()), None).await;
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "waiting");
    let other = world.journal();
    other.send(&id("asks"), "k", &Input::Answer { id: None, text: "blue".into() }, Timestamp(5)).await.unwrap();
    other.close().await;
    let rested = engine.open(&id("asks")).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "done");
    assert!(rested.run.answer().contains("blue"), "{}", rested.run.answer());
    assert!(engine.journal().inbox(&id("asks")).unwrap().is_empty());
}

#[tokio::test]
async fn a_budget_stops_the_run_with_what_it_has_and_a_larger_one_goes_on() {
    let world = World::new();
    let engine = world.engine(|prompt| updraft_run::ModelAnswer {
        usage: updraft_run::TokenUsage { input: 10, output: 10, ..updraft_run::TokenUsage::default() },
        ..says(format!("{} done", prompt.brief.step))
    });
    let mut steps = vec![
        step("a", "thinker", &[], &["a"]),
        step("b", "thinker", &["a"], &["b"]),
        step("c", "thinker", &["b"], &["c"]),
    ];
    steps[2].after = vec![];
    let (agents, prompts) = (updraft_engine::Agents::compiled_in().unwrap(), updraft_engine::Prompts::compiled_in());
    let new = updraft_engine::NewRun {
        goal: goal("three"),
        settings: settings(&world.workspace()),
        budget: Budget { turns: Some(2), ..Budget::default() },
        plan: Some(Graph { steps }),
        agents: &agents,
        prompts: &prompts,
        tools: &crate::support::specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let rested = engine.start(id("capped"), new).await.unwrap().drive().await.unwrap();
    assert_eq!(*rested.run.phase(), RunPhase::Exhausted(BudgetLimit::Turns));
    assert_eq!(rested.run.answer(), "b done");
    let mut handle = engine.open(&id("capped")).await.unwrap();
    handle.send(Input::Resume { budget: Some(Budget { turns: Some(9), ..Budget::default() }), approvals: None });
    let rested = handle.drive().await.unwrap();
    assert_eq!(rested.run.answer(), "c done");
    assert_eq!(replay(engine.journal(), &id("capped")).unwrap().differences, []);
}

#[tokio::test]
async fn a_thousand_runs_at_once_all_come_to_their_end() {
    let world = World::new();
    let engine: Engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("list_files", json!({}))]),
        _ => says("fine"),
    });
    let mut driven = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let handle =
            start(&engine, &format!("run-{n}"), by("retriever", "look"), settings(&world.workspace()), None).await;
        driven.spawn(handle.drive());
    }
    let all = tokio::time::timeout(Duration::from_mins(2), driven.join_all()).await.unwrap();
    assert!(all.into_iter().all(|rested| rested.unwrap().run.status_word() == "done"));
}

#[tokio::test]
async fn a_run_that_waits_can_be_opened_any_number_of_times() {
    let world = World::new();
    let engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("ask_user", json!({ "question": "which?" }))]),
        _ => says("thanks"),
    });
    let handle = start(&engine, "patient", by("clarification", "ask"), settings(&world.workspace()), None).await;
    let events = handle.drive().await.unwrap().run.events();
    for _ in 0..5000 {
        let rested = engine.open(&id("patient")).await.unwrap().drive().await.unwrap();
        assert_eq!((rested.run.status_word(), rested.run.events()), ("waiting", events));
    }
    let mut handle = engine.open(&id("patient")).await.unwrap();
    handle.send(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "done");
}

#[tokio::test]
async fn a_time_budget_ends_a_model_call_that_takes_too_long() {
    let world = World::new();
    let engine = world.engine_with(slow(600_000), EngineOptions::default());
    let (agents, prompts) = (updraft_engine::Agents::compiled_in().unwrap(), updraft_engine::Prompts::compiled_in());
    let new = updraft_engine::NewRun {
        goal: by("thinker", "think"),
        settings: settings(&world.workspace()),
        budget: Budget { time: Some(updraft_run::Millis(50)), ..Budget::default() },
        plan: None,
        agents: &agents,
        prompts: &prompts,
        tools: &crate::support::specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let handle = engine.start(id("hasty"), new).await.unwrap();
    let rested = tokio::time::timeout(Duration::from_mins(1), handle.drive()).await.unwrap().unwrap();
    assert_eq!(*rested.run.phase(), RunPhase::Exhausted(BudgetLimit::Time));
    engine.journal().clone().close().await;

    let next = world.engine_with(slow(0), EngineOptions::default());
    let mut handle = next.open(&id("hasty")).await.unwrap();
    let more = Budget { time: Some(updraft_run::Millis(60_000)), ..Budget::default() };
    handle.send(Input::Resume { budget: Some(more), approvals: None });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "done at last");
}

#[tokio::test]
async fn a_workspace_cannot_show_a_model_what_lies_outside_it() {
    let world = World::new();
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("key.md"), "the secret key").unwrap();
    std::os::unix::fs::symlink(outside.join("key.md"), world.workspace().join("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink(&outside, world.workspace().join(".context")).unwrap();
    let engine = world.engine(|prompt| says(format!("{:?}", prompt.messages)));
    let handle = start(&engine, "curious", by("thinker", "tell"), settings(&world.workspace()), None).await;
    let answer = handle.drive().await.unwrap().run.answer();
    assert!(!answer.contains("the secret key"), "{answer}");

    std::fs::remove_file(world.workspace().join("AGENTS.md")).unwrap();
    std::fs::write(world.workspace().join("AGENTS.md"), "be kind").unwrap();
    let handle = start(&engine, "kind", by("thinker", "tell"), settings(&world.workspace()), None).await;
    assert!(handle.drive().await.unwrap().run.answer().contains("be kind"));
}
