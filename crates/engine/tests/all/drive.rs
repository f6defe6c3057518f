//! Whole runs through the engine: real journal, real tools, scripted models.

use crate::support::{World, by, calls, goal, says, settings, start, step, turn};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use updraft_engine::{Delta, EngineOptions, RunReport, RunWatcher, node_link, replay};
use updraft_models::ScriptedModel;
use updraft_run::{EffectAddress, Graph, Record, Run, RunId};

#[tokio::test]
async fn one_agent_reads_a_file_and_answers() {
    let world = World::new();
    std::fs::write(world.workspace().join("notes.txt"), "the key is under the mat\n").unwrap();
    let engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("read_file", json!({ "path": "notes.txt" })), ("read_file", json!({ "path": "missing.txt" }))]),
        _ => says("under the mat"),
    });
    let handle = start(&engine, "one", by("retriever", "where is the key?"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    let rested = handle.drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "done", "{:?}", rested.run.phase());
    assert_eq!(rested.run.answer(), "under the mat");
    let replayed = replay(engine.journal(), &id).unwrap();
    assert_eq!(replayed.differences, []);
    assert_eq!(replayed.prompts, 2);
    assert_eq!(engine.load(&id).unwrap(), rested.run);
}

#[tokio::test]
async fn arguments_that_are_nested_too_deep_fail_the_call_and_not_the_run() {
    let world = World::new();
    let engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("read_file", json!({ "path": (0..150).fold(json!("a"), |inner, _| json!([inner])) }))]),
        _ => says("I see"),
    });
    let handle = start(&engine, "deep", by("retriever", "where?"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    let rested = handle.drive().await.unwrap();
    assert_eq!((rested.run.status_word(), rested.run.answer().as_str()), ("done", "I see"));
    let told = format!("{:?}", engine.journal().load(&id).unwrap());
    assert!(told.contains("nested deeper than 100 levels; send flatter ones"), "{told}");
    assert_eq!(engine.load(&id).unwrap(), rested.run);
    assert_eq!(replay(engine.journal(), &id).unwrap().differences, []);
}

#[tokio::test]
async fn a_planned_graph_runs_and_its_answer_is_the_last_steps() {
    let world = World::new();
    let engine = world.engine(|prompt| match prompt.brief.agent.as_str() {
        "planner" => {
            let steps = vec![
                step("a", "thinker", &[], &["x"]),
                step("b", "thinker", &[], &["y"]),
                step("c", "formatter", &["x", "y"], &["z"]),
            ];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "formatter" => {
            let both = [&prompt.brief.inputs["x"], &prompt.brief.inputs["y"]];
            says(format!("{} and {}", both[0].as_str().unwrap(), both[1].as_str().unwrap()))
        }
        _ => says(format!("from {}", prompt.brief.step)),
    });
    let handle = start(&engine, "graph", goal("combine"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    let rested = handle.drive().await.unwrap();
    assert_eq!(rested.run.answer(), "from a and from b");
    let report = RunReport::of(engine.journal(), &id).unwrap();
    let graph = node_link(&report, updraft_engine::EdgeList::Edges);
    assert_eq!(graph["graph"]["status"], "completed");
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 5);
    assert_eq!(replay(engine.journal(), &id).unwrap().differences, []);
}

/// Watches from some moment on, and notes the number of each record's first event.
#[derive(Default)]
struct LateWatcher {
    is_awake: AtomicBool,
    seen: Mutex<Vec<(u64, usize)>>,
}

impl RunWatcher for LateWatcher {
    fn is_watching(&self) -> bool {
        self.is_awake.load(Ordering::Relaxed)
    }

    fn record(&self, _: &RunId, first: u64, record: &Record, _: &Run) {
        // The first record is told to everybody.
        if self.is_watching() {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((first, record.events.len()));
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[tokio::test]
async fn who_begins_to_watch_late_is_told_the_numbers_of_the_journal() {
    let world = World::new();
    std::fs::write(world.workspace().join("notes.txt"), "under the mat\n").unwrap();
    let watch = Arc::new(LateWatcher::default());
    let woken = Arc::clone(&watch);
    let model = ScriptedModel::from_fn("scripted/test", move |prompt| {
        if turn(prompt) == 0 {
            return calls(&[("read_file", json!({ "path": "notes.txt" }))]);
        }
        woken.is_awake.store(true, Ordering::Relaxed);
        says("under the mat")
    });
    let options = EngineOptions { watch: watch.clone(), ..EngineOptions::default() };
    let engine = world.engine_with(Arc::new(model), options);
    let handle = start(&engine, "late", by("retriever", "where?"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    handle.drive().await.unwrap();
    let (mut first, mut numbered) = (1, Vec::new());
    for record in engine.journal().load(&id).unwrap() {
        numbered.push((first, record.events.len()));
        first += record.events.len() as u64;
    }
    let seen = watch.seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.len() < numbered.len(), "{seen:?}");
    assert_eq!(numbered[numbered.len() - seen.len()..], seen[..]);
}
