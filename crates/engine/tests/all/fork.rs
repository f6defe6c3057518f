//! A fork begins as a copy of another run's first events: what they did is neither done nor paid for again, and what
//! follows is its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

use std::sync::{Arc, Mutex};

use crate::support::stamps::{Outside, ScriptedHands, agents, look_at, specs};
use crate::support::{World, calls, goal, says, settings, step, turn};
use serde_json::json;
use updraft_engine::{Engine, EngineOptions, Error, NewRun, Prompts, diff, replay};
use updraft_journal::Status;
use updraft_models::Prompt;
use updraft_run::{
    Budget, EffectKind, Event, ForkChange, Graph, Input, Message, ModelAnswer, Record, Reply, Run, RunId, RunSettings,
    StepId,
};

/// A plan of two steps: `one` stamps, `two` says what it reads.
fn answer(model: &str, prompt: &Prompt<'_>) -> ModelAnswer {
    let brief = prompt.brief;
    let last: Vec<String> = match prompt.messages.last() {
        Some(Message::Results(results)) => results.iter().map(|result| result.text.clone()).collect(),
        _ => Vec::new(),
    };
    match brief.agent.as_str() {
        "planner" => {
            let steps = vec![step("one", "stamper", &[], &["one"]), step("two", "thinker", &["one"], &["two"])];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "stamper" if last.iter().any(|text| text.contains("left no trace")) => {
            calls(&[("check", json!({ "name": "one" }))])
        }
        "stamper" if turn(prompt) == 0 => {
            calls(&[("stamp", json!({ "name": "one" })), ("look", json!({ "name": "one" }))])
        }
        "stamper" => says("stamped"),
        _ => says(format!("{} for {} by {model}", brief.inputs["one"].as_str().unwrap(), brief.goal)),
    }
}

/// What the run comes to if nothing is changed.
const ANSWER: &str = "stamped for the goal by scripted/test";

struct Forks {
    world: World,
    engine: Engine,
    outside: Arc<Mutex<Outside>>,
    records: Vec<Record>,
    run: Run,
}

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

impl Forks {
    /// A run that has come to its end, to be forked.
    async fn of(source: &str) -> Self {
        let world = World::quick();
        let outside: Arc<Mutex<Outside>> = Arc::default();
        let performer = ScriptedHands::saying(&outside, answer);
        let engine = Engine::new(world.journal(), Arc::new(performer), EngineOptions::default());
        let (agents, prompts) = (agents(), Prompts::compiled_in());
        let new = NewRun {
            goal: goal("the goal"),
            settings: settings(&world.workspace()),
            budget: Budget::default(),
            plan: None,
            agents: &agents,
            prompts: &prompts,
            tools: &specs,
            models: &|_| None,
            only_reads: &|_| true,
            pictures: Vec::new(),
        };
        let rested = engine.start(id(source), new).await.unwrap().drive().await.unwrap();
        assert_eq!(rested.run.answer(), ANSWER);
        let records = engine.journal().load(&id(source)).unwrap();
        Self { world, engine, outside, records, run: rested.run }
    }

    fn events(&self) -> Vec<Event> {
        self.records.iter().flat_map(|record| record.events.clone()).collect()
    }

    /// Forks after so many events, drives the fork to its end, and tells how often models were asked for it.
    async fn fork(&self, at: usize, name: &str, change: ForkChange) -> (Run, usize) {
        let before = look_at(&self.outside).asks;
        let handle = self.engine.fork(&id("source"), at as u64, id(name), change).await.unwrap();
        let rested = handle.drive().await.unwrap();
        assert!(rested.run.is_over(), "a fork after {at} events is {}", rested.run.status());
        let replayed = replay(self.engine.journal(), &id(name)).unwrap();
        assert_eq!(replayed.differences, [], "a fork after {at} events");
        assert_eq!(self.engine.journal().head(&id(name)).unwrap().status, Status::Done, "after {at} events");
        (rested.run, look_at(&self.outside).asks - before)
    }

    /// Calls that a run made, by tool.
    fn calls_of(&self, name: &str, tool: &str) -> usize {
        let own = format!("{name}/");
        let outside = look_at(&self.outside);
        outside.performed.iter().filter(|done| done.tool == tool && done.key.starts_with(&own)).count()
    }
}

/// Whether the stamp had begun and not ended after so many events.
fn is_stamping(events: &[Event]) -> bool {
    let is_stamp =
        |id: &updraft_run::EffectAddress| id.kind == EffectKind::Call && id.n == 0 && id.step.as_str() == "one";
    let begun = events.iter().any(|event| matches!(event, Event::Begun { id, .. } if is_stamp(id)));
    begun && !events.iter().any(|event| matches!(event, Event::Replied { id, .. } if is_stamp(id)))
}

fn answers_in(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Replied { reply: Reply::Answer(_), .. })).count()
}

#[tokio::test]
async fn a_fork_after_any_event_pays_only_for_what_follows_and_comes_to_the_same_answer() {
    let forks = Forks::of("source").await;
    let events = forks.events();
    let mut doubtful = 0;
    for at in 1..=events.len() {
        let name = format!("fork-{at}");
        let (before, after) = events.split_at(at);
        let (run, asks) = forks.fork(at, &name, ForkChange::default()).await;
        assert_eq!(run.answer(), ANSWER, "a fork after {at} events");
        let stamps = forks.calls_of(&name, "stamp");
        let found = diff(forks.engine.journal(), &id("source"), &id(&name)).unwrap();
        assert!(found.same_answer);
        if is_stamping(before) {
            // Told that the outcome is unknown, the agent looks, and finds that it happened.
            assert_eq!((asks, stamps), (answers_in(after) + 1, 0), "a fork after {at} events");
            assert_eq!(found.first_step, Some(StepId::parse("one").unwrap()));
            doubtful += 1;
        } else {
            let stamped =
                after.iter().any(|event| matches!(event, Event::Begun { id, .. } if id.kind == EffectKind::Call));
            assert_eq!((asks, stamps), (answers_in(after), usize::from(stamped)), "a fork after {at} events");
            assert_eq!((found.parts_at, found.first_step, found.steps.len()), (None, None, 0), "after {at} events");
        }
    }
    assert!(doubtful > 0);
}

#[tokio::test]
async fn a_fork_of_nothing_is_refused() {
    let forks = Forks::of("source").await;
    let refused = forks.engine.fork(&id("source"), 0, id("nothing"), ForkChange::default()).await;
    assert!(matches!(refused.err(), Some(Error::Goal(_))));
    assert!(forks.engine.journal().head(&id("nothing")).is_err());
    let beyond = forks.engine.fork(&id("source"), 10_000, id("beyond"), ForkChange::default()).await;
    assert!(matches!(beyond.err(), Some(Error::Journal(updraft_journal::Error::NoSuchEvent { .. }))));
}

#[tokio::test]
async fn a_fork_with_another_model_goes_on_with_that_model() {
    let forks = Forks::of("source").await;
    let events = forks.events();
    let done = |id: &str| {
        let is_done = |event: &Event| matches!(event, Event::StepDone { step, .. } if step.as_str() == id);
        events.iter().position(is_done).unwrap()
    };
    for at in 1..=events.len() {
        let other = RunSettings { model: "scripted/other".into(), ..(**forks.run.settings()).clone() };
        let change = ForkChange { settings: Some(Arc::new(other)), ..ForkChange::default() };
        let name = format!("model-{at}");
        let (run, _) = forks.fork(at, &name, change).await;
        let answered = events[..at].iter().any(
            |event| matches!(event, Event::Replied { id, reply: Reply::Answer(_), .. } if id.step.as_str() == "two"),
        );
        let by = if answered { "test" } else { "other" };
        assert_eq!(run.answer(), format!("stamped for the goal by scripted/{by}"), "a fork after {at} events");
        let found = diff(forks.engine.journal(), &id("source"), &id(&name)).unwrap();
        assert_eq!(found.same_answer, answered);
        if at > done("one") && !answered {
            assert_eq!(found.first_step, Some(StepId::parse("two").unwrap()), "a fork after {at} events");
            let parts_at = found.parts_at.unwrap() as usize;
            let parting = &events[parts_at - 1];
            let is_answer = |event: &Event| matches!(event, Event::Replied { id, .. } if id.step.as_str() == "two");
            assert!(is_answer(parting), "{parting:?}");
            assert_eq!(found.left_event, found.parts_at);
            // The fork has events of its own before it, so it has another number there.
            let records = forks.engine.journal().load(&id(&name)).unwrap();
            let theirs: Vec<&Event> = records.iter().flat_map(|record| &record.events).collect();
            let number = found.right_event.unwrap() as usize;
            let parting = theirs[number - 1];
            assert!(number > parts_at && is_answer(parting), "{number} in the fork: {parting:?}");
        }
    }
}

#[tokio::test]
async fn a_fork_with_another_goal_is_told_the_new_one() {
    let forks = Forks::of("source").await;
    let events = forks.events();
    for at in 1..=events.len() {
        let change = ForkChange { goal: Some("another".into()), ..ForkChange::default() };
        let (run, _) = forks.fork(at, &format!("goal-{at}"), change).await;
        let over =
            events[..at].iter().filter(|event| matches!(event, Event::Replied { id, .. } if id.step.as_str() == "two"));
        let goal = if over.count() > 0 { "the goal" } else { "another" };
        assert_eq!(run.answer(), format!("stamped for {goal} by scripted/test"), "a fork after {at} events");
    }
}

#[tokio::test]
async fn a_fork_with_another_variable_goes_on_with_its_value() {
    let forks = Forks::of("source").await;
    let events = forks.events();
    let one_done =
        events.iter().position(|event| matches!(event, Event::StepDone { step, .. } if step.as_str() == "one"));
    let at = one_done.unwrap() + 1;
    let change = ForkChange { variables: [("one".to_owned(), json!("painted"))].into(), ..ForkChange::default() };
    let (run, asks) = forks.fork(at, "variable", change).await;
    assert_eq!(run.answer(), "painted for the goal by scripted/test");
    assert_eq!(asks, 1);
    let found = diff(forks.engine.journal(), &id("source"), &id("variable")).unwrap();
    assert!(!found.same_answer);
    assert_eq!(found.steps.len(), 1);
}

#[tokio::test]
async fn a_fork_of_a_fork_that_was_cut_off_is_opened_and_comes_to_its_end() {
    let forks = Forks::of("source").await;
    for at in 2..=forks.events().len() as u64 {
        let (first, second) = (id(&format!("first-{at}")), id(&format!("second-{at}")));
        // Nobody drives the first: its process ends.
        drop(forks.engine.fork(&id("source"), at, first.clone(), ForkChange::default()).await.unwrap());
        let rested = forks.engine.open(&first).await.unwrap().drive().await.unwrap();
        assert_eq!(rested.run.answer(), ANSWER, "a fork after {at} events");
        let handle = forks.engine.fork(&first, at, second.clone(), ForkChange::default()).await.unwrap();
        assert_eq!(handle.drive().await.unwrap().run.answer(), ANSWER, "a fork after {at} events");
        assert_eq!(replay(forks.engine.journal(), &first).unwrap().differences, []);
        assert_eq!(replay(forks.engine.journal(), &second).unwrap().differences, []);
    }
    assert!(forks.world.workspace().is_dir());
}

#[tokio::test]
async fn a_fork_of_a_run_that_waits_waits_for_its_own_answer() {
    let world = World::quick();
    let engine = world.engine(|prompt| match turn(prompt) {
        0 => calls(&[("ask_user", json!({ "question": "which?" }))]),
        _ => match prompt.messages.last() {
            Some(Message::Results(results)) => says(results[0].text.clone()),
            _ => says("nothing"),
        },
    });
    let mine = crate::support::by("clarification", "ask");
    let handle = crate::support::start(&engine, "asks", mine, settings(&world.workspace()), None).await;
    let events = handle.drive().await.unwrap().run.events();
    let handle = engine.fork(&id("asks"), events, id("copy"), ForkChange::default()).await.unwrap();
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "waiting");
    assert_eq!(engine.journal().head(&id("copy")).unwrap().status, Status::Waiting);
    let mut handle = engine.open(&id("copy")).await.unwrap();
    handle.send(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "blue");
    assert_eq!(engine.load(&id("asks")).unwrap().status_word(), "waiting");
}
