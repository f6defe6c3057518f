//! Two processes over one journal: what one sends reaches a run that the other drives, a run that waits, and a run that
//! nobody has; and nothing is taken twice or lost on the way.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

use std::sync::Arc;
use std::time::Duration;

use crate::support::{World, by, calls, says, settings, start, turn};
use serde_json::json;
use tokio::sync::Notify;
use updraft_engine::{Engine, EngineOptions, Error, RunWatcher, replay};
use updraft_journal::{Journal, Status};
use updraft_models::{Delta, DeltaCallback, Model, ModelFuture, Price, Prompt, RequestDraft};
use updraft_run::{EffectAddress, Event, Input, Message, ModelAnswer, Record, Run, RunId, Timestamp};

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

/// Long enough for anything but a hang.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.unwrap()
}

async fn send(journal: &Journal, run: &str, key: &str, input: Input) {
    journal.send(&id(run), key, &input, Timestamp(1)).await.unwrap();
}

fn cancel() -> Input {
    Input::Cancel { by: "the other".into(), step: None }
}

fn answer(text: &str) -> Input {
    Input::Answer { id: None, text: text.into() }
}

fn tell(text: &str) -> Input {
    Input::Tell { message: text.into() }
}

fn resume() -> Input {
    Input::Resume { budget: None, approvals: None }
}

/// A model that says "done" once it is let go.
struct Gate(Arc<Notify>);

impl Model for Gate {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn ask<'a>(&'a self, _: &'a Prompt<'a>, _: &'a mut RequestDraft, _: DeltaCallback<'a>) -> ModelFuture<'a> {
        Box::pin(async move {
            self.0.notified().await;
            Ok(says("done"))
        })
    }
}

/// A run of one agent, held up in its first model call until the gate opens.
async fn held(world: &World, options: EngineOptions) -> (Engine, updraft_engine::RunHandle, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let engine = world.engine_with(Arc::new(Gate(Arc::clone(&gate))), options);
    let handle = start(&engine, "held", by("thinker", "think"), settings(&world.workspace()), None).await;
    (engine, handle, gate)
}

/// Asks as many questions as are told, one after the other, and repeats the answers.
fn asks(prompt: &Prompt<'_>, questions: usize) -> ModelAnswer {
    if turn(prompt) < questions {
        return calls(&[("ask_user", json!({ "question": format!("which {}?", turn(prompt)) }))]);
    }
    let results = prompt.messages.iter().filter_map(|message| match message {
        Message::Results(results) => Some(results[0].text.clone()),
        _ => None,
    });
    says(results.collect::<Vec<_>>().join(" and "))
}

/// A run that waits for the answer to its first question.
async fn waiting(world: &World, questions: usize) -> Engine {
    let engine = world.engine(move |prompt| asks(prompt, questions));
    let handle = start(&engine, "asks", by("clarification", "ask"), settings(&world.workspace()), None).await;
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "waiting");
    engine
}

fn events(journal: &Journal, run: &str) -> Vec<Event> {
    journal.load(&id(run)).unwrap().into_iter().flat_map(|record| record.events).collect()
}

fn told(journal: &Journal, run: &str) -> Vec<String> {
    let told = events(journal, run).into_iter().filter_map(|event| match event {
        Event::Told { message } => Some(message),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_running_run_hears_cancel_from_another_process() {
    let world = World::quick();
    let (engine, handle, _gate) = held(&world, EngineOptions::default()).await;
    let other = world.journal();
    let both = Box::pin(async { tokio::join!(handle.drive(), send(&other, "held", "k", cancel())) });
    let (rested, ()) = soon(both).await;
    assert_eq!(rested.unwrap().run.status_word(), "cancelled");
    assert_eq!(other.head(&id("held")).unwrap().status, Status::Cancelled);
    assert!(other.inbox(&id("held")).unwrap().is_empty());
    assert_eq!(replay(engine.journal(), &id("held")).unwrap().differences, []);
}

#[tokio::test]
async fn a_running_run_hears_pause_and_lets_its_call_end() {
    let world = World::quick();
    let (paused, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let watch = Waits { wanted: |event| matches!(event, Event::Paused), seen: Arc::clone(&paused) };
    let engine = world.engine_with(
        Arc::new(Gate(Arc::clone(&gate))),
        EngineOptions { watch: Arc::new(watch), ..EngineOptions::default() },
    );
    let handle = start(&engine, "held", by("thinker", "think"), settings(&world.workspace()), None).await;
    let other = world.journal();
    let steering = async {
        send(&other, "held", "k", Input::Pause).await;
        paused.notified().await;
        gate.notify_one();
    };
    let (rested, ()) = Box::pin(soon(async { tokio::join!(handle.drive(), steering) })).await;
    assert_eq!(rested.unwrap().run.status_word(), "paused");
    assert_eq!(other.head(&id("held")).unwrap().status, Status::Paused);
    send(&other, "held", "k", resume()).await;
    let rested = soon(engine.open(&id("held")).await.unwrap().drive()).await.unwrap();
    assert_eq!((rested.run.status_word(), rested.run.answer().as_str()), ("done", "done"));
    assert_eq!(replay(engine.journal(), &id("held")).unwrap().differences, []);
}

/// Says when an event of some kind is on disk.
struct Waits {
    wanted: fn(&Event) -> bool,
    seen: Arc<Notify>,
}

impl RunWatcher for Waits {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        if record.events.iter().any(self.wanted) {
            self.seen.notify_one();
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[tokio::test]
async fn a_waiting_run_finds_answer_pause_and_cancel_when_it_is_opened() {
    for (input, status) in [(answer("blue"), "done"), (Input::Pause, "paused"), (cancel(), "cancelled")] {
        let world = World::quick();
        let engine = waiting(&world, 1).await;
        let other = world.journal();
        send(&other, "asks", "k", input).await;
        let rested = soon(engine.open(&id("asks")).await.unwrap().drive()).await.unwrap();
        assert_eq!(rested.run.status_word(), status);
        assert!(other.inbox(&id("asks")).unwrap().is_empty());
        assert!(other.owner(&id("asks")).unwrap().is_none());
        assert_eq!(replay(engine.journal(), &id("asks")).unwrap().differences, []);
    }
}

#[tokio::test]
async fn a_run_whose_process_is_gone_finds_pause_and_cancel_when_it_is_opened() {
    for (input, status) in [(Input::Pause, "paused"), (cancel(), "cancelled")] {
        let world = World::quick();
        let (engine, handle, _gate) = held(&world, EngineOptions::default()).await;
        // The process ends in the middle of its model call.
        let cut_off = tokio::time::timeout(Duration::from_millis(50), handle.drive()).await;
        assert!(cut_off.is_err());
        engine.journal().clone().close().await;
        drop(engine);
        let other = world.journal();
        assert!(other.head(&id("held")).unwrap().was_cut_off());
        send(&other, "held", "k", input).await;
        let next = world.engine(|_| says("done"));
        let rested = soon(next.open(&id("held")).await.unwrap().drive()).await.unwrap();
        assert_eq!(rested.run.status_word(), status);
        if status == "paused" {
            let mut handle = next.open(&id("held")).await.unwrap();
            handle.send(resume());
            assert_eq!(soon(handle.drive()).await.unwrap().run.answer(), "done");
        }
        assert_eq!(replay(next.journal(), &id("held")).unwrap().differences, []);
    }
}

#[tokio::test]
async fn an_answer_reaches_a_run_that_still_works_on_something_else() {
    let world = World::quick();
    let gate = Arc::new(Notify::new());
    let plan = updraft_run::Graph {
        steps: vec![
            crate::support::step("ask", "clarification", &[], &["said"]),
            crate::support::step("hold", "thinker", &[], &["held"]),
        ],
    };
    let asked = Arc::new(Notify::new());
    let watch = Waits {
        wanted: |event| matches!(event, Event::Replied { reply: updraft_run::Reply::Said(_), .. }),
        seen: Arc::clone(&asked),
    };
    let options = EngineOptions { watch: Arc::new(watch), ..EngineOptions::default() };
    let engine = world.engine_with(Arc::new(AsksOrHolds(Arc::clone(&gate))), options);
    let handle = start(&engine, "both", crate::support::goal("both"), settings(&world.workspace()), Some(plan)).await;
    let other = world.journal();
    let steering = async {
        // Until the question is asked, an answer answers nothing.
        while !events(&other, "both")
            .iter()
            .any(|event| matches!(event, Event::Wanted { effect: updraft_run::Effect::Question { .. }, .. }))
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        send(&other, "both", "k", answer("blue")).await;
        asked.notified().await;
        gate.notify_one();
    };
    let (rested, ()) = Box::pin(soon(async { tokio::join!(handle.drive(), steering) })).await;
    let rested = rested.unwrap();
    assert_eq!(rested.run.status_word(), "done");
    assert!(rested.run.answer().contains("blue"), "{}", rested.run.answer());
}

/// Asks the user at the step `ask`; elsewhere waits at the gate.
struct AsksOrHolds(Arc<Notify>);

impl Model for AsksOrHolds {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt<'a>, _: &'a mut RequestDraft, _: DeltaCallback<'a>) -> ModelFuture<'a> {
        Box::pin(async move {
            if prompt.brief.step == "ask" {
                return Ok(asks(prompt, 1));
            }
            self.0.notified().await;
            Ok(says("held"))
        })
    }
}

#[tokio::test]
async fn of_two_that_open_a_run_at_once_one_has_it_and_the_other_is_told_who() {
    let world = World::quick();
    let one = waiting(&world, 1).await;
    let two = world.engine(|prompt| asks(prompt, 1));
    let asked = id("asks");
    let (first, second) = tokio::join!(one.open(&asked), two.open(&asked));
    let (opened, refused) = if first.is_ok() { (first, second) } else { (second, first) };
    let refused = refused.err().unwrap();
    assert!(
        matches!(&refused, Error::Journal(updraft_journal::Error::Owned { run, .. }) if *run == id("asks")),
        "{refused}"
    );
    let mut handle = opened.unwrap();
    // Nor can the same process have it twice.
    assert!(one.open(&id("asks")).await.is_err());
    handle.send(answer("blue"));
    assert_eq!(soon(handle.drive()).await.unwrap().run.answer(), "blue");
    // At rest it is free again.
    assert!(two.open(&id("asks")).await.is_ok());
}

#[tokio::test]
async fn a_run_that_is_deleted_while_it_runs_ends_with_a_clear_error_and_others_go_on() {
    let world = World::quick();
    let (engine, handle, gate) = held(&world, EngineOptions::default()).await;
    let beside = start(&engine, "beside", by("thinker", "think"), settings(&world.workspace()), None).await;
    let other = world.journal();
    assert!(other.delete(&id("held"), false).await.is_err(), "it is being run");
    let deleting = async {
        other.delete(&id("held"), true).await.unwrap();
        gate.notify_one();
        gate.notify_one();
        gate.notify_waiters();
    };
    let (ended, ()) = Box::pin(soon(async { tokio::join!(handle.drive(), deleting) })).await;
    let error = ended.unwrap_err();
    assert_eq!(error.to_string(), "run `held` was deleted while it ran");
    let (rested, ()) = soon(async { tokio::join!(beside.drive(), async { gate.notify_one() }) }).await;
    assert_eq!(rested.unwrap().run.answer(), "done");
    assert_eq!(replay(engine.journal(), &id("beside")).unwrap().differences, []);
    assert!(engine.open(&id("held")).await.is_err());
}

/// An engine that is busy with a run of its own, so that it looks for inputs all the time, and a waiting run with inputs.
#[tokio::test]
async fn what_waited_in_the_inbox_is_taken_once_however_late_the_run_is_driven() {
    let world = World::quick();
    let engine = waiting(&world, 2).await;
    let other = world.journal();
    send(&other, "asks", "a", answer("blue")).await;
    send(&other, "asks", "b", tell("and hurry")).await;
    let handle = engine.open(&id("asks")).await.unwrap();
    // Meanwhile the engine looks for inputs, and finds those that the run has taken along already.
    for n in 0..4 {
        send(&other, "asks", &format!("n{n}"), tell(&n.to_string())).await;
        tokio::time::sleep(Duration::from_millis(110)).await;
    }
    let rested = soon(handle.drive()).await.unwrap();
    assert_eq!(rested.run.status_word(), "waiting", "one answer answers one question");
    assert_eq!(told(&other, "asks"), ["and hurry", "0", "1", "2", "3"]);
    assert!(other.inbox(&id("asks")).unwrap().is_empty());
}

#[tokio::test]
async fn whatever_a_sender_was_told_is_sent_is_on_disk() {
    let world = World::quick();
    let engine = waiting(&world, 3).await;
    let mut sent = Vec::new();
    for n in 0..60_u32 {
        let handle = engine.open(&id("asks")).await.unwrap();
        let sender = handle.sender();
        // At a later moment each time, until the run is at rest before.
        let sending = async {
            for _ in 0..n * n {
                tokio::task::yield_now().await;
            }
            sender.send(tell(&n.to_string()))
        };
        let (rested, was_sent) = soon(async { tokio::join!(handle.drive(), sending) }).await;
        assert_eq!(rested.unwrap().run.status_word(), "waiting");
        sent.extend(was_sent.then(|| n.to_string()));
    }
    assert_eq!(told(engine.journal(), "asks"), sent);
}

#[tokio::test]
async fn a_new_run_that_is_told_something_before_it_is_driven_begins_all_the_same() {
    let world = World::quick();
    let engine = world.engine(|_| says("done"));
    let mut handle = start(&engine, "told", by("thinker", "think"), settings(&world.workspace()), None).await;
    handle.send(tell("and hurry"));
    let rested = soon(handle.drive()).await.unwrap();
    assert_eq!((rested.run.status_word(), rested.run.answer().as_str()), ("done", "done"));
    assert_eq!(told(engine.journal(), "told"), ["and hurry"]);
}

#[tokio::test]
async fn a_run_that_is_over_takes_any_number_of_late_inputs() {
    let world = World::quick();
    let engine = world.engine(|_| says("done"));
    let handle = start(&engine, "over", by("thinker", "think"), settings(&world.workspace()), None).await;
    handle.drive().await.unwrap();
    let records = engine.journal().load(&id("over")).unwrap();
    send(engine.journal(), "over", "late", tell("too late")).await;
    let mut handle = engine.open(&id("over")).await.unwrap();
    for _ in 0..5_000 {
        handle.send(tell("too late"));
    }
    assert_eq!(handle.drive().await.unwrap().run.answer(), "done");
    assert_eq!(engine.journal().load(&id("over")).unwrap(), records, "nothing follows from them");
    assert!(engine.journal().inbox(&id("over")).unwrap().is_empty());
}
