//! The process ends at every moment it can: before a commit, after one, after acting. Each time the run is opened again
//! and must come to the same answer, with the world in the same state and no finished effect performed twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a broken test should stop, and say why")]

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use crate::support::World;
use crate::support::stamps::{Came, Outside, ScriptedHands, Wrong, begin, look_at, to_the_end};
use futures_util::FutureExt;
use updraft_engine::{Engine, EngineOptions, RunWatcher, replay};
use updraft_models::Delta;
use updraft_run::{EffectAddress, Record, Run, RunId, Timestamp};

/// Where the process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crash {
    Never,
    /// While deciding the n-th input: nothing of it is on disk.
    BeforeCommit(u32),
    /// The n-th record is on disk, and nobody has been told.
    AfterCommit(u32),
    /// The n-th effect has touched the world, and its reply is lost.
    AfterActing(u32),
}

thread_local! {
    /// Inputs until the process ends while deciding; none if it does not.
    static DECISIONS: Cell<Option<u32>> = const { Cell::new(None) };
}

fn clock() -> Timestamp {
    DECISIONS.with(|left| match left.get() {
        Some(0) => panic!("crash before the commit"),
        Some(n) => left.set(Some(n - 1)),
        None => {}
    });
    Timestamp(1_000)
}

/// Ends the process when a record is on disk.
struct Watcher(Mutex<Option<u32>>);

impl RunWatcher for Watcher {
    fn record(&self, _: &RunId, _: u64, _: &Record, _: &Run) {
        let mut left = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match *left {
            Some(0) => {
                *left = None;
                drop(left);
                panic!("crash after the commit");
            }
            Some(n) => *left = Some(n - 1),
            None => {}
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

/// Runs to the end through at most one crash; `None` if the crash was never reached.
async fn runs(crash: Crash, wrong: Wrong) -> Option<Came> {
    let world = World::quick();
    let outside: Arc<Mutex<Outside>> = Arc::default();
    let id = RunId::parse("crash").unwrap();
    let mut crashed = crash == Crash::Never;
    let mut started = false;
    for life in 0..12 {
        let first = life == 0;
        DECISIONS.with(|left| {
            left.set(match crash {
                Crash::BeforeCommit(n) if first => Some(n),
                _ => None,
            });
        });
        look_at(&outside).acts = match crash {
            Crash::AfterActing(n) if first => Some(n),
            _ => None,
        };
        let watch = Watcher(Mutex::new(match crash {
            Crash::AfterCommit(n) if first => Some(n),
            _ => None,
        }));
        let performer = ScriptedHands::new(&outside, wrong);
        let options = EngineOptions { watch: Arc::new(watch), clock, steady: None, ..EngineOptions::default() };
        let engine = Engine::new(world.journal(), Arc::new(performer), options);
        let lived = AssertUnwindSafe(live(&engine, &id, &world, started)).catch_unwind().await;
        DECISIONS.with(|left| left.set(None));
        if lived.is_err() {
            crashed = true;
        }
        started |= engine.journal().head(&id).is_ok();
        let over = started && engine.load(&id).unwrap().is_over();
        if over {
            let run = engine.load(&id).unwrap();
            assert_eq!(replay(engine.journal(), &id).unwrap().differences, [], "{crash:?}");
            assert_eq!(run.status_word(), "done", "{crash:?} {:?}", run.phase());
            let (stamps, most_touched) = {
                let outside = look_at(&outside);
                (outside.stamps(), outside.most_touched())
            };
            engine.journal().clone().close().await;
            return crashed.then_some(Came { answer: run.answer(), stamps, most_touched });
        }
        engine.journal().clone().close().await;
    }
    panic!("{crash:?} did not come to an end");
}

/// One life of the process: starts the run or opens it again, and answers the question when it is asked.
async fn live(engine: &Engine, id: &RunId, world: &World, started: bool) {
    let handle = if started { engine.open(id).await.unwrap() } else { begin(engine, id, &world.workspace()).await };
    to_the_end(engine, handle).await;
}

/// Tries every crash of a kind until it is no longer reached; returns how many there were.
async fn every(kind: impl Fn(u32) -> Crash, expected: &Came, wrong: Wrong) -> Result<u32, String> {
    for n in 0..500 {
        match runs(kind(n), wrong).await {
            None => return Ok(n),
            Some(came) if came == *expected => {}
            Some(came) => return Err(format!("{:?}: {came:?}", kind(n))),
        }
    }
    Err("the crashes have no end".into())
}

fn quietly() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or_default();
        if !text.starts_with("crash ") {
            eprintln!("{info}");
        }
    }));
}

async fn undisturbed() -> Came {
    let came = runs(Crash::Never, Wrong::Nothing).await.unwrap();
    assert_eq!(came, Came::undisturbed());
    came
}

#[tokio::test]
async fn a_crash_before_any_commit_changes_nothing_in_the_end() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::BeforeCommit, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes > 20, "{crashes}");
}

#[tokio::test]
async fn a_crash_after_any_commit_changes_nothing_in_the_end() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::AfterCommit, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes > 20, "{crashes}");
}

#[tokio::test]
async fn a_crash_after_any_act_leaves_the_world_as_it_should_be() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::AfterActing, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes >= 6, "{crashes}");
}

#[tokio::test]
async fn acting_before_the_beginning_is_on_disk_is_noticed() {
    quietly();
    let expected = undisturbed().await;
    assert_eq!(runs(Crash::Never, Wrong::ActFirst).await.unwrap(), expected, "it goes wrong only if it is cut off");
    let mut noticed = false;
    for kind in [Crash::BeforeCommit as fn(u32) -> Crash, Crash::AfterCommit] {
        noticed |= every(kind, &expected, Wrong::ActFirst).await.is_err();
    }
    assert!(noticed);
}

#[tokio::test]
async fn leaving_the_beginning_out_is_noticed() {
    quietly();
    let expected = undisturbed().await;
    let mut noticed = false;
    for n in 0..20 {
        if let Some(came) = runs(Crash::AfterActing(n), Wrong::NoBegun).await {
            noticed |= came.stamps != expected.stamps;
        }
    }
    assert!(noticed);
}
