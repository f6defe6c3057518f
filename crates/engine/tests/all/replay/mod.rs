//! Replay: runs of all kinds give every event and every prompt again, and whatever was altered is named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

mod again;
mod altered;

use crate::support::World;
use crate::support::stamps::{Outside, ScriptedHands, Wrong, begin, look_at, to_the_end};
use std::sync::{Arc, Mutex};
use updraft_engine::{Engine, EngineOptions, ReplayReport, prompts_of, replay};
use updraft_run::{Event, RunId};

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn events(engine: &Engine, run: &str) -> Vec<Event> {
    engine.journal().load(&id(run)).unwrap().into_iter().flat_map(|record| record.events).collect()
}

/// A replay that gives everything again: all events, and a prompt for every question that began.
fn gives_everything_again(engine: &Engine, run: &str) -> ReplayReport {
    let replayed = replay(engine.journal(), &id(run)).unwrap();
    assert_eq!(replayed.differences, [], "{run}");
    let events = events(engine, run);
    assert_eq!(replayed.events + replayed.copied, events.len() as u64, "{run}");
    let asked = events.iter().filter(|event| matches!(event, Event::Begun { facts, .. } if facts.prompt.is_some()));
    let asked = asked.count() as u64;
    assert_eq!(replayed.prompts, asked, "{run}");
    let mut told = 0;
    prompts_of(engine.journal(), &id(run), &mut |_| told += 1).unwrap();
    assert_eq!(told, asked, "{run}");
    replayed
}

fn has(engine: &Engine, run: &str, wanted: fn(&Event) -> bool) -> bool {
    events(engine, run).iter().any(wanted)
}

/// The script of the crash tests; with `acts`, the process ends after so many acts and another goes on.
async fn stamped(world: &World, run: &str, acts: Option<u32>) -> Engine {
    let outside: Arc<Mutex<Outside>> = Arc::default();
    look_at(&outside).acts = acts;
    let engine = |outside: &Arc<Mutex<Outside>>| {
        Engine::new(world.journal(), Arc::new(ScriptedHands::new(outside, Wrong::Nothing)), EngineOptions::default())
    };
    let first = engine(&outside);
    let handle = begin(&first, &id(run), &world.workspace()).await;
    let lived = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(to_the_end(&first, handle))).await;
    assert_eq!(lived.is_err(), acts.is_some());
    if lived.is_ok() {
        return first;
    }
    first.journal().clone().close().await;
    let second = engine(&outside);
    let handle = second.open(&id(run)).await.unwrap();
    to_the_end(&second, handle).await;
    second
}
