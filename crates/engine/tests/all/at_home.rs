//! Runs whose home is elsewhere: decided there, performed here, each effect at most once.
#![allow(clippy::unwrap_used, reason = "a broken home should stop the test")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use updraft_engine::{
    EffectFuture, EngineOptions, Error, HandedEffect, HomeAttachment, HomeDecision, HomeInputs, RunCopy, RunHome,
    RunWatcher, advance_and_filter, effects_to_begin, open_effects, replay,
};
use updraft_journal::Blob;
use updraft_models::{Delta, ScriptedModel};
use updraft_run::{EffectAddress, Input, Record, Run, RunId, Timestamp};

use crate::support::{World, by, calls, says, settings, start, turn};

/// A home in memory. It hands everything over twice, as one may after its worker did not answer. The second part says
/// whether its place for large values refuses them.
#[derive(Default)]
struct MemoryHome(Mutex<BTreeMap<RunId, KeptRun>>, AtomicBool);

#[derive(Default)]
struct KeptRun {
    run: Run,
    records: Vec<Record>,
    epoch: u64,
    hands: Option<mpsc::Sender<HandedEffect>>,
}

impl KeptRun {
    fn hand_over(&self, effects: Vec<(EffectAddress, u32)>) {
        for effect in effects.into_iter().flat_map(|effect| [effect.clone(), effect]) {
            let handed = HandedEffect { records: self.records.len() as u64, effect: Some(effect) };
            let _ = self.hands.as_ref().unwrap().try_send(handed);
        }
    }

    fn decide(&mut self, inputs: Vec<(Timestamp, Input)>) -> HomeDecision {
        let before = self.records.len();
        let decided: Vec<(Record, bool)> =
            inputs.into_iter().map(|(at, input)| advance_and_filter(&mut self.run, input, at)).collect();
        self.records.extend(decided.iter().filter(|(_, is_kept)| *is_kept).map(|(record, _)| record.clone()));
        self.hand_over(effects_to_begin(&self.run, &self.records[before..]));
        HomeDecision { before: before as u64, decided }
    }
}

impl MemoryHome {
    /// An input that does not come from the worker.
    fn tell(&self, run: &RunId, input: Input) {
        let mut runs = self.0.lock().unwrap();
        let kept = runs.get_mut(run).unwrap();
        kept.decide(vec![(Timestamp(i64::MAX / 2), input)]);
        let news = HandedEffect { records: kept.records.len() as u64, effect: None };
        let _ = kept.hands.as_ref().unwrap().try_send(news);
    }

    fn records_of(&self, run: &RunId) -> Vec<Record> {
        self.0.lock().unwrap()[run].records.clone()
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> EffectFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl RunHome for MemoryHome {
    fn place(&self) -> String {
        "a test".into()
    }

    fn has(&self, place: &str) -> bool {
        place == self.place()
    }

    fn keep_blobs<'a>(&'a self, _: &'a RunId, _: &'a [Blob]) -> EffectFuture<'a, Result<(), Error>> {
        if self.1.load(Ordering::Relaxed) { Box::pin(std::future::pending()) } else { ready(Ok(())) }
    }

    fn attach<'a>(&'a self, run: &'a RunId) -> EffectFuture<'a, Result<HomeAttachment, Error>> {
        let mut runs = self.0.lock().unwrap();
        let kept = runs.entry(run.clone()).or_default();
        let (send, handed) = mpsc::channel(64);
        kept.epoch += 1;
        kept.hands = Some(send);
        ready(Ok(HomeAttachment { epoch: kept.epoch, records: kept.records.len() as u64, handed }))
    }

    fn adopt<'a>(&'a self, run: &'a RunId, _: u64, records: &'a [Record]) -> EffectFuture<'a, Result<(), Error>> {
        let mut runs = self.0.lock().unwrap();
        let kept = runs.get_mut(run).unwrap();
        assert_eq!(kept.records, []);
        kept.records = records.to_vec();
        kept.run = Run::fold(records.iter().cloned());
        kept.hand_over(open_effects(&kept.run));
        ready(Ok(()))
    }

    fn advance<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        inputs: HomeInputs,
    ) -> EffectFuture<'a, Result<HomeDecision, Error>> {
        let mut runs = self.0.lock().unwrap();
        let kept = runs.get_mut(run).unwrap();
        if kept.epoch != epoch {
            return ready(Err(updraft_journal::Error::Fenced(run.clone()).into()));
        }
        ready(Ok(kept.decide(inputs.inputs)))
    }

    fn confirm<'a>(&'a self, run: &'a RunId, epoch: u64) -> EffectFuture<'a, Result<(), Error>> {
        let is_ours = self.0.lock().unwrap()[run].epoch == epoch;
        ready(if is_ours { Ok(()) } else { Err(updraft_journal::Error::Fenced(run.clone()).into()) })
    }

    fn records<'a>(&'a self, run: &'a RunId, from: u64, to: u64) -> EffectFuture<'a, Result<Vec<Record>, Error>> {
        ready(Ok(self.0.lock().unwrap()[run].records[from as usize..to as usize].to_vec()))
    }
}

fn at_home(home: &Arc<MemoryHome>) -> EngineOptions {
    EngineOptions { home: Some(home.clone() as Arc<dyn RunHome>), ..EngineOptions::default() }
}

/// The events without what differs from process to process: its epoch, and times of files.
fn events(records: &[Record]) -> Vec<Value> {
    let all = records.iter().flat_map(|record| &record.events);
    let mut all: Vec<Value> = all.map(|event| serde_json::to_value(event).unwrap()).collect();
    all.iter_mut().for_each(forget);
    all
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !["epoch", "modified"].contains(&name.as_str()));
            members.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn a_run_elsewhere_has_the_same_events_and_everything_happens_once() {
    let world = World::new();
    std::fs::write(world.workspace().join("notes.txt"), "the key is under the mat\n").unwrap();
    let model = || {
        let answer = |prompt: &updraft_models::Prompt<'_>| match turn(prompt) {
            0 => calls(&[("read_file", json!({ "path": "notes.txt" }))]),
            1 => calls(&[("append_line", json!({ "path": "log.txt", "line": "once" }))]),
            _ => says("under the mat"),
        };
        Arc::new(ScriptedModel::from_fn("scripted/test", answer))
    };
    let rules =
        || updraft_run::RunSettings { approvals: updraft_run::ApprovalMode::Allow, ..settings(&world.workspace()) };
    let here = world.engine_with(model(), EngineOptions::default());
    start(&here, "here", by("coder", "where is the key?"), rules(), None).await.drive().await.unwrap();
    std::fs::remove_file(world.workspace().join("log.txt")).unwrap();
    let home = Arc::new(MemoryHome::default());
    let there = world.engine_with(model(), at_home(&home));
    let handle = start(&there, "there", by("coder", "where is the key?"), rules(), None).await;
    let id = handle.id().clone();
    let rested = handle.drive().await.unwrap();
    assert_eq!((rested.run.status_word(), rested.run.answer().as_str()), ("done", "under the mat"));
    assert_eq!(std::fs::read_to_string(world.workspace().join("log.txt")).unwrap(), "once\n");
    let (copied, kept) = (there.journal().load(&id).unwrap(), home.records_of(&id));
    assert_eq!(copied, kept, "the journal is a copy");
    let embedded = here.journal().load(&RunId::parse("here").unwrap()).unwrap();
    assert_eq!(events(&copied)[1..], events(&embedded)[1..]);
    assert_eq!(replay(there.journal(), &id).unwrap().differences, []);
}

#[tokio::test]
async fn an_answer_that_was_given_elsewhere_is_found_when_the_run_is_opened() {
    let world = World::new();
    let model = || {
        let answer = |prompt: &updraft_models::Prompt<'_>| match turn(prompt) {
            0 => calls(&[("ask_user", json!({ "question": "Which?" }))]),
            _ => says("as you say"),
        };
        Arc::new(ScriptedModel::from_fn("scripted/test", answer))
    };
    let home = Arc::new(MemoryHome::default());
    let engine = world.engine_with(model(), at_home(&home));
    let handle = start(&engine, "asks", by("clarification", "paint"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    let rested = handle.drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "waiting");
    home.tell(&id, Input::Answer { id: None, text: "blue".into() });
    let without = world.engine_with(model(), EngineOptions::default()).open(&id).await;
    assert!(matches!(without, Err(Error::Elsewhere { .. })), "only a process that uses its home continues it");
    let rested = engine.open(&id).await.unwrap().drive().await.unwrap();
    assert_eq!((rested.run.status_word(), rested.run.answer().as_str()), ("done", "as you say"));
    assert_eq!(engine.journal().load(&id).unwrap(), home.records_of(&id));
}

#[tokio::test]
async fn whoever_was_taken_over_from_records_nothing_more() {
    let world = World::new();
    let home = Arc::new(MemoryHome::default());
    let model = Arc::new(ScriptedModel::from_fn("scripted/test", |_| says("done")));
    let engine = world.engine_with(model, at_home(&home));
    let handle = start(&engine, "twice", by("thinker", "think"), settings(&world.workspace()), None).await;
    let id = handle.id().clone();
    home.attach(&id).await.unwrap();
    // What is handed over from now on goes to the other; what had been handed over before is refused.
    let error = handle.drive().await.unwrap_err();
    assert!(matches!(error, Error::Journal(updraft_journal::Error::Fenced(_))), "{error}");
    assert_eq!(home.records_of(&id).len(), 1);
}

/// Notices that a run says that it waits.
#[derive(Default)]
struct WaitNotice(Notify);

impl RunWatcher for WaitNotice {
    fn record(&self, _: &RunId, _: u64, _: &Record, _: &Run) {}

    fn delta(&self, _: &RunId, _: &EffectAddress, delta: Delta<'_>) {
        if matches!(delta, Delta::Waiting(why) if why.contains("large values")) {
            self.0.notify_one();
        }
    }
}

#[tokio::test]
async fn a_run_whose_large_values_are_refused_says_so_and_can_be_cancelled() {
    let world = World::new();
    // What a file contained before is such a value.
    std::fs::write(world.workspace().join("notes.txt"), "old\n").unwrap();
    let (home, notice) = (Arc::new(MemoryHome::default()), Arc::new(WaitNotice::default()));
    let refusing = Arc::clone(&home);
    let model = ScriptedModel::from_fn("scripted/test", move |prompt| match turn(prompt) {
        0 => {
            refusing.1.store(true, Ordering::Relaxed);
            calls(&[("write_file", json!({ "path": "notes.txt", "content": "new\n" }))])
        }
        _ => says("done"),
    });
    let options = EngineOptions { watch: notice.clone() as Arc<dyn RunWatcher>, ..at_home(&home) };
    let engine = world.engine_with(Arc::new(model), options);
    let rules =
        updraft_run::RunSettings { approvals: updraft_run::ApprovalMode::Allow, ..settings(&world.workspace()) };
    let handle = start(&engine, "large", by("coder", "write it"), rules, None).await;
    let id = handle.id().clone();
    let cancelling = async {
        notice.0.notified().await;
        let cancel = Input::Cancel { by: "me".into(), step: None };
        engine.journal().send(&id, "cancel", &cancel, Timestamp(1)).await.unwrap();
    };
    let driving = async { tokio::join!(handle.drive(), cancelling).0.unwrap() };
    let rested = tokio::time::timeout(std::time::Duration::from_mins(1), driving).await.unwrap();
    assert_eq!(rested.run.status_word(), "cancelled");
    assert_eq!(engine.journal().load(&id).unwrap(), home.records_of(&id));
    for hash in engine.journal().named_values(&id).unwrap() {
        assert!(engine.journal().blob(&hash).unwrap().is_some(), "they are here");
    }
}

/// A home whose worker is suspended right after a call has begun, and wakes up after another has taken the run over.
#[derive(Default)]
struct SleepyHome(MemoryHome);

/// The wall clock of the worker that was suspended. The steady one stood still.
static ASLEEP: AtomicI64 = AtomicI64::new(1_000_000);

impl RunHome for SleepyHome {
    fn place(&self) -> String {
        self.0.place()
    }

    fn attach<'a>(&'a self, run: &'a RunId) -> EffectFuture<'a, Result<HomeAttachment, Error>> {
        self.0.attach(run)
    }

    fn adopt<'a>(&'a self, run: &'a RunId, epoch: u64, records: &'a [Record]) -> EffectFuture<'a, Result<(), Error>> {
        self.0.adopt(run, epoch, records)
    }

    fn advance<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        inputs: HomeInputs,
    ) -> EffectFuture<'a, Result<HomeDecision, Error>> {
        let is_call = |(_, input): &(Timestamp, Input)| matches!(input, Input::Begun { id, .. } if id.to_string().contains("call"));
        let sleeps = inputs.inputs.iter().any(is_call);
        let decided = self.0.advance(run, epoch, inputs);
        if sleeps {
            self.0.0.lock().unwrap().get_mut(run).unwrap().epoch += 1;
            ASLEEP.fetch_add(60_000, Ordering::Relaxed);
        }
        decided
    }

    fn confirm<'a>(&'a self, run: &'a RunId, epoch: u64) -> EffectFuture<'a, Result<(), Error>> {
        self.0.confirm(run, epoch)
    }

    fn records<'a>(&'a self, run: &'a RunId, from: u64, to: u64) -> EffectFuture<'a, Result<Vec<Record>, Error>> {
        self.0.records(run, from, to)
    }
}

#[tokio::test]
async fn whoever_wakes_up_after_a_takeover_does_not_do_what_it_had_begun() {
    let world = World::new();
    let model = ScriptedModel::from_fn("scripted/test", |prompt| match turn(prompt) {
        0 => calls(&[("append_line", json!({ "path": "log.txt", "line": "late" }))]),
        _ => says("done"),
    });
    let home = Arc::new(SleepyHome::default());
    let clock: fn() -> Timestamp = || Timestamp(ASLEEP.load(Ordering::Relaxed));
    let options = EngineOptions { home: Some(home.clone() as Arc<dyn RunHome>), clock, ..EngineOptions::default() };
    let engine = world.engine_with(Arc::new(model), options);
    let rules =
        updraft_run::RunSettings { approvals: updraft_run::ApprovalMode::Allow, ..settings(&world.workspace()) };
    let handle = start(&engine, "slept", by("coder", "write it down"), rules, None).await;
    let id = handle.id().clone();
    let error = handle.drive().await.unwrap_err();
    assert!(matches!(error, Error::Journal(updraft_journal::Error::Fenced(_))), "{error}");
    assert!(!world.workspace().join("log.txt").exists());
    let begun = |event: &updraft_run::Event| matches!(event, updraft_run::Event::Begun { id, .. } if id.to_string().contains("call"));
    assert!(home.0.records_of(&id).iter().flat_map(|record| &record.events).any(begun), "its successor knows of it");
}

#[tokio::test]
async fn the_run_of_another_worker_is_copied_and_not_continued() {
    let (there, here) = (World::new(), World::new());
    let model = || {
        let ask = |_: &updraft_models::Prompt<'_>| calls(&[("ask_user", json!({ "question": "Which?" }))]);
        Arc::new(ScriptedModel::from_fn("scripted/test", ask))
    };
    let (home, own) = (Arc::new(MemoryHome::default()), Arc::new(MemoryHome::default()));
    let worker = there.engine_with(model(), at_home(&home));
    let handle = start(&worker, "asks", by("clarification", "paint"), settings(&there.workspace()), None).await;
    let id = handle.id().clone();
    handle.drive().await.unwrap();
    let records = home.records_of(&id);
    let other = here.engine_with(model(), at_home(&own));
    let journal = other.journal();
    let mut copy = RunCopy::create(journal, &id, "another worker", records[..1].to_vec(), Vec::new()).await.unwrap();
    copy.append(journal, records[1..].to_vec(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(journal.load(&id).unwrap(), records);
    let head = journal.head(&id).unwrap();
    assert_eq!((head.goal.as_str(), head.status.as_str(), head.is_owned()), ("paint", "waiting", true));
    let opened = other.open(&id).await;
    assert!(matches!(opened, Err(Error::Journal(updraft_journal::Error::Owned { .. }))), "as if it were driven");
    copy.release(journal).await.unwrap();
    assert!(matches!(other.open(&id).await, Err(Error::Elsewhere { .. })), "its home is another one");
    assert_eq!(own.0.lock().unwrap().len(), 0, "which was not asked");
    let again = RunCopy::open(journal, &id).await.unwrap().unwrap();
    assert_eq!((again.records(), again.is_over()), (records.len() as u64, false));
    again.release(journal).await.unwrap();
    assert!(!RunCopy::was_removed(journal, &id).unwrap());
    journal.delete(&id, true).await.unwrap();
    assert!(RunCopy::was_removed(journal, &id).unwrap(), "so it is not copied once more");
}
