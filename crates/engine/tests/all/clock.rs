//! How long a run works is measured by a clock that nobody sets.
#![allow(clippy::unwrap_used, reason = "a broken test should stop")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{World, calls, goal, settings, specs, step, turn};
use serde_json::json;
use updraft_engine::{Agents, EngineOptions, NewRun, Prompts, replay};
use updraft_models::ScriptedModel;
use updraft_run::{Budget, BudgetLimit, Graph, Millis, RunId, RunPhase, Timestamp};

/// What the wall clock is set to by and by, and how far each look sets it on.
static WALL: AtomicI64 = AtomicI64::new(0);
static JUMP: AtomicI64 = AtomicI64::new(0);
/// Milliseconds that have passed.
static PASSED: AtomicU64 = AtomicU64::new(0);

fn wall() -> Timestamp {
    Timestamp(WALL.fetch_add(JUMP.load(Ordering::SeqCst), Ordering::SeqCst))
}

fn steady() -> Duration {
    Duration::from_millis(PASSED.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_wall_clock_that_jumps_neither_ends_nor_prolongs_a_run() {
    const DAY: i64 = 86_400_000;
    for jump in [0, DAY, -DAY] {
        WALL.store(20_000 * DAY, Ordering::SeqCst);
        JUMP.store(jump, Ordering::SeqCst);
        let world = World::quick();
        // Each answer takes 400 ms.
        let model = ScriptedModel::from_fn("test", |prompt| {
            PASSED.fetch_add(400, Ordering::SeqCst);
            calls(&[("list_files", json!({ "path": ".", "limit": turn(prompt) + 1 }))])
        });
        let options = EngineOptions { clock: wall, steady: Some(steady), ..EngineOptions::default() };
        let engine = world.engine_with(Arc::new(model), options);
        let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
        let new = NewRun {
            goal: goal("look"),
            settings: settings(&world.workspace()),
            budget: Budget { time: Some(Millis(1_000)), ..Budget::default() },
            plan: Some(Graph { steps: vec![step("s0", "retriever", &[], &["s0"])] }),
            agents: &agents,
            prompts: &prompts,
            tools: &specs,
            models: &|_| None,
            only_reads: &|_| true,
            pictures: Vec::new(),
        };
        let id = RunId::parse("timed").unwrap();
        let rested = engine.start(id.clone(), new).await.unwrap().drive().await.unwrap();
        assert_eq!(*rested.run.phase(), RunPhase::Exhausted(BudgetLimit::Time), "{jump}");
        assert_eq!((rested.run.worked(), rested.run.ledger().turns), (Millis(1_200), 3), "{jump}");
        assert_eq!(engine.load(&id).unwrap().worked(), Millis(1_200), "the journal tells the same");
        assert_eq!(replay(engine.journal(), &id).unwrap().differences, []);
        engine.journal().clone().close().await;
    }
}
