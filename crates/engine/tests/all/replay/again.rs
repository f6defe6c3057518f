//! Runs of every kind are given again, event for event and prompt for prompt.

use super::{events, gives_everything_again, has, id, stamped};
use crate::support::stamps::{Outside, ScriptedHands, to_the_end};
use crate::support::{self, World, by, calls, goal, says, settings, specs, start, step, turn};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use updraft_engine::{Agent, Agents, Engine, EngineOptions, NewRun, Prompts, RunWatcher};
use updraft_models::{Delta, DeltaCallback, Model, ModelFuture, Price, Prompt, RequestDraft};
use updraft_run::{
    Budget, BudgetLimit, Effect, EffectAddress, Event, ForkChange, Graph, Input, Message, ModelAnswer, Record, Reply,
    Run, RunId, RunPhase, TokenUsage, ToolSpec,
};

#[tokio::test]
async fn a_graph_with_a_new_plan_and_a_question_is_given_again() {
    let world = World::quick();
    let engine = stamped(&world, "graph", None).await;
    let replayed = gives_everything_again(&engine, "graph");
    assert!(replayed.events > 50 && replayed.prompts > 8, "{replayed:?}");
    assert!(has(&engine, "graph", |event| matches!(event, Event::Wanted { effect: Effect::Question { .. }, .. })));
}

#[tokio::test]
async fn a_run_with_a_doubtful_call_is_given_again() {
    let world = World::quick();
    for acts in 0..6 {
        let run = format!("doubt-{acts}");
        let engine = stamped(&world, &run, Some(acts)).await;
        gives_everything_again(&engine, &run);
        let doubtful = |event: &Event| matches!(event, Event::Replied { reply: Reply::InDoubt { .. }, .. });
        let again = |event: &Event| matches!(event, Event::Interrupted { .. });
        assert!(has(&engine, &run, doubtful) || has(&engine, &run, again));
        engine.journal().clone().close().await;
    }
}

#[tokio::test]
async fn a_fork_is_given_again_wherever_it_was_cut() {
    let world = World::quick();
    let engine = stamped(&world, "origin", None).await;
    for at in (1..=events(&engine, "origin").len() as u64).step_by(7) {
        let run = format!("fork-{at}");
        let change = ForkChange { goal: Some("stamp them again".into()), ..ForkChange::default() };
        let handle = engine.fork(&id("origin"), at, id(&run), change).await.unwrap();
        to_the_end(&engine, handle).await;
        let replayed = gives_everything_again(&engine, &run);
        assert!(replayed.copied >= at);
    }
}

#[tokio::test]
async fn a_run_that_used_up_its_budget_and_went_on_is_given_again() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let said = if turn(prompt) < 3 {
            calls(&[("list_files", json!({ "limit": turn(prompt) + 1 }))])
        } else {
            says("done")
        };
        ModelAnswer {
            usage: TokenUsage { input: prompt.estimated_tokens(), output: 50, ..TokenUsage::default() },
            ..said
        }
    });
    let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
    let new = NewRun {
        goal: by("retriever", "list"),
        settings: settings(&world.workspace()),
        budget: Budget { tokens: Some(9_500), ..Budget::default() },
        plan: None,
        agents: &agents,
        prompts: &prompts,
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let mut rested = engine.start(id("capped"), new).await.unwrap().drive().await.unwrap();
    let mut tokens = 9_500;
    while !rested.run.is_over() {
        assert_eq!(*rested.run.phase(), RunPhase::Exhausted(BudgetLimit::Tokens));
        tokens += 2_000;
        let mut handle = engine.open(&id("capped")).await.unwrap();
        let budget = Budget { tokens: Some(tokens), ..Budget::default() };
        handle.send(Input::Resume { budget: Some(budget), approvals: None });
        rested = handle.drive().await.unwrap();
    }
    assert!(has(&engine, "capped", |event| matches!(event, Event::Held { .. })));
    gives_everything_again(&engine, "capped");
}

/// Compacts, is judged by a model, is corrected, told, paused and cancelled.
#[tokio::test]
async fn a_run_that_was_judged_told_paused_and_cancelled_is_given_again() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let judging = prompt.tools.is_empty()
            && matches!(prompt.messages.last(), Some(Message::User(text)) if text.contains("verdict"));
        match (judging, prompt.brief.step.as_str(), turn(prompt)) {
            (true, _, _) if words(prompt).contains("better") => says(r#"{"verdict": "accept"}"#),
            (true, _, _) => says(r#"{"verdict": "retry", "feedback": "do it better"}"#),
            (false, "ask", 0) => calls(&[("ask_user", json!({ "question": "which?" }))]),
            (false, _, _) if words(prompt).contains("do it better") => says("a better one"),
            (false, _, _) => says("a first one"),
        }
    });
    let mut agents = Agents::compiled_in().unwrap();
    let judged = Agent { reflect_by_model: true, ..agents.get("thinker").unwrap().clone() };
    agents.insert(judged);
    let plan =
        Graph { steps: vec![step("think", "thinker", &[], &["x"]), step("ask", "clarification", &["x"], &["y"])] };
    let new = NewRun {
        goal: goal("think"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: Some(plan),
        agents: &agents,
        prompts: &Prompts::compiled_in(),
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let mut handle = engine.start(id("steered"), new).await.unwrap();
    handle.send(Input::Tell { message: "mind the gap".into() });
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "waiting");
    for input in
        [Input::Pause, Input::Resume { budget: None, approvals: None }, Input::Cancel { by: "me".into(), step: None }]
    {
        let mut handle = engine.open(&id("steered")).await.unwrap();
        handle.send(input);
        handle.drive().await.unwrap();
    }
    assert_eq!(engine.load(&id("steered")).unwrap().status_word(), "cancelled");
    assert!(has(&engine, "steered", |event| matches!(event, Event::Judged { .. })));
    gives_everything_again(&engine, "steered");
}

fn words(prompt: &Prompt<'_>) -> String {
    let users = prompt.messages.iter().filter_map(|message| match message {
        Message::User(text) => Some(&**text),
        _ => None,
    });
    users.collect::<Vec<_>>().join("\n")
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn ask<'a>(&'a self, _: &'a Prompt<'a>, _: &'a mut RequestDraft, _: DeltaCallback<'a>) -> ModelFuture<'a> {
        Box::pin(std::future::pending())
    }
}

/// Says when a question's beginning is on disk.
#[derive(Default)]
struct Begins(Notify);

impl RunWatcher for Begins {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        if record.events.iter().any(|event| matches!(event, Event::Begun { .. })) {
            self.0.notify_one();
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[tokio::test]
async fn a_question_that_was_cut_off_and_asked_again_in_an_earlier_workspace_is_given_again() {
    let world = World::quick();
    let first = world.engine_with(Arc::new(Silent), EngineOptions::default());
    drop(start(&first, "back", by("thinker", "think"), settings(&world.workspace()), None).await);
    first.journal().clone().close().await;

    // The question begins in a workspace with one file more, and is cut off.
    std::fs::write(world.workspace().join("more.txt"), "more").unwrap();
    let begins: Arc<Begins> = Arc::default();
    let options = EngineOptions { watch: begins.clone(), ..EngineOptions::default() };
    let second = world.engine_with(Arc::new(Silent), options);
    let handle = second.open(&id("back")).await.unwrap();
    handle.sender().send(Input::Tell { message: "begin".into() });
    tokio::select! {
        biased;
        () = begins.0.notified() => {}
        _ = handle.drive() => panic!("it has no end"),
    }
    second.journal().clone().close().await;

    std::fs::remove_file(world.workspace().join("more.txt")).unwrap();
    let third = world.engine(|prompt| says(if words(prompt).contains("more.txt") { "more" } else { "none" }));
    let rested = third.open(&id("back")).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.answer(), "none");
    gives_everything_again(&third, "back");
}

#[tokio::test]
async fn a_question_that_waited_for_money_while_the_workspace_changed_is_given_again() {
    let world = World::quick();
    let outside: Arc<Mutex<Outside>> = Arc::default();
    let folder = world.workspace();
    let performer =
        ScriptedHands::saying(&outside, move |_, prompt| match (prompt.brief.step.as_str(), turn(prompt)) {
            ("a", 0) => {
                std::fs::write(folder.join("new.txt"), "new").unwrap();
                calls(&[("stamp", json!({ "name": "a" }))])
            }
            (step, _) => {
                says(format!("{step} {}", if words(prompt).contains("new.txt") { "saw it" } else { "did not" }))
            }
        });
    let engine = Engine::new(world.journal(), Arc::new(performer), EngineOptions::default());
    let steps = vec![
        step("a", "stamper", &[], &["a"]),
        step("b", "viewer", &[], &["b"]),
        step("bb", "viewer", &[], &["bb"]),
        step("c", "viewer", &["b"], &["c"]),
        step("z", "viewer", &[], &["z"]),
    ];
    let (mut agents, prompts) = (support::stamps::agents(), Prompts::compiled_in());
    // Agents without tools for files are not told of the files.
    agents.insert(Agent {
        name: "viewer".into(),
        purpose: "test".into(),
        tools: vec!["list_files".into()],
        prompt: "Look.".into(),
        ..Agent::default()
    });
    let parameters = json!({ "type": "object" });
    let lists = ToolSpec { name: "list_files".into(), description: String::new(), parameters };
    let tools = |names: &[String]| match names {
        [one] if one == "list_files" => vec![lists.clone()],
        names => support::stamps::specs(names),
    };
    let new = NewRun {
        goal: goal("look around"),
        settings: settings(&world.workspace()),
        // Enough for one question at a time.
        budget: Budget { tokens: Some(12_000), ..Budget::default() },
        plan: Some(Graph { steps }),
        agents: &agents,
        prompts: &prompts,
        tools: &tools,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let rested = engine.start(id("held"), new).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "done", "{:?}", rested.run.phase());
    assert!(rested.run.answer().contains("c saw it"), "{}", rested.run.answer());
    gives_everything_again(&engine, "held");
}

/// Starts a run of one thinking step, with these agents.
async fn thinks(engine: &Engine, run: &str, world: &World, agents: &Agents) -> updraft_engine::RunHandle {
    let new = NewRun {
        goal: goal("think"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: Some(Graph { steps: vec![step("one", "worker", &[], &["x"])] }),
        agents,
        prompts: &Prompts::compiled_in(),
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    engine.start(id(run), new).await.unwrap()
}

/// A worker with these tools, and others who have all of them.
fn worker_with(tools: &[&str]) -> Agents {
    let mut agents = Agents::compiled_in().unwrap();
    let tools = tools.iter().map(|name| (*name).to_owned()).collect();
    agents.insert(Agent {
        name: "worker".into(),
        purpose: "test".into(),
        tools,
        prompt: "Work.".into(),
        ..Agent::default()
    });
    agents
}

#[tokio::test]
async fn runs_whose_agents_differ_only_in_their_tools_are_each_shown_their_own() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let tools: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
        says(tools.join(" "))
    });
    let both = thinks(&engine, "both", &world, &worker_with(&["list_files", "read_file"])).await;
    assert_eq!(both.drive().await.unwrap().run.answer(), "list_files read_file");
    let one = thinks(&engine, "one", &world, &worker_with(&["read_file"])).await;
    assert_eq!(one.drive().await.unwrap().run.answer(), "read_file");
    gives_everything_again(&engine, "both");
    gives_everything_again(&engine, "one");
}

#[tokio::test]
async fn a_run_that_takes_its_agents_anew_goes_on_with_them_at_once() {
    let world = World::quick();
    let engine = world.engine(|prompt| match (prompt.system, turn(prompt)) {
        ("Work.", 0) => calls(&[("ask_user", json!({ "question": "which?" }))]),
        (system, _) => says(system),
    });
    let handle = thinks(&engine, "anew", &world, &worker_with(&["ask_user"])).await;
    assert_eq!(handle.drive().await.unwrap().run.status_word(), "waiting");
    let mut agents = worker_with(&["ask_user"]);
    let other = Agent { prompt: "Work otherwise.".into(), ..agents.get("worker").unwrap().clone() };
    agents.insert(other);
    let (roster, words) =
        updraft_engine::RosterTexts::gather(agents.iter(), &Prompts::compiled_in(), &specs, &|_| true);
    let blob = updraft_journal::Blob::new(serde_json::to_vec(&words).unwrap());
    let roster = Arc::new(updraft_run::Roster { words: Some(blob.hash()), ..roster });
    engine.journal().put_blobs(&id("anew"), vec![blob]).await.unwrap();
    let mut handle = engine.open(&id("anew")).await.unwrap();
    handle.send(Input::Reload { roster, strange: None });
    handle.send(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "Work otherwise.");
    gives_everything_again(&engine, "anew");
}
